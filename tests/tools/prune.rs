//! Tests what `mcpkg tool prune` removes and what it keeps.

use std::fs::{self, File};
use std::time::Duration;

use mcpkg_base::error::Code;
use mcpkg_store::tools::{attestations, packages};
use serde_json::{Value, json};

use super::registries::package;
use super::trusting;
use crate::support::Scratch;

const TOOL: &str = "alice/utils/weather";

/// Returns a scratch folder with a signed tool installed from a registry in a folder.
fn with_install() -> Scratch {
    let scratch = Scratch::new();
    package(&scratch, "1.0.0");
    scratch.ok(&["registry", "add", "team", "team-tools", "--create"]);
    scratch.ok(&["tool", "key", "new"]);
    let signed = scratch.json(&["tool", "sign", "./weather"]);
    trusting(&scratch, signed["identity"].as_str().expect("an identity"));
    scratch.ok(&["tool", "publish", "weather", "--to", "team"]);
    scratch.ok(&["tool", "install", TOOL]);
    scratch
}

fn dry(scratch: &Scratch) -> Value {
    scratch.json(&["tool", "prune", "--all", "--dry-run"])
}

#[test]
fn uninstalled_archives_are_removed_but_their_digests_and_signatures_kept() {
    let scratch = with_install();
    assert!(scratch.ok(&["tool", "prune", "--all", "--dry-run"]).contains("nothing to free"));
    scratch.ok(&["tool", "uninstall", TOOL]);
    // For a day, an archive is kept, because a server's session may still use it.
    let recent = scratch.run(&["tool", "prune", "--dry-run"]);
    assert!(recent.stderr.contains("1 archive used in the last 24 hours"), "{recent}");
    let would = dry(&scratch);
    assert_eq!((&would["archives"]["count"], &would["dry_run"]), (&json!(1), &json!(true)));
    let before = scratch.store().read(|db| packages::get(db, "team", TOOL, "1.0.0")).expect("read").expect("a row");
    assert!(before.blob.is_some());
    let refused = scratch.run(&["--json", "tool", "prune", "--all"]);
    assert!(refused.stdout.contains("E_CONFIRM_REQUIRED"), "{refused}");
    let freed = scratch.json(&["tool", "prune", "--all", "--yes"]);
    assert_eq!(freed["archives"], would["archives"]);
    let after = scratch.store().read(|db| packages::get(db, "team", TOOL, "1.0.0")).expect("read").expect("the row");
    assert_eq!((after.blob, after.release.sha256), (None, before.release.sha256));
    let claims = scratch.store().read(|db| attestations::of(db, &after.release.sha256)).expect("read");
    assert_eq!(claims.len(), 1, "what was signed is never forgotten");
    // A different digest for a known version is always refused.
    let other = packages::Release { sha256: [7; 32], ..after.release };
    let seen = scratch.store().write(|db| packages::see(db, &other, 0)).expect_err("another digest");
    assert_eq!(seen.code(), Code::DigestChanged);
    scratch.ok(&["compact"]);
    scratch.ok(&["check", "--deep"]);
    // The tool can be installed again from its registry.
    scratch.ok(&["tool", "install", TOOL]);
    assert_eq!(dry(&scratch)["archives"]["count"], json!(0));
}

#[test]
fn archives_published_here_or_installed_elsewhere_are_kept() {
    let scratch = with_install();
    scratch.ok(&["tool", "publish", "weather", "--to", "local"]);
    scratch.ok(&["project", "create", "p"]);
    scratch.ok(&["tool", "install", TOOL, "--registry", "team", "--for-project"]);
    scratch.ok(&["tool", "uninstall", TOOL]);
    assert_eq!(dry(&scratch)["archives"]["count"], json!(0), "it is installed for a project");
    scratch.ok(&["tool", "uninstall", TOOL, "--for-project"]);
    // The same archive was published to the local registry, so its bytes are kept.
    let would = dry(&scratch);
    assert_eq!(would["archives"], json!({ "count": 1, "bytes": 0 }));
    scratch.ok(&["tool", "prune", "--all", "--yes"]);
    scratch.ok(&["tool", "install", TOOL, "--registry", "local"]);
}

#[test]
fn unpacked_copies_of_removed_archives_and_old_answers_are_removed() {
    let scratch = with_install();
    let cache = scratch.path().join(".cache/mcpkg/tools");
    let fresh = tempfile::NamedTempFile::new().expect("a file");
    let now = fresh.as_file().metadata().and_then(|metadata| metadata.modified()).expect("a time");
    let old = now - Duration::from_secs(10 * 3600);
    let copy = |digit: &str| {
        let name = digit.repeat(64);
        fs::create_dir_all(cache.join(&name)).expect("a folder");
        fs::write(cache.join(&name).join("file"), "12345").expect("a file");
        let notes = File::create(cache.join(format!("{name}.json"))).expect("notes");
        notes.set_modified(old).expect("a time");
        cache.join(name)
    };
    let unknown = copy("e");
    let answers = format!(
        "INSERT INTO registry_answer (registry, request, body, fetched_at) VALUES
           ('team', 'search old', '{{}}', 0), ('team', 'index.json', '', 0), ('gone', 'search', '{{}}', {})",
        i64::MAX
    );
    assert_eq!(scratch.change(&answers), 3);
    let would = dry(&scratch);
    assert_eq!((&would["copies"], &would["answers"]["count"]), (&json!({ "count": 1, "bytes": 5 }), &json!(2)));
    assert!(unknown.exists());
    let freed = scratch.json(&["tool", "prune", "--all", "--yes"]);
    assert_eq!((&freed["copies"], &freed["answers"]["count"]), (&would["copies"], &json!(2)));
    assert!(!unknown.exists());
    assert!(scratch.ok(&["tool", "prune", "--all", "--dry-run"]).contains("nothing to free"));
}

#[test]
fn approvals_of_unknown_archives_and_surplus_runs_are_removed() {
    let scratch = with_install();
    let verdict = format!(
        "INSERT INTO tool_verdict (package_sha256, name, version, epoch, verdict) VALUES ({}, 'a/b', '1.0.0', 0, '{{}}')",
        scratch.in_sql(&[9; 32])
    );
    let run = format!(
        "INSERT INTO tool_run (uuid, actor, asker, tool, action, input_hash, verdict, started_at, ended_at)
         VALUES ({}, 'shell', 'user', 'a/b', 'main', {}, 'verified', 0, 0)",
        scratch.in_sql(&[1; 16]),
        scratch.in_sql(&[0; 32])
    );
    assert_eq!((scratch.change(&verdict), scratch.change(&run)), (1, 1));
    let would = dry(&scratch);
    assert_eq!((&would["approvals"], &would["runs"]), (&json!(1), &json!(1)));
    let freed = scratch.json(&["tool", "prune", "--all", "--yes"]);
    assert_eq!((&freed["approvals"], &freed["runs"]), (&json!(1), &json!(1)));
    assert_eq!(scratch.json(&["tool", "runs"])["runs"], json!([]));
}
