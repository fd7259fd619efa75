//! Offers tools that are stored as data, such as installed tools, as commands: `tool:NAME`, `tool:NAME:ACTION`.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use super::running::{Answered, Failed, Running, gone};
use super::source::{Brief, CommandSource};
use super::spec::{CommandEffect, CommandSpec, Idempotency, SourceKind};
use super::{contracts, from_schema};
use mcpkg_base::cache::Cache;
use mcpkg_base::error::{Code, Result};
use mcpkg_core::op::{Context, Domains, Projected, Projections, Validator};

pub const GROUP: &str = "tool";

/// How many tools to read at once.
const PAGE: usize = 100;

/// The stored tools of all domains. Each caller gets only those that it may also call directly.
pub struct Tools;

/// Lists of commands, by database and validator.
static SPECS: Cache<(PathBuf, String), Arc<Vec<CommandSpec>>> = Cache::new(8);

impl CommandSource for Tools {
    fn kind(&self) -> SourceKind {
        SourceKind::Tools
    }

    fn group(&self) -> Option<&'static str> {
        Some(GROUP)
    }

    fn validator(&self, context: &Context) -> Result<String> {
        let audience = context.audience();
        let validators = context.store.read(|db| {
            let validators = projections(context.domains).map(|tools| (tools.validator)(db, &audience));
            validators.collect::<Result<Vec<Validator>>>()
        })?;
        Ok(format!("{:?} {validators:?}", context.surface))
    }

    fn briefs(&self, context: &Context) -> Result<Vec<Brief>> {
        Ok(self.specs(context)?.iter().map(Brief::of).collect())
    }

    fn spec(&self, context: &Context, id: &str) -> Result<Option<CommandSpec>> {
        Ok(self.specs(context)?.iter().find(|spec| spec.id == id).cloned())
    }

    fn run(&self, context: &Context, running: &Running<'_>) -> Result<Answered, Failed> {
        let Running { spec, with, .. } = running;
        let tool = find(context, spec)?.ok_or_else(|| gone(&spec.id))?;
        // The tool itself checks trust and applies the sandbox.
        match tool.call(context, Value::Object((*with).clone())) {
            Ok(reply) => Ok(Answered::of(reply.into_value())),
            Err(error) => {
                // The tool was stopped while running, so it may have changed something.
                let may_be_done = matches!(error.code(), Code::Cancelled | Code::ToolTimeout | Code::ToolLimit);
                Err(Failed { error, status: None, answer: None, may_be_done })
            }
        }
    }
}

impl Tools {
    fn specs(&self, context: &Context) -> Result<Arc<Vec<CommandSpec>>> {
        let key = (context.database().to_owned(), self.validator(context)?);
        SPECS.get_or(key, || {
            let mut specs = Vec::new();
            for tools in projections(context.domains) {
                for tool in all(context, tools)? {
                    if context.surface.serves(&tool.name, tool.group, tool.effect) {
                        specs.push(spec(&tool));
                    }
                }
            }
            contracts::complete(&mut specs);
            Ok(Arc::new(specs))
        })
    }
}

fn projections(domains: Domains) -> impl Iterator<Item = &'static Projections> {
    domains.iter().filter_map(|domain| domain.tools.as_ref())
}

fn all(context: &Context, tools: &Projections) -> Result<Vec<Projected>> {
    let audience = context.audience();
    context.store.read(|db| {
        let mut all: Vec<Projected> = Vec::new();
        loop {
            let after = all.last().map_or(String::new(), |tool| tool.name.clone());
            let page = (tools.list)(db, &audience, &after, PAGE)?;
            let is_last = page.len() < PAGE;
            all.extend(page);
            if is_last {
                // Tools that run commands must not be commands themselves.
                all.retain(|tool| !tool.runs_commands);
                return Ok(all);
            }
        }
    })
}

/// Returns the tool of a command, if it still exists and the caller may call it by name.
fn find(context: &Context, spec: &CommandSpec) -> Result<Option<Projected>> {
    let audience = context.audience();
    context.store.read(|db| {
        for name in &spec.aliases {
            for tools in projections(context.domains) {
                let found = (tools.find)(db, &audience, name)?;
                let served = |tool: &Projected| {
                    !tool.runs_commands && context.surface.serves(&tool.name, tool.group, tool.effect)
                };
                if let Some(tool) = found.filter(served) {
                    return Ok(Some(tool));
                }
            }
        }
        Ok(None)
    })
}

fn spec(tool: &Projected) -> CommandSpec {
    let hints = tool.hints;
    let (effect, idempotency) = match (hints.read_only, hints.destructive, hints.idempotent) {
        (Some(true), _, _) => (CommandEffect::Read, Idempotency::Safe),
        (_, Some(true), Some(true)) => (CommandEffect::Destroy, Idempotency::Idempotent),
        (_, Some(true), _) => (CommandEffect::Destroy, Idempotency::None),
        (_, _, Some(true)) => (CommandEffect::Write, Idempotency::Idempotent),
        _ => (CommandEffect::Write, Idempotency::None),
    };
    let summary = tool.description.lines().next().unwrap_or_default().trim();
    let output = tool.output_schema.as_ref().map(|schema| from_schema::output(schema, None));
    CommandSpec {
        summary: summary.trim_end_matches('.').to_owned(),
        description: tool.description.contains('\n').then(|| tool.description.clone()),
        effect,
        idempotency,
        flags: from_schema::flags(&tool.input_schema),
        output_contract: output.unwrap_or_default(),
        aliases: vec![tool.name.clone()],
        ..CommandSpec::new(format!("{GROUP}:{}", tool.command), SourceKind::Tools)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use mcpkg_core::op::{Effect, Hints, Reply, Shape};

    fn tool(hints: Hints) -> Projected {
        let schema = |value: Value| Arc::new(value.as_object().unwrap().clone());
        Projected {
            name: "alice__apps".to_owned(),
            command: "alice/apps:find".to_owned(),
            title: None,
            description: "Finds apps.\nIn all regions.".to_owned(),
            input_schema: schema(json!({ "properties": { "region": { "type": "string" } } })),
            output_schema: Some(schema(json!({ "properties": { "found": { "type": "array", "items": {
                "properties": { "id": { "type": "string" } } } } } }))),
            effect: Effect::Write,
            hints,
            open_world: true,
            long: true,
            runs_commands: false,
            consent: None,
            meta: None,
            group: "registry",
            shape: Shape::Output,
            run: Arc::new(|_, arguments| Ok(Reply::sentence("ran", arguments))),
        }
    }

    #[test]
    fn a_tool_becomes_a_command_with_its_name_and_effect() {
        let spec = spec(&tool(Hints { read_only: Some(true), ..Hints::default() }));
        assert_eq!((&*spec.id, &*spec.group, &*spec.name), ("tool:alice/apps:find", "tool", "alice/apps:find"));
        assert_eq!(
            (&*spec.summary, spec.effect, spec.idempotency),
            ("Finds apps", CommandEffect::Read, Idempotency::Safe)
        );
        assert_eq!(spec.aliases, ["alice__apps"]);
        assert!(spec.is_provider() && spec.path.is_none());
        let unknown = super::spec(&tool(Hints::default()));
        assert_eq!((unknown.effect, unknown.idempotency), (CommandEffect::Write, Idempotency::None));
        assert!(!unknown.is_provider());
    }
}
