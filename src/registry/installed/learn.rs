//! `enact__learn`, `mcpkg tool learn`.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{TOOLS, checked, named, schemas, visible};
use crate::error::Result;
use crate::op::{Body, Context, Effect, Faces, Operation, Reply, Shape};
use crate::registry::GROUP;
use crate::registry::alias;
use crate::registry::backend::{Choice, download, resolve};
use crate::registry::package::manifest::{Action, MAIN, Manifest};
use crate::registry::package::{Reference, Wanted, mcp_name};
use crate::registry::trust::{self, Subject, Verb, Verdict};

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
        "It is read out of the archive, once that was checked: never out of what a registry says of it.";
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
        let text = match documentation.trim().is_empty() {
            true => format!("{}\n", manifest.description),
            false => documentation,
        };
        Ok(Reply::new(Body::Text(text), data))
    }
}

/// Returns the version that is installed, where it is one that is meant.
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

/// Returns the version that a registry has.
fn fetched(context: &Context, reference: &Reference) -> Result<(Subject, Arc<Manifest>)> {
    (context.step_aside)();
    let resolved = resolve(context, reference, Choice::default())?;
    let archive = download(context, &resolved)?.archive;
    let sha256 = archive.sha256();
    let manifest = checked::of_archive(&sha256, || Ok(archive))?;
    let subject = checked::subject_of(&resolved, &manifest, sha256)?;
    Ok((subject, manifest))
}

fn data(subject: &Subject, manifest: &Manifest, verdict: &Verdict, documentation: &str) -> Value {
    let is_only = manifest.actions.len() == 1;
    let action = |action: &Action| {
        let projected = Some(action.name.as_str()).filter(|name| !is_only && *name != MAIN);
        json!({
            "name": action.name,
            "mcp_name": mcp_name(&manifest.name, projected),
            "description": action.description,
            "inputSchema": action.input_schema,
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
