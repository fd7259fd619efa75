//! `mcpkg module show`: shows the files of a module and where they come from.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::summary::{data, described};
use crate::completions::MODULES;
use crate::project::catalog;
use crate::project::stored_module::Item;
use crate::repo::identity;
use crate::{GROUP, project};
use mcpkg_base::error::Result;
use mcpkg_core::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply, Table};
use mcpkg_store::Db;
use mcpkg_store::deploys::{self, Deployed};
use mcpkg_store::projects::Project;

/// Show a module
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Show {
    /// Module, such as skill:review
    #[arg(add = MODULES)]
    id: String,
}

impl Operation for Show {
    const TOOL: &'static str = "get_module";
    const CLI: &'static [&'static str] = &["module", "show"];
    const TITLE: &'static str = "Show a module";
    const ABOUT: &'static str =
        "Show a module's files as a deploy would write them, where each comes from, and where it was deployed to";
    const EXAMPLES: &'static [&'static str] = &["mcpkg module show skill:pdf"];
    const ALIASES: &'static [&'static str] = &["get"];
    const EFFECT: Effect = Effect::Read;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let (listed, composed, deployed) = context.read(|db, project| {
            let listed = catalog::get(db, project, &self.id)?;
            let composed = project::module(db, &listed)?;
            let deployed = deployed(db, project, &listed.id)?;
            Ok((listed, composed, deployed))
        })?;
        let mut rows = Vec::new();
        let mut files = Vec::new();
        for (part, file) in listed.parts.iter().zip(&composed.files) {
            let from = match &part.source {
                Item::Prompt(prompt) => format!("prompt {}", prompt.name),
                Item::Resource(resource) => resource.attributes.uri.clone(),
                Item::Server(server) => format!("MCP server {}", server.name),
                Item::AgentFile(file) => format!("`{}` of {}", file.path, file.agent),
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
        let file = |file: &Deployed| json!({ "path": file.path, "targets": file.targets });
        data["deployed"] = deployed.iter().map(file).collect();
        let columns = &["PATH", "BYTES", "PROGRAM", "FROM"];
        let table = Table { columns, rows, empty: String::new() };
        let head = Body::Sentence(described(&listed));
        let mut body = vec![head, Body::Table(table)];
        if !deployed.is_empty() {
            let rows = deployed.into_iter().map(|file| vec![file.path, file.targets.join(",")]).collect();
            body.push(Body::Table(Table { columns: &["DEPLOYED TO", "TARGETS"], rows, empty: String::new() }));
        }
        Ok(Reply::new(Body::Several(body), data))
    }
}

/// Returns the files on this machine that a module was deployed to.
fn deployed(db: &Db<'_>, project: &Project, id: &str) -> Result<Vec<Deployed>> {
    let machine = identity::machine(None);
    let places = deploys::places_of(db, &deploys::project_source(project.uuid))?;
    let mut found = Vec::new();
    for key in places.iter().filter(|key| key.machine == machine) {
        let Some(place) = deploys::place(db, key)? else { continue };
        let files = deploys::of_place(db, place)?;
        found.extend(files.into_iter().filter(|file| file.module_ids.iter().any(|module| module == id)));
    }
    Ok(found)
}
