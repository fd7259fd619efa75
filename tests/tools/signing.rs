//! Tests signing keys, and signatures made by mcpkg and by plain ssh-keygen.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::{put, trusting};
use crate::support::{Scratch, eventually, skipped, typed_after};

/// The tool of these tests.
const TOOL: &str = "alice/weather";

/// Runs ssh-keygen, which must succeed.
fn ssh_keygen(arguments: &[&str]) {
    let output = Command::new("ssh-keygen").args(arguments).output().expect("ssh-keygen starts");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn has_ssh_keygen() -> bool {
    Command::new("ssh-keygen").arg("-?").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

/// Makes a key with plain OpenSSH and returns its file.
fn foreign_key(scratch: &Scratch, passphrase: &str) -> PathBuf {
    let path = scratch.path().join("id");
    ssh_keygen(&["-q", "-t", "ed25519", "-N", passphrase, "-C", "", "-f", path.to_str().expect("a path")]);
    path
}

/// Signs the output of `--print` with plain ssh-keygen. Returns the file with the statement.
fn signed_elsewhere(scratch: &Scratch, print: &[&str], namespace: &str, key: &Path) -> PathBuf {
    let path = scratch.file("statement.json", scratch.ok(print));
    let _ = std::fs::remove_file(path.with_extension("json.sig"));
    let [key, file] = [key, &path].map(|path| path.to_str().expect("a path"));
    ssh_keygen(&["-q", "-Y", "sign", "-n", namespace, "-f", key, file]);
    path
}

fn status(scratch: &Scratch) -> Value {
    serde_json::from_str(&scratch.run(&["--json", "tool", "verify", TOOL]).stdout).expect("JSON")
}

#[cfg(unix)]
#[test]
fn keys_are_files_that_only_their_owner_can_read() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = Scratch::new();
    put(&scratch, TOOL, "Sun");
    let made = scratch.json(&["tool", "key", "new"]);
    let path = scratch.path().join(".local/share/mcpkg/keys/default");
    assert_eq!(made["path"], "<SCRATCH>/.local/share/mcpkg/keys/default");
    let mode = |path: &Path| std::fs::metadata(path).expect("a file").permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(path.parent().expect("a folder"))), (0o600, 0o700));
    let again = scratch.run(&["tool", "key", "new"]);
    assert!(again.status == 1 && again.stderr.contains("The key 'default' already exists"), "{again}");
    for name in ["a/b", "..", "", "a.pub"] {
        assert_eq!(scratch.run(&["tool", "key", "new", name]).status, 2, "{name}");
    }
    scratch.ok(&["tool", "key", "new", "work"]);
    let listed = scratch.json(&["tool", "key", "list"]);
    let names: Vec<&str> =
        listed["keys"].as_array().expect("keys").iter().filter_map(|key| key["name"].as_str()).collect();
    assert_eq!(names, ["default", "work"]);
    // `key show` prints the public key in OpenSSH's format.
    let public = std::fs::read_to_string(path.with_extension("pub")).expect("a public half");
    assert_eq!(scratch.ok(&["tool", "key", "show"]), public);
    // By default, the key named `default` signs. `--key` chooses another one.
    assert_eq!(scratch.json(&["tool", "sign", TOOL])["identity"], made["identity"]);
    let work = scratch.json(&["tool", "key", "show", "work"]);
    assert_eq!(scratch.json(&["tool", "sign", TOOL, "--key", "work"])["identity"], work["identity"]);
    // The database does not contain the private key.
    let private = std::fs::read_to_string(&path).expect("a key");
    let secret = private.lines().nth(3).expect("a line");
    let database = scratch.bytes();
    assert!(!database.windows(secret.len()).any(|window| window == secret.as_bytes()));
    // mcpkg does not sign with a key file that others can read.
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).expect("a mode");
    let ran = scratch.run(&["--json", "tool", "sign", TOOL]);
    assert!(ran.stdout.contains("E_KEY_INVALID") && ran.stdout.contains("chmod 600"), "{ran}");
    // Deleting a key cannot be undone, so it needs a confirmation.
    assert!(scratch.run(&["tool", "key", "remove", "work"]).stderr.contains("--yes"));
    scratch.ok(&["tool", "key", "remove", "work", "--yes"]);
    assert_eq!(scratch.run(&["tool", "key", "show", "work"]).status, 1);
    assert!(!path.with_file_name("work.pub").exists());
}

#[test]
fn plain_ssh_keygen_signs_what_is_printed() {
    if !has_ssh_keygen() {
        return skipped("there is no ssh-keygen");
    }
    let scratch = Scratch::new();
    put(&scratch, TOOL, "Sun");
    let key = foreign_key(&scratch, "");
    let statement = signed_elsewhere(&scratch, &["tool", "sign", TOOL, "--print"], "mcpkg-tool", &key);
    let with = |path: &Path| scratch.run(&["--json", "tool", "sign", TOOL, "--with", path.to_str().expect("a path")]);
    let signed: Value = serde_json::from_str(&with(&statement).stdout).expect("JSON");
    assert_eq!((&signed["kind"], &signed["added"]), (&json!("ssh"), &json!(true)), "{signed}");
    // The identity contains the fingerprint that ssh-keygen prints.
    let printed = Command::new("ssh-keygen").arg("-lf").arg(&key).output().expect("ssh-keygen starts");
    let printed = String::from_utf8(printed.stdout).expect("a text");
    let fingerprint = signed["identity"].as_str().and_then(|identity| identity.strip_prefix("ed25519:")).expect("one");
    assert!(printed.contains(fingerprint), "{printed}");
    // The path of the signature file is also accepted.
    let again: Value = serde_json::from_str(&with(&statement.with_extension("json.sig")).stdout).expect("JSON");
    assert_eq!(again["added"], false);

    trusting(&scratch, signed["identity"].as_str().expect("an identity"));
    assert_eq!(status(&scratch)["status"], "verified");
    // The same key in two formats is one identity.
    scratch.ok(&["tool", "sign", TOOL, "--key", key.to_str().expect("a path")]);
    scratch.ok(&["tool", "trust", "policy", "--minimum", "2"]);
    let says = status(&scratch);
    assert_eq!(says["attestations"].as_array().map(Vec::len), Some(2), "{says}");
    assert_eq!(says["status"], "unverified", "{says}");

    // An audit is signed in the same way, and does not count as a publisher's signature.
    let audit = ["tool", "audit", TOOL, "--result", "failed", "--print"];
    let statement = signed_elsewhere(&scratch, &audit, "mcpkg-tool", &key);
    assert!(with(&statement).stdout.contains("E_TRUST_FAILED"));
    let path = statement.to_str().expect("a path");
    assert_eq!(scratch.run(&["tool", "audit", TOOL, "--result", "passed", "--with", path]).status, 1);
    assert_eq!(status(&scratch)["status"], "unverified");
    scratch.ok(&["tool", "audit", TOOL, "--with", path]);
    assert_eq!(status(&scratch)["status"], "refused");
}

#[test]
fn a_signature_of_something_else_is_not_taken() {
    if !has_ssh_keygen() {
        return skipped("there is no ssh-keygen");
    }
    let scratch = Scratch::new();
    put(&scratch, TOOL, "Sun");
    put(&scratch, "alice/other", "Rain");
    let key = foreign_key(&scratch, "");
    let print = ["tool", "sign", TOOL, "--print"];
    let with = |tool: &str, path: &Path| {
        let ran = scratch.run(&["--json", "tool", "sign", tool, "--with", path.to_str().expect("a path")]);
        let failed: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran}"));
        assert_eq!(failed["error"]["code"], "E_TRUST_FAILED", "{ran}");
        failed["error"]["message"].as_str().expect("a message").to_owned()
    };
    let for_git = signed_elsewhere(&scratch, &print, "git", &key);
    assert!(with(TOOL, &for_git).contains("for 'git', not for 'mcpkg-tool'"));
    let statement = signed_elsewhere(&scratch, &print, "mcpkg-tool", &key);
    assert!(with("alice/other", &statement).contains("the statement is not about this archive"));
    let text = std::fs::read_to_string(&statement).expect("a statement").replace("1.0.0", "1.0.1");
    std::fs::write(&statement, text).expect("written");
    assert!(with(TOOL, &statement).contains("does not verify"));
    assert_eq!(status(&scratch)["attestations"], json!([]));
}

#[test]
fn a_key_with_a_passphrase_signs_through_ssh_keygen() {
    if !has_ssh_keygen() {
        return skipped("there is no ssh-keygen");
    }
    let scratch = Scratch::new();
    put(&scratch, TOOL, "Sun");
    let key = foreign_key(&scratch, "a passphrase");
    let key = key.to_str().expect("a path");
    let ran = scratch.run(&["--json", "tool", "sign", TOOL, "--key", key]);
    assert!(ran.stdout.contains("E_TERMINAL_REQUIRED"), "{ran}");
    let mut command = scratch.command();
    command.args(["tool", "sign", TOOL, "--key", key]);
    let Some((shown, code)) = typed_after(&command, "passphrase", "wrong\nwrong\nwrong\n") else {
        return skipped("there is no script of util-linux");
    };
    assert!(code == 1 && shown.contains("ssh-keygen did not sign"), "{shown}");
    let (shown, code) = typed_after(&command, "passphrase", "a passphrase\n").expect("there is a script");
    assert!(code == 0 && shown.contains("Signed alice/weather@1.0.0 as ed25519:SHA256:"), "{shown}");
    let says = status(&scratch);
    assert_eq!(says["attestations"][0]["kind"], "ssh", "{says}");
}

#[test]
fn a_key_in_ssh_agent_signs_without_a_terminal() {
    let scratch = Scratch::new();
    let socket = scratch.path().join("agent");
    let agent =
        Command::new("ssh-agent").args(["-D", "-a"]).arg(&socket).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let Ok(mut agent) = agent else { return skipped("there is no ssh-agent") };
    eventually("the agent listens", || socket.exists().then_some(()));
    put(&scratch, TOOL, "Sun");
    let key = foreign_key(&scratch, "");
    let added =
        Command::new("ssh-add").arg("-q").arg(&key).env("SSH_AUTH_SOCK", &socket).output().expect("ssh-add starts");
    assert!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
    std::fs::remove_file(&key).expect("only the agent has it");
    let public = key.with_extension("pub");
    let mut command = scratch.command();
    let sign = ["--json", "tool", "sign", TOOL, "--key", public.to_str().expect("a path")];
    let ran = scratch.finish(command.env("SSH_AUTH_SOCK", &socket).args(sign));
    agent.kill().and_then(|()| agent.wait()).expect("the agent ends");
    assert!(ran.status == 0 && ran.stdout.contains("\"ssh\""), "{ran}");
    // The existing signature stays. Without the agent, nothing else can be signed.
    assert!(scratch.ok(&sign).contains("\"added\": false"));
    put(&scratch, "alice/tides", "Moon");
    let ran = scratch.run(&["--json", "tool", "sign", "alice/tides", "--key", sign[5]]);
    assert!(ran.stdout.contains("E_KEY_INVALID"), "{ran}");
}
