//! What each address does, in both eras.

use serde_json::json;

use crate::support::{Http, Request, Scratch, http};

fn scratch() -> Scratch {
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "greet", "Hello \"you\""]);
    scratch.ok(&["project", "create", "q"]);
    scratch.ok(&["-p", "q", "prompt", "create", "of-q", "Q"]);
    scratch
}

#[test]
fn the_newest_revision_needs_no_session() {
    let scratch = scratch();
    let server = Http::start(&scratch, &[]);
    let response = server.send(&http::modern("/mcp", "prompts/get", json!({ "name": "greet" })));
    assert_eq!((response.status, response.header("content-type")), (200, Some("application/json")));
    assert_eq!(response.header("mcp-session-id"), None);
    assert_eq!(response.message()["result"]["messages"][0]["content"]["text"], "Hello \"you\"");
    let called = server.modern(
        "/mcp",
        "tools/call",
        json!({ "name": "create_prompt", "arguments": { "name": "made", "content": "x" } }),
    );
    assert_eq!(called["result"]["isError"], false, "{called}");
    let listed = server.modern("/mcp", "prompts/list", json!({}));
    assert_eq!(listed["result"]["prompts"][1]["name"], "made", "{listed}");
    let discovered = server.modern("/mcp", "server/discover", json!({}));
    assert_eq!(discovered["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "mcpkg", "{discovered}");
}

#[test]
fn headers_that_say_something_else_than_the_body_are_refused() {
    let scratch = scratch();
    let server = Http::start(&scratch, &[]);
    let good = http::modern("/mcp", "prompts/get", json!({ "name": "greet" }));
    assert_eq!(server.send(&good).status, 200);
    let bad = [
        good.clone().with("Mcp-Name", "other"),
        good.clone().without("Mcp-Name"),
        good.clone().and("Mcp-Name", "other"),
        good.clone().with("Mcp-Method", "prompts/list"),
        good.clone().without("Mcp-Method"),
        good.clone().with("MCP-Protocol-Version", "2025-11-25"),
        good.clone().without("MCP-Protocol-Version"),
    ];
    for request in bad {
        let response = server.send(&request);
        assert_eq!(response.status, 400, "{}", response.text());
        assert_eq!(response.message()["error"]["code"], -32020, "{}", response.text());
    }
    assert_eq!(server.send(&good.clone().with("Accept", "application/json")).status, 406);
    assert_eq!(server.send(&good.with("Content-Type", "text/plain")).status, 415);
}

#[test]
fn older_revisions_have_sessions() {
    let scratch = scratch();
    let server = Http::start(&scratch, &[]);
    for version in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let session = server.session("/mcp", version);
        let read = server.send(&http::in_session("/mcp", &session, "prompts/get", json!({ "name": "greet" })));
        assert_eq!(read.message()["result"]["messages"][0]["content"]["text"], "Hello \"you\"");
        let listed = server.send(&http::in_session("/mcp", &session, "tools/list", json!({})));
        assert!(listed.message()["result"]["tools"].is_array());
        let end = Request::new("DELETE", "/mcp").with("Mcp-Session-Id", &session);
        assert!(server.send(&end).status < 300);
        let gone = server.send(&http::in_session("/mcp", &session, "prompts/list", json!({})));
        assert_eq!(gone.status, 404, "{}", gone.text());
    }
    let without = http::message("/mcp", &json!({ "jsonrpc": "2.0", "id": 1, "method": "prompts/list" }));
    assert_eq!(server.send(&without).status, 400);
}

#[test]
fn an_address_can_name_its_project() {
    let scratch = scratch();
    let server = Http::start(&scratch, &[]);
    let of = |path: &str| server.modern(path, "prompts/list", json!({}))["result"]["prompts"][0]["name"].clone();
    assert_eq!(
        (of("/mcp"), of("/projects/q/mcp"), of("/projects/p/mcp")),
        (json!("greet"), json!("of-q"), json!("greet"))
    );
    scratch.ok(&["project", "select", "q"]);
    assert_eq!((of("/mcp"), of("/projects/p/mcp")), (json!("of-q"), json!("greet")));
    let nowhere = [
        "/",
        "/mcp/",
        "/mcp/x",
        "/projects/nope/mcp",
        "/projects//mcp",
        "/projects/../mcp",
        "/projects/%2e%2e/mcp",
        "/projects/p/../q/mcp",
        "/projects/p%2Fmcp",
        "/projects/p/mcp/x",
        "/nothing",
    ];
    for path in nowhere {
        assert_eq!(server.send(&http::modern(path, "prompts/list", json!({}))).status, 404, "{path}");
    }
    // A session belongs to the address that it began at.
    let session = server.session("/projects/q/mcp", "2025-11-25");
    let elsewhere = server.send(&http::in_session("/projects/p/mcp", &session, "prompts/list", json!({})));
    assert_eq!(elsewhere.status, 404, "{}", elsewhere.text());
}

#[test]
fn one_server_serves_one_project_where_it_was_told_to() {
    let scratch = scratch();
    let server = Http::start(&scratch, &["--project", "q"]);
    let listed = server.modern("/mcp", "prompts/list", json!({}));
    assert_eq!(listed["result"]["prompts"][0]["name"], "of-q");
    assert_eq!(server.send(&http::modern("/projects/p/mcp", "prompts/list", json!({}))).status, 403);
}

#[test]
fn the_older_transport_answers_on_its_stream() {
    let scratch = scratch();
    let server = Http::start(&scratch, &[]);
    for (at, name) in [("/sse", "greet"), ("/projects/q/sse", "of-q")] {
        let events = server.open(&Request::new("GET", at));
        assert_eq!(events.head.header("content-type"), Some("text/event-stream"));
        let address = events.data();
        let say = |message: &serde_json::Value| assert_eq!(server.send(&http::message(&address, message)).status, 202);
        let hello = json!({ "protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
        say(&json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello }));
        assert_eq!(events.message()["result"]["protocolVersion"], "2024-11-05");
        say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        say(&json!({ "jsonrpc": "2.0", "id": 2, "method": "prompts/list" }));
        assert_eq!(events.message()["result"]["prompts"][0]["name"], name);
        drop(events);
    }
    assert_eq!(server.send(&http::message("/messages?sessionId=nope", &json!({}))).status, 404);
    assert_eq!(server.send(&Request::new("POST", "/sse")).status, 405);
}

#[test]
fn what_is_not_served_is_not_there() {
    let scratch = scratch();
    let only_http = Http::spawn(scratch.command().args(["--json", "serve", "--http", "--port", "0"]));
    assert_eq!(only_http.send(&Request::new("GET", "/sse")).status, 404);
    let only_sse = Http::spawn(scratch.command().args(["--json", "serve", "--sse", "--port", "0"]));
    assert_eq!(only_sse.send(&http::modern("/mcp", "prompts/list", json!({}))).status, 404);
}

#[test]
fn a_server_says_how_it_is() {
    let scratch = scratch();
    let server = Http::start(&scratch, &[]);
    assert_eq!(server.send(&Request::new("GET", "/healthz")).text(), "ok\n");
    assert_eq!(server.send(&Request::new("GET", "/readyz")).text(), "ready\n");
}

#[test]
fn a_port_that_is_taken_is_named() {
    let scratch = scratch();
    let server = Http::start(&scratch, &[]);
    let ran = scratch.run(&["serve", "--http", "--port", &server.address.port().to_string()]);
    assert_eq!(ran.status, 1, "{ran}");
    assert!(ran.stderr.contains(&server.address.to_string()) && ran.stderr.contains("--port"), "{ran}");
    assert_eq!(scratch.run(&["serve", "--port", "1"]).status, 2);
    assert_eq!(scratch.run(&["serve", "--http", "--host", "example"]).status, 2);
}

#[test]
fn accepted_requests_are_answered_before_the_end() {
    let scratch = scratch();
    let mut server = Http::start(&scratch, &[]);
    let session = server.session("/mcp", "2025-11-25");
    let stream = server.open(&Request::new("GET", "/mcp").with("Mcp-Session-Id", &session));
    let listen = server.open(&http::modern(
        "/mcp",
        "subscriptions/listen",
        json!({ "notifications": { "promptsListChanged": true } }),
    ));
    assert_eq!(listen.message()["method"], "notifications/subscriptions/acknowledged");
    let sse = server.open(&Request::new("GET", "/sse"));
    sse.data();
    server.end();
    assert!(listen.message()["result"].is_object());
    let last = |events: &http::Events| std::iter::from_fn(|| events.raw()).last();
    assert_eq!(last(&stream).as_deref(), Some(": the server is ending"));
    assert_eq!(last(&sse).as_deref(), Some(": the server is ending"));
    assert!(server.ended().success());
}
