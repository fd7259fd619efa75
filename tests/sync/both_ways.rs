//! Tests of syncs after changes in the project, in the folder or in both.

use std::fs;
use std::path::Path;

use insta::assert_snapshot;

use crate::support::Scratch;

fn text(scratch: &Scratch, path: &str) -> String {
    fs::read_to_string(scratch.path().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns a project with a prompt, a skill and a document, synced with `team`.
fn synced() -> Scratch {
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "review", "Review it.\nBe kind.\nBe brief.\n", "-d", "Reviews"]);
    scratch.file("repo/.claude/skills/pdf/SKILL.md", "---\nname: pdf\ndescription: Reads PDFs\n---\nRead it.\n");
    scratch.file("repo/docs/guide.md", "# Guide\none\ntwo\nthree\n");
    scratch.ok(&["import", "repo", "--documents"]);
    scratch.ok(&["sync", "team"]);
    scratch
}

#[test]
fn a_folder_is_filled_and_stays_the_same() {
    let scratch = synced();
    assert_snapshot!(text(&scratch, "team/.claude/commands/review.md"), @r#"
    ---
    description: "Reviews"
    ---
    Review it.
    Be kind.
    Be brief.
    "#);
    assert_eq!(text(&scratch, "team/docs/guide.md"), "# Guide\none\ntwo\nthree\n");
    scratch.ok(&["export", "out"]);
    assert_eq!(tree(&scratch.path().join("out")), tree(&scratch.path().join("team")), "it is what an export writes");
    assert_snapshot!(scratch.run(&["sync"]), @r"
    status: 0
    --- stdout
    Project 'p' and <SCRATCH>/team are in sync
    --- stderr
    ");
    assert_snapshot!(scratch.run(&["sync", "--check"]), @r"
    status: 0
    --- stdout
    Project 'p' and <SCRATCH>/team are in sync
    --- stderr
    ");
}

#[test]
fn each_side_gets_the_changes_of_the_other() {
    let scratch = synced();
    // In the folder, one file is changed and one is new.
    scratch.file("team/docs/guide.md", "# Guide\none\n2\nthree\n");
    scratch.file("team/.claude/commands/new.md", "---\ndescription: Newer\n---\nNew.\n");
    // In the project, one item is changed, one is new and one is renamed.
    scratch.ok(&["prompt", "update", "review", "--content", "Review it well.\n"]);
    scratch.ok(&["resource", "create", "notes", "file:///notes.md", "Notes\n"]);
    assert_snapshot!(scratch.run(&["sync", "--dry-run"]), @r"
    status: 0
    --- stdout
    import	prompt 'new'	.claude/commands/new.md	
    write	prompt 'review'	.claude/commands/review.md	
    update	resource 'docs.guide.md'	docs/guide.md	
    write	resource 'notes'	notes.md	
    --- stderr
    ");
    assert_snapshot!(scratch.run(&["sync", "--check"]).status, @"3");
    assert_snapshot!(scratch.run(&["-v", "sync"]), @r"
    status: 0
    --- stdout
    Synced project 'p' with <SCRATCH>/team: 2 items copied into the project, 2 items written to the folder
    --- stderr
    .claude/commands/new.md: import prompt 'new'
    .claude/commands/review.md: write prompt 'review'
    docs/guide.md: update resource 'docs.guide.md'
    notes.md: write resource 'notes'
    ");
    assert_eq!(scratch.ok(&["prompt", "show", "new"]), "New.\n");
    assert_eq!(scratch.ok(&["resource", "show", "docs.guide.md"]), "# Guide\none\n2\nthree\n");
    assert!(text(&scratch, "team/.claude/commands/review.md").ends_with("---\nReview it well.\n"));
    assert_eq!(text(&scratch, "team/notes.md"), "Notes\n");
    scratch.ok(&["sync", "--check"]);
    scratch.ok(&["prompt", "rename", "new", "newest"]);
    scratch.ok(&["sync"]);
    assert!(text(&scratch, "team/.claude/commands/newest.md").ends_with("New.\n"), "its file follows it");
    assert!(!scratch.path().join("team/.claude/commands/new.md").exists());
    let other = another(&scratch);
    assert_eq!(other.ok(&["prompt", "show", "newest"]), "New.\n");
}

/// Returns another home that is synced with the same folder.
fn another(scratch: &Scratch) -> Scratch {
    let other = Scratch::with_project();
    other.ok(&["sync", &scratch.path().join("team").display().to_string()]);
    other
}

#[test]
fn changes_of_different_lines_are_merged() {
    let scratch = synced();
    scratch.file("team/docs/guide.md", "# Guide\nONE\ntwo\nthree\n");
    scratch.ok(&["resource", "update", "docs.guide.md", "--content", "# Guide\none\ntwo\nTHREE\n"]);
    assert_snapshot!(scratch.run(&["sync"]), @r"
    status: 0
    --- stdout
    Synced project 'p' with <SCRATCH>/team: 1 item copied into the project, 1 item written to the folder
    --- stderr
    ");
    assert_eq!(text(&scratch, "team/docs/guide.md"), "# Guide\nONE\ntwo\nTHREE\n");
    assert_eq!(scratch.ok(&["resource", "show", "docs.guide.md"]), "# Guide\nONE\ntwo\nTHREE\n");
    scratch.ok(&["sync", "--check"]);
}

/// Returns a synced project in which both sides changed the same line of the guide.
fn in_conflict() -> Scratch {
    let scratch = synced();
    scratch.file("team/docs/guide.md", "# Guide\none\ntheirs\nthree\n");
    scratch.ok(&["resource", "update", "docs.guide.md", "--content", "# Guide\none\nours\nthree\n"]);
    scratch
}

#[test]
fn a_conflict_keeps_both_and_is_proposed_once() {
    let scratch = in_conflict();
    assert_snapshot!(scratch.run(&["sync"]), @r"
    status: 1
    --- stdout
    Synced project 'p' with <SCRATCH>/team: 1 item proposed
    --- stderr
    hint: resource 'docs.guide.md' (`docs/guide.md`): both changed: content
    hint: 1 proposal waits for your decision: `mcpkg evolve list`, then accept or reject
    ");
    assert_snapshot!(scratch.run(&["sync"]), @r"
    status: 1
    --- stdout
    Nothing has changed in the project or in <SCRATCH>/team since the last sync
    --- stderr
    hint: 1 proposal waits for your decision: `mcpkg evolve list`, then accept or reject
    ");
    assert_snapshot!(scratch.run(&["sync"]).stdout, @"Nothing has changed in the project or in <SCRATCH>/team since the last sync");
    assert_eq!(scratch.run(&["sync", "--check"]).status, 3);
    assert_eq!(text(&scratch, "team/docs/guide.md"), "# Guide\none\ntheirs\nthree\n");
    assert_eq!(scratch.ok(&["resource", "show", "docs.guide.md"]), "# Guide\none\nours\nthree\n");
    assert_snapshot!(scratch.ok(&["evolve", "list"]), @"1	open	change	resource:docs.guide.md	docs/guide.md");
    assert_snapshot!(scratch.ok(&["evolve", "show", "1"]), @r"
    --- a/resource:docs.guide.md
    +++ b/resource:docs.guide.md
    @@ -1,4 +1,4 @@
     # Guide
     one
    -ours
    +theirs
     three
    ");
}

#[test]
fn an_accepted_conflict_is_theirs() {
    let scratch = in_conflict();
    assert_eq!(scratch.run(&["sync"]).status, 1);
    scratch.ok(&["evolve", "accept", "1"]);
    // Later changes are synced as usual.
    scratch.ok(&["resource", "update", "docs.guide.md", "--content", "# Guide\none\ntheirs and ours\nthree\n"]);
    scratch.ok(&["sync"]);
    assert_eq!(text(&scratch, "team/docs/guide.md"), "# Guide\none\ntheirs and ours\nthree\n");
    scratch.ok(&["sync", "--check"]);
}

#[test]
fn a_rejected_conflict_is_ours() {
    let scratch = in_conflict();
    assert_eq!(scratch.run(&["sync"]).status, 1);
    assert_snapshot!(scratch.run(&["evolve", "reject", "1"]), @r"
    status: 0
    --- stdout
    Rejected proposal 1
    --- stderr
    hint: the next `mcpkg sync` writes the project's version to the folder
    ");
    scratch.ok(&["sync"]);
    assert_eq!(text(&scratch, "team/docs/guide.md"), "# Guide\none\nours\nthree\n");
    scratch.ok(&["sync", "--check"]);
}

#[test]
fn a_deletion_in_the_folder_is_proposed_here() {
    let scratch = synced();
    let delete = || fs::remove_file(scratch.path().join("team/docs/guide.md")).expect("gone");
    delete();
    assert_snapshot!(scratch.run(&["sync"]), @r"
    status: 1
    --- stdout
    Synced project 'p' with <SCRATCH>/team: 1 item proposed
    --- stderr
    hint: resource 'docs.guide.md' (`docs/guide.md`): was deleted from the folder
    hint: 1 proposal waits for your decision: `mcpkg evolve list`, then accept or reject
    ");
    assert_eq!(scratch.run(&["sync"]).status, 1);
    assert!(!scratch.path().join("team/docs/guide.md").exists(), "it does not come back unasked");
    scratch.ok(&["evolve", "reject", "1"]);
    scratch.ok(&["sync"]);
    assert_eq!(text(&scratch, "team/docs/guide.md"), "# Guide\none\ntwo\nthree\n");
    // A deletion that was rejected can be proposed again.
    delete();
    assert_eq!(scratch.run(&["sync"]).status, 1);
    let id = scratch.json(&["evolve", "list"])["data"]["proposals"][0]["id"].to_string();
    scratch.ok(&["evolve", "accept", &id]);
    scratch.ok(&["sync"]);
    assert_eq!(scratch.run(&["resource", "show", "docs.guide.md"]).status, 1);
    scratch.ok(&["sync", "--check"]);
}

#[test]
fn a_deletion_here_is_proposed_for_the_folder() {
    let scratch = synced();
    scratch.ok(&["prompt", "delete", "review"]);
    assert_snapshot!(scratch.run(&["sync"]), @r"
    status: 1
    --- stdout
    Synced project 'p' with <SCRATCH>/team: 1 item proposed
    --- stderr
    hint: prompt 'review' (`.claude/commands/review.md`): was deleted from the project
    hint: 1 proposal waits for your decision: `mcpkg evolve list`, then accept or reject
    ");
    assert!(text(&scratch, "team/.claude/commands/review.md").contains("Review it."));
    scratch.ok(&["evolve", "reject", "1"]);
    scratch.ok(&["sync"]);
    assert_eq!(scratch.ok(&["prompt", "show", "review"]), "Review it.\nBe kind.\nBe brief.\n");
    scratch.ok(&["prompt", "delete", "review"]);
    assert_eq!(scratch.run(&["sync"]).status, 1);
    let id = scratch.json(&["evolve", "list"])["data"]["proposals"][0]["id"].to_string();
    assert_snapshot!(scratch.ok(&["evolve", "accept", &id]), @"Accepted proposal 2: the next sync deletes `.claude/commands/review.md`");
    scratch.ok(&["sync"]);
    assert!(!scratch.path().join("team/.claude/commands/review.md").exists());
    scratch.ok(&["sync", "--check"]);
}

#[test]
fn a_filled_project_and_a_filled_folder_are_united() {
    let scratch = synced();
    let other = Scratch::with_project();
    other.ok(&["prompt", "create", "review", "Review it otherwise.\n"]);
    other.ok(&["prompt", "create", "mine", "Mine.\n"]);
    other.ok(&[
        "resource",
        "create",
        "docs.guide.md",
        "file:///docs/guide.md",
        "# Guide\none\ntwo\nthree\n",
        "-m",
        "text/markdown",
    ]);
    let team = scratch.path().join("team").display().to_string();
    assert_snapshot!(other.run(&["sync", &team]).to_string().replace(&team, "TEAM"), @r"
    status: 1
    --- stdout
    Synced project 'p' with TEAM: 1 item copied into the project, 1 item written to the folder, 1 item proposed
    --- stderr
    hint: prompt 'review' (`.claude/commands/review.md`): differs: front matter, content
    hint: 1 proposal waits for your decision: `mcpkg evolve list`, then accept or reject
    ");
    assert_eq!(other.ok(&["prompt", "show", "review"]), "Review it otherwise.\n");
    assert!(other.ok(&["skill", "show", "pdf"]).contains("Read it."));
    assert_eq!(text(&scratch, "team/.claude/commands/mine.md"), "Mine.\n");
    assert!(text(&scratch, "team/.claude/commands/review.md").contains("Be kind."));
}

#[test]
fn files_that_are_not_items_are_left_alone() {
    let scratch = synced();
    scratch.file("team/.gitignore", "*.log\n");
    scratch.file("team/build.log", "noise");
    scratch.file("team/.git/config", "[core]");
    scratch.file("team/.claude/commands/empty.md", "");
    assert_snapshot!(scratch.run(&["sync"]), @r"
    status: 1
    --- stdout
    Synced project 'p' with <SCRATCH>/team: nothing to do
    --- stderr
    warning: `.claude/commands/empty.md` contains no text; skipped
    ");
    let names = scratch.json(&["resource", "list"]).to_string();
    assert!(!names.contains("build.log") && !names.contains(".git/"), "{names}");
    assert_eq!(text(&scratch, "team/build.log"), "noise");
    // A synced file that cannot be read does not count as deleted, and is not overwritten.
    scratch.file("team/.claude/commands/review.md", [0xff, 0xfe]);
    fs::remove_file(scratch.path().join("team/.claude/commands/empty.md")).expect("gone");
    scratch.ok(&["prompt", "update", "review", "--content", "Better.\n"]);
    assert_snapshot!(scratch.run(&["sync"]), @r"
    status: 1
    --- stdout
    Synced project 'p' with <SCRATCH>/team: nothing to do
    --- stderr
    warning: `.claude/commands/review.md` contains no UTF-8 text; skipped
    ");
    assert_eq!(fs::read(scratch.path().join("team/.claude/commands/review.md")).expect("a file"), [0xff, 0xfe]);
}

/// Returns two MCP servers as in a file of Claude Code. In the second, the variable `TOKEN` is set to `token`.
fn servers(args: &str, token: &str) -> String {
    format!(
        "{{\n  \"mcpServers\": {{\n    \"a\": {{\n      \"command\": \"a\",\n      \"args\": [\"{args}\"]\n    }},\n    \
         \"b\": {{\n      \"command\": \"b\",\n      \"env\": {{\n        \"TOKEN\": \"{token}\"\n      }}\n    }}\n  }}\n}}\n"
    )
}

#[test]
fn an_agents_file_that_holds_values_is_never_written() {
    const LET_BE: &str = "warning: `.mcp.json` contains values or settings that the project does not store, so writing the file would lose them; replace the values with variables, or edit the file by hand; skipped";
    const VALUE: &str = "hunter-two-of-the-user";
    let scratch = synced();
    scratch.file("repo/.mcp.json", servers("old", "${TOKEN}"));
    scratch.ok(&["import", "repo/.mcp.json"]);
    scratch.ok(&["sync"]);
    assert_eq!(text(&scratch, "team/.mcp.json"), servers("old", "${TOKEN}"));
    // A value in the folder's file is read as a variable, so nothing has changed.
    scratch.file("team/.mcp.json", servers("old", VALUE));
    scratch.ok(&["sync"]);
    assert_eq!(text(&scratch, "team/.mcp.json"), servers("old", VALUE));
    // First only the project changes, and then both sides.
    scratch.file("repo/.mcp.json", servers("new", "${TOKEN}"));
    scratch.ok(&["import", "--update", "repo/.mcp.json"]);
    let both = servers("old", VALUE).replace("\"b\"", "\"c\"");
    for there in [servers("old", VALUE), both] {
        scratch.file("team/.mcp.json", &there);
        let synced = scratch.run(&["sync"]);
        assert!(synced.status == 1 && synced.stderr.contains(LET_BE), "{synced}");
        assert_eq!(text(&scratch, "team/.mcp.json"), there);
    }
    // A sync that writes other files does not change this file either.
    scratch.ok(&["prompt", "create", "other", "Other.\n"]);
    let synced = scratch.run(&["sync"]);
    assert!(synced.stdout.contains("1 item written"), "{synced}");
    assert!(text(&scratch, "team/.mcp.json").contains(VALUE));
    let database = scratch.bytes();
    assert!(!database.windows(VALUE.len()).any(|bytes| bytes == VALUE.as_bytes()), "the value is in the database");
    // With a variable instead of the value, the changes of both sides are merged. A person decides about the renaming
    // of `b` to `c`.
    scratch.file("team/.mcp.json", servers("old", "${TOKEN}").replace("\"b\"", "\"c\""));
    let synced = scratch.run(&["sync"]);
    assert!(synced.status == 1 && !synced.stderr.contains("skipped"), "{synced}");
    scratch.ok(&["evolve", "accept", "1"]);
    scratch.ok(&["sync"]);
    assert_eq!(text(&scratch, "team/.mcp.json"), servers("new", "${TOKEN}").replace("\"b\"", "\"c\""));
}

#[test]
fn an_agents_file_that_holds_values_is_never_deleted() {
    let scratch = synced();
    scratch.file("repo/.mcp.json", servers("a", "${TOKEN}"));
    scratch.ok(&["import", "repo/.mcp.json"]);
    scratch.ok(&["sync"]);
    scratch.file("team/.mcp.json", servers("a", "hunter-two"));
    scratch.ok(&["agent-file", "remove", ".mcp.json", "--yes"]);
    assert_eq!(scratch.run(&["sync"]).status, 1, "it is proposed to delete the file");
    scratch.ok(&["evolve", "accept", "1"]);
    let synced = scratch.run(&["sync"]);
    assert!(synced.status == 1 && synced.stderr.contains("; skipped"), "{synced}");
    assert_eq!(text(&scratch, "team/.mcp.json"), servers("a", "hunter-two"));
}

#[test]
fn a_folder_that_is_gone_or_empty_is_not_taken_for_deletions() {
    let scratch = synced();
    fs::rename(scratch.path().join("team"), scratch.path().join("away")).expect("a rename");
    assert_snapshot!(scratch.run(&["sync"]), @r"
    status: 1
    --- stdout
    --- stderr
    error: The folder `<SCRATCH>/team` no longer exists
    hint: nothing was deleted from the project; check that the folder's disk is mounted
    hint: to write the project to a new folder: `mcpkg sync DIR --again`
    ");
    assert_snapshot!(scratch.run(&["sync", "team"]).status, @"1");
    assert!(!scratch.path().join("team").exists());
    // An empty folder, as if a disk were not mounted.
    fs::create_dir(scratch.path().join("team")).expect("a folder");
    assert_snapshot!(scratch.run(&["sync"]), @r"
    status: 1
    --- stdout
    --- stderr
    error: None of the synced files are in `<SCRATCH>/team` any more
    hint: nothing was deleted; check that this is the right folder and that its disk is mounted
    hint: to write the project to the folder again, as if never synced: `mcpkg sync DIR --again`
    ");
    assert_eq!(scratch.json(&["evolve", "list"])["data"]["proposals"].as_array().map(Vec::len), Some(0));
    scratch.ok(&["sync", "team", "--again"]);
    assert_eq!(tree(&scratch.path().join("team")), tree(&scratch.path().join("away")));
}

#[test]
fn a_database_from_elsewhere_names_no_folder() {
    let scratch = synced();
    // The records of what this user approved are missing, as on another machine.
    fs::remove_dir_all(scratch.state()).expect("gone");
    assert_snapshot!(scratch.run(&["sync"]), @r"
    status: 1
    --- stdout
    --- stderr
    error: The database lists the folder `<SCRATCH>/team`, but you have never synced it on this machine
    hint: to approve it, pass the folder: `mcpkg sync DIR`
    ");
    fs::remove_file(scratch.path().join("team/docs/guide.md")).expect("gone");
    scratch.ok(&["sync", "team"]);
    assert_eq!(text(&scratch, "team/docs/guide.md"), "# Guide\none\ntwo\nthree\n", "the two were never synced here");
}

#[test]
fn odd_arguments_are_refused() {
    let scratch = Scratch::with_project();
    assert_snapshot!(scratch.run(&["sync"]), @r"
    status: 2
    --- stdout
    --- stderr
    error: Project 'p' has not been synced with a folder yet
    hint: pass a folder: `mcpkg sync DIR`
    ");
    assert_snapshot!(scratch.run(&["sync", "."]), @r"
    status: 2
    --- stdout
    --- stderr
    error: `<SCRATCH>` cannot be synced: it is the root folder or your home folder
    hint: use a separate folder for the project: everything in it becomes part of the project
    ");
    scratch.file("file", "x");
    assert_snapshot!(scratch.run(&["sync", "file"]), @r"
    status: 2
    --- stdout
    --- stderr
    error: `<SCRATCH>/file` is not a folder
    ");
    scratch.ok(&["prompt", "create", "a", "A\n"]);
    assert_snapshot!(scratch.run(&["sync", "none", "--check"]), @r"
    status: 3
    --- stdout
    write	prompt 'a'	.claude/commands/a.md	
    --- stderr
    ");
    assert!(!scratch.path().join("none").exists());
}

fn tree(folder: &Path) -> Vec<(String, Vec<u8>)> {
    fn walk(top: &Path, folder: &Path, found: &mut Vec<(String, Vec<u8>)>) {
        for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
            if entry.is_dir() {
                walk(top, &entry, found);
            } else {
                let path = entry.strip_prefix(top).expect("below").display().to_string();
                found.push((path, fs::read(&entry).expect("a file")));
            }
        }
    }
    let mut found = Vec::new();
    walk(folder, folder, &mut found);
    found.sort();
    found
}
