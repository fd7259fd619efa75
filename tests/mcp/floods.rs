//! Requests that are never answered, or answered late: what they keep is bounded.

use serde_json::{Value, json};

use crate::support::{Client, DEADLINE, Http, Scratch, Wait, http, memory, modern_meta};

#[test]
fn open_listen_streams_are_bounded() {
    let scratch = Scratch::with_project();
    let mut client = Client::modern(&scratch);
    client.result("prompts/list", json!({}));
    let before = memory(client.id(), "VmRSS");
    let mut refused = 0;
    for _ in 0..5000 {
        client.post("subscriptions/listen", json!({ "notifications": { "promptsListChanged": true } }));
    }
    // It answers what comes after them.
    let last = client.post("prompts/list", json!({}));
    let mut answered = false;
    while !answered || refused + 64 < 5000 {
        let Wait::Line(line) = client.wait(DEADLINE) else { panic!("the server says nothing more") };
        answered |= line["id"] == json!(last);
        if let Some(why) = line["error"]["message"].as_str() {
            assert_eq!(why, "Invalid request: a client may have 64 subscriptions/listen open at once");
            refused += 1;
        }
    }
    assert_eq!(refused, 5000 - 64);
    let after = memory(client.id(), "VmRSS");
    assert!(after < before + (16 << 10), "{before} KiB grew to {after} KiB");
}

#[test]
fn requests_that_wait_for_their_id_are_bounded() {
    let scratch = Scratch::with_project();
    let mut client = Client::legacy(&scratch, "2025-11-25");
    let text = "x".repeat(64 << 10);
    let before = memory(client.id(), "VmRSS");
    // 256 MiB of requests with one id: the input waits instead of the memory.
    const COUNT: usize = 4000;
    let writes =
        |n: usize| json!({ "name": "create_prompt", "arguments": { "name": format!("p{}", n % 7), "content": text } });
    for n in 0..COUNT {
        client.send(&json!({ "jsonrpc": "2.0", "id": "same", "method": "tools/call", "params": writes(n) }));
    }
    for _ in 0..COUNT {
        let answer: Value = client.answer(&json!("same"));
        assert!(answer["result"].is_object(), "{answer}");
    }
    let peak = memory(client.id(), "VmHWM");
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
fn clients_that_leave_before_their_answer_keep_nothing() {
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "n", "x"]);
    let server = Http::start(&scratch, &["--http"]);
    let session = server.session("/mcp", "2025-11-25");
    let leave = |count: usize, from: usize| {
        for n in from..from + count {
            let params = json!({ "name": "get_prompt", "arguments": { "name": "n" } });
            let request =
                http::in_session("/mcp", &session, "tools/call", params).edited(|message| message["id"] = json!(n));
            let mut stream = server.connect();
            std::io::Write::write_all(&mut stream, &request.bytes()).expect("sent");
        }
        // What was asked last was worked on by the time this is answered.
        let answer = server.modern("/mcp", "prompts/list", json!({ "_meta": modern_meta() }));
        assert!(answer["result"].is_object(), "{answer}");
        std::thread::sleep(std::time::Duration::from_millis(300));
    };
    // The memory of answers fills first, and as many requests as there may be are worked on at once; then nothing is added.
    let mut sizes = Vec::new();
    for round in 0..4 {
        leave(2500, 1 + round * 2500);
        sizes.push(memory(server.pid(), "VmRSS"));
    }
    assert!(sizes[3] < sizes[2] + (4 << 10), "KiB after each round: {sizes:?}");
}
