//! Tests built-in templates, and a project's own ones.

use serde_json::{Value, json};

use super::{Ground, call};
use crate::support::{Client, Scratch};

fn made(client: &mut Client, name: &str, parameters: Value) -> Value {
    call(client, "use_template", json!({ "name": name, "parameters": parameters }))
}

#[test]
fn the_built_in_templates_make_workflows_without_errors() {
    let ground = Ground::new();
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-11-25");
    let listed = call(&mut client, "list_templates", json!({}));
    let names: Vec<&Value> =
        listed["templates"].as_array().expect("templates").iter().map(|found| &found["name"]).collect();
    assert_eq!(names, ["create_and_wait", "delete_with_guard", "look_before_create"]);
    for (name, parameters, says) in [
        (
            "create_and_wait",
            json!({ "create": "hosting:databases:create", "wait": "hosting:databases:info", "state": "state" }),
            "database_id: ${{ steps.create.output.id }}",
        ),
        (
            "look_before_create",
            json!({ "look": "hosting:apps:list", "create": "hosting:apps:create" }),
            "if: ${{ !steps.look.output }}",
        ),
        (
            "delete_with_guard",
            json!({ "look": "hosting:apps:info", "delete": "hosting:apps:delete" }),
            "if: ${{ steps.look.output.name == inputs.confirm }}",
        ),
    ] {
        let made = made(&mut client, name, parameters);
        let yaml = made["yaml"].as_str().unwrap_or_else(|| panic!("{made}"));
        assert_eq!(made["errors"], json!([]), "{name}\n{yaml}");
        assert!(yaml.contains(says), "{yaml}");
        assert!(yaml.starts_with(&format!("workflow: {name}\n")), "{yaml}");
    }
    client.finish();
}

#[test]
fn parameters_are_checked_against_their_declarations() {
    let ground = Ground::new();
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-11-25");
    let both = |wait: &str| json!({ "create": "hosting:apps:create", "wait": wait });
    for (parameters, code) in [
        (json!({}), "E_INPUTS_REQUIRED"),
        (json!({ "creat": "x" }), "E_INVALID_ARGUMENT"),
        (json!({ "create": 1 }), "E_INVALID_ARGUMENT"),
        (
            json!({ "create": "hosting:apps:create", "wait": "hosting:apps:info", "state": "a == b" }),
            "E_INVALID_ARGUMENT",
        ),
        (both("hosting:nothing"), "E_NOT_FOUND"),
    ] {
        let refused = made(&mut client, "create_and_wait", parameters.clone());
        assert_eq!(refused["error"]["code"], code, "{parameters}: {refused}");
    }
    // In an expression, any text becomes a literal.
    let mut tricky = both("hosting:apps:info");
    tricky["state"] = json!("name");
    tricky["ready"] = json!("it's \"up\" }} == true");
    let made = made(&mut client, "create_and_wait", tricky);
    assert_eq!(made["errors"], json!([]), "{made}");
    let gone = call(&mut client, "use_template", json!({ "name": "create_and_weight" }));
    assert!(gone["error"]["hint"].as_str().is_some_and(|hint| hint.contains("create_and_wait")), "{gone}");
    client.finish();
}

const OURS: &str = "\
template: ours
title: Ours
parameters:
  list: {type: command}
  word: {type: string, default: x}
workflow:
  workflow: ours
  steps:
    - {id: look, run: $(list)}
fixtures:
  none: {step_outputs: {look: [$(word)]}, expect: {will_run: {look: true}}}
";

#[test]
fn a_project_keeps_templates_of_its_own() {
    let scratch = Scratch::with_project();
    scratch.file("ours.yaml", OURS);
    scratch.ok(&["template", "add", "ours.yaml"]);
    assert_eq!(scratch.ok(&["template", "show", "ours"]), OURS);
    let used = scratch.json(&["template", "use", "ours", "--set", "list=mcpkg:prompt:list", "--set", "word=7"]);
    assert_eq!(used["fixtures"]["none"]["step_outputs"]["look"], json!(["7"]));
    assert!(used["yaml"].as_str().expect("a text").contains("run: mcpkg:prompt:list"));
    scratch.file("ours.yaml", OURS.replace("Ours", "More"));
    let there = scratch.run(&["template", "add", "ours.yaml"]);
    assert!(there.status == 1 && there.stderr.contains("--update"), "{there}");
    scratch.ok(&["template", "add", "ours.yaml", "--update"]);
    scratch.ok(&["check", "--deep"]);
    // A project's template with a built-in name takes precedence until it is removed.
    scratch.file("wait.yaml", OURS.replace("template: ours", "template: create_and_wait"));
    scratch.ok(&["template", "add", "wait.yaml"]);
    assert!(scratch.ok(&["template", "show", "create_and_wait"]).contains("title: Ours"));
    scratch.ok(&["template", "remove", "create_and_wait", "--yes"]);
    assert!(scratch.ok(&["template", "show", "create_and_wait"]).contains("Create and wait"));
    let built_in = scratch.run(&["template", "remove", "create_and_wait", "--yes"]);
    assert!(built_in.status != 0 && built_in.stderr.contains("is built in"), "{built_in}");
    for (text, says) in [
        ("template: a\nworkflow: {}\nparams: {}\n", "unknown field `params`"),
        ("template: a\nworkflow: {workflow: $(nam)}\nparameters: {name: {type: string}}\n", "did you mean `$(name)`?"),
        ("template: a\nworkflow: {}\nparameters: {x: {type: arguments}}\n", "type `arguments` requires `of`"),
        ("template: two words\nworkflow: {}\n", "is not a valid template name"),
    ] {
        scratch.file("bad.yaml", text);
        let refused = scratch.run(&["template", "add", "bad.yaml"]);
        assert!(refused.status != 0 && refused.stderr.contains(says), "{text}\n{refused}");
    }
}
