//! More than a client ever sends at once, and contents larger than an answer may be.

use std::collections::HashSet;
use std::fs;
use std::io::Write;
use std::thread;

use serde_json::{Value, json};

use super::content_of;
use crate::support::{Client, Raw, Scratch, finds, memory, request, skipped};

/// Sends `count` requests without waiting, and checks that each is answered once and that memory stays below `most` KiB.
fn flood(scratch: &Scratch, count: i64, method: &str, params: &Value, most: u64) {
    let mut server = Raw::start(scratch, &[]);
    let mut input = server.input.take().expect("the input");
    let sender = thread::spawn({
        let (method, params) = (method.to_owned(), params.clone());
        move || {
            for first in (1..=count).step_by(1000) {
                let lines: String = (first..first + 1000).map(|id| request(id, &method, &params)).collect();
                input.write_all(lines.as_bytes()).expect("the server reads");
            }
            input
        }
    });
    let mut answered = HashSet::new();
    for _ in 0..count {
        let answer = server.answer();
        assert!(answer["result"].is_object(), "{answer}");
        assert!(answered.insert(answer["id"].as_i64()), "answered twice: {answer}");
    }
    let held = memory(server.pid(), "VmHWM");
    eprintln!("{count} x {method}: at most {held} KiB");
    assert!(held < most, "{held} KiB");
    server.input = Some(sender.join().expect("the sender ends"));
    server.input = None;
    assert_eq!(server.rest(), Vec::<Value>::new());
    assert!(server.ended().success());
}

#[test]
fn f22_a_hundred_thousand_pipelined_reads_are_all_answered() {
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "n", "x"]);
    flood(&scratch, 100_000, "prompts/get", &json!({ "name": "n" }), 64 << 10);
}

#[test]
fn f22_pipelined_requests_to_the_engine_are_all_answered() {
    let scratch = Scratch::with_project();
    flood(&scratch, 20_000, "resources/templates/list", &json!({}), 64 << 10);
}

#[test]
fn f23_a_resource_larger_than_an_answer_is_refused_before_it_is_read_and_streamed_to_a_file() {
    const SIZE: usize = 200 << 20;
    if finds("prlimit").is_none() {
        return skipped("a limit of memory needs prlimit");
    }
    let scratch = Scratch::with_project();
    // Every MiB differs, so that an order that is wrong shows.
    let mut bytes = Vec::with_capacity(SIZE);
    for n in 0..SIZE as u64 / 8 {
        bytes.extend_from_slice(&n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
    }
    let file = scratch.file("large.bin", &bytes);
    scratch.ok(&["resource", "create", "large", "file:///large.bin", &format!("@{}", file.display())]);
    scratch.ok(&["prompt", "create", "n", "x"]);
    // The address space that a process gets is less than the resource.
    let limited = ["prlimit", &format!("--as={}", 150 << 20), "--"];
    let mut client = Client::spawn(scratch.command_under(&limited).arg("serve")).shake_hands("2025-06-18");
    let error = client.error("resources/read", json!({ "uri": "file:///large.bin" }));
    assert_eq!(error["code"], -32602);
    let message = error["message"].as_str().unwrap_or_default();
    assert!(message.contains("209715200 bytes") && message.contains("mcpkg resource show large -o FILE"), "{message}");
    let (text, is_error) = client.call("read_resource", json!({ "uri": "file:///large.bin" }));
    assert!(is_error && text.contains("209715200 bytes"), "{text}");
    assert!(client.result("prompts/get", json!({ "name": "n" })).is_object());
    client.finish();
    let ran = scratch.finish(scratch.command_under(&limited).args(["resource", "show", "large", "-o", "out.bin"]));
    assert_eq!(ran.status, 0, "{ran}");
    assert!(fs::read(scratch.path().join("out.bin")).expect("the file") == bytes, "other bytes came out");
    let ran = scratch.finish(scratch.command_under(&limited).args(["check", "--deep"]));
    assert_eq!(ran.status, 0, "{ran}");
}

#[test]
fn a_long_line_without_an_end_is_bounded() {
    let scratch = Scratch::with_project();
    let mut server = Raw::start(&scratch, &["--max-line", "1000000"]);
    server.write(request(1, "ping", &json!({ "a": content_of("x", 900_000) })));
    assert!(server.answer()["result"].is_object());
    server.write(b"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\",\"params\":{\"a\":\"");
    for _ in 0..64 {
        server.write(vec![b'x'; 1 << 20]);
    }
    assert_eq!(server.answer()["error"]["code"], -32600);
    server.write(b"\"}}\n");
    server.write(request(3, "prompts/list", &json!({})));
    assert_eq!(server.answer()["id"], 3);
    let held = memory(server.pid(), "VmHWM");
    assert!(held < 40 << 10, "{held} KiB");
}
