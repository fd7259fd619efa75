//! Two modules that want one file: told of the targets that were asked for, and of no others.

use std::os::unix::fs::symlink;

use serde_json::json;

use crate::deploy::answers::{tool_data, tool_refused, word};
use crate::deploy::place::Place;

#[test]
fn a_collision_of_a_target_that_was_not_asked_for_blocks_nothing() {
    let place = Place::with_project();
    // A skill already has the folder that the command would have in Codex and VS Code.
    place.prompt("tidy", "Tidy up.\n");
    for of in [&[][..], &["--target", "codex"], &["--target", "vscode"]] {
        let error = place.refused(&[&["plan"], of].concat(), "E_DESIRED_STATE_CONFLICT");
        assert!(word(&error["message"]).contains(".agents/skills/tidy/SKILL.md"), "{error:#}");
        assert_eq!(error["details"]["target"], if of.is_empty() { "codex" } else { of[1] }, "{error:#}");
    }
    for command in ["plan", "diff", "preview", "status"] {
        place.data(&[command, "--target", "claude_code"]);
    }
    let warnings = place.envelope(&["doctor", "--target", "claude_code"])["warnings"].to_string();
    assert!(!warnings.contains("E_DESIRED_STATE_CONFLICT"), "{warnings}");
    place.deploy(&["--target", "claude_code"]);
    assert_eq!(place.read("root/.claude/commands/tidy.md"), "Tidy up.\n");
    // Cursor reads the folder for its skills, and has a place of its own for commands.
    place.deploy(&["--target", "cursor"]);
    assert!(place.read("root/.agents/skills/tidy/SKILL.md").contains("Tidies up"));
    assert_eq!(place.read("root/.cursor/commands/tidy.md"), "Tidy up.\n");
    let mut client = place.server(&["--as", "agentpack"]);
    assert_eq!(tool_data(&mut client, "plan", json!({ "target": "cursor" }))["changes"], json!([]));
    tool_refused(&mut client, "plan", json!({}), "E_DESIRED_STATE_CONFLICT");
    client.finish();
    place.ok(&["prompt", "delete", "tidy", "--yes"]);
    place.deploy(&[]);
}

#[test]
fn a_link_that_leads_a_target_out_of_the_root_blocks_that_target_alone() {
    let place = Place::with_project();
    std::fs::create_dir(place.scratch.path().join("outside")).expect("a folder");
    symlink(place.scratch.path().join("outside"), place.root().join(".cursor")).expect("a link");
    place.refused(&["deploy", "--apply", "--yes"], "E_IO_INVALID_PATH");
    place.refused(&["deploy", "--apply", "--yes", "--target", "cursor"], "E_IO_INVALID_PATH");
    place.deploy(&["--target", "claude_code"]);
    assert!(place.exists(".claude") || place.exists("root/.claude/commands/review.md"));
    assert!(std::fs::read_dir(place.scratch.path().join("outside")).expect("a folder").next().is_none());
}

#[test]
fn a_plan_for_one_target_warns_of_no_other() {
    let place = Place::with_project();
    place.prompt("runs", "Look: !`git status`\n");
    let told = |target: &str| place.envelope(&["plan", "--target", target])["warnings"].to_string();
    assert!(told("cursor").contains("cursor does not run them"), "{}", told("cursor"));
    assert!(!told("claude_code").contains("does not run them"), "{}", told("claude_code"));
    assert!(!told("cursor").contains("codex does"), "{}", told("cursor"));
}
