//! Tests `mcpkg tool lock` and `mcpkg tool install --locked` with the real binary.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::homes::{Homes, TOOL, code, installed, key};
use super::trusting;
use crate::support::Scratch;

const OTHER: &str = "alice/other";

/// Returns two homes, and the text of the user's lock. The user has two tools installed.
fn locked() -> (Homes, String) {
    let homes = Homes::new();
    for name in [TOOL, OTHER] {
        homes.publish(name, "1.0.0");
        homes.user.ok(&["tool", "install", name]);
    }
    let text = homes.user.ok(&["tool", "lock", "-"]);
    (homes, text)
}

/// Returns a new home that trusts the author and has the registry under another name.
fn fresh(homes: &Homes) -> Scratch {
    let fresh = Scratch::new();
    fresh.ok(&["registry", "add", "stick", &homes.folder("team")]);
    trusting(&fresh, &homes.identity);
    fresh
}

/// Installs from a lock, which must fail and install nothing. Returns the error code.
#[track_caller]
fn refused(home: &Scratch, text: &str) -> String {
    home.file("given.lock", text);
    let code = code(home, &["tool", "install", "--locked", "given.lock"]);
    assert_eq!(installed(home), [], "something was installed");
    code
}

/// Returns the lock with one field of the tool `name` changed.
fn changed(text: &str, name: &str, key: &str, value: Value) -> String {
    let mut lock: Value = serde_json::from_str(text).expect("a lock");
    let tools = lock["tools"].as_array_mut().expect("tools");
    tools.iter_mut().find(|tool| tool["name"] == name).expect("the tool")[key] = value;
    lock.to_string()
}

#[test]
fn x56_a_lock_installs_the_same_archives_in_a_new_database_offline() {
    let (homes, text) = locked();
    let lock: Value = serde_json::from_str(&text).expect("a lock");
    let listed = &lock["tools"][1];
    assert_eq!((&listed["name"], &listed["version"]), (&json!(TOOL), &json!("1.0.0")));
    assert_eq!((&listed["registry"], &listed["identities"]), (&json!("team"), &json!([homes.identity])));
    // Writing the lock to a file gives the same bytes, even after the tools were installed in another order.
    homes.user.ok(&["tool", "uninstall", OTHER]);
    homes.user.ok(&["tool", "install", OTHER]);
    homes.user.ok(&["tool", "lock"]);
    let file = std::fs::read_to_string(homes.user.path().join("mcpkg-tools.lock")).expect("the lock");
    assert_eq!(file, text);

    let home = fresh(&homes);
    home.file("given.lock", &text);
    let done = home.json(&["tool", "install", "--locked", "given.lock"]);
    assert_eq!(done["message"], "Installed 2 tools as locked in given.lock");
    assert_eq!(done["tools"][0]["registry"], "stick", "any registry that has the digest: {done}");
    assert_eq!(installed(&home), homes.installed());
    assert_eq!(home.ok(&["tool", "run", TOOL]).trim(), "Sun 1.0.0");
    let again = home.json(&["tool", "install", "--locked", "given.lock"]);
    assert_eq!(again["tools"][0]["new"], false, "{again}");
    // Tools that are not in the lock are reported and kept.
    homes.publish("alice/more", "1.0.0");
    home.ok(&["tool", "install", "alice/more"]);
    assert_eq!(home.json(&["tool", "install", "--locked", "given.lock"])["not_locked"], json!(["alice/more"]));
    // If every registry is gone, the archives in the database are enough.
    home.ok(&["tool", "uninstall", TOOL]);
    std::fs::remove_dir_all(homes.folder("team")).expect("the registry goes");
    home.ok(&["tool", "install", "--locked", "given.lock"]);
    assert_eq!(installed(&home).len(), 3);
    home.ok(&["tool", "uninstall", OTHER]);
    home.ok(&["registry", "remove", "stick"]);
    home.ok(&["tool", "install", "--locked", "given.lock"]);
}

#[test]
fn a_lock_that_cannot_be_fulfilled_installs_nothing() {
    let (homes, text) = locked();
    let home = fresh(&homes);
    // The unchanged tool comes first in the lock.
    assert_eq!(refused(&home, &changed(&text, TOOL, "sha256", json!("ab".repeat(32)))), "E_DIGEST_MISMATCH");
    for (home, hint) in
        [(&home, "add that registry with `mcpkg registry add`"), (&homes.user, "replaced the archive there or edited")]
    {
        home.file("given.lock", changed(&text, TOOL, "sha256", json!("ab".repeat(32))));
        let ran = home.run(&["tool", "install", "--locked", "given.lock"]);
        assert!(ran.stderr.contains(hint), "{ran}");
    }
    assert_eq!(refused(&home, &changed(&text, TOOL, "version", json!("2.0.0"))), "E_VERSION_NOT_FOUND");
    assert_eq!(refused(&home, &changed(&text, TOOL, "name", json!("alice/gone"))), "E_TOOL_NOT_FOUND");
    let stranger = key(&homes.author, "stranger");
    let missing = changed(&text, TOOL, "identities", json!([homes.identity, stranger]));
    assert_eq!(refused(&home, &missing), "E_TRUST_REQUIRED");
    trusting(&home, &stranger);
    assert_eq!(refused(&home, &missing), "E_TRUST_REQUIRED", "who did not sign does not count");
    // This home does not trust the signer, so nothing is stored.
    let untrusting = Scratch::new();
    untrusting.ok(&["registry", "add", "team", &homes.folder("team")]);
    assert_eq!(refused(&untrusting, &text), "E_TRUST_REQUIRED");
    assert_eq!(blobs(&untrusting), 0);
    assert_eq!(refused(&home, "{"), "E_LOCKFILE_INVALID");
    assert_eq!(refused(&home, r#"{"version": 9, "tools": []}"#), "E_LOCKFILE_UNSUPPORTED_VERSION");
    assert_eq!(code(&home, &["tool", "install", "--locked", "none.lock"]), "E_NOT_FOUND");
    assert_eq!(home.run(&["tool", "install", TOOL, "--locked", "given.lock"]).status, 2);
    assert_eq!(home.run(&["tool", "install"]).status, 2);

    homes.author.ok(&["tool", "yank", "alice/weather@1.0.0", "--registry", "team"]);
    assert_eq!(refused(&home, &text), "E_VERSION_YANKED");
    // The hint of `install` names the command's own option. `run` and `learn` do not have it, so their hint is a command.
    let option = "hint: to accept a yanked version, pass --allow-yanked";
    let other = "hint: `mcpkg tool install alice/weather@1.0.0 --allow-yanked` accepts a yanked version";
    for (command, hint) in [("install", option), ("run", other), ("learn", other)] {
        let ran = home.run(&["tool", command, "alice/weather@1.0.0"]);
        assert!(ran.status == 1 && ran.stderr.contains(hint), "{ran}");
    }
    let ran = home.run(&["tool", "run", TOOL]);
    let all = "All versions of alice/weather in registry 'stick' were yanked: 1.0.0";
    assert!(ran.stderr.contains(all) && ran.stderr.contains("alice/weather@VERSION --allow-yanked"), "{ran}");
    home.ok(&["tool", "install", "--locked", "given.lock", "--allow-yanked"]);
    assert_eq!(installed(&home).len(), 2);
    let failed = homes.package(OTHER, "1.0.0", "");
    homes.author.ok(&["tool", "audit", &failed, "--result", "failed", "--key", "alice"]);
    homes.author.ok(&["tool", "publish", &failed, "--to", "team"]);
    assert_eq!(refused(&fresh(&homes), &text), "E_TRUST_FAILED");
}

/// Returns the number of contents that are stored in a database.
fn blobs(home: &Scratch) -> i64 {
    home.column("SELECT count(*) FROM blob")[0].parse().expect("a number")
}

#[test]
fn a_tampered_archive_of_a_lock_is_refused() {
    let (homes, text) = locked();
    let home = fresh(&homes);
    let bundle = format!("{}/tools/{TOOL}/1.0.0/bundle.tar.gz", homes.folder("team"));
    let mut bytes = std::fs::read(&bundle).expect("the archive");
    *bytes.last_mut().expect("bytes") ^= 1;
    std::fs::write(&bundle, bytes).expect("written");
    assert_eq!(refused(&home, &text), "E_DIGEST_MISMATCH");
    assert_eq!(blobs(&home), 0, "what was stored ahead is taken back");
    // Another registry with the intact archive is used instead.
    let copy = home.path().join("copy");
    let copied = Command::new("cp").args(["-r", &homes.folder("team")]).arg(&copy).status().expect("cp starts");
    assert!(copied.success());
    restore(&homes, &copy.join(format!("tools/{TOOL}/1.0.0/bundle.tar.gz")));
    home.ok(&["registry", "remove", "stick"]);
    home.ok(&["registry", "add", "copy", "copy"]);
    home.ok(&["tool", "install", "--locked", "given.lock"]);
}

/// Replaces the tampered archive of the tool with the right one.
fn restore(homes: &Homes, bundle: &Path) {
    homes.author.ok(&["tool", "pack", &homes.package(TOOL, "1.0.0", ""), "-o", "whole.tar.gz"]);
    std::fs::copy(homes.author.path().join("whole.tar.gz"), bundle).expect("a copy");
}

#[test]
fn several_versions_and_those_of_a_project_are_locked() {
    let homes = Homes::new();
    let user = &homes.user;
    for version in ["1.0.0", "1.10.0", "1.9.0"] {
        homes.publish(TOOL, version);
        user.ok(&["tool", "install", &format!("{TOOL}@{version}")]);
    }
    user.ok(&["tool", "use", "alice/weather@1.9.0"]);
    let lock: Value = serde_json::from_str(&user.ok(&["tool", "lock", "-"])).expect("a lock");
    let versions: Vec<&str> =
        lock["tools"].as_array().expect("tools").iter().filter_map(|tool| tool["version"].as_str()).collect();
    assert_eq!(versions, ["1.0.0", "1.9.0", "1.10.0"]);
    user.ok(&["tool", "lock"]);
    let home = fresh(&homes);
    home.ok(&["project", "create", "p"]);
    let file = user.path().join("mcpkg-tools.lock").display().to_string();
    home.ok(&["tool", "install", "--locked", &file, "--for-project"]);
    let sorted = |mut all: Vec<(String, String, bool)>| {
        all.sort();
        all
    };
    assert_eq!(sorted(installed(&home)), sorted(homes.installed()));
    assert_eq!(home.json(&["tool", "list"])["tools"][0]["scope"], "project");
    let of = |arguments: &[&str]| home.json(&[&["tool", "lock"], arguments].concat())["tools"].clone();
    assert_eq!(of(&[]), json!([]));
    assert_eq!(of(&["--for-project"]).as_array().map(Vec::len), Some(3));
}

#[test]
fn x66_an_update_uses_the_registry_that_a_lock_was_installed_from() {
    let (homes, text) = locked();
    let home = fresh(&homes);
    home.file("given.lock", text);
    home.ok(&["tool", "install", "--locked", "given.lock"]);
    homes.publish(TOOL, "1.1.0");
    let ran = home.run(&["tool", "outdated", "--check"]);
    assert_eq!(ran.status, 3, "{ran}");
    let data = home.json(&["tool", "update", "--all"]);
    assert_eq!((&data["tools"][1]["to"], &data["tools"][1]["registry"]), (&json!("1.1.0"), &json!("stick")));
    // Installing the lock again brings the old version back.
    home.ok(&["tool", "install", "--locked", "given.lock"]);
    assert_eq!(home.ok(&["tool", "run", TOOL]).trim(), "Sun 1.0.0");
}
