//! Tests the operations that check, plan and render workflows, in the shell and as tools.

use serde_json::{Value, json};

use crate::support::{Client, Scratch};

const BAD: &str = "workflow: w\nsteps:\n  - id: a\n    run: mcpkg:nothing:here\n    condition: \"1 == 1\"\n";

#[test]
fn mistakes_are_shown_like_compiler_errors_and_fixed_if_certain() {
    let scratch = Scratch::with_project();
    scratch.file("app.yaml", BAD);
    let ran = scratch.run(&["workflow", "validate", "app.yaml"]);
    assert_eq!(ran.status, 1, "{ran}");
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert!(lines[0].starts_with("app.yaml:4:10: error: there is no command `mcpkg:nothing:here`"), "{ran}");
    assert!(lines.contains(&"app.yaml:5:5: error: `condition` has no meaning here; use `if` [reserved_key]"), "{ran}");
    assert_eq!(lines.last(), Some(&"app.yaml: 2 errors, 0 warnings"), "{ran}");
    assert!(ran.stderr.contains("mcpkg workflow validate app.yaml --fix"), "{ran}");
    let ran = scratch.run(&["workflow", "validate", "app.yaml", "--fix"]);
    assert!(ran.stdout.starts_with("app.yaml: 1 fix applied\n"), "{ran}");
    let mended = std::fs::read_to_string(scratch.path().join("app.yaml")).expect("a file");
    assert_eq!(mended, BAD.replace("condition", "if"));
    let ran = scratch.run(&["workflow", "validate", "gone.yaml"]);
    assert!(ran.stderr.contains("gone.yaml"), "{ran}");
    let ran = scratch.run(&["workflow", "validate", "-", "--fix"]);
    assert_eq!(ran.status, 2, "{ran}");
}

#[test]
fn a_text_that_is_not_utf_8_is_refused() {
    let scratch = Scratch::with_project();
    std::fs::write(scratch.path().join("binary.yaml"), b"workflow: \xff\xfe").expect("a file");
    let ran = scratch.run(&["workflow", "validate", "binary.yaml"]);
    assert!(ran.status != 0 && ran.stderr.contains("invalid byte at 10"), "{ran}");
}

#[test]
fn the_contracts_draft_is_written_to_the_byte() {
    let scratch = Scratch::with_project();
    let mut client = Client::start(&scratch, &[]).shake_hands("2025-11-25");
    let draft = json!({ "draft": { "workflow": "app_with_db", "inputs": [], "steps": [] } });
    let answer = client.result("tools/call", json!({ "name": "render_yaml", "arguments": draft }));
    assert_eq!(
        answer["structuredContent"],
        json!({ "schema_version": "1.0", "yaml": "workflow: app_with_db", "inputs": [], "steps": [] })
    );
    let both = json!({ "draft": {}, "yaml": "" });
    let answer = client.result("tools/call", json!({ "name": "render_yaml", "arguments": both }));
    assert_eq!(
        (&answer["isError"], &answer["structuredContent"]["error"]["category"]),
        (&json!(true), &json!("validation"))
    );
    client.finish();
    scratch.file("draft.json", r#"{"workflow": "app_with_db", "inputs": [], "steps": []}"#);
    assert_eq!(scratch.ok(&["workflow", "render", "draft.json"]), "workflow: app_with_db\n");
}

#[test]
fn mistakes_are_a_result_and_an_impossible_plan_is_an_error() {
    let scratch = Scratch::with_project();
    let mut client = Client::start(&scratch, &[]).shake_hands("2025-11-25");
    let call = |client: &mut Client, name: &str, arguments: Value| {
        client.result("tools/call", json!({ "name": name, "arguments": arguments }))
    };
    let answer = call(&mut client, "validate_workflow", json!({ "yaml": BAD }));
    let found = &answer["structuredContent"];
    assert_eq!((&answer["isError"], &found["schema_version"]), (&json!(false), &json!("1.0")), "{answer}");
    assert_eq!(found["errors"][0]["code"], "unknown_command");
    assert_eq!((&found["errors"][1]["line"], &found["errors"][1]["column"]), (&json!(5), &json!(5)));
    assert_eq!(found["warnings"], json!([]));
    let answer = call(&mut client, "dry_run", json!({ "yaml": BAD, "sample_inputs": {} }));
    let error = &answer["structuredContent"]["error"];
    assert_eq!((&answer["isError"], &error["code"]), (&json!(true), &json!("E_WORKFLOW_INVALID")), "{answer}");
    assert_eq!(error["details"]["errors"][0]["code"], "unknown_command");
    // The tool's argument is the text itself, and never the path of a file.
    scratch.file("app.yaml", "workflow: w\nsteps: []\n");
    let answer = call(&mut client, "validate_workflow", json!({ "yaml": "app.yaml" }));
    assert_eq!(answer["structuredContent"]["errors"][0]["code"], "wrong_type", "{answer}");
    client.finish();
}

#[test]
fn the_schema_of_a_workflow_is_a_resource() {
    let scratch = Scratch::with_project();
    let mut client = Client::start(&scratch, &[]).shake_hands("2025-11-25");
    let uri = "mcpkg://schema/workflow";
    // The schema is listed among the templates, because the list of resources contains only the user's own.
    let listed = client.result("resources/templates/list", json!({}));
    assert!(listed["resourceTemplates"].to_string().contains(uri), "{listed}");
    let read = client.result("resources/read", json!({ "uri": uri }));
    let schema: Value = serde_json::from_str(read["contents"][0]["text"].as_str().expect("a text")).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let full = mcpkg_workflow::yaml::read(include_str!("../golden/full.yaml")).value.expect("a value");
    let mut normal = full.clone();
    // Fields that are null are left out, and `when` is a synonym for `if`.
    normal["inputs"]["addons"].as_object_mut().expect("an input").remove("description");
    let steps = normal["steps"].as_array_mut().expect("steps");
    let when = steps[1].as_object_mut().expect("a step").remove("when").expect("when");
    steps[1]["if"] = when;
    if let Err(error) = validator.validate(&normal) {
        panic!("{error} at {}", error.instance_path());
    }
    assert!(!validator.is_valid(&json!({ "workflow": "w" })));
    client.finish();
}
