//! Tests a newcomer's path: files written by hand for Claude Code are imported, deployed to all four agents, edited and
//! rolled back.

use serde_json::{Value, json};

use crate::support::{Client, Ground, set_mode};

/// Writes a project's files as its owner would by hand, some of them with an odd mode.
fn by_hand(ground: &Ground) {
    ground.put("CLAUDE.md", "# House rules\r\n\r\nBe brief.", 0o644);
    ground.put(".claude/commands/review.md", "---\ndescription: Review a change\n---\nReview $ARGUMENTS\n", 0o600);
    ground.put(".claude/commands/git/tidy.md", "Tidy the branch.\n", 0o644);
    ground.put(".claude/skills/pdf/SKILL.md", "---\nname: pdf\ndescription: Reads PDFs\n---\n# PDF\n", 0o444);
    ground.put(".claude/skills/pdf/bin/read me.sh", "#!/bin/sh\ncat \"$1\"\n", 0o755);
    ground.put(".claude/settings.json", "{}\n", 0o600);
    ground.put(".cursor/rules/mine.mdc", "---\nalwaysApply: true\n---\nMine\n", 0o644);
    ground.put("src/main.rs", "fn main() {}\n", 0o644);
}

/// Returns the kind, state and path of each drifted file.
fn drift(data: &Value) -> Vec<String> {
    let items = data["drift"].as_array().expect("drift").iter();
    let word = |item: &Value, key: &str| item[key].as_str().expect("a word").to_owned();
    let name = |item: &Value| word(item, "path_posix").split("/root/").last().expect("below the root").to_owned();
    items.map(|item| format!("{} {} {}", word(item, "kind"), word(item, "state"), name(item))).collect()
}

#[test]
fn imported_deployed_edited_evolved_and_rolled_back_to_every_original_byte() {
    let ground = Ground::new();
    by_hand(&ground);
    let first = ground.tree();
    let said = ground.ok(&["import", "CLAUDE.md", ".claude"]);
    assert!(said.starts_with("Imported 1 skill, 2 commands, 1 rule, 1 agent's file"), "{said}");
    ground.tree().assert_is(&first, "an import writes nothing");

    let planned = ground.data(&["plan"]);
    assert_eq!(planned["targets"], json!(["claude_code", "codex", "cursor", "vscode"]));
    assert_eq!(planned["summary"]["delete"], 0, "{planned:#}");
    ground.tree().assert_is(&first, "a plan writes nothing");
    // The hand-written files equal what was imported from them, so the deploy does not need `--adopt`.
    let applied = ground.data(&["deploy", "--apply", "--yes"]);
    assert_eq!(applied["applied"], true, "{applied:#}");
    for name in [
        "AGENTS.override.md",
        ".agents/skills/pdf/SKILL.md",
        ".agents/skills/review/SKILL.md",
        ".cursor/commands/review.md",
        ".agents/skills/pdf/bin/read me.sh",
    ] {
        assert!(ground.root().join(name).is_file(), "{name}: {applied:#}");
    }
    // VS Code reads CLAUDE.md, and would read the same text again in AGENTS.md.
    assert!(ground.read("AGENTS.override.md").contains("Be brief.") && !ground.root().join("AGENTS.md").exists());
    assert!(ground.read(".cursor/rules/CLAUDE.mdc").contains("Be brief."));
    let clean = ground.data(&["status", "--only", "missing,modified"]);
    assert_eq!(drift(&clean), Vec::<String>::new());
    assert_eq!(ground.run(&["plan", "--check"]).status, 0);

    // Edit a command where Cursor reads it.
    let edited = ground.read(".cursor/commands/review.md").replace("Review {arguments}", "Review {arguments} twice");
    ground.put(".cursor/commands/review.md", &edited, 0o644);
    let status = ground.data(&["status", "--only", "missing,modified"]);
    assert_eq!(drift(&status), ["modified user_modified .cursor/commands/review.md"]);
    assert_eq!(ground.run(&["status", "--only", "modified", "--check"]).status, 3);
    let refused = ground.refused(&["deploy", "--apply", "--yes"]);
    assert_eq!(refused["code"], "E_ADOPT_CONFIRM_REQUIRED", "{refused:#}");
    let proposed = ground.data(&["evolve", "propose", "--yes"]);
    assert_eq!(proposed["created"], true, "{proposed:#}");
    let listed = ground.data(&["evolve", "list"]);
    assert_eq!(listed["proposals"][0]["module_id"], "command:review", "{listed:#}");
    let id = listed["proposals"][0]["id"].to_string();
    ground.data(&["evolve", "accept", &id, "--yes"]);
    assert!(ground.ok(&["prompt", "show", "review"]).contains("twice"));
    // The edit is now in the project. The file in which it was made needs no change, and the other agents' files
    // follow.
    let planned = ground.data(&["plan"]);
    let paths: Vec<&str> =
        planned["changes"].as_array().expect("changes").iter().filter_map(|it| it["path_posix"].as_str()).collect();
    assert!(paths.iter().all(|path| !path.ends_with(".cursor/commands/review.md")), "{planned:#}");
    assert!(paths.iter().any(|path| path.ends_with(".agents/skills/review/SKILL.md")), "{planned:#}");
    let applied = ground.data(&["deploy", "--apply", "--adopt", "--yes"]);
    assert_eq!(applied["applied"], true);
    assert!(ground.read(".claude/commands/review.md").contains("Review $ARGUMENTS twice"));

    let said = ground.ok(&["rollback", "--to", "pristine", "--yes"]);
    assert!(said.contains("Rolled"), "{said}");
    ground.tree().assert_is(&first, "pristine");
    assert_eq!(ground.data(&["snapshot", "list"])["snapshots"].as_array().map(Vec::len), Some(3));
}

#[test]
fn a_deploy_to_the_users_own_folders_is_rolled_back_to_every_original_byte() {
    let ground = Ground::new();
    let home = |name: &str| format!("ground/home/{name}");
    ground.scratch.file(&home(".claude/CLAUDE.md"), "Mine, in every project.\n");
    ground.scratch.file(&home(".codex/AGENTS.md"), "For Codex only.");
    let command = ground.scratch.file(&home(".claude/commands/hi.md"), "Say hi\n");
    set_mode(&command, 0o600);
    let first = ground.tree();
    ground.scratch.file("from/CLAUDE.md", "Be kind.\n");
    ground.scratch.file("from/.claude/commands/hi.md", "Say hello\n");
    ground.ok(&["import", "../../from"]);
    let refused = ground.refused(&["deploy", "--scope", "user", "--apply", "--yes"]);
    assert_eq!(refused["code"], "E_ADOPT_CONFIRM_REQUIRED", "{refused:#}");
    ground.tree().assert_is(&first, "refused");
    ground.data(&["deploy", "--scope", "user", "--apply", "--adopt", "--yes"]);
    let text = |name: &str| std::fs::read_to_string(ground.home().join(name)).expect(name);
    assert!(text(".claude/CLAUDE.md").starts_with("Mine, in every project.\n"), "what is outside the block stays");
    assert!(text(".claude/CLAUDE.md").contains("Be kind.") && text(".codex/AGENTS.md").contains("Be kind."));
    assert_eq!(text(".claude/commands/hi.md"), "Say hello\n");
    assert!(ground.home().join(".agents/skills/hi/SKILL.md").is_file());
    assert_eq!(ground.root().read_dir().expect("a root").count(), 0, "the deploy root is another place");
    ground.data(&["rollback", "--scope", "user", "--to", "pristine", "--yes"]);
    ground.tree().assert_is(&first, "pristine");
}

/// Calls a tool and returns its envelope.
fn call(server: &mut Client, tool: &str, arguments: Value) -> Value {
    let (text, is_error) = server.call(tool, arguments);
    let envelope: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(envelope["ok"], !is_error, "{envelope:#}");
    envelope
}

#[test]
fn j8_an_agent_deploys_over_mcp_with_the_server_restarted_between_plan_and_apply() {
    let ground = Ground::new();
    by_hand(&ground);
    let first = ground.tree();
    ground.ok(&["import", "CLAUDE.md", ".claude"]);
    let serve = || Client::spawn(ground.command().args(["serve", "--as", "agentpack"])).shake_hands("2025-06-18");
    let mut server = serve();
    let planned = call(&mut server, "deploy", json!({ "target": "all" }));
    let token = planned["data"]["confirm_token"].clone();
    assert_eq!(planned["data"]["applied"], false);
    let code = |envelope: &Value| envelope["errors"][0]["code"].as_str().expect("a code").to_owned();
    let refused = call(&mut server, "deploy_apply", json!({ "target": "all", "confirm_token": token }));
    assert_eq!(code(&refused), "E_CONFIRM_REQUIRED");
    let refused = call(&mut server, "deploy_apply", json!({ "target": "all", "yes": true }));
    assert_eq!(code(&refused), "E_CONFIRM_TOKEN_REQUIRED");
    let refused = call(&mut server, "deploy_apply", json!({ "yes": true, "confirm_token": "0".repeat(64) }));
    assert_eq!(code(&refused), "E_CONFIRM_TOKEN_MISMATCH");
    server.kill();
    ground.tree().assert_is(&first, "nothing was applied");

    // A prompt is added after the plan was shown. The plan changes, so the token no longer matches.
    let mut server = serve();
    ground.ok(&["prompt", "create", "late", "Not shown in the plan"]);
    let refused = call(&mut server, "deploy_apply", json!({ "yes": true, "confirm_token": token }));
    assert_eq!(code(&refused), "E_CONFIRM_TOKEN_MISMATCH");
    assert_eq!(refused["errors"][0]["details"]["mismatch_kind"], "plan_changed");
    ground.ok(&["prompt", "delete", "late", "--yes"]);
    // The plan is again the one that was shown, so the token works. Omitting `target` means the same as `all`.
    let applied = call(&mut server, "deploy_apply", json!({ "yes": true, "confirm_token": token }));
    assert_eq!(applied["data"]["applied"], true, "{applied:#}");
    let again = call(&mut server, "deploy_apply", json!({ "yes": true, "confirm_token": token }));
    assert_eq!(again["errors"][0]["details"]["mismatch_kind"], "consumed", "{again:#}");

    ground.put(".claude/skills/pdf/SKILL.md.new", "a stray file\n", 0o644);
    let edited = ground.read("AGENTS.override.md").replace("Be brief.", "Be brief and kind.");
    ground.put("AGENTS.override.md", &edited, 0o644);
    let status = call(&mut server, "status", json!({ "only": ["modified"] }));
    assert_eq!(drift(&status["data"]), ["modified user_modified AGENTS.override.md"]);
    let proposed = call(&mut server, "evolve_propose", json!({ "yes": true }));
    assert_eq!(proposed["data"]["created"], true, "{proposed:#}");
    let refused = call(&mut server, "rollback", json!({ "to": "pristine" }));
    assert_eq!(code(&refused), "E_CONFIRM_REQUIRED");
    server.finish();

    let mut server = serve();
    let refused = call(&mut server, "rollback", json!({ "to": "pristine", "yes": true }));
    assert_eq!(code(&refused), "E_ADOPT_CONFIRM_REQUIRED");
    let back = call(&mut server, "rollback", json!({ "to": "pristine", "yes": true, "adopt": true }));
    assert_eq!(back["data"]["rolled_back_to"], "pristine");
    server.finish();
    std::fs::remove_file(ground.root().join(".claude/skills/pdf/SKILL.md.new")).expect("the stray file");
    // The user's edit inside the block is removed with the block. Everything else is as it was.
    ground.tree().assert_is(&first, "pristine");
}

#[test]
fn the_arguments_of_a_prompt_reach_each_agent_in_its_own_form() {
    let ground = Ground::new();
    let template = "Explain {{ topic }} to {{ reader }} for $0.50";
    ground.ok(&[
        "prompt",
        "create",
        "explain",
        template,
        "--argument",
        "topic=What to explain",
        "--argument",
        "reader?",
    ]);
    ground.put(".claude/commands/fix.md", "Fix $1 of $ARGUMENTS at !`date`\n", 0o644);
    ground.put(".opencode/command/mend.md", "Mend $1 with $2\n", 0o644);
    ground.ok(&["import", ".claude", ".opencode"]);
    let applied = ground.data(&["deploy", "--apply", "--yes"]);
    assert_eq!(applied["applied"], true, "{applied:#}");
    assert_eq!(
        ground.read(".claude/commands/explain.md"),
        "---\nargument-hint: \"<topic> [reader]\"\narguments: [topic, reader]\n---\nExplain $topic to $reader for \\$0.50"
    );
    assert_eq!(ground.read(".claude/commands/mend.md"), "Mend $0 with $1\n");
    assert_eq!(ground.read(".claude/commands/fix.md"), "Fix $1 of $ARGUMENTS at !`date`\n");
    let words = "The user gives these arguments, written `<topic> [reader]`:\n- {topic}: What to explain\n- {reader}\n\n\
                 Explain {topic} to {reader} for $0.50";
    assert!(ground.read(".agents/skills/explain/SKILL.md").ends_with(&format!("---\n\n{words}")));
    assert!(ground.read(".cursor/commands/explain.md").ends_with(&format!("---\n{words}")));
    for file in [".agents/skills/fix/SKILL.md", ".agents/skills/mend/SKILL.md", ".cursor/commands/mend.md"] {
        assert!(!ground.read(file).contains("$1"), "{file}: {}", ground.read(file));
    }
    // An edit in an agent's own syntax is converted back to the stored syntax.
    let skill = ground.read(".agents/skills/mend/SKILL.md").replace("Mend {arg0}", "Mend {arg0} for $5");
    ground.put(".agents/skills/mend/SKILL.md", &skill, 0o644);
    let list = ground.read(".cursor/commands/fix.md").replace("- {arg1}", "- {other}");
    ground.put(".cursor/commands/fix.md", &list, 0o644);
    let proposed = ground.data(&["evolve", "propose", "--yes"]);
    assert_eq!(proposed["proposals"].as_array().map(Vec::len), Some(1), "{proposed:#}");
    assert!(
        proposed["skipped"][0]["reason_message"].as_str().is_some_and(|why| why.contains("argument list was edited"))
    );
    ground.data(&["evolve", "accept", "1", "--yes"]);
    // The prompt is now stored as a Claude Code command: in OpenCode's syntax, `$5` would be an argument.
    assert_eq!(ground.ok(&["prompt", "show", "mend", "--raw"]), "Mend $0 for \\$5 with $1\n");
}
