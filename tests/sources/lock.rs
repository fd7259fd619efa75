//! `source lock` and `source install`.

use std::fs;

use super::{kit, with_kit};
use crate::support::{Scratch, skill};

/// The items of a project, with their SHA-256.
fn items(scratch: &Scratch) -> serde_json::Value {
    scratch.json(&["source", "show", "kit"])["items"].clone()
}

#[test]
fn a_lock_brings_exactly_the_same_or_nothing() {
    let upstream = kit();
    let scratch = with_kit(&upstream);
    let before = items(&scratch);
    scratch.ok(&["source", "lock"]);
    let lock = fs::read_to_string(scratch.path().join("mcpkg.lock")).expect("the lock");
    assert_eq!(scratch.ok(&["source", "lock", "--locked-file", "-"]), lock, "it is the same each time");
    // Upstream goes on; what was locked is what comes.
    upstream.commit(&[("skills/pdf/SKILL.md", &skill("pdf", "later\n"))]);
    let fresh = Scratch::with_project();
    let path = scratch.path().join("mcpkg.lock").display().to_string();
    let refused = fresh.run(&["source", "install", "--locked", &path]);
    assert!(refused.status == 1 && refused.stderr.contains("confirm with --yes"), "{refused}");
    fresh.ok(&["source", "install", "--locked", &path, "--yes"]);
    assert_eq!(items(&fresh), before);
    assert_eq!(fresh.ok(&["source", "lock", "--locked-file", "-"]), lock);
    // It goes on from there.
    fresh.ok(&["source", "update"]);
    assert!(fresh.ok(&["resource", "show", "skill://pdf/SKILL.md"]).contains("later"));

    let sha = before[0]["sha256"].as_str().expect("a digest");
    let other = lock.replacen(sha, &"0".repeat(64), 1);
    for (what, lock) in [
        ("another digest", other),
        ("another mode", lock.replacen("100755", "100644", 1)),
        ("another commit", lock.replace(&commit(&lock), &"1".repeat(40))),
    ] {
        let fresh = Scratch::with_project();
        let path = fresh.file("mcpkg.lock", lock).display().to_string();
        let ran = fresh.run(&["--json", "source", "install", "--locked", &path, "--yes"]);
        assert!(ran.status == 1, "{what}: {ran}");
        assert!(ran.stdout.contains("E_SOURCE_CHANGED") || ran.stdout.contains("E_NOT_FOUND"), "{what}: {ran}");
        assert_eq!(fresh.json(&["source", "list"])["sources"].as_array().map(Vec::len), Some(0), "{what}");
        assert_eq!(fresh.json(&["resource", "list"])["resources"].as_array().map(Vec::len), Some(0), "{what}");
    }
}

fn commit(lock: &str) -> String {
    let value: serde_json::Value = serde_json::from_str(lock).expect("JSON");
    value["sources"][0]["commit"].as_str().expect("a commit").to_owned()
}

#[test]
fn a_lock_is_installed_offline_from_the_mirror_or_a_bundle() {
    let upstream = kit();
    let scratch = with_kit(&upstream);
    scratch.ok(&["source", "lock"]);
    let bundle = scratch.path().join("kit.bundle").display().to_string();
    upstream.git(&["bundle", "create", "-q", &bundle, "main"]);
    let before = items(&scratch);
    let lock = scratch.path().join("mcpkg.lock").display().to_string();
    drop(upstream);
    // The mirror in this user's cache has the commit.
    scratch.ok(&["project", "create", "second"]);
    scratch.ok(&["-p", "second", "source", "install", "--locked", &lock, "--yes"]);
    // Another user has none.
    let fresh = Scratch::with_project();
    let ran = fresh.run(&["source", "install", "--locked", &lock, "--yes"]);
    assert_eq!(ran.status, 1, "{ran}");
    let from = format!("kit={bundle}");
    fresh.ok(&["source", "install", "--locked", &lock, "--from", &from, "--yes"]);
    assert_eq!(items(&fresh), before);
    let unknown = fresh.run(&["source", "install", "--locked", &lock, "--from", "kitt=x", "--yes"]);
    assert!(unknown.status == 2 && unknown.stderr.contains("did you mean 'kit'?"), "{unknown}");
}
