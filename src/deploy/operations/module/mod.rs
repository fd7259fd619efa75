//! `mcpkg module`: what a project's prompts and resources are to a deploy.

pub mod change;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::deploy::project::catalog::{self, Listed, Source};
use crate::deploy::{GROUP, project};
use crate::error::Result;
use crate::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply, Table};
use crate::store::modules::Row;

/// List modules
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct List {}

impl Operation for List {
    const TOOL: &'static str = "list_modules";
    const CLI: &'static [&'static str] = &["module", "list"];
    const TITLE: &'static str = "List modules";
    const ABOUT: &'static str = "List what the project gives to a deploy: commands, skills, instructions";
    const HELP: &'static str = "Each prompt is a command, each skill://NAME/ with a SKILL.md a skill, each resource below instructions:// \
        instructions, unless `mcpkg module set` says otherwise.";
    const ALIASES: &'static [&'static str] = &["ls"];
    const EFFECT: Effect = Effect::Read;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
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
            ]
        });
        let table = Table {
            columns: &["ID", "TYPE", "TARGETS", "TAGS", "ENABLED", "FILES"],
            rows: rows.collect(),
            empty: format!("Project '{project}' has no modules"),
        };
        let modules: Vec<_> = listed.iter().map(data).collect();
        let mut reply = Reply::new(Body::Table(table), json!({ "modules": modules, "left_out": warnings }));
        reply.hints = warnings;
        Ok(reply)
    }
}

/// Show a module
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Show {
    /// Module, such as skill:review
    id: String,
}

impl Operation for Show {
    const TOOL: &'static str = "get_module";
    const CLI: &'static [&'static str] = &["module", "show"];
    const TITLE: &'static str = "Show a module";
    const ABOUT: &'static str = "Show a module's files, as a deploy would write them, and where they come from";
    const ALIASES: &'static [&'static str] = &["get"];
    const EFFECT: Effect = Effect::Read;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let (listed, composed) = context.read(|db, project| {
            let listed = catalog::get(db, project, &self.id)?;
            let composed = project::module(db, &listed)?;
            Ok((listed, composed))
        })?;
        let mut rows = Vec::new();
        let mut files = Vec::new();
        for (part, file) in listed.parts.iter().zip(&composed.files) {
            let from = match &part.source {
                Source::Prompt(prompt) => format!("prompt {}", prompt.name),
                Source::Resource(resource) => resource.attributes.uri.clone(),
            };
            let program = if file.executable { "yes" } else { "no" };
            rows.push(vec![file.path.clone(), file.bytes.len().to_string(), program.to_owned(), from]);
            files.push(json!({
                "path": file.path,
                "size": file.bytes.len(),
                "executable": file.executable,
                "item": part.source.item(),
            }));
        }
        let mut data = data(&listed);
        data["files"] = files.into();
        let columns = &["PATH", "BYTES", "PROGRAM", "FROM"];
        let table = Table { columns, rows, empty: String::new() };
        let head = Body::Sentence(described(&listed));
        Ok(Reply::new(Body::Several(vec![head, Body::Table(table)]), data))
    }
}

fn targets(row: &Row) -> String {
    if row.targets.is_empty() { "all".to_owned() } else { row.targets.join(",") }
}

/// What a module is, in a line.
fn described(module: &Listed) -> String {
    let tags = if module.row.tags.is_empty() { String::new() } else { format!(", tags {}", module.row.tags.join(",")) };
    let enabled = if module.row.enabled { "" } else { ", not enabled" };
    format!("{}: {}, targets {}{tags}{enabled}", module.id, module.kind.word(), targets(&module.row))
}

fn data(module: &Listed) -> Value {
    json!({
        "id": module.id,
        "type": module.kind.word(),
        "targets": module.row.targets,
        "tags": module.row.tags,
        "enabled": module.row.enabled,
        "item": module.row.item,
        "files": module.parts.len(),
    })
}
