//! Tests the form view of a workflow: its rows, the suggestions for each row, and edits that keep the rest of the text.

use serde_json::{Value, json};

use super::Ground;
use crate::support::Scratch;

const TEXT: &str = "\
# the shop's app
workflow: app_with_db
inputs:
  name: {}   # asked each time
  region: {enum: [eu, us], default: {from: literal, value: eu}}
steps:
  - id: create_app
    run: hosting:apps:create
    if: inputs.name
    with:
      name: ${{ inputs.name }}
      region: ${{ inputs.regoin }}
  - id: add_db
    run: hosting:databases:create
    with: {plan: small}
";

fn ground() -> Ground {
    let ground = Ground::new();
    ground.scratch.ok(&["project", "select", "p"]);
    ground.scratch.file("app.yaml", TEXT);
    ground
}

fn rows<'v>(list: &'v Value, key: &str) -> Vec<&'v str> {
    list.as_array().expect("rows").iter().map(|row| row[key].as_str().expect("a text")).collect()
}

/// Returns the text after `mcpkg workflow set app.yaml` with these arguments.
fn set(scratch: &Scratch, arguments: &[&str]) -> String {
    scratch.ok(&[&["workflow", "set", "app.yaml"], arguments].concat())
}

#[test]
fn a_workflow_is_described_as_rows_with_type_requirement_and_value() {
    let ground = ground();
    let found = ground.scratch.json(&["workflow", "describe", "app.yaml"]);
    assert_eq!((&found["workflow"], rows(&found["inputs"], "name")), (&json!("app_with_db"), vec!["name", "region"]));
    let region = &found["inputs"][1];
    assert_eq!(
        (&region["pointer"], &region["needed"], &region["values"], &region["default"], &region["line"]),
        (&json!("/inputs/region"), &json!(false), &json!(["eu", "us"]), &json!("\"eu\""), &json!(5))
    );
    let step = &found["steps"][0];
    assert_eq!((&step["method"], &step["path"], &step["effect"]), (&json!("POST"), &json!("/apps"), &json!("write")));
    assert_eq!(rows(&step["fields"], "name"), ["if"]);
    let argument = |name: &str| {
        let arguments = step["arguments"].as_array().expect("arguments");
        arguments.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("{name} in {step:#}")).clone()
    };
    let region = argument("region");
    assert_eq!(
        (&region["value"], &region["needed"], &region["line"], &region["column"]),
        (&json!("inputs.regoin"), &json!(true), &json!(12), &json!(7))
    );
    let stack = argument("stack");
    assert_eq!((&stack["default"], stack.get("value"), stack.get("line")), (&json!("\"stack-24\""), None, None));
    // An incomplete text also has a form.
    ground.scratch.file("app.yaml", TEXT.replace("    if: inputs.name", "    if: [}"));
    assert_eq!(ground.scratch.json(&["workflow", "describe", "app.yaml"])["steps"][0]["id"], "create_app");
    let shown = ground.scratch.ok(&["workflow", "describe", "app.yaml"]);
    assert!(shown.contains("Step 1: create_app  hosting:apps:create  POST /apps  writes"), "{shown}");
}

#[test]
fn a_value_is_set_in_its_place_and_the_rest_stays() {
    let ground = ground();
    let scratch = &ground.scratch;
    let region = TEXT.replace("inputs.regoin", "inputs.region");
    assert_eq!(set(scratch, &["/steps/0/with/region", "inputs.region"]), region);
    let found = scratch.json(&["workflow", "set", "app.yaml", "/steps/0/with/region", "inputs.region"]);
    let span = &found["edits"][0]["span"];
    assert_eq!((&span["line"], &span["column"], &span["end_column"]), (&json!(12), &json!(15), &json!(35)), "{found}");
    // Add an argument, and the input that it uses.
    assert_eq!(
        set(scratch, &["/steps/1/with/app_id", "inputs.app", "--new-input"]),
        TEXT.replace("{plan: small}", "{plan: small, app_id: \"${{ inputs.app }}\"}")
            .replace("value: eu}}\n", "value: eu}}\n  app:\n    provider: hosting:apps:list\n")
    );
    assert_eq!(set(scratch, &["/inputs/region/default", "us"]), TEXT.replace("value: eu", "value: us"));
    assert_eq!(
        set(scratch, &["/steps/-", "hosting apps list"]),
        format!("{TEXT}  - id: apps_list\n    run: hosting:apps:list\n")
    );
    assert_eq!(
        set(scratch, &["/steps/0/with/region", "--remove"]),
        TEXT.replace("      region: ${{ inputs.regoin }}\n", "")
    );
    scratch.ok(&["workflow", "set", "app.yaml", "/steps/1/with/plan", "large", "--write"]);
    let written = std::fs::read_to_string(scratch.path().join("app.yaml")).expect("a file");
    assert_eq!(written, TEXT.replace("small", "large"));
    let refused = scratch.run(&["workflow", "set", "app.yaml", "/steps/7/with/plan", "large"]);
    assert!(refused.status == 2 && refused.stderr.contains("cannot be changed by itself"), "{refused}");
}

#[test]
fn suggestions_are_ranked_by_tag_and_follow_the_cursor() {
    let ground = ground();
    let suggest = |arguments: &[&str]| ground.scratch.json(&[&["workflow", "suggest", "app.yaml"], arguments].concat());
    let found = suggest(&["--pointer", "/steps/1/with/app_id"]);
    let first = &found["values"][0];
    assert_eq!(
        (&first["value"], &first["tags"]),
        (&json!("steps.create_app.output.id"), &json!(["app_id"])),
        "{found:#}"
    );
    assert!(rows(&found["values"], "value").contains(&"inputs.name"));
    assert_eq!(found["providers"][0]["id"], "hosting:apps:list");
    let request = found["providers"][0]["request"].as_str().expect("a request");
    assert!(request.starts_with("GET 127.0.0.1:") && request.ends_with("/apps"), "{request}");
    let commands = suggest(&["--pointer", "/steps/-", "--partial", "apps create"]);
    assert_eq!(commands["values"][0]["value"], "hosting:apps:create", "{commands:#}");
    // Suggest while the user types: a command, the name of an argument, a path.
    ground.scratch.file("app.yaml", format!("{TEXT}  - id: x\n    run: hosting:apps:cre\n    with:\n      na\n"));
    let command = suggest(&["--line", "17", "--column", "26"]);
    assert_eq!(
        (&command["values"][0]["text"], &command["span"]["column"]),
        (&json!("hosting:apps:create"), &json!(10))
    );
    ground.scratch.file("app.yaml", format!("{TEXT}  - id: x\n    run: hosting:apps:create\n    with:\n      na\n"));
    let argument = suggest(&["--line", "19", "--column", "9"]);
    assert_eq!(argument["values"][0]["text"], "name: ", "{argument:#}");
    let path = suggest(&["--line", "12", "--column", "28"]);
    assert_eq!(path["values"][0]["text"], "inputs.region", "{path:#}");
    assert_eq!((&path["span"]["column"], &path["span"]["end_column"]), (&json!(19), &json!(32)));
}

#[test]
fn a_provider_runs_only_if_its_values_are_requested() {
    let ground = ground();
    let before = ground.api.seen().len();
    ground.scratch.json(&["workflow", "suggest", "app.yaml", "--pointer", "/steps/1/with/app_id"]);
    assert_eq!(ground.api.seen().len(), before);
    let values = ["workflow", "values", "app.yaml", "hosting:apps:list", "--pointer", "/steps/1/with/app_id"];
    let found = ground.scratch.json(&values);
    assert!(ground.api.seen().len() > before);
    assert!(found["values"].is_array() && found["provider"] == "hosting:apps:list", "{found}");
}

#[test]
fn a_save_fails_if_it_names_an_outdated_revision() {
    let ground = ground();
    let scratch = &ground.scratch;
    let text = TEXT.replace("regoin", "region").replace("{plan: small}", "{plan: small, app_id: a}");
    scratch.file("app.yaml", &text);
    let import = |revision: &str| scratch.run(&["workflow", "import", "app.yaml", "--update", "--revision", revision]);
    let missing = import("3");
    assert!(missing.status == 1 && missing.stderr.contains("does not exist; nothing was imported"), "{missing}");
    assert_eq!(import("0").status, 0);
    let exists = import("0");
    assert!(exists.stderr.contains("exists, at revision 1; nothing was imported"), "{exists}");
    scratch.file("app.yaml", text.replace("small", "large"));
    assert_eq!(import("1").status, 0);
    let overtaken = import("1");
    assert!(
        overtaken.stderr.contains("is at revision 2, not 1")
            && overtaken.stderr.contains("workflow diff app_with_db 1 2")
    );
    // A text that is not saved can also be compared by meaning.
    scratch.file("app.yaml", &text);
    let found = scratch.json(&["workflow", "diff", "app_with_db", "--with", "app.yaml"]);
    assert_eq!(found["summary"], json!(["step 'add_db': with.plan changed: \"large\" -> \"small\""]));
    // An edit of a draft is refused too if it names an outdated revision.
    let draft = scratch.json(&["draft", "add", "app.yaml", "--replaces", "app_with_db"]);
    let id = draft["id"].as_str().expect("an id");
    let edit = scratch.run(&["draft", "edit", id, "--from", "app.yaml", "--revision", "1"]);
    assert!(edit.status == 1 && edit.stderr.contains("is at revision 2, not 1; nothing was changed"), "{edit}");
    assert_eq!(scratch.run(&["draft", "edit", id, "--from", "app.yaml", "--revision", "2"]).status, 0);
}
