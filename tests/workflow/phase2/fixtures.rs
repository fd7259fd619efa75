//! Tests fixtures of workflows: plans are compared with what the fixtures expect.

use serde_json::json;

use super::{NOTE, call};
use crate::support::{Client, Scratch};

const READY: &str = "\
inputs: {text: hi}
step_outputs: {look: {prompts: []}, keep: {text: Done}}
expect:
  will_run: {look: true, keep: true}
  findings: []
";

/// Returns a project with the workflow and a fixture that passes.
fn kept() -> Scratch {
    let scratch = Scratch::with_project();
    scratch.file("note.yaml", NOTE);
    scratch.file("ready.yaml", READY);
    scratch.ok(&["workflow", "import", "note.yaml"]);
    scratch.ok(&["workflow", "fixture", "add", "keep_note", "ready", "ready.yaml"]);
    scratch
}

#[test]
fn a_fixture_passes_if_the_plan_matches_and_else_its_name_is_shown() {
    let scratch = kept();
    assert!(scratch.ok(&["workflow", "test"]).contains("passed"));
    scratch.file(
        "wrong.yaml",
        "{expect: {will_run: {keep: false, gone: true}, final_output: 1, findings: [unused_input]}}",
    );
    scratch.ok(&["workflow", "fixture", "add", "keep_note", "wrong", "wrong.yaml"]);
    let ran = scratch.run(&["workflow", "test", "keep_note"]);
    assert_eq!(ran.status, 1, "{ran}");
    for line in [
        "keep_note wrong: findings: expected [\"unused_input\"], got []",
        "keep_note wrong: will_run.keep: expected false, got true",
        "keep_note wrong: will_run.gone: expected true, got null",
        "keep_note wrong: final_output: expected 1, got null",
        "2 fixtures, 1 failed",
    ] {
        assert!(ran.stdout.contains(line), "{line}\n{ran}");
    }
    scratch.ok(&["workflow", "test", "keep_note", "--fixture", "ready"]);
    let told = scratch.json(&["workflow", "test", "keep_note", "--fixture", "ready"]);
    assert_eq!((&told["passed"], &told["failed"]), (&json!(1), &json!(0)));
    assert_eq!(told["tests"][0]["differences"], json!([]));
    scratch.ok(&["workflow", "fixture", "remove", "keep_note", "wrong", "--yes"]);
    scratch.ok(&["workflow", "test"]);
}

#[test]
fn a_text_with_errors_fails_its_fixtures_unless_they_expect_them() {
    let scratch = kept();
    scratch.file("note.yaml", NOTE.replace("mcpkg:prompt:create", "mcpkg:prompt:creat"));
    // The workflow is imported nevertheless. The exit status shows that it has errors.
    let ran = scratch.run(&["workflow", "import", "note.yaml", "--update"]);
    assert!(ran.status == 1 && ran.stderr.contains("unknown_command"), "{ran}");
    let ran = scratch.run(&["workflow", "test"]);
    assert!(ran.status == 1 && ran.stdout.contains("unknown_command"), "{ran}");
    scratch.file("broken.yaml", "expect: {findings: [unknown_command]}");
    scratch.ok(&["workflow", "fixture", "add", "keep_note", "broken", "broken.yaml"]);
    scratch.ok(&["workflow", "test", "keep_note", "--fixture", "broken"]);
}

#[test]
fn a_plan_uses_the_values_of_a_named_fixture() {
    let scratch = kept();
    let plan = scratch.json(&["workflow", "plan", "keep_note", "--fixture", "ready"]);
    assert_eq!(plan["plan"]["inputs_required"], json!([]));
    assert_eq!(plan["plan"]["steps"][1]["with"]["content"], "hi");
    let mut client = Client::start(&scratch, &[]).shake_hands("2025-11-25");
    let named = call(&mut client, "dry_run", json!({ "yaml": NOTE, "fixture": "ready" }));
    assert_eq!(named["plan"], plan["plan"]);
    let whole = call(&mut client, "dry_run", json!({ "yaml": NOTE, "fixture": { "inputs": { "text": "hi" } } }));
    assert_eq!(whole["plan"]["inputs_required"], json!([]));
    let missing = call(&mut client, "dry_run", json!({ "yaml": NOTE, "fixture": "reddy" }));
    assert_eq!(missing["error"]["code"], "E_NOT_FOUND");
    assert!(missing["error"]["hint"].as_str().is_some_and(|hint| hint.contains("ready")), "{missing}");
    let wrong = call(&mut client, "dry_run", json!({ "yaml": NOTE, "fixture": { "input": {} } }));
    assert_eq!(wrong["error"]["code"], "E_INVALID_ARGUMENT", "what is not a field is not passed over");
    client.finish();
}

#[test]
fn fixtures_are_exported_and_imported_with_their_workflow() {
    let scratch = kept();
    scratch.file("out/about.txt", "Exported");
    scratch.ok(&["workflow", "export", "keep_note", "--to", "out/keep_note.yaml"]);
    let beside = scratch.path().join("out/keep_note.fixtures.yaml");
    assert!(std::fs::read_to_string(&beside).expect("the fixtures").starts_with("ready:"));
    scratch.ok(&["project", "create", "q"]);
    scratch.ok(&["-p", "q", "workflow", "import", "out"]);
    scratch.ok(&["-p", "q", "workflow", "test", "keep_note", "--fixture", "ready"]);
    // The folder contains nothing new.
    let again = scratch.json(&["-p", "q", "workflow", "import", "out"]);
    assert_eq!(again["workflows"][0]["action"], "unchanged");
    let changed = std::fs::read_to_string(&beside).expect("the fixtures").replace("hi", "ho");
    std::fs::write(&beside, changed).expect("the file");
    let refused = scratch.run(&["-p", "q", "workflow", "import", "out"]);
    assert!(refused.status == 1 && refused.stderr.contains("would be overwritten"), "{refused}");
    scratch.ok(&["-p", "q", "workflow", "import", "out", "--update"]);
    assert!(scratch.ok(&["-p", "q", "workflow", "fixture", "show", "keep_note", "ready"]).contains("ho"));
    let refused = scratch.run(&["workflow", "export", "keep_note", "--to", "out/keep_note.yaml"]);
    assert!(refused.status == 1 && refused.stderr.contains("already exists with different content"), "{refused}");
}

#[test]
fn fixtures_follow_their_workflow_and_contain_no_secret() {
    let scratch = kept();
    scratch.ok(&["workflow", "rename", "keep_note", "other"]);
    scratch.ok(&["workflow", "delete", "other"]);
    scratch.ok(&["workflow", "restore", "other", "2"]);
    let listed = scratch.json(&["workflow", "fixture", "list", "other"]);
    assert_eq!(listed["fixtures"][0]["name"], "ready");
    let there = scratch.run(&["workflow", "fixture", "add", "other", "ready", "note.yaml"]);
    assert!(there.status != 0 && there.stderr.contains("Invalid fixture"), "{there}");
    scratch.file("secret.yaml", format!("step_outputs: {{look: {{key: ghp_{}}}}}", "a1B2c3D4e5".repeat(4)));
    let refused = scratch.run(&["workflow", "fixture", "add", "other", "secret", "secret.yaml"]);
    assert!(refused.status != 0 && refused.stderr.contains("`step_outputs.look` looks like a secret"), "{refused}");
    scratch.file("empty.yaml", "{}");
    let taken = scratch.run(&["workflow", "fixture", "add", "other", "ready", "empty.yaml"]);
    assert!(taken.status == 1 && taken.stderr.contains("--update"), "{taken}");
}
