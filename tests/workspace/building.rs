//! Tests of running builds: what ends them, two builds at once, who may start them, and how many are kept.

use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Client, Wait, eventually, signal};
use crate::workspace::builds::{Builds, assert_gone, build, refused, runs};

/// A command that starts another process, writes its id to the workspace's file `child`, and waits for it.
const PARENT: &str = "build_cmd = \"sh -c 'sleep 1000 & echo $! > ../new; mv ../new ../child; wait'\"\n";

/// Like [`PARENT`], but both processes ignore SIGTERM.
const DEAF: &str = "build_cmd = \"sh -c 'trap : TERM; (trap \\\"\\\" TERM; exec sleep 1000) & echo $! > ../new; mv ../new ../child; while :; do wait; done'\"\n";

#[test]
fn x32_a_timeout_ends_a_command_and_its_child_processes() {
    let shop = Builds::new(&[("lib", &format!("timeout_secs = 1\n{PARENT}"))]);
    let (status, data) = shop.json(&["build"]);
    assert_eq!((status, &data["error"]["code"]), (6, &json!("E_BUILD_FAILED")), "{data:#}");
    let said = data["error"]["message"].as_str().expect("a message");
    assert!(said.starts_with("lib: build was stopped: it was still running after 1 s"), "{said}");
    assert_eq!(data["error"]["details"]["exit_code"], Value::Null);
    assert_gone(shop.process("child"));
}

#[test]
fn x32_processes_that_ignore_sigterm_are_killed() {
    let shop = Builds::new(&[("lib", &format!("timeout_secs = 1\n{DEAF}"))]);
    let begun = Instant::now();
    assert_eq!(shop.json(&["build"]).0, 6);
    assert!(begun.elapsed() > Duration::from_secs(5), "it had five seconds to end by itself");
    assert_gone(shop.process("child"));
}

#[test]
fn x32_ctrl_c_ends_a_build_and_reports_it() {
    let shop = Builds::new(&[("lib", PARENT), ("api", "build_cmd = \"true\"")]);
    let mut command = shop.command();
    let child =
        command.args(["--json", "build"]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("mcpkg starts");
    let grandchild = shop.process("child");
    signal(child.id(), "INT");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130));
    let data: Value = serde_json::from_slice(&output.stdout).expect("one document");
    assert_eq!(data["error"]["code"], "E_CANCELLED", "{data:#}");
    assert_eq!(data["error"]["details"]["results"][1]["skipped"], true);
    assert_gone(grandchild);
    assert_eq!(shop.json(&["builds", "list"]).1["builds"][0]["result"], "failed");
}

#[test]
fn x32_cancelling_a_call_or_ending_the_server_ends_a_build() {
    let shop = Builds::new(&[("lib", PARENT)]);
    let Some(mut client) = shop.trusted_server() else { return };
    let id = client.post("tools/call", json!({ "name": "smctl_build", "arguments": {} }));
    let first = shop.process("child");
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }));
    assert_gone(first);
    // The server still works.
    client.result("ping", json!({}));
    std::fs::remove_file(shop.root().join("child")).expect("a file");
    client.post("tools/call", json!({ "name": "smctl_build", "arguments": {} }));
    let second = shop.process("child");
    signal(client.pid(), "TERM");
    client.ended();
    assert!(!runs(second), "it ended before the server did");
}

#[test]
fn a_build_ends_with_the_client_that_asked_for_it() {
    let shop = Builds::new(&[("lib", PARENT)]);
    let Some(client) = shop.trusted_server() else { return };
    client.finish();
    // The pipes of a killed client are both closed at once.
    let mut server =
        shop.command().arg("serve").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a server");
    let mut input = server.stdin.take().expect("an input");
    let hello =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "c", "version": "1" } });
    let lines = [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "smctl_build", "arguments": {} } }),
    ];
    for line in lines {
        std::io::Write::write_all(&mut input, format!("{line}\n").as_bytes()).expect("the server reads");
    }
    let grandchild = shop.process("child");
    drop((input, server.stdout.take()));
    assert_gone(grandchild);
    eventually("the server ends", || server.try_wait().expect("a child"));
}

#[test]
fn two_builds_at_once_are_both_kept() {
    let keys = "build_cmd = \"sh -c 'echo x >> ../begun; while test $(wc -l < ../begun) -lt 2; do sleep 0.01; done'\"";
    let shop = Builds::new(&[("lib", keys)]);
    // Each build waits until the other has begun.
    let begin = || {
        let mut command = shop.command();
        command.args(["--json", "build"]).stdout(Stdio::piped()).spawn().expect("mcpkg starts")
    };
    let both = [begin(), begin()];
    for child in both {
        let output = child.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
    let (_, listed) = shop.json(&["builds", "list"]);
    let results: Vec<_> = listed["builds"].as_array().expect("builds").iter().map(|run| &run["result"]).collect();
    assert_eq!(results, ["passed", "passed"]);
}

#[test]
fn repositories_of_a_level_are_built_at_the_same_time() {
    let waits = |own: &str, other: &str| {
        format!(
            "build_cmd = \"sh -c 'echo > ../{own}; while ! test -e ../{other}; do sleep 0.01; done'\"\ntimeout_secs = 60"
        )
    };
    let shop = Builds::new(&[("a", &waits("one", "two")), ("b", &waits("two", "one"))]);
    assert_eq!(shop.json(&["build", "--parallel", "--jobs", "2"]).0, 0);
}

#[test]
fn an_agents_first_build_needs_a_persons_consent_and_so_does_one_of_other_commands() {
    let shop = Builds::new(&[("lib", "build_cmd = \"sh -c 'echo >> ../ran'\""), ("api", "build_cmd = \"true\"")]);
    // A person's build gives no consent for agents.
    assert_eq!(shop.json(&["build"]).0, 0);
    assert_eq!(shop.read("ran"), "\n");
    let mut client = shop.server();
    let said = refused(&mut client, json!({}), "E_CONSENT_REQUIRED").to_string();
    assert!(said.contains("mcpkg consent approve") && said.contains("https://example.org/lib.git"), "{said}");
    assert!(said.contains("build: sh -c 'echo >> ../ran'") && said.contains("test: cargo test"), "{said}");
    assert_eq!(shop.read("ran"), "\n", "nothing was run");
    if !shop.consent() {
        return;
    }
    // One consent is enough for all builds, including builds of one repository.
    for arguments in [json!({}), json!({ "repo": "lib" })] {
        let answer = build(&mut client, arguments);
        assert_eq!(answer["result"]["structuredContent"]["all_passed"], true, "{answer:#}");
    }
    shop.write(&[("lib", "build_cmd = \"sh -c 'echo >> ../ran'\""), ("api", "build_cmd = \"true more\"")]);
    let answer = build(&mut client, json!({ "repo": "lib" }));
    assert_eq!(answer["result"]["isError"], false, "{answer:#}");
    let said = refused(&mut client, json!({}), "E_CONSENT_REQUIRED").to_string();
    assert!(said.contains("build: true more"), "{said}");
    assert!(!said.contains("lib.git"), "what was approved is not asked for again: {said}");
    client.finish();
}

#[test]
fn a_build_reports_progress_while_it_runs() {
    let shop = Builds::new(&[("lib", "build_cmd = \"true\""), ("api", "build_cmd = \"true\"")]);
    let Some(mut client) = shop.trusted_server() else { return };
    client.result("logging/setLevel", json!({ "level": "info" }));
    let call = json!({ "name": "smctl_build", "arguments": { "test": false }, "_meta": { "progressToken": "p" } });
    let id = client.post("tools/call", call);
    let answer = client.answer(&json!(id));
    assert_eq!(answer["result"]["isError"], false, "{answer:#}");
    let of = |method: &str| client.seen.iter().filter(|line| line["method"] == method).collect::<Vec<_>>();
    let progress = of("notifications/progress");
    assert!(
        progress[0]["params"]["message"].as_str().is_some_and(|said| said == "lib: build (1 of 2)"),
        "{progress:?}"
    );
    let values: Vec<f64> = progress.iter().filter_map(|line| line["params"]["progress"].as_f64()).collect();
    assert!(values.windows(2).all(|pair| pair[0] < pair[1]), "{values:?}");
    let said: Vec<&str> =
        of("notifications/message").iter().filter_map(|line| line["params"]["data"].as_str()).collect();
    assert!(
        said.contains(&"lib: build: true") && said.iter().any(|said| said.starts_with("api: build passed (")),
        "{said:?}"
    );
    client.finish();
}

#[test]
fn the_last_builds_are_kept_up_to_the_limit() {
    let shop = Builds::new(&[("lib", "build_cmd = \"sh -c 'echo $$'\"")]);
    assert_eq!(shop.run(&["limit", "set", "builds", "--number", "3"]).status, 0);
    let ids: Vec<Value> = (0..5).map(|_| shop.json(&["build"]).1["run"].clone()).collect();
    let (_, listed) = shop.json(&["builds", "list"]);
    let kept: Vec<Value> = listed["builds"].as_array().expect("builds").iter().map(|run| run["id"].clone()).collect();
    assert_eq!(kept, [ids[4].clone(), ids[3].clone(), ids[2].clone()]);
    assert_eq!(shop.json(&["check", "--deep"]).0, 0);
}

#[test]
fn a_build_whose_process_was_killed_is_listed_as_unfinished() {
    let shop = Builds::new(&[("lib", PARENT)]);
    let mut child = shop.command().arg("build").spawn().expect("mcpkg starts");
    let grandchild = shop.process("child");
    child.kill().expect("it is killed");
    child.wait().expect("it ended");
    let (_, listed) = shop.json(&["builds", "list"]);
    assert_eq!(listed["builds"][0]["result"], "unfinished", "{listed:#}");
    assert_eq!(shop.json(&["builds", "show"]).0, 0);
    // Nothing ends the process that a killed command had started.
    signal(grandchild, "KILL");
}

/// The client closes its input but still reads, so the build is not ended. A client that is gone ends its build: see
/// `a_build_ends_with_the_client_that_asked_for_it`.
#[test]
fn a_client_that_closes_its_input_but_still_reads_gets_its_answer() {
    let waits = "build_cmd = \"sh -c 'echo > ../begun; while test -d .. && ! test -e ../go; do sleep 0.01; done'\"";
    let shop = Builds::new(&[("lib", waits)]);
    let Some(mut client) = shop.trusted_server() else { return };
    let id = client.post("tools/call", json!({ "name": "smctl_build", "arguments": {} }));
    eventually("the build has begun", || shop.root().join("begun").exists().then_some(()));
    client.close_input();
    std::fs::write(shop.root().join("go"), "").expect("a file");
    let answer = client.answer(&json!(id));
    assert_eq!(answer["result"]["structuredContent"]["all_passed"], true, "{answer:#}");
    assert_eq!(client.wait(Duration::from_secs(10)), Wait::Closed);
    drop::<Client>(client);
}
