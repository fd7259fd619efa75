//! `mcpkg tool learn` (`enact__learn`): shows what a tool does and how to call it.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{TOOLS, action_tools, checked, named, schemas, visible};
use crate::GROUP;
use crate::alias;
use crate::backend::{Choice, download, resolve};
use crate::package::manifest::{Action, MAIN, Manifest};
use crate::package::{Reference, Wanted, mcp_name};
use crate::trust::{self, Subject, Verb, Verdict};
use mcpkg_base::error::Result;
use mcpkg_core::op::{Body, Context, Effect, Faces, Operation, Reply, Shape};

/// Get documentation for a tool. Returns the full enact.md content including usage instructions.
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Learn {
    /// Tool name (e.g., 'alice/utils/weather')
    #[arg(value_name = "TOOL[@VERSION]", add = TOOLS)]
    tool: String,
    /// Specific version (optional, defaults to latest)
    #[arg(skip)]
    version: Option<String>,
}

impl Operation for Learn {
    const TOOL: &'static str = "enact__learn";
    const CLI: &'static [&'static str] = &["tool", "learn"];
    const TITLE: &'static str = "Read a tool's documentation";
    const ABOUT: &'static str =
        "Get documentation for a tool. Returns the full enact.md content including usage instructions.";
    const HELP: &'static str =
        "mcpkg takes the documentation from the tool's checked archive, never from a registry's description.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg tool learn alice/utils/weather"];
    const EFFECT: Effect = Effect::Offer;
    const OPEN_WORLD: bool = true;
    const LONG: bool = true;
    const MAY_NEED_CONSENT: bool = true;
    const SHAPE: Shape = Shape::Json(None);
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    const SCHEMA: Option<&'static str> = Some(include_str!("schemas/learn.json"));
    const STRUCTURED: bool = true;
    type Output = schemas::Learned;

    fn run(self, context: &Context) -> Result<Reply> {
        let reference = named(&alias::expanded(context, &self.tool)?, self.version.as_deref())?;
        let (subject, manifest) = match installed(context, &reference)? {
            Some(found) => found,
            None => fetched(context, &reference)?,
        };
        let verdict = trust::require(context, Verb::Learn, &subject)?;
        let documentation = manifest.doc.clone().unwrap_or_default();
        let data = data(&subject, &manifest, &verdict, &documentation);
        let documentation = match documentation.trim() {
            "" => manifest.description.as_str(),
            documentation => documentation,
        };
        Ok(Reply::new(Body::Text(format!("{documentation}\n\n{}", facts(&manifest, &verdict))), data))
    }
}

/// Returns the installed version, if it matches the request.
fn installed(context: &Context, reference: &Reference) -> Result<Option<(Subject, Arc<Manifest>)>> {
    context.store.read(|db| {
        let Some(install) = visible::active(db, &context.audience(), reference.name.as_str())? else {
            return Ok(None);
        };
        let is_meant = match &reference.version {
            Wanted::Latest => true,
            wanted => install.version.parse().is_ok_and(|version| wanted.choose([&version], true).is_some()),
        };
        match is_meant {
            true => Ok(Some((checked::subject(&install), checked::manifest(db, &install)?))),
            false => Ok(None),
        }
    })
}

/// Fetches the requested version from a registry.
fn fetched(context: &Context, reference: &Reference) -> Result<(Subject, Arc<Manifest>)> {
    (context.step_aside)();
    let resolved = resolve(context, reference, Choice::default())?;
    let archive = download(context, &resolved)?;
    let sha256 = archive.sha256();
    let manifest = checked::of_archive(&sha256, || Ok(archive))?;
    let subject = checked::subject_of(&resolved, &manifest, sha256)?;
    Ok((subject, manifest))
}

/// Describes what a person needs to run the tool: actions with their arguments, variables, and the verdict.
fn facts(manifest: &Manifest, verdict: &Verdict) -> String {
    let mut lines = Vec::new();
    for action in &manifest.actions {
        let schema = action_tools::input(Some(action));
        let required: Vec<&str> =
            schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
        let named = |name: &String| if required.contains(&name.as_str()) { name.clone() } else { format!("[{name}]") };
        let takes: Vec<String> =
            schema.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::keys).map(named).collect();
        let about = action.description.as_ref().map_or(String::new(), |about| format!(": {about}"));
        lines.push(format!("action {}({}){about}", action.name, takes.join(", ")));
    }
    for variable in &manifest.env {
        let words = [(variable.required, "required"), (variable.secret, "secret")];
        let words: Vec<&str> = words.into_iter().filter_map(|(is, word)| is.then_some(word)).collect();
        let words = if words.is_empty() { String::new() } else { format!(" ({})", words.join(", ")) };
        let about = variable.description.as_ref().map_or(String::new(), |about| format!(": {about}"));
        lines.push(format!("variable {}{words}{about}", variable.name));
    }
    lines.push(format!("verification: {}", verdict.status.word()));
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn data(subject: &Subject, manifest: &Manifest, verdict: &Verdict, documentation: &str) -> Value {
    let is_only = manifest.actions.len() == 1;
    let action = |action: &Action| {
        let projected = Some(action.name.as_str()).filter(|name| !is_only && *name != MAIN);
        json!({
            "name": action.name,
            "mcp_name": mcp_name(&manifest.name, projected),
            "description": action.description,
            "inputSchema": action_tools::input(Some(action)),
            "outputSchema": action.output_schema,
        })
    };
    let variables = manifest.env.iter().map(|variable| {
        json!({
            "name": variable.name,
            "description": variable.description,
            "secret": variable.secret,
            "required": variable.required,
        })
    });
    json!({
        "tool": subject.name,
        "version": subject.version,
        "description": manifest.description,
        "documentation": documentation,
        "actions": manifest.actions.iter().map(action).collect::<Vec<_>>(),
        "env": variables.collect::<Vec<_>>(),
        "verification": verdict.verification(),
        "sha256": subject.digest(),
    })
}
