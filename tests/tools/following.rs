//! Tests a running server with `--as enact` that follows Enact's files. Stricter settings apply from the next request;
//! looser settings need a person at a terminal.

use std::fs;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::installed::{data, listed, signed};
use super::of_enact::{KEY, config, rules, served, server};
use super::trusting;
use crate::support::http::{self, Http};
use crate::support::{Client, Scratch, at_a_terminal, skipped};

/// Identities of keys that sign nothing in these tests.
const HAND: &str = "ed25519:SHA256:z/fSv0Z0RZS+Lccbc6ZoOWwt/fbj1VFJGSBKQbo4icE";
const OTHER: &str = "ed25519:SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// Starts a server. Also returns a function that reads its log.
fn started(scratch: &Scratch) -> (Client, impl Fn() -> String) {
    let log = scratch.path().join("running.log");
    let file = Stdio::from(fs::File::create(&log).expect("a file"));
    let client = Client::spawn_logging(&mut server(scratch), file).shake_hands("2025-11-25");
    (client, move || fs::read_to_string(&log).expect("a log"))
}

/// Publishes and signs a tool. Returns the signer's identity, which is not trusted yet.
fn published(scratch: &Scratch, name: &str) -> String {
    let at = format!("package/{name}");
    let front =
        format!("---\nname: {name}\nversion: 1.0.0\ndescription: Says hello\ncommand: echo hello\n---\n# Hello\n");
    scratch.file(&format!("{at}/SKILL.md"), front);
    let folder = scratch.path().join(&at).display().to_string();
    scratch.ok(&["tool", "publish", &folder, "--to", "local"]);
    let _ = scratch.run(&["tool", "key", "new"]);
    scratch.json(&["tool", "sign", name])["identity"].as_str().expect("an identity").to_owned()
}

/// Approves the settings in the files at a terminal. Returns false if this machine cannot provide a terminal.
#[must_use]
fn approved(scratch: &Scratch) -> bool {
    let mut import = scratch.command();
    import.args(["tool", "import"]);
    match at_a_terminal(&import, "y\n") {
        None => false,
        Some((shown, done)) => {
            assert!(done && shown.contains("Approve settings that loosen"), "{shown}");
            true
        }
    }
}

/// Returns the trusted identities and their roles.
fn trusted(scratch: &Scratch) -> Vec<(String, String)> {
    let list = scratch.json(&["tool", "trust", "list"])["trusted"].take();
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let list = list.as_array().expect("a list").iter().filter(|row| row["counts"] == true);
    list.map(|row| (text(&row["identity"]), text(&row["kind"]))).collect()
}

fn toolset(scratch: &Scratch, tools: &[&str], active: Option<&str>) {
    let file = json!({ "toolsets": { "web": tools, "all": ["alice/one", "alice/two"] }, "activeToolset": active });
    scratch.file(".enact/mcp.json", file.to_string());
}

#[test]
fn auditors_removed_from_the_file_are_distrusted_but_manual_ones_stay() {
    let scratch = Scratch::new();
    let signer = published(&scratch, "alice/one");
    config(&scratch, &format!("  auditors: [\"{signer}\", \"{KEY}\", \"{HAND}\"]\n"));
    if !approved(&scratch) {
        return skipped("there is no script");
    }
    // Add two identities by hand: one that the file also names, and one that it never named.
    trusting(&scratch, HAND);
    trusting(&scratch, OTHER);
    assert_eq!(trusted(&scratch).len(), 4);
    let (mut client, _) = started(&scratch);
    let learn = json!({ "tool": "alice/one" });
    assert!(data(&mut client, "enact__learn", learn.clone()).to_string().contains("# Hello"));
    // `KEY` is now only an auditor, which is stricter. The file no longer names the signer and `HAND`.
    config(&scratch, &format!("  trusted_auditors: [\"{KEY}\"]\n"));
    let refused = client.result("tools/call", json!({ "name": "enact__learn", "arguments": learn }));
    assert_eq!(refused["isError"], true, "{refused}");
    let mut left: Vec<_> =
        [(KEY, "auditor"), (HAND, "both"), (OTHER, "both")].map(|(key, part)| (key.to_owned(), part.to_owned())).into();
    left.sort();
    assert_eq!(trusted(&scratch), left);
    // The file names the signer again, now as an auditor. A person must approve that first.
    config(&scratch, &format!("  auditors: [\"{signer}\", \"{KEY}\"]\n"));
    client.result("tools/list", json!({}));
    assert_eq!(trusted(&scratch), left);
    client.finish();
}

#[test]
fn a_veto_of_an_auditor_removed_from_the_file_still_counts() {
    let scratch = Scratch::new();
    let signer = published(&scratch, "alice/one");
    let folder = scratch.path().join("package/alice/one").display().to_string();
    scratch.json(&["tool", "audit", &folder, "--result", "failed"]);
    config(&scratch, &format!("  auditors: [\"{signer}\"]\n"));
    if !approved(&scratch) {
        return skipped("there is no script");
    }
    let (mut client, _) = started(&scratch);
    let mut refused = || {
        let call = json!({ "name": "enact__learn", "arguments": { "tool": "alice/one" } });
        client.result("tools/call", call)["structuredContent"]["error"]["code"].take()
    };
    assert_eq!(refused(), "E_TRUST_FAILED");
    config(&scratch, "  auditors: []\n");
    assert_eq!(refused(), "E_TRUST_FAILED", "an agent that writes the file does not silence an auditor");
    assert_eq!(trusted(&scratch), []);
    assert!(scratch.run(&["tool", "trust", "list"]).stderr.contains("can still veto tools"));
    scratch.ok(&["tool", "trust", "remove", &signer]);
    assert_ne!(refused(), "E_TRUST_FAILED");
    client.finish();
}

#[test]
fn a_missing_or_broken_file_changes_nothing() {
    let scratch = Scratch::new();
    let (mut client, log) = started(&scratch);
    let path = scratch.path().join(".enact/config.yaml");
    let ask = |client: &mut Client| {
        client.result("tools/list", json!({}));
        rules(&scratch)
    };
    let tight = (json!("require_attestation"), json!(2));
    config(&scratch, "  policy: require_attestation\n  minimum_attestations: 2\n");
    assert_eq!(ask(&mut client), tight);
    for looser in
        ["  policy: allow\n", "  policy: prompt\n  minimum_attestations: 1\n", "  policy: alow\n", "  policy: [\n"]
    {
        config(&scratch, looser);
        assert_eq!(ask(&mut client), tight, "{looser}");
    }
    assert!(log().contains("policy allow, not require_attestation"), "{}", log());
    assert!(log().contains("is malformed") && log().contains("continues with what it last read"), "{}", log());
    let doctor = scratch.run(&["tool", "doctor"]);
    assert!(doctor.stdout.contains("continues with what it last read"), "{doctor}");
    // The other file still applies.
    scratch.file(".enact/mcp.json", json!({ "toolsets": { "web": [] } }).to_string());
    assert_eq!(ask(&mut client), tight);
    assert_eq!(scratch.json(&["toolset", "list"])["toolsets"][0]["name"], "web");
    fs::remove_file(path).expect("gone");
    assert_eq!(ask(&mut client), tight);
    client.finish();
    let (_, log) = served(&scratch, &mut server(&scratch));
    assert!(rules(&scratch) == tight && log.is_empty(), "{log}");
}

#[test]
fn a_toolset_in_the_file_can_only_be_narrowed_without_a_person() {
    let scratch = Scratch::new();
    for name in ["alice/one", "alice/two"] {
        published(&scratch, name);
        signed(&scratch, name);
        scratch.ok(&["tool", "install", name]);
    }
    let has = |client: &mut Client, name: &str| listed(client).contains(&name.to_owned());
    toolset(&scratch, &["alice/one", "alice/two"], Some("web"));
    let (mut client, log) = started(&scratch);
    assert!(has(&mut client, "alice__one") && has(&mut client, "alice__two"));
    toolset(&scratch, &["alice/one"], Some("web"));
    let call = json!({ "name": "alice__two", "arguments": {} });
    let refused = client.result("tools/call", call);
    assert!(refused["isError"] == true && refused.to_string().contains("not in the toolset 'web'"), "{refused}");
    assert!(has(&mut client, "alice__one") && !has(&mut client, "alice__two"));
    assert_eq!(scratch.json(&["toolset", "show", "web"])["tools"], json!(["alice/one"]));
    // Until a person approves it, no change to the file makes more tools visible.
    let path = scratch.path().join(".enact/mcp.json");
    for (tools, active) in
        [(&["alice/one", "alice/two"][..], Some("web")), (&["alice/one"], Some("all")), (&["alice/one"], None)]
    {
        toolset(&scratch, tools, active);
        assert!(!has(&mut client, "alice__two"), "{tools:?} {active:?}");
    }
    for waiting in ["alice/two in toolset web", "toolset all instead of toolset web", "every tool instead of toolset"] {
        assert!(log().contains(waiting), "{waiting}: {}", log());
    }
    scratch.file(".enact/mcp.json", "{");
    assert!(!has(&mut client, "alice__two"));
    fs::remove_file(path).expect("gone");
    assert!(!has(&mut client, "alice__two"));
    assert!(!served(&scratch, &mut server(&scratch)).0.contains(&"alice__two".to_owned()), "after a start too");
    // A narrower toolset applies at once. Other servers show all tools.
    scratch.file(".enact/mcp.json", json!({ "toolsets": { "none": [] }, "activeToolset": "none" }).to_string());
    assert!(!has(&mut client, "alice__one"));
    let mut plain = scratch.command();
    assert!(served(&scratch, plain.arg("serve")).0.contains(&"alice__two".to_owned()));
    toolset(&scratch, &["alice/one", "alice/two"], None);
    if !approved(&scratch) {
        return skipped("there is no script");
    }
    assert!(has(&mut client, "alice__one") && has(&mut client, "alice__two"));
    assert_eq!(scratch.json(&["toolset", "show", "web"])["tools"], json!(["alice/one", "alice/two"]));
    client.finish();
}

#[test]
fn a_server_over_http_follows_the_files_too() {
    let scratch = Scratch::new();
    let http = Http::start(&scratch, &["--as", "enact"]);
    let before = rules(&scratch);
    config(&scratch, "  policy: require_attestation\n");
    assert_eq!(rules(&scratch), before);
    let listed = http.send(&http::modern("/mcp", "tools/list", json!({}))).message();
    assert!(listed["result"]["tools"].is_array(), "{listed}");
    assert_eq!(rules(&scratch).0, "require_attestation");
}

#[test]
fn other_servers_do_not_follow_the_files() {
    let scratch = Scratch::new();
    let before = rules(&scratch);
    let mut plain: Command = scratch.command();
    let mut client = Client::spawn(plain.arg("serve")).shake_hands("2025-11-25");
    config(&scratch, "  policy: require_attestation\n");
    client.result("tools/list", json!({}));
    client.finish();
    assert_eq!(rules(&scratch), before);
}
