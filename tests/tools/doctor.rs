//! Tests `mcpkg tool doctor`, and the findings of `mcpkg doctor` about tools.

use std::process::Command;

use serde_json::Value;

use super::registries::package;
use super::{put, trusting};
use crate::support::{Scratch, set_mode};

fn parsed(scratch: &Scratch, command: &mut Command) -> Vec<Value> {
    let ran = scratch.finish(command);
    let data: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran}"));
    let checks = if data["checks"].is_array() { &data["checks"] } else { &data["data"]["checks"] };
    checks.as_array().unwrap_or_else(|| panic!("{ran}")).clone()
}

/// Returns the findings of `tool doctor`.
fn checks(scratch: &Scratch) -> Vec<Value> {
    parsed(scratch, scratch.command().args(["--json", "tool", "doctor"]))
}

/// Returns the findings of `mcpkg doctor` about tools.
fn in_short(scratch: &Scratch) -> Vec<Value> {
    let found = parsed(scratch, scratch.command().args(["--json", "doctor", "--scope", "user"]));
    found.into_iter().filter(|found| found["area"].as_str().is_some_and(|area| area.starts_with("tool "))).collect()
}

/// Returns the finding of an area that contains the text `what`. Checks that it has this state.
#[track_caller]
fn found(checks: &[Value], area: &str, state: &str, what: &str) -> Value {
    let is_meant =
        |found: &&Value| found["area"] == area && found["what"].as_str().is_some_and(|text| text.contains(what));
    let Some(meant) = checks.iter().find(is_meant) else { panic!("no {area} with '{what}': {checks:#?}") };
    assert_eq!(meant["state"], state, "{meant}");
    meant.clone()
}

/// Returns a scratch folder with an installed tool, signed with a trusted key.
fn with_install() -> Scratch {
    let scratch = Scratch::new();
    put(&scratch, "alice/weather", "Sun");
    scratch.ok(&["tool", "key", "new"]);
    let signed = scratch.json(&["tool", "sign", "alice/weather"]);
    trusting(&scratch, signed["identity"].as_str().expect("an identity"));
    scratch.ok(&["tool", "install", "alice/weather"]);
    scratch
}

#[test]
fn without_problems_each_area_reports_ok() {
    let scratch = with_install();
    let checks = checks(&scratch);
    found(&checks, "tool registries", "ok", "the registry 'local' is stored in this database");
    found(&checks, "tool trust", "ok", "the policy is prompt");
    found(&checks, "tool packages", "ok", "1 stored archive is intact");
    found(&checks, "tool installs", "ok", "1 installed tool is trusted");
    found(&checks, "tool cache", "ok", "no unpacked copy");
    assert!(checks.iter().any(|found| found["area"] == "tool runners"));
    found(&checks, "tool runners", "ok", "WebAssembly modules");
    // The short report names only the runners.
    assert!(in_short(&scratch).iter().all(|found| found["area"] == "tool runners"));
    assert!(in_short(&Scratch::with_project()).is_empty(), "who has no tools has nothing to mend");
}

#[test]
fn x37_a_missing_runner_is_a_problem_with_a_solution() {
    let scratch = with_install();
    let mut command = scratch.command();
    command.env("PATH", "/none").args(["--json", "tool", "doctor"]);
    let checks = parsed(&scratch, &mut command);
    let runner = found(&checks, "tool runners", "problem", "bubblewrap is not installed");
    assert!(runner["action"].as_str().is_some_and(|action| action.contains("apt install bubblewrap")), "{runner}");
    let mut command = scratch.command();
    let ran = scratch.finish(command.env("PATH", "/none").args(["tool", "doctor", "--check"]));
    assert_eq!(ran.status, 3, "{ran}");
    // An outdated bubblewrap, or one that cannot create namespaces, fails with a message. The finding says what to do
    // about it.
    for (script, says, action) in [
        (
            "#!/bin/sh\necho 'bwrap: Unknown option --disable-userns' >&2\nexit 1\n",
            "older than 0.8",
            "install bubblewrap",
        ),
        (
            "#!/bin/sh\necho 'bwrap: No permissions to create a new namespace' >&2\nexit 1\n",
            "namespace",
            "user namespaces",
        ),
    ] {
        let bwrap = scratch.file("bin/bwrap", script);
        set_mode(&bwrap, 0o755);
        let mut command = scratch.command();
        command.env("PATH", scratch.path().join("bin")).args(["--json", "tool", "doctor"]);
        let runner = found(&parsed(&scratch, &mut command), "tool runners", "problem", says);
        assert!(runner["action"].as_str().is_some_and(|text| text.contains(action)), "{runner}");
    }
}

#[test]
fn unreachable_and_unused_registries_are_reported() {
    let scratch = Scratch::with_project();
    scratch.ok(&["registry", "add", "team", "team-tools", "--create"]);
    // Nothing listens at this port.
    scratch.ok(&["registry", "add", "far", "http://127.0.0.1:9"]);
    let all = checks(&scratch);
    found(&all, "tool registries", "ok", "'team' responds");
    found(&all, "tool registries", "problem", "far");
    assert!(in_short(&scratch).is_empty(), "no other host is asked in short");
    std::fs::rename(scratch.path().join("team-tools"), scratch.path().join("moved")).expect("moved");
    found(&checks(&scratch), "tool registries", "problem", "team");
    found(&in_short(&scratch), "tool registries", "problem", "team");
    let mut elsewhere = scratch.command();
    elsewhere.env("XDG_STATE_HOME", scratch.path().join("other")).args(["--json", "tool", "doctor"]);
    let never = found(
        &parsed(&scratch, &mut elsewhere),
        "tool registries",
        "note",
        "you have not approved 'far' (http://127.0.0.1:9) on this machine",
    );
    assert!(never["action"].as_str().is_some_and(|action| action.contains("tool search --registry far")), "{never}");
}

#[test]
fn unapproved_trust_and_readable_keys_are_reported() {
    let scratch = with_install();
    let mut elsewhere = scratch.command();
    elsewhere.env("XDG_STATE_HOME", scratch.path().join("other")).args(["--json", "tool", "doctor"]);
    let elsewhere = parsed(&scratch, &mut elsewhere);
    found(&elsewhere, "tool trust", "note", "on this machine: 1 trusted identity");
    found(&elsewhere, "tool installs", "note", "1 installed tool not signed by anybody you trust: alice/weather@1.0.0");
    let key = scratch.path().join(".local/share/mcpkg/keys/default");
    set_mode(&key, 0o644);
    let loose =
        found(&checks(&scratch), "tool trust", "problem", "other users can access the key 'default' (mode 0644)");
    assert!(loose["action"].as_str().is_some_and(|action| action.starts_with("chmod 600 ")), "{loose}");
    found(&in_short(&scratch), "tool trust", "problem", "the key 'default'");
    set_mode(&key, 0o600);
    scratch.ok(&["tool", "audit", "alice/weather", "--result", "failed"]);
    found(&checks(&scratch), "tool installs", "problem", "vetoed by somebody you trust");
}

#[test]
fn damaged_archives_and_yanked_versions_are_reported() {
    let scratch = with_install();
    package(&scratch, "1.0.0");
    scratch.ok(&["tool", "sign", "./weather"]);
    scratch.ok(&["registry", "add", "team", "team-tools", "--create"]);
    scratch.ok(&["tool", "publish", "weather", "--to", "team"]);
    scratch.ok(&["tool", "install", "alice/utils/weather"]);
    scratch.ok(&["tool", "yank", "alice/utils/weather@1.0.0", "--registry", "team"]);
    found(&checks(&scratch), "tool installs", "note", "yanked by the publisher: alice/utils/weather@1.0.0");
    let damage = format!(
        "UPDATE blob SET head = {} WHERE id = (SELECT blob_id FROM tool_package WHERE name = 'alice/weather')",
        scratch.in_sql(&[0; 300])
    );
    assert_eq!(scratch.change(&damage), 1);
    let all = checks(&scratch);
    let broken =
        found(&all, "tool packages", "problem", "the archive of alice/weather@1.0.0 from registry 'local' is damaged");
    assert!(broken["action"].as_str().is_some_and(|action| action.contains("mcpkg restore FILE")), "{broken}");
    found(&all, "tool packages", "ok", "1 stored archive is intact");
    found(&in_short(&scratch), "tool packages", "problem", "alice/weather@1.0.0");
}

#[test]
fn an_oversized_cache_and_one_that_others_can_change_are_reported() {
    let scratch = with_install();
    let cache = scratch.path().join(".cache/mcpkg/tools");
    scratch.file(&format!(".cache/mcpkg/tools/{}/file", "e".repeat(64)), vec![0; 2 << 20]);
    scratch.ok(&["tool", "config", "cache.size", "1MiB"]);
    let full = found(&checks(&scratch), "tool cache", "note", "1 unpacked copy of tools: 2 of 1 MiB");
    assert_eq!(full["action"], "mcpkg tool prune");
    set_mode(&cache, 0o777);
    found(&in_short(&scratch), "tool cache", "problem", "other users can change");
}

#[test]
fn an_inconsistent_search_index_is_reported_as_damage() {
    let scratch = Scratch::new();
    if !scratch.is_file() {
        return;
    }
    package(&scratch, "1.0.0");
    scratch.ok(&["tool", "publish", "weather", "--to", "local"]);
    scratch.ok(&["check", "--deep"]);
    let put = "INSERT OR REPLACE INTO tool_search (rowid, name, description, tags)
               SELECT id, name, 'another text', '' FROM tool_listing";
    assert_eq!(scratch.change(put), 1);
    let ran = scratch.run(&["check", "--deep"]);
    assert!(ran.status == 1 && ran.stderr.contains("the search index of tools"), "{ran}");
}
