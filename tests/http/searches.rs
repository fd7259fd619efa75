//! Tests that many searches with one key do not delay requests with other keys.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use crate::support::{Http, Scratch, http};

const SEARCHES: usize = 20;

#[test]
fn another_key_is_answered_while_one_searches() {
    let scratch = Scratch::with_project();
    for n in 0..60 {
        // The content has only one searchable word, but much text around it that has to be read.
        let content = format!("needle{}", " .".repeat(150 << 10));
        let file = scratch.file("content", content);
        scratch.ok(&["prompt", "create", &format!("p{n}"), &format!("@{}", file.display())]);
    }
    let key = |name: &str| {
        let made = scratch.json(&["access", "create", name]);
        made["key"].as_str().or(made["data"]["key"].as_str()).expect("a key").to_owned()
    };
    let (greedy, other) = (key("greedy"), key("other"));
    let server = Http::start(&scratch, &["--http"]);
    let call = |key: &str, limit: u32| {
        let params = json!({ "name": "search_content", "arguments": { "query": "needle", "limit": limit } });
        let answer =
            server.send(&http::modern("/mcp", "tools/call", params).with("Authorization", &format!("Bearer {key}")));
        let message = answer.message();
        assert_eq!(message["result"]["isError"], false, "{message}");
    };
    let ended = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..SEARCHES {
            scope.spawn(|| {
                call(&greedy, 1000);
                ended.fetch_add(1, Ordering::Relaxed);
            });
        }
        // Once one search has ended, the others are queued behind each other.
        while ended.load(Ordering::Relaxed) == 0 {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        call(&other, 1);
        let ended = ended.load(Ordering::Relaxed);
        assert!(ended < SEARCHES, "the other key was answered after all of them");
    });
}
