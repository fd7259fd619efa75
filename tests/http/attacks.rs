//! Tests attacks on an HTTP server: slow clients, incomplete requests, oversized input, and foreign web pages.

use std::io::{BufReader, Read, Write};
use std::net::Shutdown;
use std::time::Duration;

use serde_json::json;

use crate::support::http::read_response;
use crate::support::{Client, DEADLINE, Http, Request, Scratch, eventually, http, sockets};

fn server(arguments: &[&str]) -> (Scratch, Http) {
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "a", "x"]);
    let server = Http::start(&scratch, arguments);
    (scratch, server)
}

fn good() -> Request {
    http::modern("/mcp", "prompts/list", json!({}))
}

/// Asserts that the server still answers other clients.
#[track_caller]
fn lives(server: &Http) {
    assert_eq!(server.send(&good()).status, 200);
}

/// Reads until the server closes the connection.
fn closed(mut stream: std::net::TcpStream) -> Vec<u8> {
    let mut rest = Vec::new();
    stream.set_read_timeout(Some(DEADLINE)).expect("a deadline");
    let _ = stream.read_to_end(&mut rest);
    rest
}

#[test]
fn a_client_that_sends_slowly_is_cut_off() {
    let (_scratch, server) = server(&["--timeout", "1"]);
    let mut head = server.connect();
    head.write_all(b"POST /mcp HTTP/1.1\r\nHost: loc").expect("a piece");
    let mut body = server.connect();
    body.write_all(&good().with("Content-Length", "1000").bytes()).expect("a piece");
    let mut drip = server.connect();
    let dripping = std::thread::spawn(move || {
        for byte in good().bytes() {
            if drip.write_all(&[byte]).is_err() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        false
    });
    lives(&server);
    closed(head);
    let late = String::from_utf8_lossy(&closed(body)).into_owned();
    assert!(late.starts_with("HTTP/1.1 408"), "{late}");
    assert!(dripping.join().expect("it ends"), "a byte at a time is not waited for");
    lives(&server);
}

#[test]
fn a_client_that_reads_nothing_is_cut_off() {
    let scratch = Scratch::with_project();
    // The test counts the server's sockets, and connections to a database server are sockets too.
    if !scratch.is_file() {
        return;
    }
    let large = scratch.file("large.txt", "x".repeat(8 << 20));
    scratch.ok(&["resource", "create", "large", "file:///large", &format!("@{}", large.display())]);
    let server = Http::start(&scratch, &["--timeout", "1"]);
    let request = http::modern("/mcp", "resources/read", json!({ "uri": "file:///large" }));
    let idle = sockets(server.pid());
    let mut stream = server.connect();
    for _ in 0..4 {
        stream.write_all(&request.bytes()).expect("the server takes it");
    }
    eventually("the server takes the connection", || (sockets(server.pid()) > idle).then_some(()));
    eventually("the server closes the connection", || (sockets(server.pid()) == idle).then_some(()));
    let whole = closed(stream).len();
    assert!(whole < 4 * (8 << 20), "the answers did not wait for ever: {whole}");
    assert_eq!(server.send(&request).status, 200);
}

#[test]
fn a_client_that_half_closes_its_connection_still_gets_its_answer() {
    let (_scratch, server) = server(&[]);
    let call = http::modern("/mcp", "tools/call", json!({ "name": "list_prompts", "arguments": {} }));
    let greeting = http::message("/mcp", &http::hello("2025-11-25"));
    let health = Request::new("GET", "/healthz");
    for request in [good(), call, greeting, health] {
        let mut stream = server.connect();
        stream.write_all(&request.bytes()).expect("a request");
        stream.shutdown(Shutdown::Write).expect("half a close");
        let answer = String::from_utf8_lossy(&closed(stream)).into_owned();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    let session = server.session("/mcp", "2025-11-25");
    let call = json!({ "name": "list_prompts", "arguments": {} });
    for (method, params) in [("tools/list", json!({})), ("tools/call", call), ("ping", json!({}))] {
        for _ in 0..5 {
            let request = http::in_session("/mcp", &session, method, params.clone()).bytes();
            // The rest of the body arrives together with the end of input.
            let (head, rest) = request.split_at(request.len() - 10);
            let mut stream = server.connect();
            stream.write_all(head).expect("a part");
            std::thread::sleep(Duration::from_millis(5));
            stream.write_all(rest).expect("the rest");
            stream.shutdown(Shutdown::Write).expect("half a close");
            let answer = String::from_utf8_lossy(&closed(stream)).into_owned();
            assert!(answer.contains(r#""result""#), "{method} {answer}");
        }
    }
    let session = server.session("/mcp", "2025-03-26");
    let call = |id: u32| {
        let params = json!({ "name": "list_prompts", "arguments": {} });
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
    };
    let batch = http::message("/mcp", &json!([call(1), call(2), call(3)])).with("Mcp-Session-Id", &session);
    let mut stream = server.connect();
    stream.write_all(&batch.bytes()).expect("a batch");
    stream.shutdown(Shutdown::Write).expect("half a close");
    let answers = String::from_utf8_lossy(&closed(stream)).into_owned();
    assert_eq!(answers.matches(r#""result""#).count(), 3, "{answers}");
    let mut short = server.connect();
    short.write_all(&good().with("Content-Length", "1000").bytes()).expect("half a body");
    short.shutdown(Shutdown::Write).expect("half a close");
    let answer = String::from_utf8_lossy(&closed(short)).into_owned();
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 400"), "{answer}");
    let mut cut = server.connect();
    cut.write_all(&good().bytes()[..40]).expect("half a request");
    drop(cut);
    lives(&server);
}

#[test]
fn oversized_requests_are_refused_before_they_are_read() {
    let (_scratch, server) = server(&["--max-line", "4096"]);
    let long = http::message("/mcp", &json!({ "x": "y".repeat(5000) }));
    assert_eq!(server.send(&long).status, 413);
    let chunks = good().without("Content-Length").with("Transfer-Encoding", "chunked").body("");
    let head = String::from_utf8(chunks.bytes()).expect("text").replace("Content-Length: 0\r\n", "");
    let mut stream = server.connect();
    stream.write_all(head.as_bytes()).expect("the head");
    for _ in 0..8 {
        if stream.write_all(format!("400\r\n{}\r\n", "x".repeat(1024)).as_bytes()).is_err() {
            break;
        }
    }
    assert_eq!(read_response(&mut BufReader::new(stream)).expect("a response").status, 413);
    let wide = (0..300).fold(good(), |request, n| request.and(&format!("X-{n}"), "y"));
    assert!(matches!(server.send(&wide).status, 400 | 431));
    let mut endless = server.connect();
    let _ = endless.write_all(format!("POST /mcp HTTP/1.1\r\nX: {}", "y".repeat(1 << 20)).as_bytes());
    let told = String::from_utf8_lossy(&closed(endless)).into_owned();
    assert!(told.is_empty() || told.starts_with("HTTP/1.1 4"), "{told}");
    lives(&server);
}

#[test]
fn a_refused_client_that_sends_slowly_does_not_keep_its_connection() {
    let (_scratch, server) = server(&[]);
    let refused = good().with("Host", "evil.example").with("Content-Length", "100000").body("");
    let mut stream = server.connect();
    stream.write_all(&refused.bytes()).expect("a head");
    // The default `--timeout` is 30 seconds: 120 bytes.
    let sent = (0..100).take_while(|_| {
        std::thread::sleep(std::time::Duration::from_millis(250));
        stream.write_all(b"x").is_ok()
    });
    assert!(sent.count() < 90);
    assert_eq!(read_response(&mut BufReader::new(stream)).expect("a response").status, 403);
    lives(&server);
}

#[test]
fn invalid_messages_get_the_right_error() {
    let (_scratch, server) = server(&[]);
    let send = |body: &[u8]| {
        let response = server.send(&good().body(body));
        (response.status, response.message()["error"]["code"].as_i64().unwrap_or(0), response.message()["id"].clone())
    };
    assert_eq!(send(b""), (400, -32700, json!(null)));
    assert_eq!(send(b"{"), (400, -32700, json!(null)));
    assert_eq!(send(b"\xff\xfe"), (400, -32700, json!(null)));
    assert_eq!(send(b"[]"), (400, -32600, json!(null)));
    assert_eq!(send(b"5"), (400, -32600, json!(null)));
    assert_eq!(send(br#"{"jsonrpc":"1.0","id":7,"method":"x"}"#), (400, -32600, json!(7)));
    assert_eq!(send("[".repeat(10_000).as_bytes()).0, 400);
    lives(&server);
}

#[test]
fn foreign_pages_and_names_are_refused() {
    let (_scratch, server) = server(&[]);
    for host in ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", ""] {
        assert_eq!(server.send(&good().with("Host", host)).status, 403, "{host}");
    }
    assert!(server.send(&good().and("Host", "localhost")).status >= 400);
    let port = server.address.port();
    // A page from another server on this machine is foreign too.
    let other_port = "http://localhost:5173".to_owned();
    let with_user = format!("http://user@localhost:{port}");
    let other_scheme = format!("https://localhost:{port}");
    for origin in
        ["http://evil.example", "null", "https://localhost.evil.example", &other_port, &with_user, &other_scheme]
    {
        let refused = |request: Request| {
            let request = request.with("Host", &format!("localhost:{port}")).with("Origin", origin);
            assert_eq!(server.send(&request).status, 403, "{origin}");
        };
        refused(good());
        refused(Request::new("GET", "/sse"));
        refused(Request::new("GET", "/readyz"));
        refused(Request::new("GET", "/metrics"));
        refused(Request::new("OPTIONS", "/mcp").with("Access-Control-Request-Method", "POST"));
    }
    for (host, origin) in [("localhost", "127.0.0.1"), ("127.0.0.1", "localhost"), ("[::1]", "localhost")] {
        let own = good().with("Host", &format!("{host}:{port}")).with("Origin", &format!("http://{origin}:{port}"));
        assert_eq!(server.send(&own).status, 200, "{host} {origin}");
    }
}

#[test]
fn a_page_of_an_allowed_origin_gets_its_answer() {
    let page = "http://localhost:5173";
    let (_scratch, server) = server(&["--allow-origin", "https://app.example,http://localhost:5173"]);
    let asks = Request::new("OPTIONS", "/mcp").with("Access-Control-Request-Method", "POST").with("Origin", page);
    let may = server.send(&asks);
    assert_eq!((may.status, may.header("access-control-allow-origin")), (204, Some(page)));
    for needed in ["authorization", "content-type", "mcp-session-id", "mcp-protocol-version"] {
        assert!(may.header("access-control-allow-headers").is_some_and(|all| all.contains(needed)), "{needed}");
    }
    let answer = server.send(&good().with("Origin", page));
    assert_eq!((answer.status, answer.header("access-control-allow-origin")), (200, Some(page)));
    let shown = answer.header("access-control-expose-headers");
    assert!(shown.is_some_and(|shown| shown.contains("mcp-session-id")), "{shown:?}");
    assert_eq!(server.send(&good().with("Origin", "http://localhost:8000")).status, 403);
    // A client that sends no Origin gets no CORS headers.
    assert_eq!(server.send(&good()).header("access-control-allow-origin"), None);
    let scratch = Scratch::new();
    for wrong in ["null", "*", "localhost:5173", "http://localhost:5173/page"] {
        let ran = scratch.run(&["serve", "--http", "--allow-origin", wrong]);
        assert_eq!(ran.status, 2, "{wrong} {ran}");
        assert!(ran.stderr.contains("such as http://localhost:5173"), "{ran}");
    }
}

#[test]
fn headers_that_must_be_single_are_refused_if_repeated() {
    let (_scratch, server) = server(&[]);
    let session = server.session("/mcp", "2025-06-18");
    let ask = http::in_session("/mcp", &session, "ping", json!({})).with("MCP-Protocol-Version", "2025-06-18");
    assert_eq!(server.send(&ask).status, 200);
    for (name, value) in [
        ("Mcp-Session-Id", session.as_str()),
        ("MCP-Protocol-Version", "2025-06-18"),
        ("Content-Type", "application/json"),
        ("Host", "localhost"),
    ] {
        for other in [value, "other"] {
            let refused = server.send(&ask.clone().and(name, other));
            assert_eq!(refused.status, 400, "{name}: {other}: {}", refused.text());
            assert!(refused.text().contains(&name.to_ascii_lowercase()), "{}", refused.text());
        }
    }
    for name in ["Authorization", "Origin", "Mcp-Method", "Mcp-Name", "Last-Event-ID"] {
        let refused = server.send(&good().with(name, "a").and(name, "b"));
        assert_eq!(refused.status, 400, "{name}");
    }
    // A header that contains a list may be repeated.
    let parts = ask.without("Accept").and("Accept", "application/json").and("Accept", "text/event-stream");
    assert_eq!(server.send(&parts).status, 200);
}

#[test]
fn paths_are_matched_exactly_and_foreign_targets_are_refused() {
    let (_scratch, server) = server(&[]);
    let port = server.address.port();
    let at = |path: &str| server.send(&http::modern(path, "prompts/list", json!({}))).status;
    for path in ["//mcp", "///mcp", "/mcp/", "/projects//p/mcp", "/projects/p//mcp", "//projects/p/mcp"] {
        assert_eq!(at(path), 404, "{path}");
    }
    assert_eq!(at(&format!("http://localhost:{port}/mcp")), 200);
    for target in ["http://evil.example/mcp", "http://user@localhost/mcp", "https://localhost.evil.example/mcp"] {
        assert_eq!(at(target), 403, "{target}");
    }
}

#[test]
fn readiness_needs_no_key_and_gives_no_reasons() {
    let scratch = Scratch::with_project();
    if !scratch.is_file() {
        return;
    }
    let server = Http::start(&scratch, &["--require-key"]);
    let ask = || server.send(&Request::new("GET", "/readyz"));
    assert_eq!((ask().status, ask().text()), (200, "ready\n".to_owned()));
    assert_eq!(server.send(&Request::new("GET", "/readyz").with("Host", "evil.example")).status, 403);
    std::fs::rename(scratch.db(), scratch.path().join("elsewhere.db")).expect("the database is moved");
    let (status, text) = crate::support::eventually("the server notices", || {
        let told = ask();
        (told.status != 200).then(|| (told.status, told.text()))
    });
    assert_eq!((status, text.as_str()), (503, "not ready\n"));
}

#[test]
fn idle_connections_do_not_block_a_server_with_few_descriptors() {
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "a", "x"]);
    let mut serve = scratch.command();
    serve.args(["--json", "serve", "--http", "--sse", "--port", "0"]);
    let mut limited = std::process::Command::new("sh");
    limited.args(["-c", "ulimit -n 64 && exec \"$0\" \"$@\""]).arg(serve.get_program()).args(serve.get_args());
    for (name, value) in serve.get_envs() {
        match value {
            Some(value) => limited.env(name, value),
            None => limited.env_remove(name),
        };
    }
    limited.current_dir(serve.get_current_dir().unwrap_or(scratch.path()));
    let server = Http::spawn(&mut limited);
    // A connection with an open stream is busy, so it is not closed to make room.
    let events = server.open(&Request::new("GET", "/sse"));
    let address = events.data();
    let mut kept = server.connect();
    kept.write_all(&good().bytes()).expect("a request");
    assert_eq!(read_response(&mut BufReader::new(&kept)).expect("an answer").status, 200);
    let idle: Vec<_> = (0..120)
        .map(|n| {
            let mut stream = server.connect();
            if n % 2 == 0 {
                stream.write_all(b"POST /mcp HTTP/1.1\r\nHost: loc").expect("a piece");
            }
            stream
        })
        .collect();
    for _ in 0..40 {
        lives(&server);
    }
    let hello =
        json!({ "protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello });
    assert_eq!(server.send(&http::message(&address, &hello)).status, 202);
    assert_eq!(events.message()["result"]["protocolVersion"], "2024-11-05");
    drop(idle);
    lives(&server);
}

/// Returns what a model can read in a failed result, except the message: it depends on how the server noticed that the
/// database is gone.
fn failure(result: &serde_json::Value) -> (bool, bool, bool, serde_json::Value) {
    let text = result["content"][0]["text"].as_str().unwrap_or_default();
    let structured = &result["structuredContent"];
    let has_hint = text.contains("hint") || !structured["error"]["hints"].is_null();
    (result["isError"] == true, has_hint, structured.is_object(), structured["error"]["code"].clone())
}

/// A tool call fails in the same way over HTTP and stdio, even if the request fails before it is parsed.
#[test]
fn a_call_of_a_tool_while_the_database_is_gone_is_a_result_that_a_model_can_read() {
    let scratch = Scratch::with_project();
    if !scratch.is_file() {
        return;
    }
    let server = Http::start(&scratch, &[]);
    let session = server.session("/mcp", "2025-11-25");
    let mut client = Client::spawn(scratch.command().arg("serve")).shake_hands("2025-11-25");
    std::fs::rename(scratch.db(), scratch.path().join("elsewhere.db")).expect("the database is moved");
    let ask = || server.send(&Request::new("GET", "/readyz"));
    eventually("the server notices", || (ask().status != 200).then_some(()));
    for (tool, arguments) in [
        ("list_prompts", json!({})),
        ("create_prompt", json!({ "name": "b", "content": "y" })),
        ("list_skills", json!({})),
        ("search_commands", json!({ "query": "prompt" })),
        ("enact__list", json!({})),
    ] {
        let called = json!({ "name": tool, "arguments": arguments });
        let stdio = client.result("tools/call", called.clone());
        assert_eq!(stdio["isError"], true, "{tool}: {stdio}");
        let told = server.send(&http::in_session("/mcp", &session, "tools/call", called.clone()));
        assert_eq!(
            (told.status, failure(&told.message()["result"])),
            (200, failure(&stdio)),
            "{tool}: {}",
            told.text()
        );
        let modern = server.modern("/mcp", "tools/call", called.clone());
        assert_eq!(failure(&modern["result"]), failure(&stdio), "{tool}: {modern}");
    }
    client.finish();
}

#[test]
fn names_cannot_break_out_of_a_header() {
    let (scratch, server) = server(&[]);
    for path in ["/projects/p%0d%0aSet-Cookie:%20x/mcp", "/projects/p%00/mcp"] {
        let response = server.send(&http::modern(path, "prompts/list", json!({})));
        assert_eq!((response.status, response.header("set-cookie")), (404, None), "{path}");
    }
    scratch.ok(&["resource", "create", "odd", "file:///a%0d%0aSet-Cookie:x", "x"]);
    let read = server.send(&http::modern("/mcp", "resources/read", json!({ "uri": "file:///a%0d%0aSet-Cookie:x" })));
    assert_eq!((read.status, read.header("set-cookie")), (200, None));
}

#[test]
fn a_flood_without_keys_leaves_the_others_alone() {
    let scratch = Scratch::with_project();
    let made = scratch.json(&["access", "create", "ci"]);
    let bearer = format!("Bearer {}", made["key"].as_str().expect("a key"));
    let server = Http::start(&scratch, &[]);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..100 {
                    assert!(matches!(server.send(&good()).status, 401 | 429));
                }
            });
        }
        for _ in 0..50 {
            assert_eq!(server.send(&good().with("Authorization", &bearer)).status, 200);
        }
    });
}

#[test]
fn a_message_that_ends_after_its_stream_is_answered() {
    let (_scratch, server) = server(&[]);
    let events = server.open(&Request::new("GET", "/sse"));
    let message = http::message(&events.data(), &http::hello("2024-11-05")).bytes();
    let (begin, end) = message.split_at(message.len() - 20);
    let mut stream = server.connect();
    stream.write_all(begin).expect("half a message");
    server.wait_for_requests(1);
    drop(events);
    server.wait_for_gauge("mcpkg_open_streams", 0);
    stream.write_all(end).expect("the rest of it");
    // It does not matter whether the message still found its session, only that it gets an answer.
    assert!(read_response(&mut BufReader::new(stream)).expect("an answer").status >= 200);
    assert_eq!(server.send(&good()).status, 200);
}

#[test]
fn acknowledged_writes_outlive_kill_and_restart_under_load() {
    let scratch = Scratch::with_project();
    let mut acknowledged = Vec::new();
    for round in 0..3 {
        let mut server = Http::start(&scratch, &[]);
        let address = server.address;
        let (sender, done) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            for client in 0..4 {
                let sender = sender.clone();
                scope.spawn(move || {
                    for n in 0..1000 {
                        let name = format!("p{round}-{client}-{n}");
                        let arguments = json!({ "name": name, "content": "x" });
                        let request = http::modern(
                            "/mcp",
                            "tools/call",
                            json!({ "name": "create_prompt", "arguments": arguments }),
                        );
                        let Ok(mut stream) = std::net::TcpStream::connect(address) else { return };
                        let Ok(()) = stream.write_all(&request.bytes()) else { return };
                        match read_response(&mut BufReader::new(stream)) {
                            Ok(response) if response.message()["result"]["isError"] == false => drop(sender.send(name)),
                            _ => return,
                        }
                    }
                });
            }
            // Kill the server while the clients are still writing.
            let early: Vec<String> = done.iter().take(20).collect();
            server.kill();
            acknowledged.extend(early);
        });
        drop(sender);
        acknowledged.extend(done.iter());
    }
    let listed = scratch.json(&["prompt", "list", "--limit", "100000"]).to_string();
    for name in &acknowledged {
        assert!(listed.contains(&format!("\"{name}\"")), "{name} was acknowledged and is lost");
    }
    assert!(acknowledged.len() >= 60);
}
