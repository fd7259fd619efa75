//! Tests of properties that hold for any input.

mod deploys;
mod hostile_databases;
mod hostile_repos;
mod hostile_requests;
mod hostile_searches;
mod hostile_templates;
mod model;
mod round_trips;
mod search;
mod steps;
mod undo;

use mcpkg_base::error::Result;
use mcpkg_core::op::Context;
use serde_json::Value;

/// Runs an operation in this process, and returns its data.
fn run(context: &Context, command: &[&str], arguments: Value) -> Result<Value> {
    let entry = mcpkg::DOMAINS.operations().find(|entry| entry.cli == command).expect("an operation");
    entry.from_agent(arguments)?.run(context).map(|reply| reply.data)
}
