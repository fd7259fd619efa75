//! Tests sessions that clients leave without ending them: their memory, and clients that return to them.

use serde_json::json;

use crate::support::{Http, Request, Scratch, http, memory};

/// The number of sessions that clients abandon in each round.
const LEFT: u64 = 200;

/// Waits until idle sessions rest. The server frees the memory of a session two seconds after its last request, and
/// looks for such sessions every second.
fn pause() {
    std::thread::sleep(std::time::Duration::from_secs(4));
}

#[test]
fn an_abandoned_session_costs_at_most_16_kib() {
    let scratch = Scratch::with_project();
    let server = Http::start(&scratch, &[]);
    let mut seen = vec![memory(server.pid(), "VmRSS")];
    // The total stays below the server's limit of 2048 sessions. The growth is measured over three rounds, because
    // later sessions reuse memory that earlier ones needed for a moment.
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

/// A client that returns finds its session, and is notified that lists may have changed.
#[test]
fn a_client_can_return_to_a_session_that_rested() {
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
