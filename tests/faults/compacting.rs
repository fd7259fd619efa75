//! Tests of `mcpkg compact` while other processes read and write.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

use super::assert_sound;
use crate::support::{Client, Scratch, runs_all};

#[test]
fn the_space_is_given_back_while_servers_read_and_write() {
    let scratch = Scratch::with_project();
    if !scratch.is_file() {
        return;
    }
    // Content that does not compress. Nine tenths of it are deleted below.
    for n in 0..10_u64 {
        let words = if runs_all() { 200_000 } else { 50_000_u64 };
        let text: String =
            (0..words).map(|i| format!("{:x} ", (i + n * 1_000_003).wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
        scratch.file("big.md", &text);
        scratch.ok(&["prompt", "create", &format!("big{n}"), "@big.md"]);
    }
    let mut clients: Vec<Client> = (0..4).map(|_| Client::legacy(&scratch, "2025-06-18")).collect();
    for n in 1..10 {
        for text in ["small", "smaller"] {
            scratch.ok(&["prompt", "update", &format!("big{n}"), "--content", text]);
        }
    }
    let is_over = AtomicBool::new(false);
    let (before, after) = std::thread::scope(|scope| {
        for (n, client) in clients.iter_mut().enumerate() {
            let is_over = &is_over;
            scope.spawn(move || {
                for round in 0.. {
                    if is_over.load(Ordering::Relaxed) {
                        return;
                    }
                    assert!(client.result("prompts/get", json!({ "name": "big0" })).is_object());
                    client
                        .result("tools/call", json!({ "name": "search_content", "arguments": { "query": "nothing" } }));
                    if n == 0 {
                        let written =
                            client.call("create_prompt", json!({ "name": format!("n{round}"), "content": "x" }));
                        assert!(!written.1 || written.0.contains("The database is busy"), "{}", written.0);
                    }
                }
            });
        }
        let size = |suffix: &str| {
            std::fs::metadata(scratch.path().join(format!("test.db{suffix}"))).map_or(0, |file| file.len())
        };
        let before = size("") + size("-wal");
        scratch.ok(&["compact", "--keep-revisions", "1", "--yes"]);
        let after = (size(""), size("-wal"));
        is_over.store(true, Ordering::Relaxed);
        (before, after)
    });
    // The clients' writes are still in the WAL, so the file's size does not show how much space is needed. A backup
    // contains exactly what is needed.
    scratch.ok(&["backup", "needed.db"]);
    let needed = std::fs::metadata(scratch.path().join("needed.db")).expect("a backup").len();
    assert!(before > needed * 3 / 2, "there was nothing to give back: {before} bytes, of which {needed} are needed");
    assert!(after.0 < needed * 11 / 10, "{before} bytes became {after:?}, where {needed} are enough");
    assert!(after.1 < 1 << 20, "the WAL still has {} bytes", after.1);
    clients.into_iter().for_each(Client::finish);
    assert_sound(&scratch);
}
