//! `mcpkg gate`: manages and tests the ONNX models of a workspace.
//!
//! A gate is either a remote server, reached over HTTP ([`remote`]), or embedded ([`local`]). Both implement one
//! [`interface`]. The embedded gate stores its models in the database, and runs tests in a [`worker`], the only program
//! with an [`engine`]. The inputs that a model takes come from its [`header`], which needs no engine. The data for a
//! test comes from [`input`] files.

mod candidate;
pub mod engine;
mod files;
mod header;
mod input;
mod interface;
mod local;
mod operations;
mod remote;
mod summary;
mod tensor;
mod wire;
mod worker;

use serde_json::{Value, json};

use crate::root::{self, Workspace};
use interface::Gate;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::http::Url;
use mcpkg_base::redact::redact;
use mcpkg_core::op::{Context, Finding, Health, Name, Names};
use mcpkg_store::gate;
use mcpkg_store::projects::Selection;

pub use operations::OPS;
pub use worker::answer;

/// The environment variable with the URL of a gate.
const VARIABLE: &str = "MODELGATE_URL";

/// Shell completion for the names of models in embedded gates, from all workspaces.
const MODELS: Names = Names::Stored(|typed| {
    let named = gate::names(typed.db)?.into_iter().filter(|name| name.starts_with(typed.prefix));
    Ok(named.take(typed.limit).map(|name| Name { name, about: None }).collect())
});

/// Returns the gate of a workspace. Its URL comes from `--url`, [`VARIABLE`] or the manifest. If none of them contains a
/// URL, returns the embedded gate.
///
/// # Errors
/// `E_INVALID_ARGUMENT` if the URL is invalid.
fn open<'c>(context: &'c Context, workspace: &'c Workspace, url: Option<&str>) -> Result<Box<dyn Gate + 'c>> {
    let variable = std::env::var(VARIABLE).ok().filter(|url| !url.is_empty());
    let (url, source) = match (url, variable, &workspace.manifest.gate.url) {
        (Some(url), ..) => (url.to_owned(), "--url"),
        (None, Some(url), _) => (url, VARIABLE),
        (None, None, Some(url)) => (url.clone(), "`[gate].url` of the manifest"),
        (None, None, None) => return Ok(Box::new(local::Local { context, workspace })),
    };
    let base = Url::parse(&url).ok_or_else(|| {
        Error::new(
            Code::InvalidArgument,
            format!("{source} is not the address of a gate: `{}`", redact(&url).escape_debug()),
        )
        .with_details(json!({ "url": redact(&url) }))
        .hint("use an http or https address without a user name and password, such as http://127.0.0.1:8080")
    })?;
    // Drop the query, because it may hold a secret and replies show the URL.
    let base = base.below("", &[]);
    Ok(Box::new(remote::Remote { context, base, timeout: workspace.manifest.gate.timeout }))
}

/// Returns whether models can be run: by the engine of this build, or by a remote gate.
fn has_engine(selection: &Selection) -> bool {
    let is_elsewhere = || {
        let workspace = root::find(&root::start(selection)).and_then(|root| Workspace::read(&root).ok());
        std::env::var(VARIABLE).is_ok_and(|url| !url.is_empty())
            || workspace.is_some_and(|workspace| workspace.manifest.gate.url.is_some())
    };
    worker::engine().is_some() || is_elsewhere()
}

/// Returns the models of the current gate, in the format of the MCP tool `smctl_gate_models_list`.
pub fn models(context: &Context) -> Result<Value> {
    let workspace = Workspace::open(context)?;
    Ok(json!({ "models": open(context, &workspace, None)?.models()? }))
}

/// Returns the routes of the current gate.
pub fn routes(context: &Context) -> Result<Value> {
    let workspace = Workspace::open(context)?;
    Ok(json!({ "routes": open(context, &workspace, None)?.routes()? }))
}

/// Checks for `doctor` whether the models in the workspace's embedded gate, if any, can be run.
pub fn health(context: &Context) -> Vec<Finding> {
    let found = root::find(&root::start(&context.selection)).and_then(|root| Workspace::read(&root).ok());
    let Some(workspace) = found.filter(|workspace| workspace.manifest.gate.url.is_none()) else { return Vec::new() };
    let local = local::Local { context, workspace: &workspace };
    match (local.models().map(|models| models.len()), worker::engine()) {
        (Ok(0) | Err(_), _) => Vec::new(),
        (Ok(_), Some(engine)) => vec![Finding::new("gate", Health::Ok, format!("{engine} runs the models"))],
        (Ok(_), None) => {
            let what = "the workspace has models, but this mcpkg was built without an engine to run them";
            vec![
                Finding::new("gate", Health::Note, what)
                    .action(format!("to build mcpkg with the engine: {}", engine::BUILD)),
            ]
        }
    }
}
