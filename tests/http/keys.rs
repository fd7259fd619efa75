//! Tests access keys over HTTP: which requests are admitted, what they may access, and how others are refused.

use std::io::{BufReader, Read, Write};
use std::time::Duration;

use serde_json::json;

use crate::support::{Http, Request, Scratch, http};

fn scratch() -> Scratch {
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "of-p", "P"]);
    scratch.ok(&["project", "create", "q"]);
    scratch.ok(&["-p", "q", "prompt", "create", "of-q", "Q"]);
    scratch
}

fn key(scratch: &Scratch, arguments: &[&str]) -> String {
    let made = scratch.json(&[&["access", "create"], arguments].concat());
    made["key"].as_str().expect("a key").to_owned()
}

fn ask(path: &str, key: &str) -> Request {
    http::modern(path, "prompts/list", json!({})).with("Authorization", &format!("Bearer {key}"))
}

fn call(key: &str, tool: &str, arguments: serde_json::Value) -> Request {
    http::modern("/mcp", "tools/call", json!({ "name": tool, "arguments": arguments }))
        .with("Authorization", &format!("Bearer {key}"))
}

#[test]
fn after_the_first_key_each_request_needs_one() {
    let scratch = scratch();
    let server = Http::start(&scratch, &[]);
    let open = http::modern("/mcp", "prompts/list", json!({}));
    assert_eq!(server.send(&open).status, 200);
    let key = key(&scratch, &["ci"]);
    let refused = server.send(&open);
    assert_eq!((refused.status, refused.header("www-authenticate")), (401, Some("Bearer realm=\"mcpkg\"")));
    assert_eq!(server.send(&ask("/mcp", &key)).message()["result"]["prompts"][0]["name"], "of-p");
    let wrong = server.send(&ask("/mcp", &format!("{key}x")));
    assert_eq!(wrong.status, 401);
    assert!(wrong.header("www-authenticate").is_some_and(|told| told.contains("invalid_token")));
    for path in ["/sse", "/projects/q/sse"] {
        assert_eq!(server.send(&Request::new("GET", path)).status, 401, "{path}");
    }
    assert_eq!(server.send(&Request::new("GET", "/healthz")).status, 200);
    // Revoking the last key does not open the server to everybody: no request is admitted.
    scratch.ok(&["access", "revoke", "ci", "--yes"]);
    assert_eq!(server.send(&ask("/mcp", &key)).status, 401);
    assert_eq!(server.send(&open).status, 401);
}

#[test]
fn a_key_of_one_project_reaches_that_one_only() {
    let scratch = scratch();
    let key = key(&scratch, &["of-q", "--project", "q"]);
    let server = Http::start(&scratch, &[]);
    for path in ["/mcp", "/projects/q/mcp"] {
        assert_eq!(server.send(&ask(path, &key)).message()["result"]["prompts"][0]["name"], "of-q", "{path}");
    }
    // The answer is the same whether the other project exists or not.
    let (there, nowhere) = (server.send(&ask("/projects/p/mcp", &key)), server.send(&ask("/projects/nope/mcp", &key)));
    assert_eq!((there.status, nowhere.status), (403, 403));
    assert_eq!(there.text().replace("'p'", "'nope'"), nowhere.text());
    // Tools that reach beyond a project are not available.
    let tools = http::modern("/mcp", "tools/list", json!({})).with("Authorization", &format!("Bearer {key}"));
    let listed = server.send(&tools).text();
    assert!(listed.contains("create_prompt") && !listed.contains("deploy_apply"), "{listed}");
    assert!(server.send(&call(&key, "deploy", json!({}))).message()["error"]["code"] == -32602);
    // A subscription to a prompt that the key may not read gets no notifications.
    let listen = http::modern(
        "/mcp",
        "subscriptions/listen",
        json!({ "notifications": { "promptsListChanged": true, "resourceSubscriptions": ["mcpkg://prompt/of-p"] } }),
    );
    let stream = server.open(&listen.with("Authorization", &format!("Bearer {key}")));
    stream.message();
    scratch.ok(&["-p", "p", "prompt", "update", "of-p", "--content", "changed"]);
    assert!(stream.messages(std::time::Duration::from_millis(300)).is_empty());
    assert_eq!(server.send(&call(&key, "create_prompt", json!({ "name": "by-key", "content": "x" }))).status, 200);
    let events = scratch.json(&["events"]);
    assert!(events.to_string().contains("key:of-q:"), "{events}");
    // When the project is deleted, its key becomes invalid.
    scratch.ok(&["project", "delete", "q", "--yes"]);
    assert_eq!(server.send(&ask("/mcp", &key)).status, 401);
}

#[test]
fn a_read_only_key_cannot_write() {
    let scratch = scratch();
    let key = key(&scratch, &["reader", "--read-only"]);
    let server = Http::start(&scratch, &[]);
    let refused = server.send(&call(&key, "create_prompt", json!({ "name": "x", "content": "x" })));
    assert_eq!(refused.status, 403, "{}", refused.text());
    assert!(refused.header("www-authenticate").is_some_and(|told| told.contains("insufficient_scope")));
    assert_eq!(server.send(&call(&key, "get_prompt", json!({ "name": "of-p" }))).message()["result"]["isError"], false);
    let tools = http::modern("/mcp", "tools/list", json!({})).with("Authorization", &format!("Bearer {key}"));
    assert!(!server.send(&tools).text().contains("create_prompt"));
    // The older transport enforces the same limits.
    let open = Request::new("GET", "/sse").with("Authorization", &format!("Bearer {key}"));
    let events = server.open(&open);
    let address = events.data();
    let say = |message: serde_json::Value| {
        let request = http::message(&address, &message);
        assert_eq!(server.send(&request).status, 401, "a session id opens nothing");
        assert_eq!(server.send(&request.with("Authorization", &format!("Bearer {key}"))).status, 202);
    };
    let hello =
        json!({ "protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    say(json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello }));
    events.message();
    let write = json!({ "name": "create_prompt", "arguments": { "name": "x", "content": "x" } });
    say(json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": write }));
    assert_eq!(events.message()["error"]["code"], -32602);
    assert_eq!(scratch.json(&["prompt", "list"])["prompts"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_session_accepts_only_its_own_key() {
    let scratch = scratch();
    let server = Http::start(&scratch, &[]);
    let session = server.session("/mcp", "2025-11-25");
    let (one, other) = (key(&scratch, &["one"]), key(&scratch, &["other"]));
    let with = |request: Request, key: &str| request.with("Authorization", &format!("Bearer {key}"));
    // The session began without a key, so no key can use it.
    let read = http::in_session("/mcp", &session, "prompts/list", json!({}));
    assert_eq!(server.send(&with(read, &one)).status, 404);
    let hello =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let begin = http::message("/mcp", &json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello }));
    let begun = server.send(&with(begin, &one));
    let session = begun.header("mcp-session-id").expect("a session").to_owned();
    let read = http::in_session("/mcp", &session, "prompts/list", json!({}));
    assert_eq!(server.send(&with(read.clone(), &one)).status, 200);
    assert_eq!(server.send(&with(read, &other)).status, 404);
    let stream = Request::new("GET", "/mcp").with("Mcp-Session-Id", &session);
    assert_eq!(server.send(&with(stream, &other)).status, 404);
    let end = Request::new("DELETE", "/mcp").with("Mcp-Session-Id", &session);
    assert_eq!(server.send(&with(end, &other)).status, 404);
}

#[test]
fn a_client_that_guesses_keys_must_wait_but_a_valid_key_still_works() {
    let scratch = scratch();
    let key = key(&scratch, &["ci"]);
    let server = Http::start(&scratch, &[]);
    let statuses: Vec<u16> = (0..30).map(|_| server.send(&ask("/mcp", "mcpkg_guess")).status).collect();
    assert_eq!((statuses[0], statuses[29]), (401, 429));
    let limited = server.send(&ask("/mcp", "mcpkg_guess"));
    assert!(limited.header("retry-after").is_some_and(|after| after.parse::<u64>().is_ok_and(|after| after > 0)));
    assert_eq!(server.send(&ask("/mcp", &key)).status, 200);
}

#[test]
fn clients_that_do_not_guess_always_get_the_reason() {
    let scratch = scratch();
    let (gone, good) = (key(&scratch, &["gone"]), key(&scratch, &["good"]));
    scratch.ok(&["access", "revoke", "gone", "--yes"]);
    let server = Http::start(&scratch, &[]);
    let open = http::modern("/mcp", "prompts/list", json!({}));
    for _ in 0..40 {
        let missing = server.send(&open);
        assert_eq!(missing.status, 401, "{}", missing.text());
        assert!(missing.text().contains("mcpkg access create"), "{}", missing.text());
        let revoked = server.send(&ask("/mcp", &gone));
        assert_eq!(revoked.status, 401, "{}", revoked.text());
        assert!(revoked.text().contains("revoked"), "{}", revoked.text());
    }
    // If another client at the same address guesses keys, clients that do not guess get the same answers as before. The
    // guesser still gets the reason, with 429.
    let foreign = key(&self::scratch(), &["elsewhere"]);
    let guess = || server.send(&ask("/mcp", &foreign));
    let last = std::iter::repeat_with(guess).take(30).last().expect("an answer");
    assert_eq!(last.status, 429);
    assert!(last.text().contains("does not know the access key"), "{}", last.text());
    assert_eq!((server.send(&open).status, server.send(&ask("/mcp", &gone)).status), (401, 401));
    assert_eq!(server.send(&ask("/mcp", &good)).status, 200);
}

/// Returns all events of a stream until its end, including comments.
fn rest(events: &http::Events) -> Vec<String> {
    std::iter::from_fn(|| events.raw()).collect()
}

#[test]
fn streams_send_nothing_after_their_key_has_ended() {
    let over = ": the access key is no longer valid";
    let ends: [(&str, &[&str], &[&str]); 3] = [
        ("revoked", &[], &["access", "revoke", "k", "--yes"]),
        ("renamed", &["--project", "p"], &["project", "rename", "p", "p2"]),
        ("deleted", &["--project", "p"], &["project", "delete", "p", "--yes"]),
    ];
    for (how, of, end) in ends {
        let scratch = scratch();
        let key = key(&scratch, &[&["k"], of].concat());
        let server = Http::start(&scratch, &[]);
        let with = |request: Request| request.with("Authorization", &format!("Bearer {key}"));
        let wanted = json!({ "notifications": { "promptsListChanged": true, "resourceSubscriptions": ["file:///a"] } });
        let listen = server.open(&with(http::modern("/mcp", "subscriptions/listen", wanted)));
        listen.message();
        let begun = server.send(&with(http::message("/mcp", &http::hello("2025-11-25"))));
        let session = begun.header("mcp-session-id").expect("a session").to_owned();
        let told = http::message("/mcp", &json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        server.send(&with(told.with("Mcp-Session-Id", &session)));
        let stream = server.open(&with(Request::new("GET", "/mcp").with("Mcp-Session-Id", &session)));
        let older = server.open(&with(Request::new("GET", "/sse")));
        let address = older.data();
        let say = |message: serde_json::Value| server.send(&with(http::message(&address, &message)));
        say(http::hello("2024-11-05"));
        older.message();
        say(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        scratch.ok(&["-p", "p", "prompt", "create", "before", "x"]);
        let changed = "notifications/prompts/list_changed";
        assert_eq!([&listen, &stream, &older].map(|events| events.message()["method"].clone()), [changed; 3]);
        // Both commands run in this process, directly after each other, so that the server's periodic check of keys
        // cannot come in between.
        let context = scratch.context();
        let run = |command: &[&str]| {
            let words = mcpkg::DOMAINS.operations().find(|entry| command.starts_with(entry.cli)).expect("an operation");
            let given = match command[2..] {
                [name, "--yes"] => json!({ "name": name }),
                [name, last] if words.cli[1] == "rename" => json!({ "name": name, "to": last }),
                [name, last] => json!({ "name": name, "content": last }),
                _ => unreachable!("{command:?}"),
            };
            words
                .from_agent(given)
                .expect("a call")
                .run(&context)
                .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        };
        run(end);
        if how == "deleted" {
            run(&["project", "select", "q", "--yes"]);
        }
        run(&["prompt", "create", "after", "x"]);
        for events in [&listen, &stream, &older] {
            assert_eq!(rest(events), [over], "{how}");
        }
    }
}

#[test]
fn requests_from_other_machines_need_a_key() {
    let scratch = scratch();
    let ran = scratch.run(&["serve", "--http", "--host", "0.0.0.0", "--port", "0"]);
    assert_eq!(ran.status, 1, "{ran}");
    assert!(ran.stderr.contains("mcpkg access create"), "{ran}");
    let server = Http::start(&scratch, &["--require-key"]);
    assert_eq!(server.send(&http::modern("/mcp", "prompts/list", json!({}))).status, 401);
}

/// Returns the last event or comment of a stream.
fn last_words(events: &http::Events) -> Option<String> {
    std::iter::from_fn(|| events.raw()).last()
}

#[test]
fn open_streams_end_with_their_key() {
    let scratch = scratch();
    let (gone, kept) = (key(&scratch, &["gone"]), key(&scratch, &["kept", "--project", "p"]));
    let server = Http::start(&scratch, &[]);
    let with = |request: Request, key: &str| request.with("Authorization", &format!("Bearer {key}"));
    let listen = |key: &str| {
        let wanted = json!({ "notifications": { "promptsListChanged": true } });
        let events = server.open(&with(http::modern("/mcp", "subscriptions/listen", wanted), key));
        events.message();
        events
    };
    let (listens, sse) = (listen(&gone), server.open(&with(Request::new("GET", "/sse"), &gone)));
    sse.data();
    let stays = listen(&kept);
    scratch.ok(&["access", "revoke", "gone", "--yes"]);
    let over = Some(": the access key is no longer valid".to_owned());
    assert_eq!((last_words(&listens), last_words(&sse)), (over.clone(), over.clone()));
    scratch.ok(&["-p", "p", "prompt", "create", "new", "x"]);
    assert_eq!(stays.message()["method"], "notifications/prompts/list_changed");
    // Another project takes over the name. The key of the old project gets no notifications for the new one.
    scratch.ok(&["project", "rename", "p", "p2"]);
    scratch.ok(&["project", "create", "p"]);
    assert_eq!(last_words(&stays), over);
}

#[test]
fn an_expired_key_is_refused_and_its_streams_end() {
    let scratch = scratch();
    // The key is created with a clock that is almost an hour behind, so it expires in 2.5 seconds.
    let now = mcpkg_base::clock::Clock::system().now();
    let context = mcpkg_core::op::Context {
        clock: mcpkg_base::clock::Clock::fixed(now - 60 * 60 * 1000 + 2500),
        ..scratch.context()
    };
    let create = mcpkg::DOMAINS.operations().find(|entry| entry.cli == ["access", "create"]).expect("an operation");
    let call = create.from_agent(json!({ "name": "soon", "expires": "60m" })).expect("a call");
    let key = call.run(&context).expect("a key").data["key"].as_str().expect("a key").to_owned();
    let server = Http::start(&scratch, &[]);
    assert_eq!(server.send(&ask("/mcp", &key)).status, 200);
    let listen =
        http::modern("/mcp", "subscriptions/listen", json!({ "notifications": { "promptsListChanged": true } }));
    let stream = server.open(&listen.with("Authorization", &format!("Bearer {key}")));
    stream.message();
    assert_eq!(last_words(&stream).as_deref(), Some(": the access key is no longer valid"));
    let refused = server.send(&ask("/mcp", &key));
    assert_eq!(refused.status, 401);
    assert!(refused.text().contains("expired"), "{}", refused.text());
    assert!(refused.header("www-authenticate").is_some_and(|how| how.contains("invalid_token")));
}

#[test]
fn streams_without_a_key_end_when_one_is_needed() {
    let scratch = scratch();
    let server = Http::start(&scratch, &[]);
    let wanted = json!({ "notifications": { "promptsListChanged": true } });
    let events = server.open(&http::modern("/mcp", "subscriptions/listen", wanted));
    events.message();
    key(&scratch, &["first"]);
    assert_eq!(last_words(&events).as_deref(), Some(": the access key is no longer valid"));
}

#[test]
fn a_key_without_execute_does_not_see_the_execute_tool() {
    let scratch = scratch();
    let (without, with) = (key(&scratch, &["without"]), key(&scratch, &["with", "--execute"]));
    let server = Http::start(&scratch, &[]);
    for (key, may) in [(&without, false), (&with, true)] {
        let send = |request: Request| server.send(&request.with("Authorization", &format!("Bearer {key}"))).message();
        let hello = send(http::message("/mcp", &http::hello("2025-11-25")));
        let discovered = send(http::modern("/mcp", "server/discover", json!({})));
        for told in [&hello["result"]["instructions"], &discovered["result"]["instructions"]] {
            let told = told.as_str().expect("instructions");
            assert_eq!(told.contains("then execute"), may, "{told}");
        }
        let listed = send(http::modern("/mcp", "tools/list", json!({})))["result"]["tools"].take();
        let tools = listed.as_array().expect("tools");
        assert_eq!(tools.iter().any(|tool| tool["name"] == "execute"), may, "{listed}");
    }
}

#[test]
fn a_connection_can_be_used_again_after_a_refusal_that_came_before_the_body() {
    let scratch = scratch();
    let key = key(&scratch, &["ci"]);
    let server = Http::start(&scratch, &[]);
    for refused in [
        http::modern("/mcp", "prompts/list", json!({})),
        ask("/mcp", &format!("{key}x")),
        ask("/projects/q/nothing", &key),
        ask("/sse", &key),
        ask("/metrics", &format!("{key}x")),
        ask("/mcp", &key).with("Origin", "https://evil.example"),
    ] {
        let bytes = refused.bytes();
        let head = bytes.windows(4).position(|end| end == b"\r\n\r\n").expect("a head") + 4;
        let mut stream = server.connect();
        stream.write_all(&bytes[..head]).expect("the server takes the head");
        // Send the head before the body, as proxies do.
        std::thread::sleep(Duration::from_millis(50));
        stream.write_all(&bytes[head..]).expect("the server takes the body");
        let mut reader = BufReader::new(stream.try_clone().expect("a second handle"));
        let response = http::read_response(&mut reader).expect("a response");
        assert!(response.status >= 400 && response.header("connection").is_none(), "{response:?}");
        stream.write_all(&ask("/mcp", &key).bytes()).expect("the server takes a second request");
        assert_eq!(http::read_response(&mut reader).expect("a second response").status, 200, "{response:?}");
    }
}

#[test]
fn a_refusal_closes_the_connection_if_the_body_does_not_come() {
    let scratch = scratch();
    key(&scratch, &["ci"]);
    let server = Http::start(&scratch, &["--timeout", "1"]);
    for headers in ["Content-Length: 2", "Content-Length: 100000000000", "Content-Length: 2\r\nExpect: 100-continue"] {
        let mut stream = server.connect();
        write!(stream, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{headers}\r\n\r\n")
            .expect("the server takes the head");
        let mut reader = BufReader::new(stream);
        let response = http::read_response(&mut reader).expect("a response");
        assert_eq!((response.status, response.header("connection")), (401, Some("close")), "{headers}: {response:?}");
        assert_eq!(reader.read(&mut [0]).expect("the connection ends"), 0, "{headers}");
    }
}
