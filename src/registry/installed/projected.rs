//! Installed tools as MCP tools of their own: listed, found and called.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::calling::{Answer, Called, require};
use super::checked;
use super::visible::{self, Border};
use crate::error::Result;
use crate::op::{Audience, Body, Context, Effect, Hints, Media, Projected, Projections, Reply, Shape, Validator};
use crate::registry::GROUP;
use crate::registry::package::manifest::{Action, MAIN, Manifest};
use crate::registry::run::{Outcome, OutputFile};
use crate::registry::trust::{Verb, Verdict};
use crate::store::Db;
use crate::store::tools::installs::{self, Install};
use crate::store::tools::names::{self, Named};

/// The installed tools.
pub const PROJECTIONS: Projections = Projections { list, find, validator };

/// Where the result of a call says what is known of the run.
const RUN: &str = "mcpkg/run";

fn list(db: &Db<'_>, audience: &Audience<'_>, after: &str, limit: usize) -> Result<Vec<Projected>> {
    let border = Border::of(db, audience)?;
    let scopes = visible::scopes(db, audience)?;
    let mut after = after.to_owned();
    let mut found = Vec::new();
    while found.len() < limit {
        // Names of all scopes in one order; a tool that is in two of them has the same names in both.
        let mut page: BTreeMap<String, Named> = BTreeMap::new();
        for scope in &scopes {
            let wanted = u32::try_from(limit).unwrap_or(u32::MAX);
            for named in names::after(db, &scope.key(), &after, wanted)? {
                page.insert(named.mcp_name.clone(), named);
            }
        }
        if page.is_empty() {
            break;
        }
        for (name, named) in page.into_iter().take(limit) {
            after = name;
            if found.len() < limit
                && border.admits(db, &named.tool)?
                && let Some(install) = visible::active(db, audience, &named.tool)?
                && let Some(tool) = projected(db, &install, named)
            {
                found.push(tool);
            }
        }
    }
    Ok(found)
}

fn find(db: &Db<'_>, audience: &Audience<'_>, name: &str) -> Result<Option<Projected>> {
    let Some(named) = names::find(db, name)? else { return Ok(None) };
    let install = visible::active(db, audience, &named.tool)?;
    Ok(install.and_then(|install| projected(db, &install, named)))
}

fn validator(db: &Db<'_>, audience: &Audience<'_>) -> Result<Validator> {
    let border = Border::of(db, audience)?;
    let mut seen = BTreeMap::new();
    for scope in visible::scopes(db, audience)? {
        for (name, version) in installs::validator(db, &scope)? {
            if border.admits(db, &name)? {
                seen.entry(name).or_insert(version);
            }
        }
    }
    Validator::of(&seen)
}

/// Returns an action of an install as a tool of its own; `None` where its package cannot be used, or has no such action any
/// more. What is wrong with one package spoils no other.
fn projected(db: &Db<'_>, install: &Install, named: Named) -> Option<Projected> {
    let manifest = match checked::manifest(db, install) {
        Ok(manifest) => manifest,
        Err(error) => {
            tracing::warn!(tool = install.name, version = install.version, %error, "an installed tool is not listed");
            return None;
        }
    };
    let wanted = Some(named.action.as_str()).filter(|action| !action.is_empty());
    if !checked::projected_actions(&manifest).contains(&wanted) {
        return None;
    }
    let action = manifest.action(wanted).ok()?;
    Some(shown(&manifest, action, named))
}

fn shown(manifest: &Manifest, action: Option<&Action>, named: Named) -> Projected {
    let Named { mcp_name, tool, action: name } = named;
    let title = if name.is_empty() { tool.clone() } else { format!("{tool}:{name}") };
    let description =
        action.and_then(|action| action.description.clone()).unwrap_or_else(|| manifest.description.clone());
    let input = action.and_then(|action| action.input_schema.as_ref()).and_then(Value::as_object);
    let output = action.and_then(|action| action.output_schema.as_ref());
    let annotations = action.and_then(|action| action.annotations.as_ref());
    let hint = |key: &str| annotations.and_then(|said| said.get(key)).and_then(Value::as_bool);
    let wraps = output.is_some_and(|schema| !describes_object(schema));
    Projected {
        name: mcp_name,
        title: Some(title),
        description,
        input_schema: Arc::new(input.cloned().unwrap_or_else(|| parameters(action))),
        output_schema: output.map(|schema| Arc::new(as_object(schema))),
        effect: Effect::Write,
        hints: Hints {
            read_only: hint("readOnlyHint"),
            destructive: hint("destructiveHint"),
            // What a tool does when it is called again is known to its author alone.
            idempotent: hint("idempotentHint").or(Some(false)),
            open_world: hint("openWorldHint"),
        },
        open_world: true,
        long: true,
        group: GROUP,
        shape: Shape::Output,
        run: Arc::new(move |context, arguments| call(context, &tool, &name, wraps, arguments)),
    }
}

/// Returns the schema of an action that has none: each parameter of its command is a required text.
fn parameters(action: Option<&Action>) -> Map<String, Value> {
    let names = action.map(|action| action.command.parameters()).unwrap_or_default();
    let properties: Map<String, Value> =
        names.iter().map(|name| ((*name).to_owned(), json!({ "type": "string" }))).collect();
    let mut schema =
        Map::from_iter([("type".to_owned(), json!("object")), ("properties".to_owned(), Value::Object(properties))]);
    if !names.is_empty() {
        schema.insert("required".to_owned(), json!(names));
    }
    schema
}

/// Whether what fits a schema is an object: MCP asks for one.
fn describes_object(schema: &Value) -> bool {
    schema.get("type").and_then(Value::as_str) == Some("object")
}

/// Returns an output schema as MCP takes it: one that is not of an object as that of an object's `result`.
fn as_object(schema: &Value) -> Map<String, Value> {
    match schema {
        Value::Object(object) if describes_object(schema) => object.clone(),
        schema => {
            let wrapped = json!({ "type": "object", "properties": { "result": schema }, "required": ["result"] });
            wrapped.as_object().cloned().unwrap_or_default()
        }
    }
}

/// Calls an installed tool: what applies is looked up now, since it may have changed since the tool was listed.
fn call(context: &Context, tool: &str, action: &str, wraps: bool, arguments: Value) -> Result<Reply> {
    let audience = visible::audience(context);
    let (install, manifest) = context.store.read(|db| {
        Border::of(db, &audience)?.require(db, tool)?;
        let install = visible::require(db, &audience, tool)?;
        let manifest = checked::manifest(db, &install)?;
        Ok((install, manifest))
    })?;
    let subject = checked::subject(&install);
    let input = match arguments {
        Value::Object(input) => input,
        _ => Map::new(),
    };
    let action = if action.is_empty() { MAIN } else { action };
    let verdict = require(context, Verb::Call, &subject, action, &input)?;
    let called = Called { subject: &subject, manifest: &manifest, verdict: &verdict };
    let verification = verdict.verification();
    match called.call(context, Some(action), input)? {
        Answer::Document(text) => {
            let mut reply = Reply::new(Body::Text(text), Value::Null);
            reply.meta = Some((RUN, json!({ "tool": tool, "version": install.version, "verification": verification })));
            Ok(reply)
        }
        Answer::Ran(outcome) => Ok(reply(&install, &verdict, wraps, *outcome)),
    }
}

fn reply(install: &Install, verdict: &Verdict, wraps: bool, outcome: Outcome) -> Reply {
    let facts = json!({
        "tool": install.name,
        "version": install.version,
        "run_id": outcome.run.to_string(),
        "runner": outcome.runner.word(),
        "image": outcome.image,
        "exit_code": outcome.exit_code,
        "duration_ms": outcome.duration_ms,
        "truncated": outcome.truncated,
        "stderr": outcome.stderr,
        "verification": verdict.verification(),
    });
    let data = match outcome.output {
        Some(output) if wraps => json!({ "result": output }),
        Some(output @ Value::Object(_)) => output,
        _ => Value::Null,
    };
    let files = outcome.files.into_iter().map(|file| media(&outcome.run.to_string(), file));
    let mut bodies = vec![Body::Text(outcome.stdout)];
    bodies.extend(files);
    let body = if bodies.len() == 1 { bodies.remove(0) } else { Body::Several(bodies) };
    Reply { meta: Some((RUN, facts)), ..Reply::new(body, data) }
}

/// Returns a file that a run left as a block of its result.
fn media(run: &str, file: OutputFile) -> Body {
    let mime_type = mime_guess::from_path(&file.path).first_raw().map(str::to_owned);
    Body::Media(Media { uri: format!("mcpkg://runs/{run}/{}", file.path), mime_type, bytes: file.bytes })
}
