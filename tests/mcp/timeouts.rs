//! Tests the server's time limit for reads.

use serde_json::{Value, json};

use crate::support::{Client, DEADLINE, Http, Scratch, Wait, http};

/// Creates a project with a resource that is read in several pieces, and a prompt that is read in one.
fn scratch() -> Scratch {
    let scratch = Scratch::with_project();
    let large = scratch.file("large", "a line of text\n".repeat(1 << 20));
    scratch.ok(&["resource", "create", "large", "file:///large", &format!("@{}", large.display())]);
    scratch.ok(&["prompt", "create", "short", "Short"]);
    scratch
}

#[track_caller]
fn is_timeout(message: &Value) {
    assert_eq!(message["error"]["code"], -32603, "{message}");
    let text = message["error"]["message"].as_str().unwrap_or_default();
    assert!(text.starts_with("The read was stopped: it took too long"), "{message}");
}

/// Asserts that a message is the answer with the short prompt.
#[track_caller]
fn is_short(message: &Value) {
    assert_eq!(message["result"]["messages"][0]["content"]["text"], "Short", "{message}");
}

const SHORTEST: [&str; 2] = ["--read-timeout", "0.001"];

#[test]
fn a_read_over_stdio_that_takes_too_long_is_a_timeout() {
    let scratch = scratch();
    for flags in [&SHORTEST[..], &[SHORTEST[0], SHORTEST[1], "--no-front"]] {
        let mut client = Client::start(&scratch, flags).shake_hands("2025-11-25");
        is_timeout(&client.request("resources/read", json!({ "uri": "file:///large" })));
        let (text, is_error) = client.call("read_resource", json!({ "uri": "file:///large" }));
        assert!(is_error && text.contains("The read was stopped: it took too long"), "{text}");
        is_short(&client.request("prompts/get", json!({ "name": "short" })));
    }
}

#[test]
fn a_read_over_http_that_takes_too_long_is_a_timeout() {
    let scratch = scratch();
    let server = Http::start(&scratch, &SHORTEST);
    let large = json!({ "uri": "file:///large" });
    is_timeout(&server.modern("/mcp", "resources/read", large.clone()));
    let session = server.session("/mcp", "2025-06-18");
    is_timeout(&server.send(&http::in_session("/mcp", &session, "resources/read", large.clone())).message());
    let called = server.modern("/mcp", "tools/call", json!({ "name": "read_resource", "arguments": large }));
    assert_eq!(called["result"]["isError"], true, "{called}");
    is_short(&server.modern("/mcp", "prompts/get", json!({ "name": "short" })));
}

#[test]
fn a_long_search_over_stdio_delays_no_other_request_and_gets_the_same_answer() {
    let scratch = Scratch::with_project();
    for n in 0..20 {
        // The content has only one searchable word, but much text around it that has to be read.
        let file = scratch.file("content", format!("needle{}", " .".repeat(500 << 10)));
        scratch.ok(&["prompt", "create", &format!("p{n}"), &format!("@{}", file.display())]);
    }
    let search = json!({ "name": "search_content", "arguments": { "query": "needle", "limit": 1000 } });
    let mut client = Client::legacy(&scratch, "2025-11-25");
    // The front starts the first search itself. Because this search takes too long, it hands the second one directly to
    // rmcp.
    for _ in 0..2 {
        let [searched, pinged] = [client.post("tools/call", search.clone()), client.post("ping", json!({}))];
        let answers = [(); 2].map(|()| match client.wait(DEADLINE) {
            Wait::Line(line) => line,
            _ => panic!("the server says nothing more"),
        });
        assert_eq!([&answers[0]["id"], &answers[1]["id"]], [&json!(pinged), &json!(searched)]);
        let mut rmcp = Client::start(&scratch, &["--no-front"]).shake_hands("2025-11-25");
        assert_eq!(answers[1]["result"], rmcp.result("tools/call", search.clone()));
    }
}

#[test]
fn the_read_timeout_is_a_time_in_seconds() {
    let scratch = Scratch::with_project();
    for wrong in ["0", "-1", "0.0001", "3601", "inf", "NaN", "1s"] {
        let ran = scratch.run(&["serve", &format!("--read-timeout={wrong}")]);
        assert_eq!(ran.status, 2, "{wrong}: {ran}");
        assert!(ran.stderr.contains("give a number of seconds from 0.001 to 3600"), "{ran}");
    }
    let ran = scratch.run(&["serve", "--read-timeout=0.5"]);
    assert_eq!(ran.status, 0, "{ran}");
}
