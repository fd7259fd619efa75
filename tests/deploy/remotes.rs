//! Tests git sources whose remote does not answer. Other calls go on. If a call is cancelled or mcpkg is asked to end,
//! the git processes that it started end too.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::deploy::answers::{checked, tool_data};
use crate::deploy::place::Place;
use crate::support::{Client, at_a_terminal, eventually, signal, skipped};

/// The number of plans that hang at once: even a machine with two processors must cope with them.
const HUNG: usize = 4;

/// How many hanging plans of one client run at once. Further ones wait for a thread.
const THREADS: usize = 8;

/// Returns a place with a project, a config repo with a git source, and a fake git that starts a child process. Both
/// processes hang.
pub(super) fn hung() -> Place {
    let place = Place::with_project();
    place.declare(&["codex: project"], &[]);
    let module = "  - {id: 'skill:s', type: skill, tags: [base], source: {git: {url: 'https://git.invalid/s'}}}\n";
    let manifest = place.read("repo/agentpack.yaml");
    place.write("repo/agentpack.yaml", format!("{manifest}{module}"));
    let folder = place.scratch.path().display().to_string();
    let script = format!("#!/bin/sh\nsleep 1000 &\necho $$ $! >> '{folder}/started'\nwait\n");
    let git = place.write("bin/git", script);
    std::fs::set_permissions(git, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    place
}

pub(super) fn with_git_of(place: &Place) -> Command {
    let path = std::env::var("PATH").expect("a PATH");
    let mut command = place.command();
    command.env("PATH", format!("{}:{path}", place.scratch.path().join("bin").display()));
    command
}

/// Returns the ids of the processes of the hung git.
pub(super) fn started(place: &Place) -> Vec<u32> {
    let text = std::fs::read_to_string(place.scratch.path().join("started")).unwrap_or_default();
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    whole.split_whitespace().map(|id| id.parse().expect("an id")).collect()
}

pub(super) fn runs(id: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{id}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

/// Starts a server with [`HUNG`] plans that hang.
fn server(place: &Place) -> (Client, Vec<i64>) {
    let mut client = Client::spawn(with_git_of(place).arg("serve")).shake_hands("2025-06-18");
    let plan = json!({ "name": "plan", "arguments": place.arguments(json!({})) });
    let plans = (0..HUNG).map(|_| client.post("tools/call", plan.clone())).collect();
    eventually("every plan asks its remote", || (started(place).len() == 2 * HUNG).then_some(()));
    (client, plans)
}

#[test]
fn while_remotes_hang_everything_else_is_answered() {
    let place = hung();
    let (mut client, plans) = server(&place);
    // Meanwhile, the server answers protocol requests, reads and writes, and another process deploys from the same
    // database.
    client.result("prompts/list", json!({}));
    let (listed, failed) = client.call("list_prompts", json!({}));
    assert!(!failed && listed.contains("review"), "{listed}");
    assert!(!client.call("create_prompt", json!({ "name": "new", "content": "x" })).1);
    tool_data(&mut client, "status", json!({}));
    place.deploy(&[]);
    // A writing call that waits for its remote does not delay later reads.
    let arguments = place.arguments(json!({ "yes": true, "dry_run": true }));
    client.post("tools/call", json!({ "name": "deploy_apply", "arguments": arguments }));
    eventually("the apply asks its remote", || (started(&place).len() == 2 * HUNG + 2).then_some(()));
    assert!(!client.call("list_prompts", json!({})).1);
    place.prompt("review", "Review again.\n");
    place.deploy(&[]);

    // Cancelling a call ends the processes that were started for it.
    let before = started(&place);
    for id in &plans {
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }));
    }
    eventually("the git of cancelled plans ends", || {
        (before.iter().filter(|id| runs(**id)).count() == 2).then_some(())
    });
    assert!(!client.call("list_prompts", json!({})).1);
    // The apply waits for its remote until the server ends.
    signal(client.pid(), "TERM");
    assert!(client.ended().success());
    assert!(!started(&place).into_iter().any(runs), "git has ended");
}

#[test]
fn more_hanging_calls_than_threads_delay_no_other_call() {
    let place = hung();
    let mut client = Client::spawn(with_git_of(&place).arg("serve")).shake_hands("2025-06-18");
    let plan = json!({ "name": "plan", "arguments": place.arguments(json!({})) });
    let plans: Vec<i64> = (0..THREADS + 2).map(|_| client.post("tools/call", plan.clone())).collect();
    let apply =
        json!({ "name": "deploy_apply", "arguments": place.arguments(json!({ "yes": true, "dry_run": true })) });
    let apply = client.post("tools/call", apply);
    // Calls of another tool have their own threads, so the apply runs too.
    eventually("as many ask their remote as may", || (started(&place).len() == 2 * (THREADS + 1)).then_some(()));
    // Some calls wait for a thread, one of them a writing call. Later reads and writes do not wait for them.
    client.result("prompts/list", json!({}));
    assert!(!client.call("list_prompts", json!({})).1);
    assert!(!client.call("create_prompt", json!({ "name": "new", "content": "x" })).1);
    assert!(client.call("get_prompt", json!({ "name": "new" })).0.contains('x'));
    // If a hanging call is cancelled, the next one gets its thread.
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": plans[0] } }));
    eventually("the next one begins", || (started(&place).len() == 2 * (THREADS + 2)).then_some(()));
    signal(client.pid(), "TERM");
    for id in plans[1..].iter().chain([&apply]) {
        let answer = client.answer(&json!(id));
        assert!(answer["error"].is_object() || answer["result"]["isError"] == true, "{answer}");
    }
    assert!(client.ended().success());
    for id in started(&place) {
        eventually("git has ended", || (!runs(id)).then_some(()));
    }
}

#[test]
fn a_server_that_is_asked_to_end_also_ends_what_it_started() {
    let place = hung();
    let (mut client, plans) = server(&place);
    signal(client.pid(), "TERM");
    for id in plans {
        let answer = client.answer(&json!(id));
        let envelope = checked("plan", &answer["result"]);
        assert_eq!(envelope["errors"][0]["code"], "E_CANCELLED", "{envelope:#}");
    }
    assert!(client.ended().success());
    for id in started(&place) {
        eventually("git has ended", || (!runs(id)).then_some(()));
    }
}

#[test]
fn an_interrupted_command_also_ends_what_it_started() {
    let place = hung();
    let mut command = with_git_of(&place);
    let repo = place.repo().display().to_string();
    command.args(["--json", "plan", "--repo", &repo]).stdout(std::process::Stdio::piped());
    let child = command.spawn().expect("mcpkg starts");
    eventually("the remote is asked", || (started(&place).len() == 2).then_some(()));
    let begun = Instant::now();
    signal(child.id(), "INT");
    let output = child.wait_with_output().expect("it ends");
    assert!(begun.elapsed() < Duration::from_secs(10));
    assert_eq!(output.status.code(), Some(130));
    let envelope: Value = serde_json::from_slice(&output.stdout).expect("an envelope");
    assert_eq!(envelope["errors"][0]["code"], "E_CANCELLED", "{envelope:#}");
    for id in started(&place) {
        eventually("git has ended", || (!runs(id)).then_some(()));
    }
}

#[test]
fn a_terminal_shows_that_something_is_fetched() {
    let place = Place::with_git_source(&["codex: project"]);
    let mut command = place.command();
    command.env("TERM", "xterm").args(["plan", "--repo"]).arg(place.repo());
    match at_a_terminal(&command, "") {
        Some((shown, ok)) => assert!(ok && shown.contains("Fetching"), "{shown}"),
        None => skipped("there is no script(1)"),
    }
    let quiet = place.run(&["plan", "--repo", place.repo().to_str().expect("a path")]);
    assert!(quiet.status == 0 && !quiet.stderr.contains("Fetching"), "{quiet}");
}
