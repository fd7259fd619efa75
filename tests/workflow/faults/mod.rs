//! Tests runs during failures: killed processes, full disks, broken APIs, concurrent callers, and changed clocks.

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

/// A workflow that requests a list again and again until the list contains `go`, and then creates a database.
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

/// Requests a workflow as an agent, approves it, and returns the arguments that run it.
#[track_caller]
fn approved(ground: &Ground, client: &mut Client, yaml: &str, inputs: &Value) -> Value {
    let mut arguments = json!({ "yaml": yaml, "inputs": inputs, "wait_s": 0 });
    let asked = execute(client, arguments.clone());
    assert_eq!(code(&asked), "E_CONSENT_REQUIRED", "{asked}");
    ground.approve(&asked);
    arguments["nonce"] = asked["error"]["details"]["nonce"].clone();
    arguments
}

/// Starts an approved workflow in a server, without waiting for its end. Returns the run's id.
#[track_caller]
pub fn begun(ground: &Ground, client: &mut Client, yaml: &str) -> String {
    let arguments = approved(ground, client, yaml, &json!({}));
    let begun = execute(client, arguments);
    assert_eq!(code(&begun), "ok", "{begun}");
    begun["run"].as_str().expect("an id").to_owned()
}

/// Calls `execute` in a server that may be killed meanwhile. Returns the result, or `None` if the server was killed.
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

/// Returns the attempts of a run as `mcpkg workflow runs RUN` shows them, each with its step's id.
fn attempts(run: &Value) -> Vec<(String, Value)> {
    let steps = run["steps"].as_array().expect("steps");
    let of = |step: &Value| {
        let id = step["id"].as_str().expect("an id").to_owned();
        let attempts = step["attempts"].as_array().expect("attempts").clone();
        attempts.into_iter().map(move |attempt| (id.clone(), attempt))
    };
    steps.iter().flat_map(of).collect()
}

/// Returns the number of attempts that were recorded for requests.
fn requests_noted(run: &Value) -> usize {
    attempts(run).iter().filter(|(_, attempt)| attempt.get("method").is_some()).count()
}
