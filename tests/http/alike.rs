//! Tests that the same request gets the same answer on every transport, both from mcpkg's fast path (the front) and
//! from rmcp.

use serde_json::{Value, json};

use crate::support::{Client, Http, Request, Scratch, http};

fn scratch() -> Scratch {
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "greet", "Hello"]);
    scratch.ok(&["prompt", "create", "ask", "--argument", "who", "Ask {{ who }}"]);
    scratch.ok(&["resource", "create", "notes", "file:///notes.md", "text", "--mime-type", "text/markdown"]);
    let picture = scratch.file("a.png", [0x89, b'P', b'N', b'G', 0, 255]);
    scratch.ok(&["resource", "create", "picture", "file:///a.png", &format!("@{}", picture.display())]);
    scratch
}

/// Returns the requests to compare: hot reads and others, valid and invalid ones.
fn questions() -> Vec<(&'static str, Value)> {
    vec![
        ("prompts/list", json!({})),
        ("prompts/list", json!({ "cursor": "nonsense" })),
        ("prompts/get", json!({ "name": "greet" })),
        ("prompts/get", json!({ "name": "ask", "arguments": { "who": "me \u{1F600}" } })),
        ("prompts/get", json!({ "name": "ask" })),
        ("prompts/get", json!({ "name": "nope\r\nSet-Cookie: x" })),
        ("prompts/get", json!({})),
        ("resources/list", json!({})),
        ("resources/read", json!({ "uri": "file:///notes.md" })),
        ("resources/read", json!({ "uri": "file:///a.png" })),
        ("resources/read", json!({ "uri": "file:///nope" })),
        ("resources/templates/list", json!({})),
        ("tools/list", json!({})),
        ("tools/call", json!({ "name": "get_prompt", "arguments": { "name": "greet" } })),
        ("tools/call", json!({ "name": "get_prompt", "arguments": { "nam": "greet" } })),
        ("tools/call", json!({ "name": "get_prompt", "arguments": { "name": "ask", "arguments": { "who": "me" } } })),
        ("tools/call", json!({ "name": "get_prompt", "arguments": { "name": "nobody" } })),
        ("tools/call", json!({ "name": "list_prompts" })),
        ("tools/call", json!({ "name": "list_prompts", "arguments": { "limit": 1 } })),
        ("tools/call", json!({ "name": "list_resources" })),
        ("tools/call", json!({ "name": "read_resource", "arguments": { "uri": "notes" } })),
        ("tools/call", json!({ "name": "read_resource", "arguments": { "uri": "file:///a.png" } })),
        ("tools/call", json!({ "name": "list_skills" })),
        ("tools/call", json!({ "name": "no_such_tool" })),
        (
            "completion/complete",
            json!({ "ref": { "type": "ref/prompt", "name": "greet" }, "argument": { "name": "name", "value": "g" } }),
        ),
        ("no/such/method", json!({})),
        ("tools/list", json!({ "cursor": 5 })),
        ("resources/templates/list", json!({ "cursor": [] })),
        ("skills/list", json!({ "cursor": 5 })),
        ("prompts/list", json!({ "cursor": 5 })),
        ("resources/subscribe", json!({})),
        ("tasks/get", json!({ "taskId": "x" })),
        ("skills/list", json!({})),
    ]
}

#[test]
fn every_transport_gives_the_same_answer() {
    let scratch = scratch();
    let front = Http::start(&scratch, &[]);
    let rmcp = Http::start(&scratch, &["--no-front"]);
    let mut pipe = Client::legacy(&scratch, "2025-11-25");
    let (session, slow) = (front.session("/mcp", "2025-11-25"), rmcp.session("/mcp", "2025-11-25"));
    let events = front.open(&Request::new("GET", "/sse"));
    let address = events.data();
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "test-client", "version": "1" } });
    let say = |message: Value| assert_eq!(front.send(&http::message(&address, &message)).status, 202);
    say(json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello }));
    events.message();
    say(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    for (method, params) in questions() {
        let mut expected = pipe.request(method, params.clone());
        expected["id"] = json!(1);
        let by_session = front.send(&http::in_session("/mcp", &session, method, params.clone())).message();
        assert_eq!(by_session, expected, "{method} {params} in a session");
        let by_rmcp = rmcp.send(&http::in_session("/mcp", &slow, method, params.clone())).message();
        assert_eq!(by_rmcp, expected, "{method} {params} in a session, by rmcp");
        say(json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }));
        assert_eq!(events.message(), expected, "{method} {params} over SSE");
    }
}

#[test]
fn the_newest_revision_is_answered_alike_too() {
    let scratch = scratch();
    let front = Http::start(&scratch, &[]);
    let rmcp = Http::start(&scratch, &["--no-front"]);
    let mut pipe = Client::modern(&scratch);
    for (method, params) in questions() {
        let mut expected = pipe.request(method, params.clone());
        expected["id"] = json!(1);
        // Over HTTP, a name that cannot be repeated in a header is refused earlier, with another error.
        if params["name"].as_str().is_some_and(|name| name.contains('\n')) {
            continue;
        }
        assert_eq!(front.modern("/mcp", method, params.clone()), expected, "{method} {params}");
        assert_eq!(rmcp.modern("/mcp", method, params.clone()), expected, "{method} {params}, by rmcp");
    }
}

#[test]
fn a_listen_stream_sends_the_same_events_from_the_front_and_from_rmcp() {
    let scratch = scratch();
    let (front, rmcp) = (Http::start(&scratch, &[]), Http::start(&scratch, &["--no-front"]));
    let wanted = json!({
        "promptsListChanged": true,
        "toolsListChanged": true,
        "resourceSubscriptions": ["file:///notes.md", "mcpkg://prompt/greet", "x".repeat(9000)],
    });
    let params = json!({ "notifications": wanted });
    let streams =
        [&front, &rmcp].map(|server| server.open(&http::modern("/mcp", "subscriptions/listen", params.clone())));
    let head = |stream: &http::Events| {
        ["content-type", "cache-control", "x-accel-buffering"].map(|name| stream.head.header(name).map(str::to_owned))
    };
    assert_eq!(head(&streams[0]), head(&streams[1]));
    let [ours, theirs] = &streams;
    assert_eq!(ours.message(), theirs.message());
    scratch.ok(&["prompt", "update", "greet", "--content", "Hello again", "-d", "Greets"]);
    for _ in 0..2 {
        assert_eq!(ours.message(), theirs.message());
    }
    scratch.ok(&["resource", "update", "notes", "--content", "more"]);
    assert_eq!(ours.message(), theirs.message());
    let bad = front.modern("/mcp", "subscriptions/listen", json!({ "notifications": 5 }));
    assert_eq!(bad["error"]["code"], -32602, "{bad}");
    front.end();
    rmcp.end();
    assert_eq!(ours.message(), theirs.message());
}
