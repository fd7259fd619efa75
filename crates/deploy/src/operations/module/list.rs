//! `mcpkg module list`: lists the modules of the project.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::summary::{applies, data, targets};
use crate::GROUP;
use crate::project::catalog;
use mcpkg_base::error::Result;
use mcpkg_core::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply, Table};

/// List modules
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct List {}

impl Operation for List {
    const TOOL: &'static str = "list_modules";
    const CLI: &'static [&'static str] = &["module", "list"];
    const TITLE: &'static str = "List modules";
    const ABOUT: &'static str = "List what the project deploys: commands, skills, instructions";
    const HELP: &'static str = "The type of a module depends on its source: a prompt becomes a command, a skill://NAME/ with a SKILL.md \
        becomes a skill, a resource under instructions:// becomes instructions, and a resource under subagent:// becomes a \
        subagent. To change a module's type, use `mcpkg module set`.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg module list"];
    const ALIASES: &'static [&'static str] = &["ls"];
    const EFFECT: Effect = Effect::Read;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    const LISTS: Option<&'static str> = Some("modules");
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let ((listed, warnings), project) =
            context.read(|db, project| Ok((catalog::list(db, project)?, project.name.clone())))?;
        let rows = listed.iter().map(|module| {
            vec![
                module.id.clone(),
                module.kind.word().to_owned(),
                targets(&module.row),
                module.row.tags.join(","),
                if module.row.enabled { "yes" } else { "no" }.to_owned(),
                module.parts.len().to_string(),
                applies(module),
            ]
        });
        let table = Table {
            columns: &["ID", "TYPE", "TARGETS", "TAGS", "ENABLED", "FILES", "APPLIES"],
            rows: rows.collect(),
            empty: format!("Project '{project}' has no modules"),
        };
        let modules: Vec<_> = listed.iter().map(data).collect();
        let mut reply = Reply::new(Body::Table(table), json!({ "modules": modules, "left_out": warnings }));
        reply.hints = warnings;
        Ok(reply)
    }
}
