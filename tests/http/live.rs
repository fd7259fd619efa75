//! Tests notifications of changes: clients get those that they asked for, and no others.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Client, Http, Request, Scratch, Wait, http};

const PROMPTS: &str = "notifications/prompts/list_changed";
const UPDATED: &str = "notifications/resources/updated";

/// The time to wait before concluding that no further message comes.
const WHILE: Duration = Duration::from_millis(400);

fn methods(messages: &[Value]) -> Vec<&str> {
    messages.iter().filter_map(|message| message["method"].as_str()).collect()
}

fn listen(server: &Http, path: &str, wanted: Value) -> http::Events {
    let events = server.open(&http::modern(path, "subscriptions/listen", json!({ "notifications": wanted })));
    assert_eq!(events.message()["method"], "notifications/subscriptions/acknowledged");
    events
}

#[test]
fn a_listen_stream_gets_only_the_requested_notifications() {
    let scratch = Scratch::with_project();
    scratch.ok(&["resource", "create", "a", "file:///a", "1"]);
    scratch.ok(&["resource", "create", "b", "file:///b", "1"]);
    let server = Http::start(&scratch, &[]);
    let prompts = listen(&server, "/mcp", json!({ "promptsListChanged": true }));
    let one = listen(&server, "/mcp", json!({ "resourceSubscriptions": ["file:///a"] }));
    scratch.ok(&["prompt", "create", "x", "1"]);
    assert_eq!(prompts.message()["method"], PROMPTS);
    scratch.ok(&["resource", "update", "b", "--content", "2"]);
    scratch.ok(&["resource", "update", "a", "--content", "2"]);
    let told = one.message();
    assert_eq!((&told["method"], &told["params"]["uri"]), (&json!(UPDATED), &json!("file:///a")), "{told}");
    assert_eq!(methods(&one.messages(WHILE)), Vec::<&str>::new());
    assert_eq!(methods(&prompts.messages(WHILE)), Vec::<&str>::new());
    // Changes by this server process are reported too, and so is the deletion of the resource.
    server.modern(
        "/mcp",
        "tools/call",
        json!({ "name": "update_resource", "arguments": { "name": "a", "content": "3" } }),
    );
    assert_eq!(one.message()["method"], UPDATED);
    scratch.ok(&["resource", "delete", "a", "--yes"]);
    assert_eq!(one.message()["method"], UPDATED);
}

#[test]
fn a_session_gets_list_changes_and_its_subscriptions() {
    let scratch = Scratch::with_project();
    scratch.ok(&["resource", "create", "a", "file:///a", "1"]);
    let server = Http::start(&scratch, &[]);
    let session = server.session("/mcp", "2025-11-25");
    let events = server.open(&Request::new("GET", "/mcp").with("Mcp-Session-Id", &session));
    let ask = |method: &str| {
        let request = http::in_session("/mcp", &session, method, json!({ "uri": "file:///a" }));
        assert!(server.send(&request).message()["result"].is_object());
    };
    ask("resources/subscribe");
    scratch.ok(&["resource", "update", "a", "--content", "2"]);
    let told = events.messages(WHILE);
    assert_eq!(methods(&told), [UPDATED], "its list is as it was");
    ask("resources/unsubscribe");
    scratch.ok(&["resource", "update", "a", "--content", "3", "-d", "The third"]);
    assert_eq!(methods(&events.messages(WHILE)), ["notifications/resources/list_changed"]);
}

#[test]
fn changes_in_other_projects_are_not_reported() {
    let scratch = Scratch::with_project();
    scratch.ok(&["project", "create", "q"]);
    let server = Http::start(&scratch, &[]);
    let everything =
        json!({ "promptsListChanged": true, "resourcesListChanged": true, "resourceSubscriptions": ["file:///a"] });
    let of_p = listen(&server, "/projects/p/mcp", everything.clone());
    let selected = listen(&server, "/mcp", everything);
    scratch.ok(&["-p", "q", "prompt", "create", "x", "1"]);
    scratch.ok(&["-p", "q", "resource", "create", "a", "file:///a", "1"]);
    assert_eq!(methods(&of_p.messages(WHILE)), Vec::<&str>::new());
    assert_eq!(methods(&selected.messages(WHILE)), Vec::<&str>::new());
    // When another project is selected, everything may have changed for clients of the selected project.
    scratch.ok(&["project", "select", "q"]);
    assert_eq!(selected.messages(WHILE).len(), 3);
    assert_eq!(methods(&of_p.messages(WHILE)), Vec::<&str>::new());
}

#[test]
fn many_changes_make_one_notification_and_none_is_lost() {
    let scratch = Scratch::with_project();
    let server = Http::start(&scratch, &[]);
    let events = listen(&server, "/mcp", json!({ "promptsListChanged": true }));
    let mut pipe = Client::legacy(&scratch, "2025-06-18");
    for round in 0..20 {
        // An import is one transaction, so all its changes become one message.
        let folder = format!("import-{round}");
        for n in 0..5 {
            scratch.file(&format!("{folder}/.claude/commands/p{round}-{n}.md"), "x");
        }
        scratch.ok(&["import", &scratch.path().join(&folder).display().to_string()]);
        assert_eq!(events.message()["method"], PROMPTS);
        let listed = pipe.result("prompts/list", json!({}));
        assert_eq!(listed["prompts"].as_array().map(Vec::len), Some((round + 1) * 5));
    }
    assert_eq!(methods(&events.messages(WHILE)), Vec::<&str>::new());
    while let Wait::Line(_) = pipe.wait(Duration::from_millis(1)) {}
}

#[test]
fn a_stdio_client_is_notified_of_its_resources() {
    let scratch = Scratch::with_project();
    scratch.ok(&["resource", "create", "a", "file:///a", "1"]);
    let mut client = Client::legacy(&scratch, "2025-06-18");
    client.result("resources/subscribe", json!({ "uri": "file:///a" }));
    scratch.ok(&["resource", "update", "a", "--content", "2"]);
    assert_eq!(client.notification(UPDATED)["params"]["uri"], "file:///a");
    client.finish();
    let mut modern = Client::modern(&scratch);
    assert_eq!(modern.error("resources/subscribe", json!({ "uri": "file:///a" }))["code"], -32601);
    modern.finish();
}

#[test]
fn a_client_that_opens_another_stream_gets_later_changes() {
    let scratch = Scratch::with_project();
    let server = Http::start(&scratch, &[]);
    let session = server.session("/mcp", "2025-11-25");
    let listen = || server.open(&Request::new("GET", "/mcp").with("Mcp-Session-Id", &session));
    let first = listen();
    scratch.ok(&["prompt", "create", "a", "x"]);
    assert_eq!(first.message()["method"], PROMPTS);
    // The client has lost its first stream, so it neither reads it nor closes it.
    let second = listen();
    assert_eq!(std::iter::from_fn(|| first.raw()).last().as_deref(), Some(": the client listens on another stream"));
    second.messages(WHILE);
    scratch.ok(&["prompt", "create", "b", "x"]);
    assert_eq!(second.message()["method"], PROMPTS);
    drop(second);
    let third = listen();
    third.messages(WHILE);
    scratch.ok(&["prompt", "create", "c", "x"]);
    assert_eq!(third.message()["method"], PROMPTS);
}
