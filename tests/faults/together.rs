//! Tests with several processes that use one file at the same time.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::json;

use super::{assert_sound, content_of, prompts};
use crate::support::{Client, Scratch, eventually, runs_all};

#[test]
fn f13_two_servers_and_a_shell_write_one_file_and_nothing_is_lost() {
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "shared", "0"]);
    let from_server = |who: &str| {
        let mut client = Client::legacy(&scratch, "2025-06-18");
        for n in 0..40 {
            let name = format!("{who}{n}");
            let made = client.call("create_prompt", json!({ "name": name, "content": content_of(&name, 3000) }));
            assert!(!made.1, "{}", made.0);
            let shared = client.call("update_prompt", json!({ "name": "shared", "content": name }));
            assert!(!shared.1, "{}", shared.0);
            thread::sleep(Duration::from_millis(5));
        }
        client.finish();
    };
    thread::scope(|scope| {
        scope.spawn(|| from_server("a"));
        scope.spawn(|| from_server("b"));
        scope.spawn(|| {
            for n in 0..20 {
                scratch.ok(&["prompt", "create", &format!("shell{n}"), "x"]);
            }
        });
    });
    assert_eq!(prompts(&scratch).len(), 1 + 40 + 40 + 20);
    // Each of the 80 updates has its own revision, so no update overwrote another.
    let history = scratch.json(&["prompt", "history", "shared"]);
    assert_eq!(history["revisions"].as_array().map(Vec::len), Some(81));
    assert_sound(&scratch);
}

#[test]
fn f14_six_first_openers_at_once_all_succeed() {
    for _ in 0..5 {
        let scratch = Scratch::new();
        let start = Barrier::new(6);
        thread::scope(|scope| {
            for n in 0..6 {
                let (scratch, start) = (&scratch, &start);
                scope.spawn(move || {
                    start.wait();
                    scratch.ok(&["project", "create", &format!("p{n}")]);
                });
            }
        });
        let listed = scratch.json(&["project", "list"]);
        let projects = listed["projects"].as_array().expect("projects");
        assert_eq!(projects.len(), 6);
        assert_eq!(projects.iter().filter(|project| project["selected"] == true).count(), 1);
        assert_sound(&scratch);
    }
}

#[test]
fn f13_a_file_that_another_process_holds_is_read_and_refused_to_writers() {
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "before", "x"]);
    let mut holder = rusqlite::Connection::open(scratch.db()).expect("the database opens");
    let held = holder.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).expect("the lock");
    let mut client = Client::legacy(&scratch, "2025-06-18");
    let write = client.post("tools/call", json!({ "name": "delete_prompt", "arguments": { "name": "before" } }));
    assert_eq!(scratch.ok(&["prompt", "show", "before"]), "x");
    // The server waits for the busy timeout once, and not again to record the failure. Otherwise the client would time
    // out.
    let answer = client.answer(&json!(write));
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
    assert!(text.contains("The database is busy"), "{text}");
    drop(held);
    assert!(!client.call("delete_prompt", json!({ "name": "before" })).1);
    client.finish();
}

/// Creates prompts without a pause until `done` is set. Returns the names that were acknowledged.
fn busy_writer(scratch: &Scratch, done: &AtomicBool, written: &AtomicUsize) -> BTreeSet<String> {
    let mut client = Client::legacy(scratch, "2025-06-18");
    let mut acknowledged = BTreeSet::new();
    for n in 0.. {
        if done.load(Ordering::Relaxed) {
            break;
        }
        let name = format!("n{n}");
        let (text, is_error) =
            client.call("create_prompt", json!({ "name": name, "content": content_of(&name, 4000) }));
        assert!(!is_error, "{text}");
        acknowledged.insert(name);
        written.fetch_add(1, Ordering::Relaxed);
    }
    client.finish();
    acknowledged
}

#[test]
fn f15_a_backup_during_writes_ends_and_is_sound() {
    let scratch = Scratch::with_project();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let writer = scope.spawn(|| busy_writer(&scratch, &done, &AtomicUsize::new(0)));
        for n in 0..if runs_all() { 5 } else { 2 } {
            let file = format!("backup{n}.db");
            scratch.ok(&["backup", &file]);
            scratch.ok(&["--db", &file, "check", "--deep"]);
        }
        done.store(true, Ordering::Relaxed);
        let acknowledged = writer.join().expect("the writer ends");
        assert_eq!(prompts(&scratch), acknowledged);
    });
    assert_sound(&scratch);
}

/// Returns the names of the prompts in another database file.
fn names_in(scratch: &Scratch, file: &Path) -> BTreeSet<String> {
    let listed = scratch.json(&["--db", &file.to_string_lossy(), "prompt", "list"]);
    let prompts = listed["prompts"].as_array().expect("prompts");
    prompts.iter().filter_map(|prompt| prompt["name"].as_str().map(str::to_owned)).collect()
}

#[test]
fn f15_a_restore_during_writes_keeps_all_that_it_replaces() {
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "old", "x"]);
    scratch.ok(&["backup", "backup.db"]);
    let (done, written) = (AtomicBool::new(false), AtomicUsize::new(0));
    let (acknowledged, kept) = thread::scope(|scope| {
        let writer = scope.spawn(|| busy_writer(&scratch, &done, &written));
        let mut kept = Vec::new();
        for _ in 0..3 {
            // Each restore replaces something that was written after the restore before it.
            let before = written.load(Ordering::Relaxed);
            eventually("a write", || (written.load(Ordering::Relaxed) > before).then_some(()));
            let data = scratch.json(&["restore", "backup.db", "--yes", "--while-serving"]);
            let file = std::path::Path::new(data["kept"].as_str().expect("where it is kept")).file_name();
            kept.push(scratch.path().join(file.expect("a file")));
        }
        done.store(true, Ordering::Relaxed);
        (writer.join().expect("the writer ends"), kept)
    });
    assert_sound(&scratch);
    // Everything that was acknowledged is in the database, or in a file that a restore kept.
    let mut found = prompts(&scratch);
    for file in &kept {
        scratch.ok(&["--db", &file.to_string_lossy(), "check", "--deep"]);
        found.extend(names_in(&scratch, file));
    }
    let lost: Vec<_> = acknowledged.difference(&found).collect();
    assert!(lost.is_empty(), "lost {lost:?}");
}
