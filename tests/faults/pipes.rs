//! Tests with clients that disconnect, or that stay connected and read nothing.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use serde_json::json;

use super::content_of;
use crate::support::{Client, Raw, Scratch, call, eventually, memory, request, signal};

/// Returns a scratch with the resource `file:///big.txt` of this many bytes.
fn with_big(size: usize) -> Scratch {
    let scratch = Scratch::with_project();
    let file = scratch.file("big.txt", content_of("big", size));
    scratch.ok(&["resource", "create", "big", "file:///big.txt", &format!("@{}", file.display())]);
    scratch
}

#[test]
fn f19_a_command_whose_output_is_closed_exits_quietly() {
    let scratch = with_big(1 << 20);
    for n in 0..5 {
        scratch.ok(&["prompt", "create", &format!("n{n}"), "x"]);
    }
    for (arguments, reads) in [
        (&["--help"][..], 0),
        (&["prompt", "--help"], 0),
        (&["--version"], 0),
        (&["prompt", "list"], 0),
        (&["prompt", "list"], 1),
        (&["--json", "prompt", "list"], 1),
        (&["resource", "show", "big"], 1),
        (&["project", "list"], 0),
        (&["completions", "bash"], 1),
        (&["man", "pages"], 0),
        (&["no-such-command"], 0),
    ] {
        let mut command = scratch.command();
        let mut child =
            command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        let mut stdout = BufReader::with_capacity(16, child.stdout.take().expect("a pipe"));
        for _ in 0..reads {
            stdout.read_until(b'\n', &mut Vec::new()).expect("a line");
        }
        drop(stdout);
        let ended = child.wait_with_output().expect("it ends");
        let stderr = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.code().is_some_and(|code| code <= 2), "{arguments:?}: {}", ended.status);
        assert!(!stderr.contains("panicked") && !stderr.contains("pipe"), "{arguments:?}: {stderr}");
    }
}

#[test]
fn f19_events_follow_ends_when_nobody_reads_it() {
    let scratch = Scratch::with_project();
    let mut follower = Raw::spawn(&scratch, scratch.command().args(["events", "--follow", "--json"]));
    let first = follower.line().expect("the first event");
    assert_eq!(first["kind"], "project.create");
    follower.output = None;
    scratch.ok(&["prompt", "create", "n", "x"]);
    assert!(follower.ended().code().is_some_and(|code| code <= 1));
    assert_eq!(follower.stderr(), "");
}

#[test]
fn events_follow_shows_new_events_and_nothing_else() {
    let scratch = Scratch::with_project();
    let mut follower = Raw::spawn(&scratch, scratch.command().args(["events", "--follow", "--limit", "1", "--json"]));
    assert_eq!(follower.line().expect("the newest event")["kind"], "project.create");
    scratch.ok(&["prompt", "create", "n", "x"]);
    assert_eq!(follower.line().expect("what came")["kind"], "prompt.create");
    signal(follower.pid(), "INT");
    assert!(follower.rest().is_empty());
    assert_eq!(follower.ended().code(), Some(0));
    // With `--limit 0`, earlier events are not shown.
    let mut follower = Raw::spawn(&scratch, scratch.command().args(["events", "--follow", "--limit", "0", "--json"]));
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let first = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                scratch.ok(&["prompt", "create", "again", "x"]);
                scratch.ok(&["prompt", "delete", "again", "--yes"]);
            }
        });
        let first = follower.line();
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        first.expect("what came")
    });
    assert_eq!(first["subject"], "again", "{first}");
}

#[test]
fn f19_a_server_whose_client_is_gone_ends_quietly() {
    let scratch = Scratch::with_project();
    for hot in [true, false] {
        let mut server = Raw::start(&scratch, &[]);
        server.output = None;
        // The output is closed, but the input stays open.
        let method = if hot { "prompts/list" } else { "tools/list" };
        for id in 1..50 {
            server.write(request(id, method, &json!({})));
        }
        // A child that another test has just forked may hold the output open until it runs its own program. Until then,
        // the server's writes succeed, so keep writing.
        server.write_until_it_ends(&request(50, method, &json!({})));
        assert!(server.ended().success(), "{}", server.stderr());
        server.assert_no_panic();
    }
}

#[test]
fn a_server_ends_when_its_client_disconnects_while_requests_with_one_id_wait() {
    let scratch = Scratch::with_project();
    let mut server = Raw::start(&scratch, &[]);
    let one = call(7, "create_prompt", &json!({ "name": "x", "content": "y" }));
    server.write(one.repeat(60));
    server.output = None;
    server.input = None;
    assert!(server.ended().success(), "{}", server.stderr());
    server.assert_no_panic();
}

#[test]
fn a_client_that_goes_away_in_the_middle_of_an_answer_harms_nobody_else() {
    let scratch = with_big(1 << 20);
    let mut other = Client::legacy(&scratch, "2025-06-18");
    for tool in [false, true] {
        let mut server = Raw::start(&scratch, &[]);
        server.write(match tool {
            true => call(1, "read_resource", &json!({ "uri": "file:///big.txt" })),
            false => request(1, "resources/read", &json!({ "uri": "file:///big.txt" })),
        });
        let mut beginning = [0; 1000];
        server.output.as_mut().expect("the output").read_exact(&mut beginning).expect("the beginning of the answer");
        server.output = None;
        assert!(!other.call("create_prompt", json!({ "name": format!("while-{tool}"), "content": "x" })).1);
        let got = other.result("resources/read", json!({ "uri": "file:///big.txt" }));
        assert_eq!(got["contents"][0]["text"].as_str().map(str::len), Some(1 << 20));
        server.input = None;
        server.ended();
        server.assert_no_panic();
    }
    other.finish();
}

#[test]
fn f20_a_client_that_never_reads_costs_little_and_holds_up_nobody() {
    let scratch = with_big(1 << 20);
    for tool in [false, true] {
        let mut server = Raw::start(&scratch, &[]);
        let requests: String = (1..=100)
            .map(|id| match tool {
                true => call(id, "read_resource", &json!({ "uri": "file:///big.txt" })),
                false => request(id, "resources/read", &json!({ "uri": "file:///big.txt" })),
            })
            .collect();
        server.write(&requests);
        // Another client reads and writes while the answers wait.
        let mut other = Client::legacy(&scratch, "2025-06-18");
        for n in 0..30 {
            let name = format!("{tool}-{n}");
            assert!(!other.call("create_prompt", json!({ "name": name, "content": "x" })).1);
            assert!(other.result("prompts/get", json!({ "name": name })).is_object());
        }
        other.finish();
        // The server's memory stops growing, and stays far below the size of a hundred answers.
        let mut last = 0;
        let held = eventually("the memory stands still", || {
            std::thread::sleep(std::time::Duration::from_millis(200));
            let now = memory(server.pid(), "VmRSS");
            (std::mem::replace(&mut last, now) == now).then_some(now)
        });
        eprintln!("unread answers (tool: {tool}) hold {held} KiB");
        assert!(held < 100 << 10, "{held} KiB");
        signal(server.pid(), "TERM");
        server.ended();
        server.assert_no_panic();
    }
}
