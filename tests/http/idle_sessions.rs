//! Sessions that their clients left.

use serde_json::json;

use crate::support::{Http, Request, Scratch, http, memory};

/// How many clients leave their sessions at once.
const LEFT: u64 = 200;

/// Waits until what worked for sessions has ended that nobody uses: after two seconds, by a look each second.
fn pause() {
    std::thread::sleep(std::time::Duration::from_secs(4));
}

#[test]
fn a_session_that_was_left_costs_at_most_16_kib() {
    let scratch = Scratch::with_project();
    let server = Http::start(&scratch, &[]);
    let mut seen = vec![memory(server.pid(), "VmRSS")];
    // Fewer than a server has room for. What the first ones needed is used again by the next, sooner or later.
    for _ in 0..10 {
        for _ in 0..LEFT {
            server.session("/mcp", "2025-06-18");
        }
        pause();
        seen.push(memory(server.pid(), "VmRSS"));
        if let [.., first, _, _, last] = seen[..]
            && last.saturating_sub(first) <= 16 * 3 * LEFT
        {
            return;
        }
    }
    panic!("{LEFT} sessions more each time, and KiB: {seen:?}");
}

/// A client that comes back finds its session, and hears that lists may have changed.
#[test]
fn a_session_that_rested_goes_on() {
    let scratch = Scratch::with_project();
    let server = Http::start(&scratch, &[]);
    let rests = |version: &str| {
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
    };
    std::thread::scope(|scope| {
        for version in ["2025-03-26", "2025-06-18", "2025-11-25"] {
            scope.spawn(move || rests(version));
        }
    });
}
