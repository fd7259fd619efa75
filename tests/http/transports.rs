//! Tests each endpoint of the HTTP transports, with and without a handshake.

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
fn headers_that_contradict_the_body_are_refused() {
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
fn a_client_that_accepts_anything_gets_an_answer() {
    let scratch = scratch();
    let server = Http::start(&scratch, &[]);
    let good = http::modern("/mcp", "prompts/get", json!({ "name": "greet" }));
    let hello = http::message("/mcp", &http::hello("2025-11-25"));
    for accept in ["*/*", "application/*", "text/html, */*;q=0.8", "application/json, application/*; q=0.5"] {
        assert_eq!(server.send(&good.clone().with("Accept", accept)).status, 200, "{accept}");
        let begun = server.send(&hello.clone().with("Accept", accept));
        let session = begun.header("mcp-session-id").expect("a session");
        let stream = Request::new("GET", "/mcp").with("Mcp-Session-Id", session).with("Accept", accept);
        assert_eq!(server.open(&stream).head.header("content-type"), Some("text/event-stream"), "{accept}");
    }
    for accept in ["text/html", "*/*;q=0", "application/*;q=0.0, text/plain", "image/*"] {
        assert_eq!(server.send(&good.clone().with("Accept", accept)).status, 406, "{accept}");
    }
}

#[test]
fn a_client_whose_session_is_gone_begins_another_one() {
    let scratch = scratch();
    let server = Http::start(&scratch, &[]);
    let ended = server.session("/mcp", "2025-11-25");
    server.send(&Request::new("DELETE", "/mcp").with("Mcp-Session-Id", &ended));
    for dead in [ended.as_str(), "never-was", ""] {
        let begun = server.send(&http::message("/mcp", &http::hello("2025-11-25")).with("Mcp-Session-Id", dead));
        assert_eq!(begun.message()["result"]["protocolVersion"], "2025-11-25", "{}", begun.text());
        let session = begun.header("mcp-session-id").expect("a session").to_owned();
        assert_ne!(session, dead);
        let read = http::in_session("/mcp", &session, "prompts/get", json!({ "name": "greet" }));
        assert_eq!(server.send(&read).message()["result"]["messages"][0]["content"]["text"], "Hello \"you\"");
        // A session that exists cannot be initialized again.
        let again = server.send(&http::message("/mcp", &http::hello("2025-11-25")).with("Mcp-Session-Id", &session));
        assert_eq!(again.message()["error"]["code"], -32600, "{}", again.text());
    }
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
fn a_batch_is_answered_in_its_order() {
    let scratch = scratch();
    let server = Http::start(&scratch, &[]);
    let session = server.session("/mcp", "2025-03-26");
    let request = |id: u32, method: &str, params: serde_json::Value| json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
    let told = json!({ "jsonrpc": "2.0", "method": "notifications/roots/list_changed" });
    let send = |session: &str, batch: &serde_json::Value| {
        server.send(&http::message("/mcp", batch).with("Mcp-Session-Id", session))
    };
    let batch = json!([
        request(1, "prompts/get", json!({ "name": "greet" })),
        told,
        request(2, "tools/call", json!({ "name": "create_prompt", "arguments": { "name": "made", "content": "x" } })),
        request(3, "prompts/list", json!({})),
        request(4, "no/such", json!({})),
        5,
        { "jsonrpc": "2.0", "id": 6 },
    ]);
    let answers = send(&session, &batch).messages();
    let ids: Vec<_> = answers.iter().map(|answer| answer["id"].clone()).collect();
    assert_eq!(serde_json::Value::from(ids), json!([1, 2, 3, 4, null, 6]), "{answers:?}");
    assert_eq!(answers[0]["result"]["messages"][0]["content"]["text"], "Hello \"you\"");
    assert_eq!(answers[1]["result"]["isError"], false);
    assert_eq!(answers[2]["result"]["prompts"][1]["name"], "made", "a read does not overtake a write");
    assert_eq!(
        [&answers[3], &answers[4], &answers[5]].map(|answer| answer["error"]["code"].clone()),
        [-32601, -32600, -32600].map(serde_json::Value::from)
    );
    // A read does not overtake a write even if the answer is cached from an earlier request for the same list.
    let list = |id: u32| request(id, "prompts/list", json!({}));
    let create =
        request(8, "tools/call", json!({ "name": "create_prompt", "arguments": { "name": "new", "content": "x" } }));
    let answers = send(&session, &json!([list(7), create, list(9)])).messages();
    let count = |answer: &serde_json::Value| answer["result"]["prompts"].as_array().map(Vec::len);
    assert_eq!([count(&answers[0]), count(&answers[2])], [Some(2), Some(3)], "{answers:?}");
    assert_eq!(send(&session, &json!([told, told])).status, 202);
    let other = server.session("/mcp", "2025-06-18");
    for (session, batch) in
        [(&session, json!([])), (&session, serde_json::Value::from(vec![told.clone(); 65])), (&other, batch)]
    {
        let refused = send(session, &batch);
        assert_eq!((refused.status, refused.message()["error"]["code"].clone()), (400, json!(-32600)));
    }
}

#[test]
fn a_url_can_name_a_project() {
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
    // A session belongs to the project of the URL that it began at.
    let session = server.session("/projects/q/mcp", "2025-11-25");
    let elsewhere = server.send(&http::in_session("/projects/p/mcp", &session, "prompts/list", json!({})));
    assert_eq!(elsewhere.status, 404, "{}", elsewhere.text());
}

#[test]
fn a_server_started_for_one_project_serves_only_that_project() {
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
fn transports_that_were_not_started_answer_404() {
    let scratch = scratch();
    let only_http = Http::spawn(scratch.command().args(["--json", "serve", "--http", "--port", "0"]));
    assert_eq!(only_http.send(&Request::new("GET", "/sse")).status, 404);
    let only_sse = Http::spawn(scratch.command().args(["--json", "serve", "--sse", "--port", "0"]));
    assert_eq!(only_sse.send(&http::modern("/mcp", "prompts/list", json!({}))).status, 404);
}

#[test]
fn health_and_readiness_are_answered() {
    let scratch = scratch();
    let server = Http::start(&scratch, &[]);
    assert_eq!(server.send(&Request::new("GET", "/healthz")).text(), "ok\n");
    assert_eq!(server.send(&Request::new("GET", "/readyz")).text(), "ready\n");
}

#[test]
fn a_port_in_use_is_reported() {
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
    let server = Http::start(&scratch, &[]);
    let session = server.session("/mcp", "2025-11-25");
    let stream = server.open(&Request::new("GET", "/mcp").with("Mcp-Session-Id", &session));
    let listen = server.open(&http::modern(
        "/mcp",
        "subscriptions/listen",
        json!({ "notifications": { "promptsListChanged": true } }),
    ));
    assert_eq!(listen.message()["method"], "notifications/subscriptions/acknowledged");
    let sse = server.open(&Request::new("GET", "/sse"));
    let address = sse.data();
    let say = |message: &serde_json::Value| assert_eq!(server.send(&http::message(&address, message)).status, 202);
    let hello =
        json!({ "protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    say(&json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello }));
    sse.message();
    // These writes wait for another process' lock while the server is stopped.
    let store = scratch.store();
    let write = |name: &str| json!({ "name": "create_prompt", "arguments": { "name": name, "content": "x" } });
    let answers = std::thread::scope(|scope| {
        let mut waiting = Vec::new();
        store
            .write(|_| {
                say(&json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": write("over-sse") }));
                waiting.push(scope.spawn(|| server.modern("/mcp", "tools/call", write("modern"))));
                server.wait_for_requests(1);
                // The first event of the stream shows that the session has accepted the request.
                let in_session = server.open(&http::in_session("/mcp", &session, "tools/call", write("in-session")));
                in_session.raw();
                waiting.push(scope.spawn(move || in_session.message()));
                server.end();
                server.wait_until_it_ends();
                Ok(())
            })
            .expect("the lock is taken");
        waiting.into_iter().map(|answer| answer.join().expect("an answer")).collect::<Vec<_>>()
    });
    for answer in answers.into_iter().chain([sse.message()]) {
        assert_eq!(answer["result"]["isError"], false, "{answer}");
    }
    assert!(listen.message()["result"].is_object());
    let last = |events: &http::Events| std::iter::from_fn(|| events.raw()).last();
    assert_eq!(last(&stream).as_deref(), Some(": the server is stopping"));
    assert_eq!(last(&sse).as_deref(), Some(": the server is stopping"));
    let mut server = server;
    assert!(server.ended().success());
}

#[test]
fn an_id_in_use_is_refused() {
    let scratch = scratch();
    let server = Http::start(&scratch, &[]);
    let session = server.session("/mcp", "2025-11-25");
    let write = |name: &str| {
        let arguments = json!({ "name": name, "content": "x" });
        http::in_session("/mcp", &session, "tools/call", json!({ "name": "create_prompt", "arguments": arguments }))
    };
    let store = scratch.store();
    let first = store.write(|_| {
        let first = server.open(&write("first"));
        // The first event of the stream shows that the session has accepted the request.
        first.raw();
        let second = server.send(&write("second"));
        assert_eq!((second.status, &second.message()["error"]["code"]), (400, &json!(-32600)));
        Ok(first)
    });
    let first = first.expect("the lock is taken").message();
    assert!(first["result"]["content"][0]["text"].as_str().is_some_and(|text| text.contains("first")), "{first}");
    assert_eq!(server.send(&write("again")).message()["result"]["isError"], false);
}

#[test]
fn the_rate_limit_refuses_a_client_that_sends_too_much() {
    let scratch = scratch();
    let server = Http::start(&scratch, &["--rate-limit", "5"]);
    let answers: Vec<_> = (0..20).map(|_| server.send(&http::modern("/mcp", "prompts/list", json!({})))).collect();
    let limited = answers.iter().find(|answer| answer.status == 429).expect("one too many");
    assert!(limited.header("retry-after").is_some_and(|after| after.parse::<u64>().is_ok_and(|after| after > 0)));
    assert_eq!(answers[0].status, 200);
    assert_eq!(server.send(&Request::new("GET", "/healthz")).status, 200);
}

#[test]
fn served_requests_are_counted() {
    let scratch = scratch();
    let server = Http::start(&scratch, &[]);
    server.modern("/mcp", "prompts/list", json!({}));
    server.send(&Request::new("GET", "/nothing"));
    let stream = server.open(&Request::new("GET", "/sse"));
    stream.data();
    let told = server.send(&Request::new("GET", "/metrics")).text();
    for line in [
        "mcpkg_requests_total{place=\"mcp\",status=\"200\"} 1",
        "mcpkg_requests_total{place=\"other\",status=\"404\"} 1",
        "mcpkg_open_streams 1",
        "mcpkg_open_sessions 1",
        "mcpkg_request_duration_seconds_count{place=\"mcp\"} 1",
    ] {
        assert!(told.contains(line), "{line}\n{told}");
    }
    scratch.ok(&["access", "create", "ci"]);
    assert_eq!(server.send(&Request::new("GET", "/metrics")).status, 401);
}

#[test]
fn unusable_certificates_are_reported() {
    let scratch = scratch();
    let file = scratch.file("none.pem", "no certificate");
    let name = file.display().to_string();
    let ran = scratch.run(&["serve", "--http", "--port", "0", "--tls-cert", &name, "--tls-key", &name]);
    assert_eq!(ran.status, 2, "{ran}");
    assert!(ran.stderr.contains("none.pem") && ran.stderr.contains("PEM"), "{ran}");
    assert_eq!(scratch.run(&["serve", "--http", "--tls-cert", &name]).status, 2);
}

#[test]
fn only_the_revision_that_knows_events_without_data_gets_them() {
    let scratch = scratch();
    let server = Http::start(&scratch, &[]);
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let knows = revision == "2025-11-25";
        let empty = |event: &str| event.lines().any(|line| line.trim_end() == "data:");
        let begun = server.send(&http::message("/mcp", &http::hello(revision)));
        assert!(!begun.text().split("\n\n").any(empty), "{revision}: {}", begun.text());
        let session = begun.header("mcp-session-id").expect("a session").to_owned();
        let told = http::message("/mcp", &json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        server.send(&told.with("Mcp-Session-Id", &session));
        // mcpkg's fast path does not answer calls of `search_content`, so rmcp answers with a stream.
        let call = json!({ "name": "search_content", "arguments": { "query": "again" } });
        let called = server.send(&http::in_session("/mcp", &session, "tools/call", call));
        assert_eq!(called.text().split("\n\n").any(empty), knows, "{revision}: {}", called.text());
        let listen = Request::new("GET", "/mcp").with("Mcp-Session-Id", &session);
        let stream = server.open(&listen);
        let name = format!("of-{revision}");
        scratch.ok(&["prompt", "create", &name, "x"]);
        let first = stream.raw().expect("an event");
        let event = if knows { stream.raw().expect("another event") } else { first.clone() };
        assert_eq!(empty(&first), knows, "{revision}: {first}");
        assert!(event.contains("list_changed"), "{revision}: {event}");
        // A resumed stream also begins with an event without data, but only in the revision that knows them. It
        // continues after the last event that the client received.
        let id = event.lines().find_map(|line| line.strip_prefix("id: ")).expect("an id").to_owned();
        drop(stream);
        scratch.ok(&["prompt", "update", &name, "-d", "again"]);
        let again = server.open(&listen.with("Last-Event-ID", &id));
        let first = again.raw().expect("an event");
        assert_eq!((empty(&first), first.contains("list_changed")), (knows, !knows), "{revision}: {first}");
    }
}
