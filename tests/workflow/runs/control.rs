//! Tests that another process can pause and cancel a run.

use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::json;

use super::{Ground, code, create, execute, with_nonce};
use crate::support::api::Trouble;
use crate::support::{Client, eventually};

/// Starts a run whose first request gets no answer. Returns the run's id.
fn stalled(ground: &Ground, client: &mut Client) -> String {
    let asked = execute(client, create());
    ground.approve(&asked);
    ground.api.trouble([Trouble::Stall]);
    let mut arguments = with_nonce(&create(), &asked);
    arguments["wait_s"] = json!(0);
    let begun = execute(client, arguments);
    assert_eq!(code(&begun), "ok", "{begun}");
    let id = begun["run"].as_str().expect("an id");
    let hint = format!(
        r#"the run is still in progress; call execute with command mcpkg:workflow:runs and args {{"run":"{id}"}} to see its progress, and its output after it has ended"#
    );
    assert_eq!((&begun["state"], &begun["hint"]), (&json!("running"), &json!(hint)), "{begun}");
    let busy = execute(client, json!({ "run": id, "wait_s": 0 }));
    assert_eq!((code(&busy), &busy["error"]["hint"]), ("E_RUN_BUSY", &json!(hint)), "{busy}");
    eventually("the request came", || (ground.api.seen().len() == 1).then_some(()));
    id.to_owned()
}

fn state(ground: &Ground) -> String {
    ground.run()["state"].as_str().expect("a state").to_owned()
}

#[test]
fn x36_a_run_is_paused_during_a_request_and_resumed_with_the_same_key() {
    let ground = Ground::new();
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    let id = stalled(&ground, &mut client);
    let begun = Instant::now();
    ground.scratch.ok(&["workflow", "pause", &id]);
    eventually("it is paused", || (state(&ground) == "paused").then_some(()));
    assert!(begun.elapsed() < Duration::from_secs(8));
    let again = ground.scratch.run(&["workflow", "pause", &id]);
    assert!(again.status == 1 && again.stderr.contains("there is nothing to pause"), "{again}");
    let resumed = ground.scratch.json(&["workflow", "resume", &id]);
    assert_eq!(resumed["state"], "succeeded", "{resumed}");
    let keys: Vec<Option<String>> =
        ground.api.seen().iter().map(|seen| seen.headers.get("idempotency-key").cloned()).collect();
    assert!(keys.len() == 2 && keys[0].is_some() && keys[0] == keys[1], "{keys:?}");
    client.finish();
}

#[test]
fn a_run_is_canceled_during_a_request() {
    let ground = Ground::new();
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    let id = stalled(&ground, &mut client);
    ground.scratch.ok(&["workflow", "cancel", &id]);
    eventually("it is canceled", || (state(&ground) == "canceled").then_some(()));
    let run = ground.run();
    assert_eq!(run["steps"][0]["state"], "canceled", "{run}");
    let refused = ground.scratch.run(&["workflow", "resume", &id]);
    assert!(refused.status == 1 && refused.stderr.contains("has already ended"), "{refused}");
    client.finish();
    assert_eq!(ground.changes(), 1);
}

#[test]
fn the_exit_status_of_an_unfinished_run_is_not_success() {
    let ground = Ground::new();
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    let id = stalled(&ground, &mut client);
    for (verb, state_after, requests) in [("pause", "paused", 2), ("cancel", "canceled", 3)] {
        if verb == "pause" {
            ground.scratch.ok(&["workflow", "pause", &id]);
            eventually("it is paused", || (state(&ground) == "paused").then_some(()));
        }
        ground.api.trouble([Trouble::Stall]);
        let mut command = ground.scratch.command();
        command.args(["workflow", "resume", &id]).stdout(Stdio::piped()).stderr(Stdio::piped());
        let resuming = command.spawn().expect("it starts");
        eventually("the request came again", || (ground.api.seen().len() == requests).then_some(()));
        ground.scratch.ok(&["workflow", verb, &id]);
        let output = resuming.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(&format!("is {state_after}")), "{said}");
    }
    client.finish();
}

#[test]
fn a_run_without_a_process_is_canceled_at_once() {
    let ground = Ground::new();
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    let id = stalled(&ground, &mut client);
    client.kill();
    eventually("it is interrupted", || (state(&ground) == "interrupted").then_some(()));
    assert_eq!(ground.scratch.json(&["workflow", "cancel", &id])["state"], "canceled");
    assert_eq!(state(&ground), "canceled");
}

#[test]
fn runs_of_another_project_are_not_seen() {
    let ground = Ground::new();
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    let id = stalled(&ground, &mut client);
    ground.scratch.ok(&["project", "create", "q"]);
    let refused = ground.scratch.run(&["--project", "q", "workflow", "cancel", &id]);
    assert!(refused.status == 1 && refused.stderr.contains("There is no run"), "{refused}");
    client.kill();
}

#[test]
fn list_runs_returns_the_result_of_a_run_whose_caller_stopped_waiting() {
    let ground = Ground::new();
    for (identity, reads) in [("mcpkg", "execute"), ("assistant", "list_runs")] {
        let mut client = Client::start(&ground.scratch, &["--as", identity]).shake_hands("2025-06-18");
        let tools = client.result("tools/list", json!({}))["tools"].to_string();
        assert!(tools.contains(&format!(r#""name":"{reads}""#)), "{identity}");
        let asked = execute(&mut client, create());
        ground.approve(&asked);
        let mut arguments = with_nonce(&create(), &asked);
        arguments["wait_s"] = json!(0);
        let begun = execute(&mut client, arguments);
        assert_eq!(code(&begun), "ok", "{begun}");
        let id = begun["run"].as_str().expect("an id").to_owned();
        let arguments = match reads {
            "execute" => json!({ "command": "mcpkg:workflow:runs", "args": { "run": id } }),
            _ => json!({ "run": id }),
        };
        let call = json!({ "name": reads, "arguments": arguments });
        let read = eventually("it has ended", || {
            let answer = client.result("tools/call", call.clone())["structuredContent"].clone();
            let run = if reads == "execute" { answer["final_output"].clone() } else { answer };
            (run["state"] == "succeeded").then_some(run)
        });
        assert_eq!(read["final_output"]["name"], "web", "{read}");
        client.finish();
    }
}
