//! Tests of `mcpkg access`: what it prints, and what it never prints.

use insta::assert_snapshot;

use crate::support::{Ran, Scratch};

/// Returns a command's output, with placeholders for keys and times.
fn shown(ran: &Ran) -> String {
    let text = ran.to_string();
    let key = regex::Regex::new("mcpkg_[0-9a-f]{12}_[0-9a-f]{64}").expect("a pattern").replace_all(&text, "<KEY>");
    regex::Regex::new(r"20\d\d-[-:0-9T]+Z").expect("a pattern").replace_all(&key, "<TIME>").into_owned()
}

#[test]
fn a_key_from_its_creation_to_its_end() {
    let scratch = Scratch::with_project();
    assert_snapshot!(shown(&scratch.run(&["access", "create", "laptop"])), @r#"
    status: 0
    --- stdout
    <KEY>
    --- stderr
    hint: copy the key now: mcpkg stores only the key's SHA-256 and cannot show the key again
    hint: 'laptop' reads and writes every project, until it is revoked
    hint: clients send the key in the header `Authorization: Bearer KEY`; store the key in the variable MCPKG_KEY
    hint: clients with this key cannot run commands or workflows, and do not see the tool `execute`; to let clients run them, with your consent each time, create a key with --execute
    hint: this is the first key: from now on, every HTTP client must send a key, even on this machine; connect an agent with `mcpkg client add NAME --http URL --key-env MCPKG_KEY`
    "#);
    assert_snapshot!(shown(&scratch.run(&["access", "create", "ci", "-p", "p", "--read-only", "--expires", "30d"])), @r#"
    status: 0
    --- stdout
    <KEY>
    --- stderr
    hint: copy the key now: mcpkg stores only the key's SHA-256 and cannot show the key again
    hint: 'ci' reads project 'p', until <TIME>
    hint: clients send the key in the header `Authorization: Bearer KEY`; store the key in the variable MCPKG_KEY
    hint: clients with this key can call 22 tools (prompts, resources, search, skills, commands and workflows); the other 17 tools (deploys, installs and workspaces) require stdio or a key for all projects
    "#);
    assert_snapshot!(shown(&scratch.run(&["access", "list"])), @r#"
    status: 0
    --- stdout
    ci	p	read	<TIME>	<TIME>	active
    laptop	all	read, write	<TIME>	never	active
    --- stderr
    "#);
    assert_snapshot!(shown(&scratch.run(&["access", "revoke", "ci"])), @r#"
    status: 1
    --- stdout
    --- stderr
    error: Revoke access key 'ci' needs to be confirmed. Nothing was changed
    hint: confirm with --yes
    "#);
    assert_snapshot!(shown(&scratch.run(&["access", "revoke", "ci", "--yes"])), @r#"
    status: 0
    --- stdout
    Revoked access key 'ci'
    --- stderr
    "#);
    assert_snapshot!(shown(&scratch.run(&["access", "revoke", "ci", "--yes"])), @r#"
    status: 0
    --- stdout
    Access key 'ci' was already revoked at <TIME>
    --- stderr
    "#);
    assert_snapshot!(shown(&scratch.run(&["access", "create", "ci"])), @r#"
    status: 1
    --- stdout
    --- stderr
    error: Access key 'ci' already exists
    hint: the key was revoked, but its name cannot be reused because `mcpkg events` still shows it; choose another name
    "#);
    assert_snapshot!(shown(&scratch.run(&["access", "create", "laptop"])), @r#"
    status: 1
    --- stdout
    --- stderr
    error: Access key 'laptop' already exists
    hint: the key is active; choose another name for a second key, or revoke the key with `mcpkg access revoke laptop`
    "#);
    assert_snapshot!(shown(&scratch.run(&["access", "create", "a", "--expires", "-1d"])), @r#"
    status: 2
    --- stdout
    --- stderr
    error: --expires '-1d' is not a duration
    hint: give a whole number and a unit: 90m (minutes), 12h (hours), 30d (days) or 2w (weeks); leave out --expires for a key that does not expire
    "#);
    assert_snapshot!(shown(&scratch.run(&["access", "revoke", "lapptop", "--yes"])), @r#"
    status: 1
    --- stdout
    --- stderr
    error: Access key 'lapptop' does not exist
    hint: did you mean 'laptop'?
    "#);
    assert_snapshot!(shown(&scratch.run(&["access", "create", "a", "--expires", "30"])), @r#"
    status: 2
    --- stdout
    --- stderr
    error: --expires '30' has no unit
    hint: give a whole number and a unit: 90m (minutes), 12h (hours), 30d (days) or 2w (weeks); leave out --expires for a key that does not expire
    "#);
    assert_snapshot!(shown(&scratch.run(&["access", "create", "two words"])), @r#"
    status: 2
    --- stdout
    --- stderr
    error: Access key name 'two words' contains invalid characters. Allowed: a-z, A-Z, 0-9, -, _, .
    "#);
}

#[test]
fn a_key_stands_alone_on_standard_output() {
    let scratch = Scratch::with_project();
    let key = scratch.ok(&["access", "create", "a"]);
    assert!(key.starts_with("mcpkg_") && key.lines().count() == 1, "{key}");
    let made = scratch.json(&["access", "create", "b"]);
    assert!(made["key"].as_str().is_some_and(|key| key.starts_with("mcpkg_")), "{made}");
    assert_eq!((&made["state"], &made["expires_at"]), (&"active".into(), &serde_json::Value::Null));
    let listed = scratch.json(&["access", "list"]);
    assert!(
        listed["keys"].as_array().is_some_and(|keys| keys.len() == 2 && keys.iter().all(|k| k.get("key").is_none()))
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_key_that_could_not_be_printed_is_revoked() {
    let scratch = Scratch::with_project();
    let full = std::fs::File::options().write(true).open("/dev/full").expect("a full disk");
    let ran = scratch.command().args(["access", "create", "a"]).stdout(full).output().expect("mcpkg starts");
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(
        ran.status.code() == Some(1) && said.contains("access key 'a' was not shown to anyone, so mcpkg revoked it"),
        "{said}"
    );
    assert!(scratch.ok(&["access", "list"]).ends_with("revoked\n"));
    // The command fails if the other end of the pipe is closed, because then nobody received the key.
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let ran = scratch.command().args(["access", "create", "b"]).stdout(writer).output().expect("mcpkg starts");
    assert_eq!(ran.status.code(), Some(1), "{}", String::from_utf8_lossy(&ran.stderr));
}

#[test]
fn a_leaked_key_can_be_revoked_and_is_never_shown() {
    let scratch = Scratch::with_project();
    let key = scratch.ok(&["access", "create", "leaked"]);
    let (key, secret) = (key.trim(), &key[19..83]);
    let refused = scratch.run(&["access", "revoke", key]).to_string();
    assert!(refused.contains("_***") && !refused.contains(secret), "{refused}");
    let ran = scratch.run(&["access", "revoke", key, "--yes"]);
    assert_eq!(ran.stdout, "Revoked access key 'leaked'\n");
    scratch.run(&["access", "create", key]);
    scratch.run(&["access", "revoke", &key[..80], "--yes"]);
    scratch.run(&["-vv", "access", "revoke", &key.replace(secret, &"0".repeat(64)), "--yes"]);
    let events = scratch.ok(&["events"]);
    assert!(events.contains("leaked") && !events.contains(&secret[..40]), "{events}");
}

#[test]
fn an_export_holds_no_keys_and_a_restore_revives_none() {
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "a", "x"]);
    scratch.ok(&["backup", "empty.db"]);
    let key = scratch.ok(&["access", "create", "one"]);
    scratch.ok(&["backup", "with.db"]);
    scratch.ok(&["export", "out"]);
    let found =
        std::process::Command::new("grep").args(["-r", "-l", &key[6..18]]).arg(scratch.path().join("out")).output();
    assert!(found.expect("grep").stdout.is_empty());
    scratch.ok(&["access", "revoke", "one", "--yes"]);
    assert_snapshot!(scratch.run(&["restore", "with.db", "--yes"]).stderr, @"");
    assert_eq!(scratch.json(&["access", "list"])["keys"][0]["state"], "revoked");
    assert_snapshot!(scratch.run(&["restore", "empty.db", "--yes"]).stderr, @r#"
    warning: the backup has no access keys, but the previous database may have had some, so HTTP servers still require a key: create one with `mcpkg access create NAME`
    "#);
}
