//! Tests that no operation of the deploy group changes a file without yes: all are refused, except those that write
//! only to the database.

use mcpkg_core::op::{Effect, Shape};
use serde_json::{Value, json};

use crate::deploy::answers::{tool, tool_refused, word};
use crate::deploy::place::Place;

/// Returns a project with two deploys, a changed file, a missing file and a proposal, so that every operation has
/// something to do.
fn with_work() -> (Place, String) {
    let place = Place::with_project();
    place.deploy(&[]);
    place.prompt("review", "Review again.\n");
    let id = place.deploy(&[]);
    place.write("root/.claude/commands/review.md", "Edited.\n");
    place.write("root/.claude/commands/stray.md", "Stray.\n");
    std::fs::remove_file(place.root().join(".claude/skills/tidy/SKILL.md")).expect("a file");
    place.data(&["evolve", "propose", "--yes"]);
    place.prompt("ship", "Ship it.\n");
    (place, id)
}

/// Operations that run without yes in the shell, because they write only to the database and can be undone.
const DATABASE_ONLY: [&str; 9] = [
    "enable_targets",
    "disable_targets",
    "set_module",
    "add_module",
    "remove_module",
    "pin_snapshot",
    "accept_proposal",
    "reject_proposal",
    "evolve_propose",
];

/// Returns shell arguments with which an operation has something to do.
fn shell(tool: &str, id: &str) -> Vec<String> {
    let words: &[&str] = match tool {
        "deploy_shell" => &["--apply", "--adopt"],
        "rollback" => &["--to", "pristine"],
        "evolve_propose" | "evolve_restore" => &[],
        "prune_snapshots" => &["--keep", "1"],
        "pin_snapshot" => &[id],
        "set_module" => &["command:review", "--enabled", "false"],
        "remove_module" => &["command:review"],
        "add_module" => &["command:review"],
        "enable_targets" => &["gemini"],
        "disable_targets" => &["vscode"],
        "accept_proposal" | "reject_proposal" => &["1"],
        "up" => &["--agents", "claude-code"],
        other => panic!("{other} writes: say how it is called without a yes"),
    };
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn in_a_shell_without_a_terminal_nothing_is_written_without_yes() {
    let (place, id) = with_work();
    let before = place.tree();
    let mut seen = 0;
    for entry in mcpkg::DOMAINS
        .operations()
        .filter(|entry| entry.group == "deploy" && !entry.effect.reads() && entry.faces.shell())
    {
        let arguments = shell(entry.tool, &id);
        let words: Vec<&str> = entry.cli.iter().copied().chain(arguments.iter().map(String::as_str)).collect();
        seen += 1;
        if DATABASE_ONLY.contains(&entry.tool) {
            assert_ne!(entry.effect, Effect::Destroy, "{} asks for no yes", entry.tool);
            place.run(&words);
        } else {
            if entry.shape == Shape::Envelope {
                let error = place.refused(&words, "E_CONFIRM_REQUIRED");
                assert_eq!(error["details"]["reason_code"], "confirm_required", "{words:?}: {error:#}");
            }
            let ran = place.run(&words);
            assert!(ran.status == 1 && ran.stderr.contains("--yes"), "{words:?}: {ran}");
        }
        assert_eq!(place.tree(), before, "{words:?}");
    }
    assert!(seen >= 11, "only {seen} operations were called");
}

#[test]
fn an_agent_writes_nothing_without_yes() {
    let (place, id) = with_work();
    let before = place.tree();
    let snapshots = place.data(&["snapshot", "list"]);
    let mut client = place.server(&["--as", "agentpack"]);
    let token = tool(&mut client, "deploy", json!({}))["data"]["confirm_token"].clone();
    let mut seen = 0;
    for entry in mcpkg::DOMAINS
        .operations()
        .filter(|entry| entry.group == "deploy" && entry.effect.changes() && entry.faces.tool())
    {
        let arguments = match entry.tool {
            "deploy_apply" => json!({ "confirm_token": token, "adopt": true }),
            "rollback" => json!({ "to": id }),
            "evolve_propose" | "evolve_restore" => json!({}),
            other => panic!("{other} writes: say how it is called without a yes"),
        };
        seen += 1;
        for yes in [Value::Null, json!(false)] {
            let mut arguments = arguments.clone();
            if yes == json!(false) {
                arguments["yes"] = yes;
            }
            let error = tool_refused(&mut client, entry.tool, arguments, "E_CONFIRM_REQUIRED");
            assert!(word(&error["message"]).contains("nothing was changed"), "{error:#}");
            assert_eq!(place.tree(), before, "{}", entry.tool);
        }
    }
    assert_eq!(seen, 4);
    // Read-only operations write nothing either.
    for name in ["plan", "diff", "preview", "status", "doctor", "deploy", "explain"] {
        let arguments = if name == "explain" { json!({ "kind": "status" }) } else { json!({}) };
        assert_eq!(tool(&mut client, name, arguments)["ok"], true, "{name}");
        assert_eq!(place.tree(), before, "{name}");
    }
    client.finish();
    assert_eq!(place.data(&["snapshot", "list"]), snapshots);
}

#[test]
fn a_dry_run_writes_nothing_even_with_yes() {
    let (place, _) = with_work();
    let before = place.tree();
    let snapshots = place.data(&["snapshot", "list"]);
    let proposals = place.data(&["evolve", "list"]);
    for words in [
        &["deploy", "--apply", "--adopt"][..],
        &["rollback", "--to", "pristine"],
        &["evolve", "propose"],
        &["evolve", "restore"],
        &["snapshot", "prune", "--keep", "1"],
    ] {
        place.data(&[words, &["--dry-run", "--yes"]].concat());
        assert_eq!(place.tree(), before, "{words:?}");
    }
    let mut client = place.server(&["--as", "agentpack"]);
    for name in ["deploy_apply", "evolve_propose", "evolve_restore"] {
        assert_eq!(tool(&mut client, name, json!({ "dry_run": true, "yes": true }))["ok"], true, "{name}");
        assert_eq!(place.tree(), before, "{name}");
    }
    client.finish();
    assert_eq!(place.data(&["snapshot", "list"]), snapshots);
    assert_eq!(place.data(&["evolve", "list"]), proposals);
}
