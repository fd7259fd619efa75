//! Tests a user's first day: import existing files, serve them, edit them, and restore what an agent deleted.

use serde_json::json;

use crate::support::{Client, Scratch};

#[test]
fn import_serve_edit_and_take_back() {
    let scratch = Scratch::with_project();
    scratch.file("app/CLAUDE.md", "# House rules\n");
    scratch.file("app/.claude/commands/fix.md", "---\ndescription: Fix an issue\n---\nFix issue $ARGUMENTS\n");
    scratch.file("app/.claude/skills/release/SKILL.md", "---\nname: release\ndescription: Cut a release\n---\nSteps\n");
    scratch.file("app/.claude/settings.json", "{\"env\":{\"TOKEN\":\"x\"}}");
    let said = scratch.ok(&["import", "app/CLAUDE.md", "app/.claude"]);
    assert_eq!(said, "Imported 1 skill, 1 command, 1 rule, 1 agent's file into project 'p'\n");

    let mut client = Client::legacy(&scratch, "2025-06-18");
    let got = client.result("prompts/get", json!({ "name": "fix", "arguments": { "arguments": "42" } }));
    assert_eq!(got["messages"][0]["content"]["text"], "Fix issue 42\n");
    let listed = client.result("resources/list", json!({}));
    let uris: Vec<_> = listed["resources"].as_array().expect("resources").iter().map(|r| r["uri"].clone()).collect();
    assert_eq!(uris, ["instructions://CLAUDE.md", "skill://release/SKILL.md"]);

    // After an edit in the shell, the client is notified and reads the new text.
    client.result("resources/subscribe", json!({ "uri": "mcpkg://prompt/fix" }));
    let edit = scratch.finish(scratch.command().env("EDITOR", "sed -i s/issue/bug/").args(["prompt", "edit", "fix"]));
    assert_eq!(edit.status, 0, "{edit}");
    client.notification("notifications/resources/updated");
    let got = client.result("prompts/get", json!({ "name": "fix", "arguments": { "arguments": "42" } }));
    assert_eq!(got["messages"][0]["content"]["text"], "Fix bug 42\n");

    // An agent deletes the prompt and creates another one with the same name. The user's text can still be restored.
    client.call("delete_prompt", json!({ "name": "fix" }));
    client.call("create_prompt", json!({ "name": "fix", "content": "mine now" }));
    let history = scratch.json(&["prompt", "history", "fix"]);
    let actions: Vec<_> =
        history["revisions"].as_array().expect("revisions").iter().map(|r| r["action"].clone()).collect();
    assert_eq!(actions, ["create", "delete", "update", "create"]);
    scratch.ok(&["prompt", "restore", "fix", "2"]);
    let got = client.result("prompts/get", json!({ "name": "fix", "arguments": { "arguments": "7" } }));
    assert_eq!(got["messages"][0]["content"]["text"], "Fix bug 7\n");
    client.finish();
}

#[test]
fn an_edit_that_is_refused_is_saved_in_a_file() {
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "t", "Hi {{ who }}", "--argument", "who"]);
    let broken = "sh -c 'printf \"a long edit {{ broken\" > \"$0\"'";
    let ran = scratch
        .finish(scratch.command().env("EDITOR", broken).env("TMPDIR", scratch.path()).args(["prompt", "edit", "t"]));
    assert_eq!(ran.status, 1, "{ran}");
    let path = ran.stderr.split("your text is saved in `").nth(1).and_then(|rest| rest.split('`').next());
    let path = path.unwrap_or_else(|| panic!("{ran}")).replace("<SCRATCH>", &scratch.path().to_string_lossy());
    assert_eq!(std::fs::read_to_string(path).expect("the file"), "a long edit {{ broken");
}

#[test]
fn backups_of_two_databases_share_a_folder() {
    let scratch = Scratch::with_project();
    let other = scratch.path().join("other.db").display().to_string();
    scratch.ok(&["--db", &other, "project", "create", "o"]);
    for _ in 0..2 {
        scratch.ok(&["backup", "--keep", "1", "backups"]);
        scratch.ok(&["--db", &other, "backup", "--keep", "1", "backups"]);
    }
    assert_eq!(std::fs::read_dir(scratch.path().join("backups")).expect("it was made").count(), 2);
    let missing = scratch.run(&["--db", "typo.db", "check"]);
    assert_eq!(missing.status, 1, "{missing}");
    assert!(!scratch.path().join("typo.db").exists());
}
