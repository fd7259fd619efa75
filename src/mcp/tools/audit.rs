//! Logs tool calls: the tool, the outcome and the time taken.
//!
//! For the tools of contract 004 (commands and workflows), the line also contains a summary of the arguments and the
//! answer.

use std::time::Instant;

use serde_json::{Map, Value};

use super::Tool;
use crate::mcp::provider::Answer;
use mcpkg_base::error::Result;
use mcpkg_core::op::{Context, Effect, Entry, Identity, Reply, Shape};
use mcpkg_store::projects;

/// The log target of calls that are logged by default.
macro_rules! audited {
    () => {
        "mcpkg::audit"
    };
}

/// The fields of arguments and answers whose texts and numbers the log shows. They contain names of stored items, or
/// choices. Other texts and numbers may be secret, so the log shows only their size.
const SHOWN: [&str; 13] = [
    "command", "cursor", "draft", "effect", "group", "id", "limit", "run", "source", "state", "step", "wait_s",
    "workflow",
];

/// The maximum size in bytes of a value that is shown.
const LONGEST: usize = 80;

/// The facts about a call that are known before it runs.
pub(super) struct Call {
    /// Whether the call is logged by default.
    is_audited: bool,
    /// A summary of the arguments.
    asked: Option<String>,
}

impl Call {
    /// Describes the call of an operation.
    pub(super) fn of(entry: &Entry, arguments: &Map<String, Value>, identity: Identity) -> Self {
        Self::new(entry.shape, entry.effect, arguments, identity)
    }

    /// Describes the call of a tool.
    pub(super) fn of_tool(tool: &Tool, arguments: &Value, identity: Identity) -> Self {
        let none = Map::new();
        let arguments = arguments.as_object().unwrap_or(&none);
        let shape = match tool {
            Tool::Operation(entry) => entry.shape,
            Tool::Projected(projected) => match &projected.answer {
                Answer::Run(tool) => tool.shape,
                Answer::Talk(_) | Answer::Task(_) => Shape::Sentence,
            },
        };
        Self::new(shape, tool.effect(), arguments, identity)
    }

    fn new(shape: Shape, effect: Effect, arguments: &Map<String, Value>, identity: Identity) -> Self {
        // Only the tools of contract 004 have `Shape::Json` with a version.
        let is_of_commands = matches!(shape, Shape::Json(Some(_)));
        // Contracts 003 (workspaces) and 004 (commands and workflows) require a log line for each call of their tools.
        // But calls of contract 004's tools that only read are logged by default only under `Identity::Assistant`.
        let is_audited = shape == Shape::Rpc || is_of_commands && (effect.changes() || identity == Identity::Assistant);
        Self { is_audited, asked: (is_of_commands && is_logged(is_audited)).then(|| summary(arguments)) }
    }

    /// Logs the call, which began at `started`.
    pub(super) fn log(&self, tool: &str, context: &Context, outcome: &Result<Reply>, started: Instant) {
        let asked = self.asked.as_deref();
        let answered = asked.and(outcome.as_ref().ok()).map(answered);
        let outcome = outcome.as_ref().map_or_else(|error| error.code().name(), |_| "ok");
        let micros = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
        // The log target has to be a constant.
        if self.is_audited {
            tracing::info!(target: audited!(), tool, project = project(context), outcome, micros, asked, answered, "tools/call");
        } else {
            tracing::info!(tool, project = project(context), outcome, micros, asked, answered, "tools/call");
        }
    }
}

/// Returns whether the log is configured to show the line of a call.
pub(super) fn is_logged(is_audited: bool) -> bool {
    match is_audited {
        true => tracing::enabled!(target: audited!(), tracing::Level::INFO),
        false => tracing::enabled!(tracing::Level::INFO),
    }
}

/// Returns the name of the selected project. It is looked up only if the line is logged.
fn project(context: &Context) -> String {
    let found = context.store.read(|db| projects::resolve(db, &context.selection));
    found.ok().flatten().map_or_else(|| "none".to_owned(), |project| project.name)
}

fn answered(reply: &Reply) -> String {
    match (&reply.json, &reply.data) {
        (Some(json), _) => format!("{} bytes", json.len()),
        (None, Value::Object(data)) => summary(data),
        (None, _) => String::new(),
    }
}

/// Summarizes an object: the names of all fields, and the values of those in [`SHOWN`] and of booleans.
fn summary(object: &Map<String, Value>) -> String {
    let told: Vec<String> =
        object.iter().map(|(name, value)| format!("{}={}", name.escape_debug(), short(name, value))).collect();
    told.join(" ")
}

fn short(name: &str, value: &Value) -> String {
    match value {
        Value::Null | Value::Bool(_) => value.to_string(),
        Value::Array(values) => format!("[{}]", values.len()),
        Value::Object(values) => format!("{{{}}}", values.len()),
        Value::Number(_) if SHOWN.contains(&name) => value.to_string(),
        Value::String(text) if SHOWN.contains(&name) && text.len() <= LONGEST => text.escape_debug().to_string(),
        value => format!("({} bytes)", value.as_str().map_or_else(|| value.to_string().len(), str::len)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_summary_contains_no_value_that_may_be_secret() {
        let asked = json!({
            "command": "apps:create", "args": { "token": "hunter2", "name": "web" }, "nonce": "n0nce", "yaml": "key: hunter2",
            "wait_s": 5, "pin": 1234, "step": "x".repeat(100),
        });
        let told = summary(asked.as_object().unwrap());
        assert_eq!(
            told,
            "command=apps:create args={2} nonce=(5 bytes) yaml=(12 bytes) wait_s=5 pin=(4 bytes) step=(100 bytes)"
        );
    }
}
