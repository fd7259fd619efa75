//! A workflow that an agent has as a tool: run as `execute` runs a text.

use std::time::Instant;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::start::start;
use super::wanted::Wanted;
use super::{gates, reply};
use crate::saved::model;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::consent::nonce::Held;
use mcpkg_core::op::{Context, Reply};
use mcpkg_store::workflows::{self, exposed};

/// The arguments that are not the workflow's own.
pub const NONCE: &str = "nonce";
/// See [`NONCE`].
pub const WAIT: &str = "wait_s";

/// Runs the exposed workflow of this name with an agent's arguments: through the gates of `execute`, in their order.
///
/// # Errors
/// `E_NOT_FOUND` if it is no longer exposed; otherwise as `execute`.
pub fn call(context: &Context, name: &str, arguments: Value) -> Result<Reply> {
    let mut inputs = match arguments {
        Value::Object(inputs) => inputs,
        _ => Map::new(),
    };
    let nonce: Option<String> = own(&mut inputs, NONCE)?;
    let until = reply::until(gates::wait(own(&mut inputs, WAIT)?)?);
    gates::policy(context)?;
    // It may have been changed, or taken back, since the tool was listed.
    let text = context.read(|db, project| {
        let workflow = workflows::get(db, project, name)?;
        match exposed::find(db, &context.selection, name)? {
            Some(_) => model::stored(db, workflow.blob),
            None => Err(Error::new(Code::NotFound, format!("Workflow '{name}' is not offered as a tool"))
                .with_details(json!({ "name": name }))),
        }
    })?;
    let plan = Wanted::of_text(text, inputs).plan(context).map_err(as_arguments)?;
    let left = until.saturating_duration_since(Instant::now());
    start(context, plan, nonce.as_deref().map_or(Held::Nothing, |nonce| Held::Nonce(nonce, left)), until)
}

/// Says of inputs that are missing that they are arguments here.
fn as_arguments(error: Error) -> Error {
    if error.code() != Code::InputsRequired {
        return error;
    }
    let details = error.details().cloned().unwrap_or_default();
    Error::new(Code::InputsRequired, error.message())
        .with_details(details)
        .hint("pass the missing inputs as arguments of this tool")
}

/// Takes an argument that is not the workflow's own out of the others.
fn own<T: for<'de> Deserialize<'de>>(arguments: &mut Map<String, Value>, name: &str) -> Result<Option<T>> {
    match arguments.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => serde_json::from_value(value).map(Some).map_err(|error| {
            Error::new(Code::InvalidArgument, format!("Argument '{name}': {error}"))
                .with_details(json!({ "argument": name }))
        }),
    }
}
