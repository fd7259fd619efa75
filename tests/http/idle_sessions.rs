//! Sessions that their clients left.

use serde_json::json;

use crate::support::{Http, Request, Scratch, http, memory};

/// How many clients leave their sessions at once.
const LEFT: u64 = 500;

/// Waits until what worked for sessions has ended that nobody uses.
fn pause() {
    std::thread::sleep(std::time::Duration::from_secs(6));
}

#[test]
fn a_session_that_was_left_costs_at_most_16_kib() {
    let scratch = Scratch::with_project();
    let server = Http::start(&scratch, &[]);
    let leave = || (0..LEFT).map(|_| server.session("/mcp", "2025-06-18")).last().expect("a session");
    // What the first ones need is used again by the next.
    for _ in 0..2 {
        leave();
        pause();
    }
    let before = memory(server.pid(), "VmRSS");
    for _ in 0..3 {
        leave();
        pause();
    }
    let grown = memory(server.pid(), "VmRSS").saturating_sub(before);
    assert!(grown <= 16 * 3 * LEFT, "{} sessions cost {grown} KiB", 3 * LEFT);
}

/// A client that comes back finds its session, and hears that lists may have changed.
#[test]
fn a_session_that_rested_goes_on() {
    let scratch = Scratch::with_project();
    let server = Http::start(&scratch, &[]);
    for version in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let session = server.session("/mcp", version);
        let ask = |method: &str, params| server.send(&http::in_session("/mcp", &session, method, params));
        assert!(ask("prompts/list", json!({})).message()["result"].is_object());
        pause();
        scratch.ok(&["prompt", "create", &format!("p{}", version.replace('-', "")), "x"]);
        let listed = ask("prompts/list", json!({})).message();
        assert!(listed["result"]["prompts"].as_array().is_some_and(|all| !all.is_empty()), "{version}: {listed}");
        let called = ask("tools/call", json!({ "name": "list_prompts", "arguments": {} })).message();
        assert!(called["result"]["isError"] == json!(false), "{version}: {called}");
        pause();
        let stream = server
            .open(&Request::new("GET", "/mcp").with("Accept", "text/event-stream").with("Mcp-Session-Id", &session));
        assert!(
            stream
                .messages(std::time::Duration::from_secs(3))
                .iter()
                .any(|message| { message["method"] == "notifications/prompts/list_changed" })
        );
        drop(stream);
        pause();
        let ended = server.send(&Request::new("DELETE", "/mcp").with("Mcp-Session-Id", &session));
        assert_eq!(ended.status, 204, "{version}");
        assert_eq!(ask("ping", json!({})).status, 404, "{version}");
    }
}
