//! Tests deploys of projects: the first deploy, files that are only replaced with `--adopt`, several targets, and
//! deploys of only some targets.

use serde_json::{Value, json};

use crate::support::{Ground, Tree};

/// Returns the operation, the path and the kind of update of each change. Paths are relative to the root.
fn changes(data: &Value) -> Vec<String> {
    let line = |change: &Value| {
        let word = |key: &str| change[key].as_str().unwrap_or_default().to_owned();
        let name = word("path_posix").split("/root/").last().expect("below the root").to_owned();
        let kind = if word("update_kind").is_empty() { String::new() } else { format!(" {}", word("update_kind")) };
        format!("{} {name}{kind}", word("op"))
    };
    data["changes"].as_array().expect("changes").iter().map(line).collect()
}

#[track_caller]
fn deployed(ground: &Ground, more: &[&str]) -> String {
    let data = ground.data(&[&["deploy", "--apply", "--yes"], more].concat());
    assert_eq!(data["applied"], true, "{data:#}");
    data["snapshot_id"].as_str().expect("a snapshot").to_owned()
}

fn paths(tree: &Tree) -> Vec<String> {
    tree.0.keys().filter_map(|path| path.strip_prefix("root").ok()).map(|path| path.display().to_string()).collect()
}

#[test]
fn j1_init_import_plan_deploy_status_and_rollback() {
    let scratch = crate::support::Scratch::new();
    let ground = Ground::below(scratch);
    ground.ok(&["init"]);
    ground.ok(&["project", "create", "app"]);
    ground.ok(&["project", "select", "app", "--here"]);
    ground.scratch.file("from/.claude/commands/fix.md", "Fix it\n");
    ground.ok(&["import", "../../from/.claude"]);
    let first = ground.tree();
    let planned = ground.data(&["plan", "--target", "claude_code"]);
    assert_eq!(changes(&planned), ["create .claude/commands/fix.md"]);
    let one = deployed(&ground, &["--target", "claude_code"]);
    assert_eq!(ground.read(".claude/commands/fix.md"), "Fix it\n");
    assert_eq!(ground.data(&["status", "--target", "claude_code"])["drift"], json!([]));
    let again = ground.data(&["deploy", "--apply", "--yes", "--target", "claude_code"]);
    assert_eq!((&again["applied"], &again["reason"]), (&json!(false), &json!("no_changes")));
    ground.ok(&["prompt", "update", "fix", "--content", "Fix it well\n"]);
    let two = deployed(&ground, &["--target", "claude_code"]);
    ground.data(&["rollback", "--to", &one, "--yes"]);
    assert_eq!(ground.read(".claude/commands/fix.md"), "Fix it\n");
    ground.data(&["rollback", "--to", &two, "--yes"]);
    assert_eq!(ground.read(".claude/commands/fix.md"), "Fix it well\n");
    ground.data(&["rollback", "--to", "pristine", "--yes"]);
    ground.tree().assert_is(&first, "pristine");
    ground.ok(&["project", "delete", "app", "--yes"]);
}

#[test]
fn j2_files_of_the_home_and_the_project_are_imported_together_and_deployed() {
    let ground = Ground::new();
    ground.scratch.file("ground/home/.claude/commands/mine.md", "Mine\n");
    ground.put(".claude/commands/ours.md", "Ours\n", 0o644);
    let first = ground.tree();
    let shown = ground.ok(&["import", "--dry-run", "../home/.claude/commands", ".claude/commands"]);
    assert_eq!(shown, "2\tcreate\tprompt\n");
    assert_eq!(ground.ok(&["prompt", "list"]), "");
    ground.ok(&["import", "../home/.claude/commands", ".claude/commands"]);
    assert_eq!(changes(&ground.data(&["plan", "--target", "claude_code"])), ["create .claude/commands/mine.md"]);
    deployed(&ground, &[]);
    assert_eq!(ground.read(".claude/commands/mine.md"), "Mine\n");
    assert!(ground.root().join(".agents/skills/ours/SKILL.md").is_file());
    ground.data(&["rollback", "--to", "pristine", "--yes"]);
    ground.tree().assert_is(&first, "pristine");
}

#[test]
fn j3_adopt_is_needed_once_and_the_next_change_needs_none() {
    let ground = Ground::new();
    ground.put(".claude/commands/fix.md", "By hand\n", 0o600);
    let first = ground.tree();
    ground.ok(&["prompt", "create", "fix", "Fix it\n"]);
    let target = ["--target", "claude_code"];
    let planned = ground.data(&[&["plan"][..], &target].concat());
    assert_eq!(changes(&planned), ["update .claude/commands/fix.md adopt_update"]);
    let error = ground.refused(&[&["deploy", "--apply", "--yes"][..], &target].concat());
    assert_eq!(error["code"], "E_ADOPT_CONFIRM_REQUIRED");
    assert_eq!(error["details"]["adopt_updates"], 1);
    ground.tree().assert_is(&first, "refused");
    deployed(&ground, &["--adopt", "--target", "claude_code"]);
    ground.ok(&["prompt", "update", "fix", "--content", "Fix it well\n"]);
    let planned = ground.data(&[&["plan"][..], &target].concat());
    assert_eq!(changes(&planned), ["update .claude/commands/fix.md managed_update"]);
    deployed(&ground, &target);
    // A file that was edited by hand is only deleted with `--adopt`.
    ground.put(".claude/commands/fix.md", "Edited\n", 0o600);
    ground.ok(&["prompt", "delete", "fix", "--yes"]);
    let error = ground.refused(&[&["deploy", "--apply", "--yes"][..], &target].concat());
    assert_eq!(error["code"], "E_ADOPT_CONFIRM_REQUIRED");
    let gone = deployed(&ground, &["--adopt", "--target", "claude_code"]);
    assert!(!ground.root().join(".claude/commands/fix.md").exists());
    ground.data(&["rollback", "--to", &format!("{gone}^"), "--yes"]);
    assert_eq!(ground.read(".claude/commands/fix.md"), "Edited\n");
    ground.data(&["rollback", "--to", "pristine", "--yes"]);
    ground.tree().assert_is(&first, "pristine");
}

#[test]
fn j7_one_module_in_several_targets_is_rolled_back_as_one() {
    let ground = Ground::new();
    ground.ok(&["resource", "create", "style", "instructions://style.md", "One\n", "--mime-type", "text/markdown"]);
    ground.ok(&["prompt", "create", "fix", "One\n"]);
    let first = ground.tree();
    let one = deployed(&ground, &[]);
    let at_one = ground.tree();
    let all = paths(&at_one);
    for name in ["AGENTS.md", ".claude/commands/fix.md", ".cursor/commands/fix.md", ".agents/skills/fix/SKILL.md"] {
        assert!(all.iter().any(|path| path == name), "{name}: {all:?}");
    }
    ground.ok(&["prompt", "update", "fix", "--content", "Two\n"]);
    ground.ok(&["resource", "update", "style", "--content", "Two\n"]);
    deployed(&ground, &[]);
    for name in ["AGENTS.md", ".claude/commands/fix.md", ".cursor/commands/fix.md", ".agents/skills/fix/SKILL.md"] {
        assert!(ground.read(name).contains("Two"), "{name}");
    }
    ground.data(&["rollback", "--to", &one, "--yes"]);
    ground.tree().assert_is(&at_one, "all of them are back");
    ground.data(&["rollback", "--to", "pristine", "--yes"]);
    ground.tree().assert_is(&first, "pristine");
}

#[test]
fn a_deploy_of_one_target_leaves_the_others_alone_and_so_does_its_rollback() {
    let ground = Ground::new();
    ground.ok(&["resource", "create", "style", "instructions://style.md", "One\n", "--mime-type", "text/markdown"]);
    ground.ok(&["prompt", "create", "fix", "One\n"]);
    let first = ground.tree();
    deployed(&ground, &[]);
    ground.ok(&["prompt", "update", "fix", "--content", "Two\n"]);
    let cursor = deployed(&ground, &["--target", "cursor"]);
    assert_eq!(ground.read(".cursor/commands/fix.md"), "Two\n");
    assert_eq!(ground.read(".claude/commands/fix.md"), "One\n");
    let claude = deployed(&ground, &["--target", "claude_code"]);
    assert_eq!(ground.read(".claude/commands/fix.md"), "Two\n");
    // Rolling back the deploy to Cursor leaves Claude Code's files alone, although they were deployed later.
    ground.data(&["rollback", "--to", &format!("{cursor}^"), "--yes"]);
    assert_eq!(ground.read(".cursor/commands/fix.md"), "One\n");
    assert_eq!(ground.read(".claude/commands/fix.md"), "Two\n");
    ground.data(&["rollback", "--to", &format!("{claude}^"), "--yes"]);
    assert_eq!(ground.read(".claude/commands/fix.md"), "One\n");
    // A file that several targets read is removed with the last of them.
    ground.data(&["rollback", "--to", "pristine", "--target", "codex", "--yes"]);
    assert!(ground.root().join("AGENTS.md").exists());
    for target in ["cursor", "vscode", "claude_code"] {
        ground.data(&["rollback", "--to", "pristine", "--target", target, "--yes"]);
    }
    ground.tree().assert_is(&first, "pristine, one target after the other");
}

/// Returns a root with Cursor rules and a Cursor command, an AGENTS.md and a CLAUDE.md, none of them written by mcpkg.
fn with_rules_of_cursor() -> Ground {
    let ground = Ground::new();
    let rule = |front: &str, text: &str| format!("---\n{front}\n---\n{text}\n");
    let long = format!("Be brief and kind.\n{}", "- Say it once.\n".repeat(200));
    for (name, text) in [
        ("AGENTS.md", "Run the tests of the workspace.\n".to_owned()),
        ("CLAUDE.md", "Use British spelling.\n".to_owned()),
        (".cursor/rules/style.mdc", rule("description: Style\nglobs:\nalwaysApply: true", &long)),
        (".cursor/rules/commits.mdc", rule("alwaysApply: true", "Write short commits.")),
        (".cursor/rules/js.mdc", rule("globs: **/*.js, !**/node_modules/**\nalwaysApply: false", "Use const.")),
        (".cursor/rules/plain.mdc", "No front matter, so Cursor does not load it.\n".to_owned()),
        (".cursor/commands/fix.md", "Fix $ARGUMENTS, see @.env\n!`touch pwned`\n".to_owned()),
    ] {
        ground.put(name, &text, 0o644);
    }
    ground
}

/// Returns how often each text occurs in the files that an agent always loads.
fn times(ground: &Ground, files: &[&str]) -> Vec<usize> {
    let loaded: String = files.iter().map(|file| ground.read(file)).collect();
    let texts = ["Run the tests of", "British spelling", "Be brief and kind", "Write short commits"];
    texts.iter().map(|text| loaded.matches(text).count()).collect()
}

#[test]
fn every_agent_loads_cursors_rules_once_and_nothing_needs_adopt() {
    let ground = with_rules_of_cursor();
    let first = ground.tree();
    let own = [".cursor/rules/style.mdc", ".cursor/rules/plain.mdc", ".cursor/rules/js.mdc", ".cursor/commands/fix.md"];
    let before = own.map(|name| ground.read(name));
    ground.ok(&["import", "."]);
    ground.ok(&["target", "enable", "cursor", "codex", "claude_code", "copilot", "gemini"]);
    ground.ok(&["target", "disable", "vscode"]);
    let planned = ground.data(&["plan"]);
    assert!(!planned.to_string().contains("adopt_update"), "{planned:#}");
    let bytes = |data: &Value| -> Vec<u64> {
        data["budget"].as_array().expect("budgets").iter().filter_map(|budget| budget["bytes"].as_u64()).collect()
    };
    let after = bytes(&planned);
    ground.data(&["deploy", "--apply", "--yes"]);
    assert_eq!(bytes(&ground.data(&["status"])), after, "as planned");
    let (least, most) = (after.iter().min().expect("agents"), after.iter().max().expect("agents"));
    assert!(*most < least + 900, "no agent loads a text twice: {after:?}");
    let style = ".cursor/rules/style.mdc";
    assert!(*least > 3000, "{after:?}");
    assert_eq!(times(&ground, &["AGENTS.md", ".cursor/rules/CLAUDE.mdc", style, ".cursor/rules/commits.mdc"]), [1; 4]);
    assert_eq!(times(&ground, &["AGENTS.override.md"]), [1; 4]);
    let rules = [".claude/rules/style.md", ".claude/rules/commits.md"];
    // CLAUDE.md hides AGENTS.md from Claude Code. So `.claude/CLAUDE.md`, which Copilot does not read, imports
    // AGENTS.md.
    assert_eq!(ground.read(".claude/CLAUDE.md").lines().nth(1), Some("@../AGENTS.md"));
    assert_eq!(times(&ground, &["CLAUDE.md", "AGENTS.md", rules[0], rules[1]]), [1; 4], "Claude Code and Copilot");
    assert_eq!(ground.read("GEMINI.md").lines().nth(1), Some("@AGENTS.override.md"));
    // Copilot reads GEMINI.md too, but follows no import in it.
    assert_eq!(times(&ground, &["GEMINI.md"]), [0; 4]);
    // The files that are imported are unchanged.
    assert_eq!(own.map(|name| ground.read(name)), before);
    assert_eq!(ground.read("CLAUDE.md"), "Use British spelling.\n");
    assert!(ground.read(".claude/rules/js.md").starts_with("---\npaths:\n  - \"**/*.js\"\n---\n"));
    let remarks = planned["remarks"].to_string();
    assert!(remarks.contains("exclusion `!**/node_modules/**`"), "{remarks}");
    // Cursor sends this text to the model unchanged, so no other agent may run or fill in any of it.
    let text = "Fix \\$ARGUMENTS, see `@.env`\n! `touch pwned`\n";
    assert_eq!(ground.read(".claude/commands/fix.md"), text);
    assert!(ground.read(".gemini/commands/fix.toml").contains("Fix $ARGUMENTS, see `@.env`\n! `touch pwned`\n"));
    // A second deploy changes nothing, and a rollback restores every byte.
    let again = ground.data(&["plan"]);
    assert_eq!(again["changes"], json!([]), "{again:#}");
    ground.data(&["rollback", "--to", "pristine", "--yes"]);
    ground.tree().assert_is(&first, "pristine");
}

#[test]
fn an_edit_of_a_command_that_was_made_inert_returns_to_its_own_agents_syntax() {
    let ground = with_rules_of_cursor();
    ground.ok(&["import", "."]);
    ground.data(&["deploy", "--apply", "--yes"]);
    let edited = ground.read(".claude/commands/fix.md").replace("Fix", "Mend");
    ground.put(".claude/commands/fix.md", &edited, 0o644);
    ground.data(&["evolve", "propose", "--yes"]);
    let listed = ground.data(&["evolve", "list"]);
    ground.data(&["evolve", "accept", &listed["proposals"][0]["id"].to_string(), "--yes"]);
    // Cursor's own file existed before, so overwriting it needs --adopt.
    ground.data(&["deploy", "--apply", "--yes", "--adopt"]);
    assert_eq!(ground.read(".cursor/commands/fix.md"), "Mend $ARGUMENTS, see @.env\n!`touch pwned`\n");
    assert_eq!(ground.read(".claude/commands/fix.md"), edited);
}
