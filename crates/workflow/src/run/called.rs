//! Runs an exposed workflow that an agent calls as a tool, just as `execute` would.

use std::time::Instant;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::wanted::Wanted;
use super::{gates, start};
use crate::saved::model;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::consent::nonce::CallerNonce;
use mcpkg_core::op::{Context, Reply};
use mcpkg_store::workflows::{self, exposed};

/// The argument of the tool for the nonce. It is not an input of the workflow.
pub const NONCE: &str = "nonce";
/// The argument of the tool for how long to wait. It is not an input of the workflow.
pub const WAIT: &str = "wait_s";

/// Starts an exposed workflow with an agent's arguments, after the same checks as in `execute`, in the same order.
pub fn start(context: &Context, name: &str, arguments: Value) -> Result<Reply> {
    let mut inputs = match arguments {
        Value::Object(inputs) => inputs,
        _ => Map::new(),
    };
    let nonce: Option<String> = own(&mut inputs, NONCE)?;
    let until = start::until(gates::wait(own(&mut inputs, WAIT)?)?);
    gates::policy(context)?;
    // Read the workflow again: it may have been changed or unexposed since the agent listed the tools.
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
    start::start(
        context,
        plan,
        nonce.as_deref().map_or(CallerNonce::Nothing, |nonce| CallerNonce::Nonce(nonce, left)),
        until,
    )
}

/// Changes the hint about missing inputs: for this tool, inputs are arguments.
fn as_arguments(error: Error) -> Error {
    if error.code() != Code::InputsRequired {
        return error;
    }
    let details = error.details().cloned().unwrap_or_default();
    Error::new(Code::InputsRequired, error.message())
        .with_details(details)
        .hint("pass the missing inputs as arguments of this tool")
}

/// Removes an argument of the tool that is not an input of the workflow, and returns it.
fn own<T: for<'de> Deserialize<'de>>(arguments: &mut Map<String, Value>, name: &str) -> Result<Option<T>> {
    match arguments.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => serde_json::from_value(value).map(Some).map_err(|error| {
            Error::new(Code::InvalidArgument, format!("Argument '{name}': {error}"))
                .with_details(json!({ "argument": name }))
        }),
    }
}
