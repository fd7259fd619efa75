//! Tests that adding and removing mcpkg leaves an agent's files unchanged, byte for byte.

use std::os::unix::fs::MetadataExt;

use super::*;
use crate::support::{runs_all, set_mode, skipped};

/// Returns files written in the various ways that people write them. `key` is the key that holds the servers.
fn json_files(key: &str) -> Vec<(&'static str, String)> {
    let full = format!(
        "{{\n  \"theme\": \"dark\",\n  \"{key}\": {{\n    \"other\": {{ \"command\": \"npx\", \"args\": [\"-y\", \"x\"], \"env\": {{ \"K\": \
         \"v\" }} }}\n  }},\n  \"deep\": {{ \"a\": [1, {{ \"b\": null }}] }}\n}}\n"
    );
    vec![
        ("empty", String::new()),
        ("blank", "  \n".to_owned()),
        ("bare", "{}".to_owned()),
        ("no servers", "{ \"a\": 1 }\n".to_owned()),
        ("empty servers", format!("{{\"{key}\": {{ }}}}")),
        ("full", full.clone()),
        ("crlf", full.replace('\n', "\r\n")),
        ("bom", format!("\u{feff}{full}")),
        ("tabs", full.replace("  ", "\t")),
        ("unended", full.trim_end().to_owned()),
        ("minified", full.replace([' ', '\n'], "")),
        ("comments", full.replacen('{', "// mine\n{ /* a */", 1).replace("null }]", "null }], // deep\n")),
        ("mixed", full.replacen('\n', "\r\n", 1)),
    ]
}

fn toml_files() -> Vec<(&'static str, String)> {
    let full = "# mine\nmodel = \"o\"   # the best\n\n[mcp_servers.other]\ncommand = 'npx'\nargs = [\n  \"-y\", # yes\n]\n\n\
                [mcp_servers.other.env]\nK = \"v\"\n\n[projects.\"/a b\"]\ntrust_level = \"trusted\"\n# end\n";
    vec![
        ("empty", String::new()),
        ("only a comment", "# nothing\n".to_owned()),
        ("full", full.to_owned()),
        ("crlf", full.replace('\n', "\r\n")),
        ("bom", format!("\u{feff}{full}")),
        ("unended", full.trim_end().to_owned()),
        ("tabs", full.replace("  ", "\t")),
        ("inline", "mcp_servers = { other = { command = \"x\" } }\n".to_owned()),
        ("dotted", "mcp_servers.other.command = \"x\"\n".to_owned()),
        ("table of inlines", "[mcp_servers]\nother = { command = \"x\" }\n".to_owned()),
        ("no servers", "a = 1".to_owned()),
    ]
}

#[test]
fn every_agents_file_comes_back_to_the_byte() {
    for (turn, case) in cases().iter().enumerate() {
        let ground = Ground::new();
        let files = if case.is_toml { toml_files() } else { json_files(case.key) };
        // Without `runs_all`, each JSON agent tests only every fourth file. Together they test all of them.
        let stride = if runs_all() || case.is_toml { 1 } else { 4 };
        for (what, before) in files.into_iter().skip(turn % stride).step_by(stride) {
            let what = format!("{} {} {what}", case.agent, case.scope);
            let path = case.put(&ground, &before);
            set_mode(&path, 0o640);
            assert_eq!(data(&ground, &scoped("add", case))["outcome"], "added", "{what}");
            let after = std::fs::read(&path).expect("a file");
            assert_ne!(after, before.as_bytes(), "{what}");
            let seen = std::fs::metadata(&path).expect("a file");
            assert_eq!(seen.mode() & 0o7777, 0o640, "{what}");
            // Adding mcpkg again writes nothing: the file keeps its inode.
            assert_eq!(data(&ground, &scoped("add", case))["outcome"], "already", "{what}");
            let again = std::fs::metadata(&path).expect("a file");
            assert_eq!((again.ino(), again.mtime_nsec()), (seen.ino(), seen.mtime_nsec()), "{what}");
            let removed = data(&ground, &scoped("remove", case));
            assert_eq!(removed["file_deleted"], false, "{what}");
            assert_eq!(std::fs::read(&path).expect("a file"), before.as_bytes(), "{what}");
            let copy = std::fs::read(removed["backup"].as_str().expect("a copy")).expect("a copy");
            assert_eq!(copy, after, "{what}");
            assert_eq!(run(&ground, &scoped("remove", case)).status, 1, "{what}");
        }
    }
}

#[test]
fn a_file_that_was_made_goes_with_its_folders() {
    for case in cases() {
        let ground = Ground::new();
        let before = ground.tree();
        ok(&ground, &scoped("add", &case));
        assert!(case.path(&ground).exists(), "{}", case.agent);
        ok(&ground, &scoped("remove", &case));
        assert!(ground.tree() == before, "{} {}", case.agent, case.scope);
    }
}

#[test]
fn a_dry_run_makes_nothing_not_even_the_database() {
    for case in cases() {
        let ground = Ground::new();
        let before = ground.tree();
        let shown = ok(&ground, &[scoped("add", &case), vec!["--dry-run", "--project", "p"]].concat());
        assert!(shown.contains("--- /dev/null") && shown.contains("serve"), "{shown}");
        assert!(ground.tree() == before, "{}", case.agent);
    }
    let scratch = crate::support::Scratch::new();
    for arguments in [&["client", "add", "codex", "--dry-run"][..], &["client", "list"], &["client", "show", "codex"]] {
        scratch.ok(arguments);
        assert_eq!(std::fs::read_dir(scratch.path()).expect("a folder").count(), 0, "{arguments:?}");
    }
}

#[test]
fn changes_of_others_in_the_meantime_stay() {
    let ground = Ground::new();
    let cursor = Case {
        agent: "cursor",
        scope: "user",
        file: "home/.cursor/mcp.json".to_owned(),
        key: "mcpServers",
        is_toml: false,
    };
    let path = cursor.put(&ground, "{\n  \"mcpServers\": {\n    \"a\": { \"command\": \"x\" }\n  }\n}\n");
    ok(&ground, &["add", "cursor"]);
    let text = std::fs::read_to_string(&path).expect("a file");
    let cut = text.rfind("\n  }\n}").expect("the end");
    std::fs::write(&path, format!("{},\n    \"b\": {{ \"url\": \"y\" }}{}", &text[..cut], &text[cut..]))
        .expect("a file");
    ok(&ground, &["remove", "cursor"]);
    let wanted = "{\n  \"mcpServers\": {\n    \"a\": { \"command\": \"x\" },\n    \"b\": { \"url\": \"y\" }\n  }\n}\n";
    assert_eq!(std::fs::read_to_string(&path).expect("a file"), wanted);
}

#[test]
fn a_removal_undoes_a_second_add_with_other_arguments_too() {
    let ground = Ground::new();
    ground.ok(&["project", "create", "q"]);
    for case in cases() {
        let before = if case.is_toml { "a = 1\n" } else { "{ \"a\": 1 }" };
        let path = case.put(&ground, before);
        ok(&ground, &scoped("add", &case));
        let updated = data(&ground, &[scoped("add", &case), vec!["--project", "q"]].concat());
        assert_eq!(updated["outcome"], "updated", "{}", case.agent);
        ok(&ground, &scoped("remove", &case));
        assert_eq!(std::fs::read_to_string(&path).expect("a file"), before, "{} {}", case.agent, case.scope);
    }
}

#[test]
fn a_link_stays_a_link() {
    let ground = Ground::new();
    let real = ground.scratch.file("dotfiles/config.toml", "model = 'o'\n");
    let link = ground.home().join(".codex/config.toml");
    std::fs::create_dir_all(link.parent().expect("a folder")).expect("a folder");
    std::os::unix::fs::symlink("../../../dotfiles/config.toml", &link).expect("a link");
    ok(&ground, &["add", "codex"]);
    assert!(link.is_symlink());
    assert!(std::fs::read_to_string(&real).expect("a file").contains("[mcp_servers.mcpkg]"));
    ok(&ground, &["remove", "codex"]);
    assert!(link.is_symlink());
    assert_eq!(std::fs::read_to_string(&real).expect("a file"), "model = 'o'\n");
    // The link leads to a file that does not exist. It is created, and removed again.
    std::fs::remove_file(&real).expect("a file");
    ok(&ground, &["add", "codex"]);
    assert!(real.is_file() && link.is_symlink());
    ok(&ground, &["remove", "codex"]);
    assert!(!real.exists() && link.is_symlink());
}

#[test]
fn a_copy_of_the_file_is_kept_with_its_mode() {
    let ground = Ground::new();
    let path = ground.scratch.file("ground/home/.claude.json", "{ \"secret\": \"x\" }");
    set_mode(&path, 0o600);
    let added = data(&ground, &["add", "claude-code"]);
    let copy = added["backup"].as_str().expect("a copy");
    assert!(copy.contains("data/mcpkg/client-backups/claude-code/"), "{copy}");
    assert_eq!(std::fs::read_to_string(copy).expect("a copy"), "{ \"secret\": \"x\" }");
    assert_eq!(std::fs::metadata(copy).expect("a copy").mode() & 0o7777, 0o600);
    let folder = ground.scratch.path().join("data/mcpkg/client-backups");
    assert_eq!(std::fs::metadata(folder).expect("a folder").mode() & 0o7777, 0o700);
}

#[test]
fn no_copy_is_kept_next_to_a_database_given_with_db() {
    let ground = Ground::new();
    ground.scratch.file("ground/home/.claude.json", "{ \"secret\": \"x\" }");
    let ran = run(&ground, &["add", "claude-code", "--db", "team.db"]);
    assert!(ran.status == 0 && ran.stderr.contains("is in <SCRATCH>/data/mcpkg/client-backups/"), "{ran}");
    assert!(ground.root().join("team.db").exists() && !ground.root().join("client-backups").exists());
}

#[test]
fn a_variable_that_moves_an_agents_home_is_followed() {
    let ground = Ground::new();
    for (variable, agent, file) in [
        ("CLAUDE_CONFIG_DIR", "claude-code", ".claude.json"),
        ("CODEX_HOME", "codex", "config.toml"),
        ("COPILOT_HOME", "copilot", "mcp-config.json"),
        ("XDG_CONFIG_HOME", "opencode", "opencode/opencode.json"),
    ] {
        let folder = ground.scratch.path().join("elsewhere").join(agent);
        let ran = ground.scratch.finish(command(&ground).args(["add", agent]).env(variable, &folder));
        assert_eq!(ran.status, 0, "{ran}");
        assert!(folder.join(file).is_file(), "{agent}");
    }
    if cfg!(not(target_os = "linux")) {
        skipped("Claude Desktop and VS Code follow XDG_CONFIG_HOME on Linux only");
    }
}
