//! Tests that the server needs little memory for many requests that it answers late or never.

use serde_json::{Value, json};

use crate::support::{Client, DEADLINE, Http, Scratch, Wait, eventually, http, memory, runs_all};

#[test]
fn open_listen_streams_are_bounded() {
    let scratch = Scratch::with_project();
    let mut client = Client::modern(&scratch);
    client.result("prompts/list", json!({}));
    let before = memory(client.pid(), "VmRSS");
    let mut refused = 0;
    for _ in 0..5000 {
        client.post("subscriptions/listen", json!({ "notifications": { "promptsListChanged": true } }));
    }
    // The server still answers later requests.
    let last = client.post("prompts/list", json!({}));
    let mut answered = false;
    while !answered || refused + 64 < 5000 {
        let Wait::Line(line) = client.wait(DEADLINE) else { panic!("the server says nothing more") };
        answered |= line["id"] == json!(last);
        if let Some(why) = line["error"]["message"].as_str() {
            assert_eq!(why, "Invalid request: a client can have at most 64 open subscriptions/listen requests");
            refused += 1;
        }
    }
    assert_eq!(refused, 5000 - 64);
    let after = memory(client.pid(), "VmRSS");
    assert!(after < before + (16 << 10), "{before} KiB grew to {after} KiB");
}

#[test]
fn requests_that_wait_for_their_id_are_bounded() {
    let scratch = Scratch::with_project();
    let mut client = Client::legacy(&scratch, "2025-11-25");
    let text = "x".repeat(64 << 10);
    let before = memory(client.pid(), "VmRSS");
    // The client sends 250 MiB of requests with one id, or 180 MiB by default. The server stops reading its input instead
    // of keeping them all in memory.
    let count = if runs_all() { 4000 } else { 2900 };
    let writes =
        |n: usize| json!({ "name": "create_prompt", "arguments": { "name": format!("p{}", n % 7), "content": text } });
    for n in 0..count {
        client.send(&json!({ "jsonrpc": "2.0", "id": "same", "method": "tools/call", "params": writes(n) }));
    }
    for _ in 0..count {
        let answer: Value = client.answer(&json!("same"));
        assert!(answer["result"].is_object(), "{answer}");
    }
    let peak = memory(client.pid(), "VmHWM");
    assert!(peak < before + (160 << 10), "{before} KiB grew to {peak} KiB");
}

#[test]
fn a_long_id_is_refused() {
    let scratch = Scratch::with_project();
    let mut client = Client::legacy(&scratch, "2025-11-25");
    client.send(&json!({ "jsonrpc": "2.0", "id": "x".repeat(2000), "method": "ping" }));
    let answer = client.answer(&Value::Null);
    assert_eq!(answer["error"]["code"], -32600, "{answer}");
    client.result("ping", json!({}));
}

#[test]
fn a_request_that_is_cancelled_as_it_begins_leaves_its_id_free() {
    let scratch = Scratch::with_project();
    let server = Http::start(&scratch, &[]);
    let session = server.session("/mcp", "2025-11-25");
    let ask = |id: usize, method: &str, params: Value| {
        http::in_session("/mcp", &session, method, params).edited(|message| message["id"] = json!(id))
    };
    let search = json!({ "name": "search_content", "arguments": { "query": "a b" } });
    for id in 1..=400 {
        let mut stream = server.connect();
        std::io::Write::write_all(&mut stream, &ask(id, "tools/call", search.clone()).bytes()).expect("sent");
        drop(stream);
        let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } });
        let cancel = http::message("/mcp", &cancel).with("Mcp-Session-Id", &session);
        assert_eq!(server.send(&cancel).status, 202);
    }
    for id in 1..=400 {
        eventually("its id can be used again", || {
            let answer = server.send(&ask(id, "ping", json!({}))).text();
            (!answer.contains("is already running in the session")).then_some(())
        });
    }
}
