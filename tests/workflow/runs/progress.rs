//! Tests that clients are notified as each step ends: by progress messages, log messages and resource updates.

use std::time::Duration;

use serde_json::{Value, json};

use super::steps::TEXT;
use super::{Ground, code, execute, with_nonce};
use crate::support::api::Trouble;
use crate::support::{Client, Http, Request, http};

fn arguments() -> Value {
    json!({ "yaml": TEXT, "inputs": { "region": "eu", "plan": "small" } })
}

/// The notifications that a client received: progress messages with their numbers, and log messages.
#[derive(Default)]
struct Told {
    progress: Vec<(String, f64)>,
    log: Vec<String>,
}

impl Told {
    fn hear(&mut self, message: &Value) {
        let params = &message["params"];
        match message["method"].as_str() {
            Some("notifications/progress") => {
                assert_eq!(params["progressToken"], "t");
                let said = params["message"].as_str().unwrap_or_default().to_owned();
                self.progress.push((said, params["progress"].as_f64().expect("a number")));
            }
            Some("notifications/message") => self.log.extend(params["data"].as_str().map(str::to_owned)),
            _ => {}
        }
    }

    #[track_caller]
    fn tells_each_step(&self) {
        let steps: Vec<&str> = self.progress.iter().map(|(said, _)| said.as_str()).collect();
        for step in ["create_app", "add_db", "look"] {
            let line = format!("step {step}: succeeded");
            assert!(steps.iter().any(|said| said.contains(&line)), "{step}: {steps:?}");
            assert!(self.log.contains(&line), "{step}: {:?}", self.log);
        }
        assert!(self.progress.is_sorted_by(|before, after| before.1 < after.1), "{:?}", self.progress);
        assert!(
            self.log.iter().any(|line| line.starts_with("run ") && line.ends_with(": succeeded")),
            "{:?}",
            self.log
        );
    }
}

#[test]
fn each_step_is_reported_over_stdio() {
    let ground = Ground::new();
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    client.result("logging/setLevel", json!({ "level": "info" }));
    let asked = execute(&mut client, arguments());
    ground.approve(&asked);
    let call = json!({
        "name": "execute",
        "arguments": with_nonce(&arguments(), &asked),
        "_meta": { "progressToken": "t" },
    });
    let id = client.post("tools/call", call);
    let answer = client.answer(&json!(id));
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    let mut told = Told::default();
    client.seen.iter().for_each(|message| told.hear(message));
    told.tells_each_step();
    client.finish();
}

#[test]
fn each_step_is_reported_over_http() {
    let ground = Ground::new();
    let server = Http::start(&ground.scratch, &[]);
    let session = server.session("/mcp", "2025-11-25");
    let post = |method: &str, params: Value| {
        let events = server.open(&http::in_session("/mcp", &session, method, params));
        let mut told = Told::default();
        loop {
            let message = events.message();
            told.hear(&message);
            if message.get("id").is_some() {
                return (message, told);
            }
        }
    };
    post("logging/setLevel", json!({ "level": "info" }));
    let call =
        |arguments: Value| json!({ "name": "execute", "arguments": arguments, "_meta": { "progressToken": "t" } });
    let (asked, _) = post("tools/call", call(arguments()));
    let asked = asked["result"]["structuredContent"].clone();
    assert_eq!(code(&asked), "E_CONSENT_REQUIRED", "{asked}");
    ground.approve(&asked);
    // Log messages belong to no request, so they arrive on the session's own stream.
    let log = server.open(&Request::new("GET", "/mcp").with("Mcp-Session-Id", &session));
    let (answer, mut told) = post("tools/call", call(with_nonce(&arguments(), &asked)));
    assert_eq!(answer["result"]["structuredContent"]["state"], "succeeded", "{answer}");
    while !told.log.iter().any(|line| line.starts_with("run ")) {
        told.hear(&log.message());
    }
    told.tells_each_step();
}

#[test]
fn subscribers_of_a_run_are_notified_as_its_steps_end() {
    let ground = Ground::new();
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    let asked = execute(&mut client, arguments());
    ground.approve(&asked);
    ground.api.trouble([1, 2].map(|_| Trouble::Late(Duration::from_secs(1))));
    let mut begins = with_nonce(&arguments(), &asked);
    begins["wait_s"] = json!(0);
    let begun = execute(&mut client, begins);
    let uri = format!("mcpkg://run/{}", begun["run"].as_str().expect("an id"));
    client.result("resources/subscribe", json!({ "uri": uri }));
    let mut states = Vec::new();
    while states.last().is_none_or(|state| state != "succeeded") {
        let told = client.notification("notifications/resources/updated");
        assert_eq!(told["params"]["uri"], uri);
        let read = client.result("resources/read", json!({ "uri": uri }));
        let run: Value = serde_json::from_str(read["contents"][0]["text"].as_str().expect("a text")).expect("JSON");
        states.push(run["state"].as_str().expect("a state").to_owned());
    }
    assert!(states.len() >= 2, "{states:?}");
    client.finish();
}
