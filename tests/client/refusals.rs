//! Tests of what `mcpkg client` refuses, and of its messages.

use insta::assert_snapshot;

use super::*;
use crate::support::set_mode;

#[test]
fn a_malformed_file_is_left_unchanged() {
    for case in cases() {
        let ground = Ground::new();
        let bad: &[&[u8]] = if case.is_toml {
            &[b"a = 1\nb = = 2\n", b"[x\n", b"a = \xff\n"]
        } else {
            &[b"{\n  \"a\": 1,,\n}", b"{", b"[]", b"\xff{}"]
        };
        for text in bad {
            let path = case.put(&ground, text);
            for verb in ["add", "remove"] {
                let ran = run(&ground, &scoped(verb, &case));
                assert_eq!(ran.status, 1, "{} {verb}: {ran}", case.agent);
                assert!(ran.stderr.contains("Cannot edit"), "{ran}");
            }
            assert_eq!(std::fs::read(&path).expect("a file"), *text);
        }
        let names: Vec<_> = ground.tree().leftovers().iter().map(|path| path.display().to_string()).collect();
        assert!(names.is_empty(), "{names:?}");
    }
    let ground = Ground::new();
    ground.scratch.file("ground/home/.cursor/mcp.json", "{\n  \"a\": 1,,\n}");
    assert_snapshot!(run(&ground, &["add", "cursor"]), @r#"
    status: 1
    --- stdout
    --- stderr
    error: Cannot edit `<SCRATCH>/ground/home/.cursor/mcp.json`: Unexpected token in object (line 2, column 10)
    hint: the file was left unchanged; fix the file and run the command again
    "#);
}

#[test]
fn somebody_elses_entry_is_not_taken_without_a_yes() {
    for case in cases() {
        let ground = Ground::new();
        let before = if case.is_toml {
            "[mcp_servers.mcpkg] # not yours\ncommand = 'npx'\nargs = ['other']\n".to_owned()
        } else {
            format!("{{ \"{}\": {{ \"mcpkg\": {{ \"command\": \"npx\", \"args\": [\"other\"] }} }} }}", case.key)
        };
        let path = case.put(&ground, &before);
        for verb in ["add", "remove"] {
            let ran = run(&ground, &scoped(verb, &case));
            assert!(ran.status == 1 && ran.stderr.contains("--yes"), "{} {verb}: {ran}", case.agent);
            assert_eq!(std::fs::read_to_string(&path).expect("a file"), before);
        }
        let replaced = data(&ground, &[scoped("add", &case), vec!["--yes"]].concat());
        assert_eq!(replaced["outcome"], "replaced", "{}", case.agent);
        assert!(!std::fs::read_to_string(&path).expect("a file").contains("other"));
        // A removal brings the entry back.
        assert_eq!(data(&ground, &scoped("remove", &case))["outcome"], "restored", "{}", case.agent);
        assert_eq!(std::fs::read_to_string(&path).expect("a file"), before, "{}", case.agent);
    }
    let ground = Ground::new();
    ground.scratch.file("ground/home/.cursor/mcp.json", r#"{"mcpServers":{"mcpkg":{"command":"npx"}}}"#);
    assert_snapshot!(run(&ground, &["add", "cursor"]), @r#"
    status: 1
    --- stdout
    --- stderr
    error: Replace 'mcpkg' in `<SCRATCH>/ground/home/.cursor/mcp.json`, an entry that mcpkg did not write and that runs `npx` needs to be confirmed. Nothing was changed
    hint: confirm with --yes, or choose another name for mcpkg's entry with --name NAME
    "#);
}

#[test]
fn a_removal_names_the_entry_that_belongs_to_mcpkg() {
    let ground = Ground::new();
    ground.scratch.file("ground/home/.cursor/mcp.json", r#"{"mcpServers":{"mcpkg":{"command":"npx"}}}"#);
    let ran = run(&ground, &["remove", "cursor"]);
    assert!(ran.stderr.contains("hint: mcpkg did not write this entry; --yes removes it anyway"), "{ran}");
    data(&ground, &["add", "cursor", "--name", "tools"]);
    for arguments in [&["remove", "cursor"][..], &["remove", "cursor", "--name", "nope"]] {
        let ran = run(&ground, arguments);
        assert!(ran.status == 1 && ran.stderr.contains("run `mcpkg client remove cursor --name tools`"), "{ran}");
    }
}

#[test]
fn the_users_own_keys_in_the_entry_stay() {
    let ground = Ground::new();
    let before = "{\n  \"mcpServers\": {\n    \"mcpkg\": {\n      // slow disk\n      \"timeout\": 9,\n      \"command\": \
                  \"/old/mcpkg\",\n      \"args\": [\"serve\"],\n      \"url\": \"http://x\"\n    }\n  }\n}\n";
    let path = ground.scratch.file("ground/home/.cursor/mcp.json", before);
    assert_eq!(data(&ground, &["add", "cursor"])["outcome"], "updated");
    let after = std::fs::read_to_string(&path).expect("a file");
    assert!(after.contains("// slow disk\n      \"timeout\": 9,") && after.contains(BINARY), "{after}");
    assert!(!after.contains("http://x"), "{after}");
    ok(&ground, &["remove", "cursor"]);
    assert_eq!(std::fs::read_to_string(&path).expect("a file"), before);
}

#[test]
fn a_read_only_file_is_left_alone() {
    let ground = Ground::new();
    let path = ground.scratch.file("ground/home/.codex/config.toml", "a = 1\n");
    set_mode(&path, 0o444);
    assert_snapshot!(run(&ground, &["add", "codex"]), @r#"
    status: 1
    --- stdout
    --- stderr
    error: `<SCRATCH>/ground/home/.codex/config.toml` is read-only
    hint: make the file writable, or add the entry by hand: `mcpkg client show NAME` prints the entry
    "#);
    assert_eq!(std::fs::read_to_string(&path).expect("a file"), "a = 1\n");
    set_mode(&path, 0o644);
    ok(&ground, &["add", "codex"]);
}

#[test]
fn a_scope_that_an_agent_lacks_is_refused() {
    let ground = Ground::new();
    assert_snapshot!(run(&ground, &["add", "windsurf", "--scope", "project"]), @r#"
    status: 2
    --- stdout
    --- stderr
    error: Windsurf does not read per-project configuration
    hint: connect the agent for your user: --scope user
    "#);
    assert_snapshot!(run(&ground, &["add", "claude-desktop", "--scope", "project"]), @r#"
    status: 2
    --- stdout
    --- stderr
    error: Claude Desktop does not read per-project configuration
    hint: connect the agent for your user: --scope user
    "#);
    let ran = ground
        .scratch
        .finish(command(&ground).args(["add", "cursor", "--scope", "project"]).current_dir(ground.home()));
    assert_snapshot!(ran, @r#"
    status: 1
    --- stdout
    --- stderr
    error: This folder cannot be a project folder: it is or contains your home folder
    hint: go to the project's folder, or pass the folder with --root DIR
    "#);
    assert_snapshot!(run(&ground, &["add", "cursor", "--name", "a b"]), @r#"
    status: 2
    --- stdout
    --- stderr
    error: 'a b' is not a valid name for an entry
    hint: a name consists of 1 to 32 of the characters A-Z a-z 0-9 _ -
    "#);
    assert_eq!(run(&ground, &["add", "emacs"]).status, 2);
}

#[test]
fn two_processes_at_once_lose_nothing() {
    let ground = Ground::new();
    let names: Vec<String> = (0..6).map(|at| format!("n{at}")).collect();
    let ground = &ground;
    std::thread::scope(|scope| {
        for name in &names {
            scope.spawn(move || {
                // If another process has changed the file meanwhile, mcpkg asks for the command to be run again.
                for _ in 0..50 {
                    let ran = run(ground, &["add", "codex", "--name", name]);
                    if ran.status == 0 {
                        return;
                    }
                    assert!(ran.stderr.contains("changed in the meantime"), "{ran}");
                }
                panic!("{name} was never added");
            });
        }
    });
    let text = std::fs::read_to_string(ground.home().join(".codex/config.toml")).expect("a file");
    assert!(names.iter().all(|name| text.contains(&format!("[mcp_servers.{name}]"))), "{text}");
}
