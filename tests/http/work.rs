//! Tests long work over HTTP: progress messages, cancellation, and clients that lose their connection.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Http, Request, Scratch, eventually, http};

/// Enough commands for a deploy to send progress.
const NOTICED: usize = 1000;

/// Enough commands to cancel a deploy before it ends.
const COMMANDS: usize = 3000;

/// A project with many commands and one rule, the folder to deploy them to, and a server.
struct Ground {
    scratch: Scratch,
    root: PathBuf,
    server: Http,
}

fn ground(commands: usize) -> Ground {
    let scratch = Scratch::with_project();
    for n in 0..commands {
        scratch.file(&format!("source/.claude/commands/c{n}.md"), format!("Do {n}\n"));
    }
    scratch.file("source/.claude/rules/r.md", "---\npaths: \"*.rs\"\n---\nBe terse.\n");
    scratch.ok(&["import", scratch.path().join("source/.claude").to_str().expect("a path")]);
    let root = scratch.path().join("root");
    std::fs::create_dir(&root).expect("a root");
    scratch.finish(scratch.command().current_dir(&root).args(["project", "select", "--here", "p"]));
    let mut command = scratch.command();
    command.current_dir(&root).args(["--json", "serve", "--http", "--sse", "--port", "0"]);
    let server = Http::spawn(&mut command);
    Ground { scratch, root, server }
}

impl Ground {
    /// Plans the deploy, and returns the arguments that apply it.
    fn confirmed(&self) -> Value {
        let planned = self.server.modern("/mcp", "tools/call", json!({ "name": "deploy", "arguments": {} }));
        let token = &planned["result"]["structuredContent"]["data"]["confirm_token"];
        assert!(token.is_string(), "{planned:#}");
        json!({
            "name": "deploy_apply",
            "arguments": { "yes": true, "confirm_token": token },
            "_meta": { "progressToken": "t" },
        })
    }

    /// Waits until the deploy has ended, and asserts that it was undone.
    #[track_caller]
    fn undone(&self) {
        let states = eventually("the deploy ends", || {
            let kept = self.scratch.json(&["snapshot", "list"])["data"]["snapshots"].take();
            let states: Vec<Value> =
                kept.as_array().expect("a list").iter().map(|kept| kept["state"].clone()).collect();
            (!states.contains(&json!("applying"))).then_some(states)
        });
        assert!(!states.contains(&json!("applied")), "{states:?}");
        assert_eq!(self.root.join(".claude/commands").read_dir().map_or(0, Iterator::count), 0);
    }
}

/// Returns the request for a tool call in protocol 2026-07-28, with a progress token.
fn modern(params: &Value) -> Request {
    http::modern("/mcp", "tools/call", params.clone())
        .edited(|message| message["params"]["_meta"]["progressToken"] = json!("t"))
}

/// Reads until the first progress message for files that are being written.
#[track_caller]
fn begun(events: &http::Events) {
    loop {
        let message = events.message();
        assert_eq!(message["method"], "notifications/progress", "{message}");
        if message["params"]["message"] == "Writing" {
            return;
        }
    }
}

#[test]
fn progress_grows_until_the_answer_comes() {
    for in_session in [false, true] {
        let ground = ground(NOTICED);
        let params = ground.confirmed();
        let events = match in_session {
            false => ground.server.open(&modern(&params)),
            true => {
                let session = ground.server.session("/mcp", "2025-11-25");
                ground.server.open(&http::in_session("/mcp", &session, "tools/call", params))
            }
        };
        let (mut told, mut said, mut answer) = (Vec::new(), Vec::new(), Value::Null);
        while answer.is_null() {
            let message = events.message();
            match message["method"].as_str() {
                Some("notifications/progress") => {
                    assert_eq!(message["params"]["progressToken"], "t");
                    told.push(message["params"]["progress"].as_f64().expect("a number"));
                    said.push(message["params"]["message"].as_str().expect("a text").to_owned());
                }
                _ => answer = message,
            }
        }
        assert_eq!(answer["result"]["isError"], false, "{answer}");
        assert!(told.len() >= 2 && told.is_sorted_by(|before, after| before < after), "{told:?}");
        // The first message comes before anything is read.
        assert_eq!((said[0].as_str(), told[0]), ("Reading", 0.0), "{said:?}");
        assert_eq!(said.last().map(String::as_str), Some("Writing"), "{said:?}");
    }
}

#[test]
fn a_request_of_the_newest_revision_is_cancelled_by_closing_its_connection() {
    let ground = ground(COMMANDS);
    let events = ground.server.open(&modern(&ground.confirmed()));
    begun(&events);
    ground.server.paused(|| drop(events));
    // The server waits up to a second for an answer that may come soon, because the client may only have stopped sending.
    // The deploy is held up for most of this second.
    for _ in 0..2 {
        std::thread::sleep(Duration::from_millis(50));
        ground.server.paused(|| std::thread::sleep(Duration::from_millis(1100)));
    }
    ground.undone();
}

#[test]
fn a_request_in_a_session_is_cancelled_by_a_notification() {
    let ground = ground(COMMANDS);
    let session = ground.server.session("/mcp", "2025-11-25");
    let events = ground.server.open(&http::in_session("/mcp", &session, "tools/call", ground.confirmed()));
    begun(&events);
    let told = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } });
    let told = http::message("/mcp", &told).with("Mcp-Session-Id", &session);
    let sent = ground.server.paused(|| ground.server.post(&told));
    assert_eq!(http::answer(sent).status, 202);
    ground.undone();
}

#[test]
fn warnings_are_logged_to_clients_that_want_them() {
    let ground = ground(1);
    let plan = json!({ "name": "plan", "arguments": {} });
    let quiet = ground.server.send(&http::modern("/mcp", "tools/call", plan.clone()));
    assert_eq!(quiet.header("content-type"), Some("application/json"));
    let loud = http::modern("/mcp", "tools/call", plan.clone())
        .edited(|message| message["params"]["_meta"]["io.modelcontextprotocol/logLevel"] = json!("warning"));
    let messages = ground.server.send(&loud).messages();
    assert_eq!(messages[0]["method"], "notifications/message", "{messages:?}");
    assert_eq!(messages[0]["params"]["level"], "warning");
    assert!(messages[0]["params"]["data"].as_str().is_some_and(|data| data.contains("is not written for")));
    assert_eq!(messages.last().expect("an answer")["result"]["isError"], false);

    let session = ground.server.session("/mcp", "2025-06-18");
    let events = ground.server.open(&Request::new("GET", "/mcp").with("Mcp-Session-Id", &session));
    let set = http::in_session("/mcp", &session, "logging/setLevel", json!({ "level": "warning" }));
    assert_eq!(ground.server.send(&set).message()["result"], json!({}));
    let planned = ground.server.send(&http::in_session("/mcp", &session, "tools/call", plan));
    assert_eq!(planned.message()["result"]["isError"], false);
    assert_eq!(events.message()["method"], "notifications/message");
}

/// Returns the id of the next event that has one.
fn event_id(events: &http::Events) -> String {
    let id = |event: String| event.lines().find_map(|line| line.strip_prefix("id:").map(|id| id.trim().to_owned()));
    std::iter::from_fn(|| events.raw()).find_map(id).expect("an event with an id")
}

#[test]
fn an_answer_outlives_the_connection_it_was_for() {
    let scratch = Scratch::with_project();
    let server = Http::start(&scratch, &[]);
    let [session, other] = [(); 2].map(|()| server.session("/mcp", "2025-11-25"));
    let create = json!({ "name": "create_prompt", "arguments": { "name": "a", "content": "x" } });
    let resume = |session: &str, last: &str| {
        server.open(&Request::new("GET", "/mcp").with("Mcp-Session-Id", session).with("Last-Event-ID", last))
    };
    // The tool waits for another process' lock while its client disconnects.
    let last = scratch
        .store()
        .write(|_| {
            let events = server.open(&http::in_session("/mcp", &session, "tools/call", create));
            Ok(event_id(&events))
        })
        .expect("the lock is taken");
    for _ in 0..2 {
        let events = resume(&session, &last);
        let answer = events.message();
        assert_eq!((&answer["id"], &answer["result"]["isError"]), (&json!(1), &json!(false)), "{answer}");
        assert_eq!(events.raw(), None, "nothing more comes");
    }
    assert_eq!(resume(&other, &last).raw(), None, "another session's stream is none");
}

#[test]
fn an_id_stays_in_use_until_its_request_has_ended() {
    let scratch = Scratch::with_project();
    let server = Http::start(&scratch, &[]);
    let session = server.session("/mcp", "2025-11-25");
    let create = |name: &str| {
        let params = json!({ "name": "create_prompt", "arguments": { "name": name, "content": "x" } });
        http::in_session("/mcp", &session, "tools/call", params)
    };
    let last = scratch
        .store()
        .write(|_| {
            let events = server.open(&create("a"));
            let last = event_id(&events);
            drop(events);
            let again = server.send(&create("b"));
            assert_eq!(again.status, 400, "{}", again.text());
            Ok(last)
        })
        .expect("the lock is taken");
    let resumed =
        || server.open(&Request::new("GET", "/mcp").with("Mcp-Session-Id", &session).with("Last-Event-ID", &last));
    assert_eq!(resumed().message()["result"]["isError"], false);
    assert_eq!(server.send(&create("b")).message()["result"]["isError"], false);
    // A cancelled request no longer counts as running either.
    scratch
        .store()
        .write(|_| {
            let events = server.open(&create("c"));
            let last = event_id(&events);
            let told = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } });
            assert_eq!(server.send(&http::message("/mcp", &told).with("Mcp-Session-Id", &session)).status, 202);
            let resumed =
                server.open(&Request::new("GET", "/mcp").with("Mcp-Session-Id", &session).with("Last-Event-ID", &last));
            assert_eq!(resumed.messages(Duration::from_secs(10)), Vec::<Value>::new());
            assert_eq!(resumed.raw(), None, "it ends");
            Ok(())
        })
        .expect("the lock is taken");
}

#[test]
fn a_stream_resumes_where_it_broke_off() {
    let scratch = Scratch::with_project();
    let server = Http::start(&scratch, &[]);
    let session = server.session("/mcp", "2025-11-25");
    let listen = || Request::new("GET", "/mcp").with("Mcp-Session-Id", &session);
    let changed = |name: &str| scratch.ok(&["prompt", "create", name, "x"]);
    let list_changed = |message: Value| assert_eq!(message["method"], "notifications/prompts/list_changed");
    let first = server.open(&listen());
    first.raw();
    changed("a");
    let last = event_id(&first);
    changed("b");
    list_changed(first.message());
    drop(first);
    // The resumed stream repeats the events after `last`, even though the client received them, and then sends new
    // ones.
    let second = server.open(&listen().with("Last-Event-ID", &last));
    list_changed(second.message());
    changed("c");
    list_changed(second.message());
    drop(second);
    // A change while nobody listens is reported once, to the next client that listens.
    changed("d");
    let third = server.open(&listen());
    list_changed(third.message());
    let fourth = server.open(&listen());
    assert_eq!(fourth.messages(Duration::from_millis(300)), Vec::<Value>::new());
    changed("e");
    list_changed(fourth.message());
}
