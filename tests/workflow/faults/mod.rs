//! Runs among what goes wrong: killed processes, full disks, APIs that break, two who do the same, a clock that goes back.

mod disks;
mod ends;
mod graphs;
mod killed;
mod network;
mod planted;
mod together;

use std::time::Duration;

use serde_json::{Value, json};

use super::runs::{Ground, code, execute};
use crate::support::{Client, Wait};

/// Waits for a database that is never ready, a request at a time; then creates an app.
pub const WAITING: &str = "\
workflow: waiting
steps:
  - id: wait
    run: hosting:apps:list
    repeat: { until: '${{ steps.wait.output[0].id == \"go\" }}', every: 50ms, timeout: 10m, max_attempts: 10000 }
  - id: make
    run: hosting:databases:create
    depends_on: [wait]
    with: { plan: small, app_id: app-1 }
";

/// Has a workflow approved that an agent asks for, and returns the arguments that run it.
#[track_caller]
fn approved(ground: &Ground, client: &mut Client, yaml: &str, inputs: &Value) -> Value {
    let mut arguments = json!({ "yaml": yaml, "inputs": inputs, "wait_s": 0 });
    let asked = execute(client, arguments.clone());
    assert_eq!(code(&asked), "E_CONSENT_REQUIRED", "{asked}");
    ground.approve(&asked);
    arguments["nonce"] = asked["error"]["details"]["nonce"].clone();
    arguments
}

/// Has a workflow begun in a server that does not wait for its end, and returns the id of the run.
#[track_caller]
pub fn begun(ground: &Ground, client: &mut Client, yaml: &str) -> String {
    let arguments = approved(ground, client, yaml, &json!({}));
    let begun = execute(client, arguments);
    assert_eq!(code(&begun), "ok", "{begun}");
    begun["run"].as_str().expect("an id").to_owned()
}

/// Calls `execute` in a server that may be killed meanwhile; returns what it answered, if it did.
#[track_caller]
fn execute_or_die(client: &mut Client, mut arguments: Value) -> Option<Value> {
    arguments["wait_s"] = json!(50);
    let id = client.post("tools/call", json!({ "name": "execute", "arguments": arguments }));
    loop {
        match client.wait(Duration::from_secs(60)) {
            Wait::Line(line) if line["id"] == id && line.get("method").is_none() => {
                return Some(line["result"]["structuredContent"].clone());
            }
            Wait::Line(_) => {}
            Wait::Closed => return None,
            Wait::Nothing => panic!("neither an answer nor an end"),
        }
    }
}

/// The attempts at the steps of a run, as `mcpkg workflow runs RUN` shows them: each with the id of its step.
fn attempts(run: &Value) -> Vec<(String, Value)> {
    let steps = run["steps"].as_array().expect("steps");
    let of = |step: &Value| {
        let id = step["id"].as_str().expect("an id").to_owned();
        let attempts = step["attempts"].as_array().expect("attempts").clone();
        attempts.into_iter().map(move |attempt| (id.clone(), attempt))
    };
    steps.iter().flat_map(of).collect()
}

/// How many of them were noted before a request left.
fn requests_noted(run: &Value) -> usize {
    attempts(run).iter().filter(|(_, attempt)| attempt.get("method").is_some()).count()
}
