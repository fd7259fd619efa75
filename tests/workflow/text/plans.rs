//! Tests the plans of workflows.

use mcpkg_base::error::Code;
use mcpkg_workflow::check::checked;
use mcpkg_workflow::plan::{KnownValues, Plan, planned};
use serde_json::{Map, Value, json};

use super::api::Api;

const APP_WITH_DB: &str = "\
workflow: app_with_db
inputs:
  region: {enum: [eu, us]}
  pipeline: {provider: pipelines:list}
  app: {provider: apps:list}
  addon:
    provider: addons:list
  token: {type: secret, optional: true}
steps:
  - {id: look, run: apps:list}
  - id: create_app
    run: apps:create
    if: ${{ !steps.look.output.includes(inputs.app) }}
    with:
      name: ${{ inputs.app }}-${{ inputs.pipeline }}
      region: ${{ inputs.region }}
      token: ${{ inputs.token }}
  - id: add_pg
    run: addons:create
    with:
      app: ${{ steps.create_app.output.id }}
      plan: ${{ inputs.addon }}
final_output: {app: \"${{ steps.create_app.output.id }}\", region: \"${{ inputs.region }}\"}
";

fn map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("{other}"),
    }
}

fn plan_of(api: &Api, text: &str, inputs: Value, outputs: Value) -> mcpkg_base::error::Result<Plan> {
    let given = KnownValues { inputs: map(inputs), outputs: map(outputs), project: Some("p".to_owned()) };
    planned(&checked(text, api)?, api, &given)
}

#[track_caller]
fn plan(inputs: Value, outputs: Value) -> Value {
    let plan = plan_of(&Api::new(), APP_WITH_DB, inputs, outputs)
        .unwrap_or_else(|error| panic!("{error}: {:?}", error.details()));
    serde_json::to_value(plan).expect("a plan")
}

#[test]
fn the_contracts_sample_is_planned_as_expected() {
    let plan = plan(json!({ "region": "us" }), json!({}));
    assert_eq!(plan["inputs_required"], json!(["pipeline", "app", "addon"]));
    let step = &plan["steps"][2];
    assert_eq!(step["id"], "add_pg");
    assert_eq!(step["provider_args"], json!({ "addons:list.app": "steps.create_app.output.id" }));
    assert_eq!(step["notes"][0], "prefer app_id per contract");
}

#[test]
fn steps_are_in_order_with_known_values_filled_in() {
    let plan = plan(json!({ "region": "us", "app": "shop", "token": "env:TOKEN" }), json!({}));
    let ids: Vec<&str> =
        plan["steps"].as_array().expect("steps").iter().map(|step| step["id"].as_str().expect("an id")).collect();
    assert_eq!(ids, ["look", "create_app", "add_pg"]);
    let create = &plan["steps"][1];
    assert_eq!(
        create["with"],
        json!({ "name": "${{ inputs.app }}-${{ inputs.pipeline }}", "region": "us", "token": "inputs.token" })
    );
    assert_eq!(create["unresolved"], json!(["inputs.pipeline", "steps.look.output"]));
    assert_eq!(
        (&create["method"], &create["path"], &create["host"], &create["line"]),
        (&json!("POST"), &json!("/apps"), &json!("api.example.org"), &json!(11))
    );
    assert_eq!(plan["steps"][2]["depends_on"], json!(["create_app"]));
    assert!(!plan.to_string().contains("env:TOKEN"), "{plan}");
    assert_eq!(plan["effects"]["counts"], json!({ "read": 1, "write": 2 }));
    assert_eq!(plan["effects"]["secrets"], json!(["hosting", "inputs.token"]));
    assert_eq!(plan["effects"]["unknown"], json!(["create_app", "add_pg"]));
}

#[test]
fn x31_a_condition_on_an_unknown_value_is_unknown() {
    let runs = |outputs: Value| -> Vec<Value> {
        let plan = plan(json!({ "app": "shop" }), outputs);
        plan["steps"].as_array().expect("steps").iter().map(|step| step["will_run"].clone()).collect()
    };
    assert_eq!(runs(json!({})), [json!(true), json!("unknown"), json!("unknown")]);
    assert_eq!(runs(json!({ "look": [] })), [json!(true), json!(true), json!(true)]);
    assert_eq!(runs(json!({ "look": ["shop"] })), [json!(true), json!(false), json!(false)]);
}

#[test]
fn supplied_outputs_are_filled_in() {
    let plan = plan(json!({ "region": "eu" }), json!({ "look": [], "create_app": { "id": "app-1" } }));
    assert_eq!(plan["steps"][2]["with"]["app"], "app-1");
    assert_eq!(plan["final_output"], json!({ "app": "app-1", "region": "eu" }));
}

#[test]
fn x34_the_hash_is_stable_and_changes_with_the_plan() {
    let hash = |inputs: Value| plan(inputs, json!({}))["plan_hash"].as_str().expect("a hash").to_owned();
    assert_eq!(hash(json!({ "region": "us" })), HASH);
    assert_ne!(hash(json!({ "region": "eu" })), HASH);
    let given = |project: Option<&str>| KnownValues {
        inputs: map(json!({ "region": "us" })),
        outputs: Map::new(),
        project: project.map(str::to_owned),
    };
    let api = Api::new();
    let of = |api: &Api, text: &str, given: &KnownValues| {
        planned(&checked(text, api).expect("a check"), api, given).expect("a plan").plan_hash
    };
    assert_ne!(of(&api, APP_WITH_DB, &given(None)), HASH);
    // The same workflow in JSON has the same hash.
    let json = serde_json::to_string(checked(APP_WITH_DB, &api).expect("a check").definition().expect("a definition"))
        .expect("JSON");
    assert_eq!(of(&api, &json, &given(Some("p"))), HASH);
    let moved = Api::new().with("apps:create", |spec| spec.base_url = Some("https://elsewhere.example.org".to_owned()));
    assert_ne!(of(&moved, APP_WITH_DB, &given(Some("p"))), HASH);
    let graver = Api::new().with("apps:list", |spec| spec.deprecated = true);
    assert_ne!(of(&graver, APP_WITH_DB, &given(Some("p"))), HASH);
}

/// The hash of the plan above with the region `us`.
const HASH: &str = "1585a780b11a9d79a30fda40542a7d60d39487a9c5cf13dcbdba1131a25a758c";

#[test]
fn invalid_inputs_and_outputs_are_refused_by_name() {
    let api = Api::new();
    let refused =
        |text: &str, inputs: Value, outputs: Value| plan_of(&api, text, inputs, outputs).expect_err("a refusal");
    let invalid = refused("workflow: w\nsteps: []\n", json!({}), json!({}));
    assert_eq!(invalid.code(), Code::WorkflowInvalid);
    assert_eq!(invalid.details().expect("details")["errors"][0]["code"], "empty_steps");
    let moon = refused(APP_WITH_DB, json!({ "region": "moon" }), json!({}));
    assert_eq!(
        (moon.code(), moon.message()),
        (Code::InvalidArgument, "The input 'region' must be one of \"eu\", \"us\"")
    );
    let unknown = refused(APP_WITH_DB, json!({ "regoin": "us" }), json!({}));
    assert_eq!(unknown.hints(), ["did you mean 'region'?"]);
    assert_eq!(refused(APP_WITH_DB, json!({}), json!({ "gone": {} })).message(), "The workflow has no step 'gone'");
}

#[test]
fn defaults_are_used_and_derived_values_are_not_asked_for() {
    let text = "\
workflow: w
inputs:
  a: {default: {from: literal, value: x}}
  b: {default: {from: env, value: REGION}}
  c: {default: {from: env, value: GONE}}
  d: {default: {from: history}}
  e: {validate: {required: false}}
steps:
  - id: s
    run: apps:info
    with: {app: \"${{ inputs.a }}/${{ inputs.b }}\"}
    if: inputs.c || inputs.d || inputs.e
";
    let plan = plan_of(&Api::new(), text, json!({}), json!({})).expect("a plan");
    assert_eq!(plan.inputs_required, ["c"]);
    assert_eq!(plan.steps[0].with["app"], "x/eu");
}

#[test]
fn x28_the_plan_shows_how_a_step_is_repeated() {
    let text = "\
workflow: w
steps:
  - {id: list, run: apps:list}
  - id: wait
    run: apps:info
    with: {app: \"${{ steps.list.output[0].id }}\"}
    repeat: {until: steps.wait.output.ready, every: 5, timeout: 2m, max_attempts: 7}
";
    let plan = plan_of(&Api::new(), text, json!({}), json!({})).expect("a plan");
    assert_eq!(plan.steps[1].notes, ["repeated every 5s until its condition is true (limits: 7 attempts, 2m)"]);
}
