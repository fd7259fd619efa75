//! Tests the order of one client's requests, repeated ids, and that every accepted request is answered.

use std::io::{BufRead, Write};

use serde_json::{Value, json};

use crate::support::{Client, DEADLINE, Scratch, Wait};

fn call(id: i64, tool: &str, arguments: serde_json::Value) -> String {
    let params = json!({ "name": tool, "arguments": arguments });
    format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }))
}

fn get(id: i64, name: &str) -> String {
    format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "method": "prompts/get", "params": { "name": name } }))
}

#[test]
fn reads_never_overtake_the_clients_own_writes() {
    let scratch = Scratch::with_project();
    let mut client = Client::legacy(&scratch, "2025-06-18");
    client.call("create_prompt", json!({ "name": "n", "content": "0" }));
    let mut lines = String::new();
    for n in 1..=100_i64 {
        lines.push_str(&call(1000 + n, "update_prompt", json!({ "name": "n", "content": n.to_string() })));
        lines.push_str(&get(2000 + n, "n"));
        lines.push_str(&call(3000 + n, "get_prompt", json!({ "name": "n" })));
    }
    client.raw(lines.as_bytes());
    for n in 1..=100_i64 {
        for (id, text) in [(2000 + n, "/result/messages/0/content/text"), (3000 + n, "/result/content/0/text")] {
            let got = client.answer(&json!(id));
            // The read must see the write before it. It may also see later writes.
            let seen = got.pointer(text).and_then(Value::as_str).and_then(|text| text.parse().ok());
            assert!(seen.is_some_and(|seen: i64| seen >= n), "read {n}: {got}");
        }
    }
    client.finish();
}

#[test]
fn a_tool_call_that_is_answered_from_the_cache_is_logged() {
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "n", "text"]);
    let ask = call(7, "get_prompt", json!({ "name": "n" }));
    let hello =
        json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let begin = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello });
    let mut server = scratch.command();
    server.arg("serve").env("MCPKG_LOG", "info");
    server
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let mut server = server.spawn().expect("the server starts");
    let mut output = std::io::BufReader::new(server.stdout.take().expect("an output"));
    let input = server.stdin.as_mut().expect("an input");
    let mut answer = String::new();
    for line in [format!("{begin}\n"), ask.clone(), ask.clone(), ask.clone(), ask] {
        input.write_all(line.as_bytes()).expect("the server takes a line");
        answer.clear();
        output.read_line(&mut answer).expect("an answer");
    }
    drop(server.stdin.take());
    let ended = server.wait_with_output().expect("the server ends");
    let log = String::from_utf8_lossy(&ended.stderr).into_owned();
    let lines: Vec<_> = log.lines().filter(|line| line.contains("get_prompt")).collect();
    assert_eq!(lines.len(), 4, "{log}");
    assert!(lines.iter().all(|line| line.contains("ok") && line.contains("micros")), "{log}");
}

#[test]
fn a_cancelled_write_does_not_hold_up_reads() {
    let scratch = Scratch::with_project();
    let mut client = Client::legacy(&scratch, "2025-06-18");
    for n in 0..50_i64 {
        client.raw(call(5000 + n, "create_prompt", json!({ "name": format!("n{n}"), "content": "c" })).as_bytes());
        client.send(
            &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 5000 + n } }),
        );
        // Cancelled or not, the write has ended by the time a later read is answered.
        let got = client.request("prompts/get", json!({ "name": format!("n{n}") }));
        assert!(got["result"].is_object(), "{got}");
    }
    client.finish();
}

#[test]
fn a_cancelled_request_does_not_hold_up_its_batch() {
    let scratch = Scratch::with_project();
    if !scratch.is_file() {
        return;
    }
    // Hold the database's lock, so that the write cannot end before it is cancelled.
    let mut holder = rusqlite::Connection::open(scratch.db()).expect("the database opens");
    let held = holder.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).expect("the lock");
    let mut client = Client::legacy(&scratch, "2025-03-26");
    let write = call(1, "create_prompt", json!({ "name": "n", "content": "c" }));
    let ping = json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" });
    client.raw(format!("[{},{ping}]\n", write.trim_end()).as_bytes());
    let cancelled = json!({ "requestId": 1 });
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled }));
    client.result("ping", json!({}));
    drop(held);
    let mut answers = client.seen.drain(..).find(Value::is_array);
    while answers.is_none() {
        match client.wait(DEADLINE) {
            Wait::Line(line) => answers = Some(line).filter(Value::is_array),
            end => panic!("the batch was not answered: {end:?}"),
        }
    }
    let answers = answers.expect("the batch's answers");
    assert!(answers.as_array().is_some_and(|answers| answers.iter().any(|answer| answer["id"] == 2)), "{answers}");
    client.finish();
}

#[test]
fn two_requests_with_one_id_are_both_answered_in_order() {
    let scratch = Scratch::with_project();
    let mut client = Client::legacy(&scratch, "2025-06-18");
    let same = 77;
    client.raw(
        format!(
            "{}{}{}",
            call(same, "create_prompt", json!({ "name": "a", "content": "first" })),
            call(same, "create_prompt", json!({ "name": "b", "content": "second" })),
            get(same, "b")
        )
        .as_bytes(),
    );
    let texts: Vec<String> = (0..3)
        .map(|_| {
            let answer = client.answer(&json!(same));
            answer["result"]["content"][0]["text"]
                .as_str()
                .or(answer["result"]["messages"][0]["content"]["text"].as_str())
                .unwrap_or_else(|| panic!("{answer}"))
                .to_owned()
        })
        .collect();
    assert_eq!(texts, ["Created prompt 'a' in project 'p'", "Created prompt 'b' in project 'p'", "second"]);
    client.finish();
}

#[test]
fn accepted_requests_are_answered_after_the_input_ends() {
    let scratch = Scratch::with_project();
    let mut client = Client::legacy(&scratch, "2025-06-18");
    for n in 0..200_i64 {
        client.raw(call(3000 + n, "create_prompt", json!({ "name": format!("n{n}"), "content": "c" })).as_bytes());
    }
    client.close_input();
    for n in 0..200_i64 {
        assert_eq!(client.answer(&json!(3000 + n))["result"]["isError"], false);
    }
    assert!(client.ended().success());
    assert_eq!(scratch.json(&["prompt", "list"])["prompts"].as_array().expect("prompts").len(), 200);
}
