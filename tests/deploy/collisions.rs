//! Tests two modules that want the same file. The collision is reported only for the selected targets.

use std::os::unix::fs::symlink;

use serde_json::json;

use crate::deploy::answers::{tool_data, tool_refused};
use crate::deploy::place::Place;

#[test]
fn a_skill_wins_over_a_command_of_its_name() {
    let place = Place::with_project();
    // Codex and VS Code get commands as skills, but a skill of this name already exists.
    place.prompt("tidy", "Tidy up.\n");
    for command in ["plan", "diff", "preview", "status"] {
        place.data(&[command]);
    }
    let envelope = place.envelope(&["plan"]);
    let left_out = json!([
        { "module_id": "command:tidy", "target": "codex", "reason_code": "skill_taken" },
        { "module_id": "command:tidy", "target": "vscode", "reason_code": "skill_taken" },
    ]);
    assert_eq!(envelope["data"]["left_out"], left_out, "{envelope:#}");
    let warnings = envelope["warnings"].to_string();
    let why = "module 'command:tidy' is not written for Codex, VS Code: the agent reads commands as skills, and a skill has \
        the same name";
    assert_eq!(warnings.matches(why).count(), 1, "{warnings}");
    place.deploy(&[]);
    assert!(place.read("root/.agents/skills/tidy/SKILL.md").contains("Tidies up"));
    assert_eq!(place.read("root/.claude/commands/tidy.md"), "Tidy up.\n");
    // Cursor reads skills from .agents/skills, but commands from a folder of its own.
    assert_eq!(place.read("root/.cursor/commands/tidy.md"), "Tidy up.\n");
    assert_eq!(place.data(&["status"])["drift"], json!([]));
}

#[test]
fn the_second_rule_of_one_name_gets_a_number() {
    let place = Place::with_project();
    let rule = |name: &str, globs: &str, text: &str| {
        place.scratch.file(&format!("from/{name}"), format!("---\n{globs}\n---\n{text}\n"));
    };
    rule(".cursor/rules/ts.mdc", "globs: \"*.ts\"", "Of Cursor");
    rule(".github/instructions/ts.instructions.md", "applyTo: \"*.ts\"", "Of VS Code");
    place.ok(&["import", place.scratch.path().join("from").to_str().expect("a path")]);
    let both = |place: &Place| {
        let texts = ["ts.md", "ts-2.md"].map(|name| place.read(&format!("root/.claude/rules/{name}")));
        (texts[0].contains("Of Cursor") && texts[1].contains("Of VS Code"))
            || (texts[1].contains("Of Cursor") && texts[0].contains("Of VS Code"))
    };
    let warnings = place.envelope(&["plan"])["warnings"].to_string();
    assert_eq!(warnings.matches("written as `ts-2.").count(), 2, "{warnings}");
    place.deploy(&[]);
    assert!(both(&place));
    // The rule that was imported from Cursor keeps its name there.
    assert!(place.read("root/.cursor/rules/ts.mdc").contains("Of Cursor"));
    assert!(place.read("root/.cursor/rules/ts-2.mdc").contains("Of VS Code"));
    // The names are stable: a second plan changes nothing.
    assert_eq!(place.data(&["plan"])["changes"], json!([]));
    assert_eq!(place.data(&["status"])["drift"], json!([]));
}

#[test]
fn as_agentpack_a_collision_for_the_selected_targets_is_refused() {
    let place = Place::with_project();
    place.prompt("tidy", "Tidy up.\n");
    let mut client = place.server(&["--as", "agentpack"]);
    assert!(tool_data(&mut client, "plan", json!({ "target": "cursor" }))["changes"].is_array());
    tool_refused(&mut client, "plan", json!({}), "E_DESIRED_STATE_CONFLICT");
    tool_refused(&mut client, "plan", json!({ "target": "vscode" }), "E_DESIRED_STATE_CONFLICT");
    client.finish();
}

#[test]
fn a_link_out_of_the_root_blocks_only_the_target_that_uses_it() {
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
fn a_plan_for_one_target_has_no_warnings_about_others() {
    let place = Place::with_project();
    place.prompt("runs", "Look: !`git status`\n");
    let told = |target: &str| place.envelope(&["plan", "--target", target])["warnings"].to_string();
    assert!(told("cursor").contains("cursor does not run them"), "{}", told("cursor"));
    assert!(!told("claude_code").contains("does not run them"), "{}", told("claude_code"));
    assert!(!told("cursor").contains("codex does"), "{}", told("cursor"));
}
