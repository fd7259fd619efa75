//! Tests of contract 004's phase II: fixtures, exposed workflows, inferred workflows, suggested providers and
//! templates.

mod exposed;
mod fixtures;
mod form;
mod infer;
mod suggest;
mod templates;

use serde_json::{Value, json};

use super::runs::{Ground, execute, with_nonce};
use super::saved::NOTE;
use crate::support::Client;

/// Creates an app and a database for it.
const APP: &str = "\
workflow: new_app
description: Creates an app with a database.
inputs:
  name: {description: What it is called, validate: {pattern: '^[a-z]+$'}}
  region: {enum: [eu, us], default: {from: literal, value: eu}}
steps:
  - id: create_app
    run: hosting:apps:create
    with: {name: '${{ inputs.name }}', region: '${{ inputs.region }}'}
  - id: add_db
    run: hosting:databases:create
    with: {plan: small, app_id: '${{ steps.create_app.output.id }}'}
final_output: {app: '${{ steps.create_app.output.id }}'}
";

/// Runs a workflow as an agent, with a person's approval. Returns the run.
fn run(ground: &Ground, client: &mut Client, text: &str, inputs: Value) -> Value {
    let arguments = json!({ "yaml": text, "inputs": inputs, "wait_s": 0 });
    let asked = execute(client, arguments.clone());
    ground.approve(&asked);
    let ran = execute(client, with_nonce(&arguments, &asked));
    assert_eq!(ran["state"], "succeeded", "{ran}");
    ran
}

/// Calls a tool and returns the object in its result.
fn call(client: &mut Client, tool: &str, arguments: Value) -> Value {
    let result = client.result("tools/call", json!({ "name": tool, "arguments": arguments }));
    let object = match result["structuredContent"].is_object() {
        true => result["structuredContent"].clone(),
        false => serde_json::from_str(result["content"][0]["text"].as_str().expect("a text")).expect("JSON"),
    };
    assert_eq!(result["isError"] == true, object.get("error").is_some(), "{result}");
    let first = object.as_object().and_then(|object| object.keys().next()).map(String::as_str);
    assert_eq!(first, Some("schema_version"), "{object}");
    object
}
