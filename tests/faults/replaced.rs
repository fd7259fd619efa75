//! Tests that remove or replace a file while a server uses it.

use std::fs;

use serde_json::json;

use super::{assert_sound, prompts};
use crate::support::{Client, Scratch, eventually};

/// Waits until reads fail because the file is not the one that the server opened. Writes fail immediately.
#[track_caller]
fn assert_replaced(client: &mut Client) {
    eventually("reads are refused", || {
        let answer = client.request("prompts/list", json!({}));
        let error = answer.get("error")?;
        assert_eq!(error["code"], -32603);
        assert!(error["message"].as_str().is_some_and(|it| it.contains("removed or replaced")), "{error}");
        Some(())
    });
    let (text, is_error) = client.call("create_prompt", json!({ "name": "lost", "content": "x" }));
    assert!(is_error && text.contains("removed or replaced"), "{text}");
    let error = client.error("prompts/get", json!({ "name": "before" }));
    assert!(error["message"].as_str().is_some_and(|it| it.contains("removed or replaced")), "{error}");
}

/// Waits until the server can read again, and checks that it can write.
#[track_caller]
fn assert_back(client: &mut Client, name: &str) {
    eventually("reads work again", || client.request("prompts/list", json!({})).get("result").map(drop));
    let (text, is_error) = client.call("create_prompt", json!({ "name": name, "content": "x" }));
    assert!(!is_error, "{text}");
}

#[test]
fn f27_a_server_notices_when_its_file_is_removed_and_when_it_returns() {
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "before", "x"]);
    let mut client = Client::legacy(&scratch, "2025-06-18");
    assert!(!client.call("create_prompt", json!({ "name": "in-the-wal", "content": "x" })).1);
    let away = scratch.path().join("away.db");
    fs::rename(scratch.db(), &away).expect("a rename");
    assert_replaced(&mut client);
    // A shell command does not create a new database next to the old WAL.
    let ran = scratch.run(&["--json", "prompt", "list"]);
    assert!(super::fails(&ran, "E_DB_UNAVAILABLE"), "{ran}");
    assert!(!scratch.db().exists());
    fs::rename(&away, scratch.db()).expect("a rename");
    assert_back(&mut client, "after");
    client.finish();
    assert_eq!(prompts(&scratch).into_iter().collect::<Vec<_>>(), ["after", "before", "in-the-wal"]);
    assert_sound(&scratch);
}

#[test]
fn f27_a_file_replaced_under_a_server_is_left_untouched() {
    let scratch = Scratch::with_project();
    scratch.ok(&["backup", "other.db"]);
    let other = fs::read(scratch.path().join("other.db")).expect("the other database");
    scratch.ok(&["prompt", "create", "before", "x"]);
    let mut client = Client::legacy(&scratch, "2025-06-18");
    client.result("ping", json!({}));
    let away = scratch.path().join("away.db");
    fs::rename(scratch.db(), &away).expect("a rename");
    fs::rename(scratch.path().join("other.db"), scratch.db()).expect("a rename");
    assert_replaced(&mut client);
    assert!(fs::read(scratch.db()).expect("the new file") == other, "the new file was touched");
    fs::rename(scratch.db(), scratch.path().join("other.db")).expect("a rename");
    fs::rename(&away, scratch.db()).expect("a rename");
    assert_back(&mut client, "after");
    // The file is removed for good. The server reports it until it ends, and it ends normally.
    fs::remove_file(scratch.db()).expect("the file goes");
    assert_replaced(&mut client);
    client.finish();
    assert!(fs::read(scratch.path().join("other.db")).expect("the new file") == other, "the new file was touched");
}

/// Without its WAL, the file lacks the last commits, and what the server commits would go into a file that nobody can
/// open.
#[test]
fn f27_a_server_notices_when_its_wal_is_removed_and_when_it_returns() {
    let scratch = Scratch::with_project();
    if !scratch.is_file() {
        return;
    }
    scratch.ok(&["prompt", "create", "before", "x"]);
    let mut client = Client::legacy(&scratch, "2025-06-18");
    assert!(!client.call("create_prompt", json!({ "name": "in-the-wal", "content": "x" })).1);
    // Wait until the server watches the file.
    std::thread::sleep(std::time::Duration::from_secs(1));
    let wal = scratch.path().join("test.db-wal");
    let away = scratch.path().join("away-wal");
    assert!(fs::metadata(&wal).expect("a WAL").len() > 0);
    fs::rename(&wal, &away).expect("a rename");
    assert_replaced(&mut client);
    assert!(!wal.exists(), "another one was made");
    fs::rename(&away, &wal).expect("a rename");
    assert_back(&mut client, "after");
    client.finish();
    assert_eq!(prompts(&scratch).into_iter().collect::<Vec<_>>(), ["after", "before", "in-the-wal"]);
    assert_sound(&scratch);
}
