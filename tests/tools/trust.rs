//! Tests which signatures count, with the real binary.

use std::path::PathBuf;
use std::process::Command;

use mcpkg_registry::package::archive;
use mcpkg_registry::trust::records::Record;
use mcpkg_store::blobs;
use mcpkg_store::tools::attestations;
use mcpkg_store::tools::packages::{self, Manifest, Release, Visibility};
use mcpkg_store::tools::trust::{self, TrustedPart, TrustedRow};
use serde_json::{Value, json};

use crate::support::{Scratch, at_a_terminal, skipped};

/// The tool of these tests.
const TOOL: &str = "alice/weather";

/// Writes version 1.0.0 of a tool with the documentation `text`. Returns its folder.
pub fn folder(scratch: &Scratch, name: &str, text: &str) -> PathBuf {
    let front = format!("---\nname: {name}\nversion: 1.0.0\ndescription: Tells the weather\n---\n{text}\n");
    let file = scratch.file(&format!("packages/{name}/SKILL.md"), front);
    file.parent().expect("a folder").to_owned()
}

/// Stores version 1.0.0 of a tool as if it had been published. Returns the SHA-256 of its archive.
pub fn put(scratch: &Scratch, name: &str, text: &str) -> [u8; 32] {
    let packed = archive::pack(&folder(scratch, name, text)).expect("an archive").opened;
    let sha256 = packed.sha256;
    let release = Release {
        registry: "local".to_owned(),
        name: name.to_owned(),
        version: "1.0.0".to_owned(),
        sha256,
        size: packed.content.size(),
        publisher: None,
        visibility: Visibility::Public,
        published_at: 0,
        yank: None,
    };
    let json = Value::Object(packed.manifest.json.clone()).to_string();
    let manifest = Manifest { json: &json, raw: &packed.raw_manifest };
    let write = |db: &mcpkg_store::Db<'_>| {
        let blob = blobs::put_source(db, &packed.content)?;
        packages::insert(db, &release, blob, manifest, 0)
    };
    scratch.store().write(write).expect("the package is stored");
    sha256
}

/// Trusts an identity for every tool, as the user would at a terminal.
pub fn trusting(scratch: &Scratch, identity: &str) {
    let row = TrustedRow {
        identity: identity.to_owned(),
        label: Some("somebody".to_owned()),
        pattern: "*".to_owned(),
        part: TrustedPart::Both,
        added_at: 0,
    };
    let context = scratch.context();
    Record::Identity(&row).keep(&context).expect("a record");
    context.store.write(|db| trust::add(db, &row)).expect("a row");
}

/// Makes a key and signs the tool with it. Returns the data of `tool sign`.
fn signed(scratch: &Scratch) -> Value {
    scratch.ok(&["tool", "key", "new"]);
    scratch.json(&["tool", "sign", TOOL])
}

fn identity(signed: &Value) -> &str {
    signed["identity"].as_str().expect("an identity")
}

/// Returns the data of `tool verify` and its exit status.
fn verified(scratch: &Scratch) -> (Value, i32) {
    let ran = scratch.run(&["--json", "tool", "verify", TOOL]);
    (serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran}")), ran.status)
}

fn at_terminal(scratch: &Scratch, arguments: &[&str], typed: &str) -> Option<(String, bool)> {
    let mut command: Command = scratch.command();
    command.args(arguments);
    at_a_terminal(&command, typed)
}

#[test]
fn a_signature_counts_while_its_key_is_trusted() {
    let (author, user) = (Scratch::new(), Scratch::new());
    let archive = put(&author, TOOL, "Sun");
    let signed = signed(&author);
    put(&user, TOOL, "Sun");
    assert_eq!(verified(&user).1, 1);
    let bundle = signed["bundle"].as_str().expect("a bundle");
    user.store().write(|db| attestations::insert(db, &archive, bundle, None, 0)).expect("stored");
    let (says, status) = verified(&user);
    assert_eq!((says["status"].as_str(), status), (Some("unverified"), 1), "{says}");
    assert_eq!(says["attestations"][0]["why"], "you do not trust the signer");
    assert_eq!(says["attestations"][0]["identity"], signed["identity"]);

    // Trust the author's key, which is in a file.
    let public = author.ok(&["tool", "key", "show"]);
    user.file("alice.pub", public);
    let add = ["tool", "trust", "add", "alice.pub", "--as", "alice", "--for", "alice/*", "--kind", "publisher"];
    let Some((shown, done)) = at_terminal(&user, &add, "n\n") else {
        return skipped("there is no script of util-linux");
    };
    assert!(!done && shown.contains(identity(&signed)), "{shown}");
    assert_eq!(verified(&user).1, 1);
    let (shown, done) = at_terminal(&user, &add, "y\n").expect("there is a script");
    assert!(done && shown.contains("Trusted alice"), "{shown}");
    let (says, status) = verified(&user);
    assert_eq!((says["status"].as_str(), status), (Some("verified"), 0), "{says}");
    assert_eq!(says["attestations"][0]["why"], "you trust this publisher");
    assert_eq!(user.json(&["tool", "trust", "check", "alice", TOOL])["publisher"], true);
    assert_eq!(user.run(&["tool", "trust", "check", "alice", "bob/weather"]).status, 1);
    let listed = user.json(&["tool", "trust", "list"]);
    assert_eq!(listed["trusted"][0]["name"], "alice");
    assert_eq!(listed["trusted"][0]["counts"], true);

    user.ok(&["tool", "trust", "remove", "alice"]);
    assert_eq!(verified(&user).1, 1);
    assert_eq!(user.json(&["tool", "trust", "list"])["trusted"], json!([]));
    let again = user.run(&["tool", "trust", "remove", "alice"]);
    assert!(again.stderr.contains("'alice' is not trusted"), "{again}");
}

#[test]
fn looser_settings_need_a_terminal() {
    let scratch = Scratch::new();
    let identity = "ed25519:SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU";
    let refused = |arguments: &[&str]| {
        let ran = scratch.run(&[&["--json"], arguments].concat());
        let failed: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{arguments:?}\n{ran}"));
        assert_eq!(failed["error"]["code"], "E_TERMINAL_REQUIRED", "{arguments:?}\n{ran}");
    };
    for yes in [&[][..], &["--yes"]] {
        refused(&[&["tool", "trust", "add", identity], yes].concat());
        refused(&[&["tool", "trust", "policy", "allow"], yes].concat());
        refused(&[&["tool", "trust", "policy", "false"], yes].concat());
    }
    assert_eq!(scratch.json(&["tool", "trust", "list"])["trusted"], json!([]));
    // Stricter settings need no terminal.
    scratch.ok(&["tool", "trust", "policy", "require_attestation", "--minimum", "3"]);
    assert_eq!(scratch.json(&["tool", "trust", "policy"]), json!({ "policy": "require_attestation", "minimum": 3 }));
    for loosens in [&["prompt"][..], &["allow"], &["--minimum", "2"], &["require_audit", "--minimum", "1"]] {
        refused(&[&["tool", "trust", "policy"], loosens].concat());
    }
    let Some((shown, done)) = at_terminal(&scratch, &["tool", "trust", "policy", "allow", "--minimum", "1"], "y\n")
    else {
        return skipped("there is no script of util-linux");
    };
    assert!(done && shown.contains("require_attestation -> allow"), "{shown}");
    assert_eq!(scratch.json(&["tool", "trust", "policy"])["policy"], "allow");
    scratch.ok(&["tool", "trust", "policy", "prompt"]);
}

#[test]
fn x11_a_minimum_of_none_is_refused() {
    let scratch = Scratch::new();
    for minimum in ["0", "-1", "101", "many"] {
        let ran = scratch.run(&["tool", "trust", "policy", &format!("--minimum={minimum}")]);
        assert_eq!(ran.status, 2, "{minimum}\n{ran}");
    }
    assert_eq!(scratch.json(&["tool", "trust", "policy"]), json!({ "policy": "prompt", "minimum": 1 }));
}

#[test]
fn x17_an_unknown_policy_is_an_error() {
    let scratch = Scratch::new();
    let ran = scratch.run(&["tool", "trust", "policy", "promt"]);
    assert!(ran.status == 2 && ran.stderr.contains("did you mean 'prompt'?"), "{ran}");
}

#[test]
fn x7_a_failed_audit_vetoes_a_verified_tool() {
    let scratch = Scratch::new();
    put(&scratch, TOOL, "Sun");
    let signed = signed(&scratch);
    trusting(&scratch, identity(&signed));
    assert_eq!(verified(&scratch).1, 0);
    scratch.ok(&["tool", "audit", TOOL, "--result", "passed-with-warnings", "--notes", "reads the clock"]);
    assert_eq!(verified(&scratch).1, 0);
    scratch.ok(&["tool", "audit", TOOL, "--result", "failed", "--severity", "high"]);
    let (says, status) = verified(&scratch);
    assert_eq!((says["status"].as_str(), status), (Some("refused"), 1), "{says}");
    let ran = scratch.run(&["tool", "verify", TOOL]);
    assert!(ran.stdout.contains("an auditor you trust reports a failed audit"), "{ran}");
    let ran = scratch.run(&["tool", "audit", TOOL]);
    assert!(ran.status == 2 && ran.stderr.contains("--result"), "{ran}");
    let ran = scratch.run(&["tool", "audit", TOOL, "--result", "fine"]);
    assert_eq!(ran.status, 2, "{ran}");
}

#[test]
fn x1_another_tools_attestation_does_not_count_and_a_tampered_archive_is_refused() {
    let scratch = Scratch::new();
    put(&scratch, TOOL, "Sun");
    let signed = signed(&scratch);
    trusting(&scratch, identity(&signed));
    let bundle = signed["bundle"].as_str().expect("a bundle");
    let other = put(&scratch, "alice/other", "Rain");
    scratch.store().write(|db| attestations::insert(db, &other, bundle, None, 0)).expect("stored");
    let ran = scratch.run(&["tool", "verify", "alice/other"]);
    assert!(ran.status == 1 && ran.stdout.contains("the statement is about a different tool or version"), "{ran}");
    // Store the same tool and version with different bytes, together with the attestation of the original archive.
    let user = Scratch::new();
    trusting(&user, identity(&signed));
    let tampered = put(&user, TOOL, "Sin");
    user.store().write(|db| attestations::insert(db, &tampered, bundle, None, 0)).expect("stored");
    assert_eq!(verified(&user).0["status"], "refused");
}

#[test]
fn x14_a_database_from_somebody_else_brings_no_trust() {
    let scratch = Scratch::new();
    put(&scratch, TOOL, "Sun");
    let signed = signed(&scratch);
    trusting(&scratch, identity(&signed));
    assert_eq!(verified(&scratch).1, 0);
    let mut elsewhere = scratch.command();
    elsewhere.env("XDG_STATE_HOME", scratch.path().join("another user"));
    let ran = scratch.finish(elsewhere.args(["--json", "tool", "verify", TOOL]));
    assert_eq!(ran.status, 1, "{ran}");
    let mut elsewhere = scratch.command();
    elsewhere.env("XDG_STATE_HOME", scratch.path().join("another user"));
    let ran = scratch.finish(elsewhere.args(["--json", "tool", "trust", "list"]));
    let listed: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(listed["trusted"][0]["counts"], false, "{ran}");
}

#[test]
fn a_missing_tool_is_reported_with_a_hint() {
    let scratch = Scratch::new();
    scratch.ok(&["init"]);
    let failed = |arguments: &[&str]| {
        let ran = scratch.run(&[&["--json"], arguments].concat());
        let failed: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran}"));
        failed["error"]["code"].as_str().expect("a code").to_owned()
    };
    assert_eq!(failed(&["tool", "verify", TOOL]), "E_TOOL_NOT_FOUND");
    put(&scratch, TOOL, "Sun");
    assert_eq!(failed(&["tool", "verify", "alice/weather@2.0.0"]), "E_VERSION_NOT_FOUND");
    assert_eq!(failed(&["tool", "verify", "alice/weather:main"]), "E_INVALID_ARGUMENT");
    assert_eq!(failed(&["tool", "sign", TOOL]), "E_NOT_FOUND");
    assert_eq!(failed(&["tool", "sign", TOOL, "--key", "none"]), "E_NOT_FOUND");
}

#[test]
fn a_folder_and_its_archive_are_equivalent() {
    let scratch = Scratch::new();
    let folder = folder(&scratch, TOOL, "Sun");
    let folder = folder.to_str().expect("a path");
    scratch.ok(&["tool", "key", "new"]);
    let signed = scratch.json(&["tool", "sign", folder]);
    trusting(&scratch, identity(&signed));
    assert_eq!(scratch.run(&["tool", "verify", folder]).status, 0);
    // The same files make the same archive, packed to a file or published.
    let packed = archive::pack(std::path::Path::new(folder)).expect("an archive").opened;
    scratch.file("weather.tar.gz", packed.content.bytes().expect("its bytes"));
    assert_eq!(scratch.run(&["tool", "verify", "weather.tar.gz"]).status, 0);
    put(&scratch, TOOL, "Sun");
    assert_eq!(verified(&scratch).1, 0);
    // The statement also names the manifest.
    let statement: Value = serde_json::from_str(&scratch.ok(&["tool", "sign", TOOL, "--print"])).expect("a statement");
    assert_eq!(statement["subject"][0]["name"], "alice/weather@1.0.0");
    assert_eq!(statement["subject"][1]["name"], "SKILL.md");
    // An additional file makes a different archive.
    scratch.file("packages/alice/weather/more.txt", "More");
    assert_eq!(scratch.run(&["tool", "verify", folder]).status, 1);
}

#[test]
fn x16_a_package_without_a_version_cannot_be_signed() {
    let scratch = Scratch::new();
    scratch.ok(&["tool", "key", "new"]);
    scratch.file("draft/SKILL.md", "---\nname: alice/draft\ndescription: A draft\n---\nText\n");
    let ran = scratch.run(&["--json", "tool", "sign", "./draft"]);
    assert!(ran.status == 1 && ran.stdout.contains("E_MANIFEST_INVALID"), "{ran}");
}
