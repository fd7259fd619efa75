//! `mcpkg gate`: models of ONNX's, where the workspace's gate has them.
//!
//! A gate answers elsewhere, over HTTP ([`remote`]), or is embedded ([`local`]), both by one [`interface`]. The embedded one's
//! models are stored in the database, and a test runs in a [`worker`], the only program that has an [`engine`]. What a model
//! takes is read from its [`header`], without the engine, and what it is run on from [`input`] files.

mod candidate;
pub mod engine;
mod files;
mod given;
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

/// The variable that names the address of a gate.
const VARIABLE: &str = "MODELGATE_URL";

/// The models of all workspaces, as a shell completes them.
const MODELS: Names = Names::Stored(|typed| {
    let named = gate::names(typed.db)?.into_iter().filter(|name| name.starts_with(typed.prefix));
    Ok(named.take(typed.limit).map(|name| Name { name, about: None }).collect())
});

/// Returns the gate of a workspace: where `--url` says, the variable, or the manifest; else the embedded one.
///
/// # Errors
/// `E_INVALID_ARGUMENT` where an address is none.
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
    // Without a query, which may hold a secret that no answer is to show.
    let base = base.below("", &[]);
    Ok(Box::new(remote::Remote { context, base, timeout: workspace.manifest.gate.timeout }))
}

/// Whether there is an engine that runs models: in this build, or where a gate answers elsewhere.
fn has_engine(selection: &Selection) -> bool {
    let is_elsewhere = || {
        let workspace = root::find(&root::start(selection)).and_then(|root| Workspace::read(&root).ok());
        std::env::var(VARIABLE).is_ok_and(|url| !url.is_empty())
            || workspace.is_some_and(|workspace| workspace.manifest.gate.url.is_some())
    };
    worker::engine().is_some() || is_elsewhere()
}

/// Returns the models of the gate that applies, as `smctl_gate_models_list` answers.
pub fn models(context: &Context) -> Result<Value> {
    let workspace = Workspace::open(context)?;
    Ok(json!({ "models": open(context, &workspace, None)?.models()? }))
}

/// Returns the routes of the gate that applies.
pub fn routes(context: &Context) -> Result<Value> {
    let workspace = Workspace::open(context)?;
    Ok(json!({ "routes": open(context, &workspace, None)?.routes()? }))
}

/// Looks whether the models of the workspace can be run, where it has some.
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
