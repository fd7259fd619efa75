//! Tests that run commands and workflows: the checks before a run, the engine, and what a run stores.

mod approved;
mod confirmed;
mod control;
mod gates;
mod nonces;
mod noted;
mod passwords;
mod progress;
mod prompts;
mod retried;
mod runner;
mod screen;
mod secrets;
mod steps;
mod values;
mod widened;

use std::sync::Arc;

use mcpkg_core::consent::request;
use mcpkg_core::op::{Confirmation, Context};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::api::Api;
use crate::support::{Client, Scratch};

/// A database with a project and the fixture imported as `hosting`, and the API that serves the fixture.
pub struct Ground {
    pub api: Api,
    pub scratch: Scratch,
}

impl Ground {
    pub fn new() -> Self {
        Self::on(Scratch::with_database())
    }

    /// Like [`Ground::new`], but uses an existing scratch folder and database.
    pub fn on(scratch: Scratch) -> Self {
        let api = Api::start();
        scratch.ok(&["project", "create", "p"]);
        let document = format!("{}/tests/fixtures/api/hosting.json", env!("CARGO_MANIFEST_DIR"));
        scratch.ok(&["catalog", "import", &document, "--prefix", "hosting", "--base-url", &api.base()]);
        Self { api, scratch }
    }

    /// Returns the context of a person at a terminal who answers every question with yes.
    pub fn person(&self) -> Context {
        person(&self.scratch)
    }

    /// Approves, as a person, the request that `asked` contains.
    pub fn approve(&self, asked: &Value) {
        approve(&self.scratch, asked);
    }

    /// Returns the number of requests to the API that change something.
    pub fn changes(&self) -> usize {
        ["POST", "PUT", "PATCH", "DELETE"].iter().map(|method| self.api.count(method)).sum()
    }

    /// Returns the run. Fails if there is not exactly one.
    #[track_caller]
    pub fn run(&self) -> Value {
        let runs = self.scratch.json(&["workflow", "runs"]);
        let ids: Vec<&str> =
            runs["runs"].as_array().expect("runs").iter().filter_map(|run| run["run"].as_str()).collect();
        assert_eq!(ids.len(), 1, "{runs}");
        self.scratch.json(&["workflow", "runs", ids[0]])
    }
}

/// Returns the context of a person at a terminal who answers every question with yes.
fn person(scratch: &Scratch) -> Context {
    Context { confirmation: Confirmation::Ask, ask: Arc::new(|_, _| Ok(())), ..scratch.context() }
}

/// Approves, as a person, the consent request in the error `asked`.
pub fn approve(scratch: &Scratch, asked: &Value) {
    let id = asked["error"]["details"]["consent"].as_str().expect("a request");
    approved(&person(scratch), Uuid::parse_str(id).expect("an id"), None);
}

/// Approves a request, as a person who has seen its current state.
pub fn approved(person: &Context, id: Uuid, note: Option<&str>) {
    let shown = request::waiting(person, id, person.clock.now()).expect("a request");
    request::approve(person, &shown, note).expect("it is approved");
}

/// Calls `execute` and returns the structured content of the result.
pub fn execute(client: &mut Client, arguments: Value) -> Value {
    let result = client.result("tools/call", json!({ "name": "execute", "arguments": arguments }));
    let object = result["structuredContent"].clone();
    assert_eq!(result["isError"] == true, object.get("error").is_some(), "{result}");
    assert_eq!(object.as_object().and_then(|object| object.keys().next()).map(String::as_str), Some("schema_version"));
    object
}

/// Returns the error code of a result, or `ok`.
pub fn code(object: &Value) -> &str {
    object["error"]["code"].as_str().unwrap_or("ok")
}

/// Returns the arguments of `execute` that create an app.
pub fn create() -> Value {
    json!({ "command": "hosting:apps:create", "args": { "name": "web", "region": "eu" }, "wait_s": 0 })
}

/// Returns the arguments with the nonce from the consent request `asked`, and with time to wait for the run.
pub fn with_nonce(arguments: &Value, asked: &Value) -> Value {
    let mut arguments = arguments.clone();
    arguments["nonce"] = asked["error"]["details"]["nonce"].clone();
    arguments["wait_s"] = json!(20);
    arguments
}
