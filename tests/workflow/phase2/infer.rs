//! Tests workflows that are inferred from recorded runs.

use serde_json::{Value, json};

use super::{APP, Ground, call, run};
use crate::support::Client;

#[test]
fn a_workflow_is_inferred_from_its_own_run() {
    let ground = Ground::new();
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-11-25");
    let ran = run(&ground, &mut client, APP, json!({ "name": "web" }));
    let inferred =
        call(&mut client, "infer_workflow_from_session", json!({ "session_log": [ran["run"]], "name": "again" }));
    let draft = &inferred["draft"];
    assert_eq!(draft["workflow"], "again");
    let steps = draft["steps"].as_array().expect("steps");
    assert_eq!((&steps[0]["id"], &steps[0]["run"]), (&json!("create_app"), &json!("hosting:apps:create")), "{draft:#}");
    assert_eq!(steps[1]["with"]["app_id"], "${{ steps.create_app.output.id }}", "{draft:#}");
    let inputs: Vec<&Value> = draft["inputs"].as_array().expect("inputs").iter().map(|input| &input["name"]).collect();
    assert_eq!(inputs, ["name", "region", "plan"]);
    assert_eq!(draft["inputs"][0]["example"], "web");
    let told = draft["diagnostics"].as_array().expect("diagnostics");
    let of_reference = told.iter().find(|told| told["argument"] == "app_id").expect("a diagnostic");
    assert_eq!(of_reference["confidence"], "high", "{of_reference}");
    // The draft has the format of contract 004, so tools that take a draft accept it.
    let rendered = call(&mut client, "render_yaml", json!({ "draft": draft }));
    assert_eq!(rendered["yaml"], inferred["yaml"], "{rendered}");
    assert_eq!(rendered.get("warnings"), None, "{rendered}");
    let checked = call(&mut client, "validate_workflow", json!({ "yaml": inferred["yaml"] }));
    assert_eq!(checked["errors"], json!([]));
    // The same runs give the same workflow, even if nobody names the runs.
    let newest = call(&mut client, "infer_workflow_from_session", json!({ "name": "again" }));
    assert_eq!(newest, inferred);
    let shell = ground.scratch.ok(&["workflow", "infer", "--since", "1h", "--name", "again"]);
    assert_eq!(shell.trim_end(), inferred["yaml"].as_str().expect("a text"));
    client.finish();
}

#[test]
fn unused_reads_are_left_out_and_secrets_become_inputs() {
    let ground = Ground::new();
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-11-25");
    let token = format!("ghp_{}", "a1B2c3D4e5".repeat(4));
    let log = json!([
        { "command": "hosting:apps:list", "output": [{ "id": "app-0001", "name": "old" }] },
        { "command": "hosting:pipelines:list", "output": [] },
        { "command": "hosting:gone", "args": {} },
        {
            "command": "hosting:apps:create",
            "args": { "name": token, "region": "eu", "env": { "LEVEL": "debug", "API_KEY": "***" } },
            "output": { "id": "app-0002" },
        },
        { "command": "hosting:apps:logs:create", "args": { "app_id": "app-0001" } },
        { "command": "hosting:apps:info", "args": { "app_id": "app-0002" }, "output": { "id": "app-0002" } },
    ]);
    let inferred = call(&mut client, "infer_workflow_from_session", json!({ "session_log": log }));
    let draft = &inferred["draft"];
    let runs: Vec<&Value> = draft["steps"].as_array().expect("steps").iter().map(|step| &step["run"]).collect();
    assert_eq!(runs, ["hosting:apps:list", "hosting:apps:create", "hosting:apps:logs:create"], "{draft:#}");
    assert_eq!(draft["steps"][2]["with"]["app_id"], "${{ steps.apps_list.output[0].id }}");
    assert!(!inferred.to_string().contains("ghp_"), "{inferred:#}");
    assert_eq!((&draft["inputs"][0]["name"], &draft["inputs"][0]["type"]), (&json!("name"), &json!("secret")));
    // Within a mapping, only the secret becomes an input.
    let env = json!({ "LEVEL": "debug", "API_KEY": "${{ inputs.api_key }}" });
    assert_eq!(draft["steps"][1]["with"]["env"], env, "{draft:#}");
    let key = draft["inputs"].as_array().expect("inputs").iter().find(|input| input["name"] == "api_key");
    assert_eq!(key.expect("the input")["type"], "secret", "{draft:#}");
    let told = draft["diagnostics"].to_string();
    for said in ["skipped hosting:gone", "skipped hosting:pipelines:list", "one element of a list", "\"low\""] {
        assert!(told.contains(said), "{said}: {told}");
    }
    client.finish();
}

#[test]
fn an_invalid_log_is_refused() {
    let ground = Ground::new();
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-11-25");
    for (arguments, code) in [
        (json!({}), "E_NOT_FOUND"),
        (json!({ "session_log": ["0199c0de-7d1c-7b3a-9d5e-3f2a1b4c5d6e"] }), "E_NOT_FOUND"),
        (json!({ "session_log": [1] }), "E_INVALID_ARGUMENT"),
        (json!({ "session_log": [{ "command": "x", "with": {} }] }), "E_INVALID_ARGUMENT"),
        (json!({ "session_log": [{ "command": "hosting:gone" }] }), "E_NOT_FOUND"),
        (json!({ "since": "soon" }), "E_INVALID_ARGUMENT"),
        (json!({ "name": "two words" }), "E_INVALID_ARGUMENT"),
    ] {
        let refused = call(&mut client, "infer_workflow_from_session", arguments.clone());
        assert_eq!(refused["error"]["code"], code, "{arguments}: {refused}");
    }
    client.finish();
}
