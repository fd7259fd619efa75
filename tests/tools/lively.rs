//! Tests long runs: the client is notified of progress, and no process remains however the run ends.

use std::time::Duration;

use serde_json::{Value, json};

use super::trusting;
use crate::support::{Client, Http, Scratch, Wait, eventually, http, running, signal, skipped};

/// Returns a duration for `sleep` that no other process uses, so that the tool's processes can be found by it.
fn mark(number: u32) -> String {
    format!("{number}{:07}.5", std::process::id())
}

#[track_caller]
fn wait_until_it_runs(mark: &str) {
    eventually("the tool runs", || (running(&format!("sleep {mark}")) > 0).then_some(()));
}

#[track_caller]
fn wait_until_it_is_gone(mark: &str) {
    eventually("no process is left", || (running(mark) == 0).then_some(()));
}

/// Returns a scratch folder with an installed tool that prints something and sleeps. Returns `None` if no tool can run
/// on this machine.
fn sleeper(mark: &str) -> Option<Scratch> {
    let scratch = Scratch::new();
    scratch.file(
        "sleeper/enact.yaml",
        format!(
            "name: alice/sleeper\nversion: 1.0.0\ndescription: Sleeps\n\
             command: \"echo begun >&2; printf 'half of a li' >&2; (setsid sleep {mark} &); sleep {mark}; echo done\"\n"
        ),
    );
    scratch.file("true/enact.yaml", "name: test/true\nversion: 1.0.0\ndescription: Does nothing\ncommand: \"true\"\n");
    let ran = scratch.run(&["--json", "tool", "run", "./true"]);
    if ran.stdout.contains("E_RUNNER_UNAVAILABLE") {
        skipped("bubblewrap does not run here");
        return None;
    }
    scratch.ok(&["tool", "publish", "sleeper", "--to", "local"]);
    scratch.ok(&["tool", "key", "new"]);
    let signed = scratch.json(&["tool", "sign", "alice/sleeper"]);
    trusting(&scratch, signed["identity"].as_str().expect("an identity"));
    scratch.ok(&["tool", "install", "alice/sleeper"]);
    Some(scratch)
}

/// Returns the outcome of the newest run.
fn outcome(scratch: &Scratch) -> Value {
    scratch.json(&["tool", "runs", "--tool", "alice/sleeper"])["runs"][0]["outcome"].clone()
}

fn call() -> Value {
    json!({ "name": "alice__sleeper", "arguments": {}, "_meta": { "progressToken": "t" } })
}

#[test]
fn a_run_reports_progress_and_can_be_cancelled() {
    let mark = mark(1);
    let Some(scratch) = sleeper(&mark) else { return };
    let mut client = Client::legacy(&scratch, "2025-06-18");
    client.result("logging/setLevel", json!({ "level": "info" }));
    let id = client.post("tools/call", call());
    wait_until_it_runs(&mark);
    let progress = client.notification("notifications/progress")["params"].clone();
    assert_eq!(progress["progressToken"], "t");
    let told = progress["message"].as_str().expect("a message").to_owned();
    assert!(told.starts_with("alice/sleeper has been running for ") && told.ends_with(" s: begun"), "{told}");
    let logged = client.notification("notifications/message")["params"].clone();
    assert_eq!((&logged["level"], &logged["data"]), (&json!("info"), &json!(told)));
    // The run blocks no other request, and a second notification follows.
    client.result("tools/list", json!({}));
    let later = client.notification("notifications/progress")["params"]["progress"].as_f64();
    assert!(later > progress["progress"].as_f64(), "{later:?}");
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }));
    wait_until_it_is_gone(&mark);
    client.result("ping", json!({}));
    client.finish();
    assert_eq!(outcome(&scratch), "E_CANCELLED");
}

#[test]
fn no_process_remains_after_signals_or_a_closed_pipe() {
    for (number, end) in [(2, "close"), (3, "TERM"), (4, "KILL")] {
        let mark = mark(number);
        let Some(scratch) = sleeper(&mark) else { return };
        let mut client = Client::legacy(&scratch, "2025-06-18");
        client.post("tools/call", call());
        wait_until_it_runs(&mark);
        match end {
            // If the client closes its input, the server may still finish the request. So also terminate the server.
            "close" => {
                client.close_input();
                signal(client.pid(), "TERM");
            }
            end => signal(client.pid(), end),
        }
        wait_until_it_is_gone(&mark);
        client.ended();
    }
}

#[test]
fn a_run_ends_if_its_http_client_disconnects() {
    let mark = mark(5);
    let Some(scratch) = sleeper(&mark) else { return };
    let mut server = Http::start(&scratch, &[]);
    let request = http::modern("/mcp", "tools/call", call())
        .edited(|message| message["params"]["_meta"]["progressToken"] = json!("t"));
    let events = server.open(&request);
    wait_until_it_runs(&mark);
    drop(events);
    wait_until_it_is_gone(&mark);
    eventually("the row is written", || (outcome(&scratch) == "E_CANCELLED").then_some(()));
    server.end();
    server.ended();
}

#[test]
fn a_run_blocks_neither_reads_nor_the_end_of_the_server() {
    let mark = mark(6);
    let Some(scratch) = sleeper(&mark) else { return };
    let mut client = Client::legacy(&scratch, "2025-06-18");
    for _ in 0..3 {
        client.post("tools/call", call());
    }
    eventually("two of them run", || (running(&format!("sleep {mark}")) >= 4).then_some(()));
    for method in ["tools/list", "prompts/list", "resources/list"] {
        client.result(method, json!({}));
    }
    assert!(!matches!(client.wait(Duration::from_millis(1)), Wait::Closed));
    signal(client.pid(), "TERM");
    client.ended();
    wait_until_it_is_gone(&mark);
}
