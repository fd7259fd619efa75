//! Tests machine-readable fixes. Each replaces a part of the text, and afterwards the finding is gone.

use mcpkg_workflow::finding::mended;
use serde_json::{Value, json};

use super::{check, only};
use crate::support::Scratch;

/// Returns a workflow with these inputs and steps.
fn workflow(inputs: &str, steps: &str) -> String {
    let inputs = if inputs.is_empty() { String::new() } else { format!("inputs:\n{inputs}") };
    format!("workflow: w\n{inputs}steps:\n{steps}")
}

const CREATE: &str = "  - id: create_app\n    run: apps:create\n    with: {name: x}\n";
const INFO: &str = "  - id: info\n    run: apps:info\n";

/// Returns a text for each kind of finding that has a fix: the code, the text, and what the fix writes.
fn fixed() -> Vec<(&'static str, String, &'static str)> {
    let list = "  - {id: apps, run: apps:list}\n";
    vec![
        (
            "unknown_input_ref",
            workflow("  region: {}\n", &format!("{INFO}    with:\n      app: \"é ${{{{ inputs.regoin }}}}\"\n")),
            "inputs.region }}",
        ),
        (
            "unknown_step_ref",
            workflow("", &format!("{CREATE}{INFO}    with: {{app: \"${{{{ steps.create_ap.output.id }}}}\"}}\n")),
            "steps.create_app.output.id",
        ),
        (
            "unknown_dependency",
            workflow("", &format!("{CREATE}{INFO}    with: {{app: y}}\n    depends_on: [creat_app]\n")),
            "depends_on: [create_app]",
        ),
        (
            "unknown_with_key",
            workflow("", "  - {id: a, run: apps:create, with: {name: x, regoin: eu}}\n"),
            "region: eu",
        ),
        (
            "unknown_with_key",
            r#"{"workflow": "w", "steps": [{"id": "a", "run": "apps:create", "with": {"nmae": "x"}}]}"#.to_owned(),
            r#"{"name": "x"}"#,
        ),
        ("unknown_command", workflow("", "  - {id: a, run: apps:lst}\n"), "run: apps:list"),
        ("unknown_key", workflow("", "  - id: a\n    run: apps:list\n    dependson: []\n"), "depends_on: []"),
        (
            "enum_violation",
            workflow("", "  - {id: a, run: apps:create, with: {name: x, region: 'euu'}}\n"),
            r#"region: "eu""#,
        ),
        ("wrong_type", workflow("  n: {type: interger}\n", list), "type: integer"),
        (
            "prefer_not_used",
            workflow("", &format!("{CREATE}{INFO}    with: {{app: \"${{{{ steps.create_app.output.name }}}}\"}}\n")),
            "steps.create_app.output.id }}",
        ),
        (
            "contract_tag_mismatch",
            workflow("", &format!("{list}{INFO}    with:\n      app: ${{{{ steps.apps.output[0].region }}}}\n")),
            "steps.apps.output[0].id }}",
        ),
        (
            "output_path_missing",
            workflow("", &format!("{CREATE}{INFO}    with: {{app: \"${{{{ steps.create_app.output.regoin }}}}\"}}\n")),
            "steps.create_app.output.region }}",
        ),
        (
            "output_path_missing",
            workflow("", &format!("{CREATE}{INFO}    with: {{app: \"${{{{ steps.create_app.outptu.id }}}}\"}}\n")),
            "steps.create_app.output.id }}",
        ),
        ("unknown_provider", workflow("  app: {provider: apps:lst}\n", list), "provider: apps:list"),
        (
            "value_field_missing",
            workflow("  app: {provider: apps:list, select: {value_field: nmae, id_field: id}}\n", list),
            "value_field: name",
        ),
    ]
}

#[test]
fn each_fix_removes_its_finding() {
    for (code, text, writes) in fixed() {
        let found = only(&text, code);
        assert!(found.fix.is_some(), "{code} has no fix: {found:?}\n{text}");
        let (better, count) = mended(&text, &[found]);
        assert!(count == 1 && better.contains(writes), "{code}: {better}");
        let left: Vec<_> = check(&better).findings.into_iter().filter(|found| found.code.name() == code).collect();
        assert_eq!(left, [], "{code}: {better}");
        // The fix changed only one line.
        let same = text.lines().zip(better.lines()).filter(|(old, new)| old == new).count();
        assert_eq!(
            (text.lines().count(), text.lines().count() - same),
            (better.lines().count(), 1),
            "{code}: {better}"
        );
    }
}

#[test]
fn an_uncertain_correction_is_a_hint_and_not_a_fix() {
    for (code, text) in [
        // Two names are equally similar. In the next two texts, the similar name is already used.
        (
            "unknown_input_ref",
            workflow("  apps: {}\n  appd: {}\n", &format!("{INFO}    with: {{app: \"${{{{ inputs.appx }}}}\"}}\n")),
        ),
        ("unknown_with_key", workflow("", "  - {id: a, run: apps:create, with: {name: x, nmae: y}}\n")),
        ("unknown_key", workflow("", "  - {id: a, run: apps:list, with: {}, wiht: {}}\n")),
        // mcpkg does not choose a destructive command.
        ("unknown_command", workflow("", "  - {id: a, run: apps:delet, with: {app: x}}\n")),
        // The reference is written with a YAML escape, so the position in the text is not exact.
        (
            "unknown_step_ref",
            workflow("", &format!("{CREATE}{INFO}    with: {{app: \"\\x24{{{{ steps.create_ap.output.id }}}}\"}}\n")),
        ),
        // The value comes from an alias, so the change would be in another place.
        (
            "enum_violation",
            "workflow: w\nsteps:\n  - {id: a, run: apps:create, with: {name: &n euu, region: *n}}\n".to_owned(),
        ),
        // No name is similar.
        ("unknown_with_key", workflow("", "  - {id: a, run: apps:list, with: {zone: eu}}\n")),
    ] {
        let found = only(&text, code);
        assert_eq!(found.fix, None, "{text}");
    }
}

#[test]
fn fixes_are_in_the_json_and_applied_to_the_file() {
    let scratch = Scratch::with_project();
    let text = "# Mine.\nworkflow: w\ninputs:\n  text: {}\nsteps:\n  - id: keep   # it\n    run: mcpkg:prompt:create\n    with: {name: a, content: \"${{ inputs.txet }}\"}\n";
    scratch.file("w.yaml", text);
    let ran = scratch.run(&["--json", "workflow", "validate", "w.yaml"]);
    let data: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let fix = &data["errors"][0]["fix"];
    let span = json!({ "line": 8, "column": 42, "end_line": 8, "end_column": 46 });
    assert_eq!((&fix["text"], &fix["span"]), (&json!("text"), &span), "{data:#}");
    scratch.ok(&["workflow", "validate", "w.yaml", "--fix"]);
    let now = std::fs::read_to_string(scratch.path().join("w.yaml")).expect("the file");
    assert_eq!(now, text.replace("txet", "text"));
}
