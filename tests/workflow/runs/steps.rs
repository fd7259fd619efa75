//! Tests runs of a saved workflow, of a draft, and of a single step with given outputs or those of an earlier run.

use serde_json::{Value, json};

use super::{Ground, code, create, execute, with_nonce};
use crate::support::api::Trouble;
use crate::support::{Client, at_a_terminal, skipped};

/// Creates an app and a database for it, and reads the app.
pub const TEXT: &str = "\
workflow: app_with_db
inputs:
  region: { type: string }
  plan: { type: string }
steps:
  - id: create_app
    run: hosting:apps:create
    with: { name: web, region: '${{ inputs.region }}' }
  - id: add_db
    run: hosting:databases:create
    with: { plan: '${{ inputs.plan }}', app_id: '${{ steps.create_app.output.id }}' }
  - id: look
    run: hosting:apps:info
    if: steps.add_db.output.id
    with: { app_id: '${{ steps.create_app.output.id }}' }
final_output: ${{ steps.look.output.name }}
";

/// Makes a call with a person's consent.
#[track_caller]
fn approved(ground: &Ground, client: &mut Client, arguments: &Value) -> Value {
    let asked = execute(client, arguments.clone());
    assert_eq!(code(&asked), "E_CONSENT_REQUIRED", "{asked}");
    ground.approve(&asked);
    execute(client, with_nonce(arguments, &asked))
}

fn saved(ground: &Ground) {
    ground.scratch.file("app.yaml", TEXT);
    ground.scratch.ok(&["workflow", "import", "app.yaml"]);
}

#[test]
fn a_saved_workflow_and_a_draft_are_run_by_their_names() {
    let ground = Ground::new();
    saved(&ground);
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    let inputs = json!({ "region": "eu", "plan": "small" });
    let arguments = json!({ "workflow": "app_with_db", "inputs": inputs });
    let done = approved(&ground, &mut client, &arguments);
    assert_eq!((&done["state"], &done["final_output"]), (&json!("succeeded"), &json!("web")), "{done}");
    let (text, failed) = client.call(
        "propose_workflow",
        json!({ "yaml": TEXT.replace("name: web", "name: api").replace("workflow: app_with_db", "workflow: other") }),
    );
    assert!(!failed, "{text}");
    let proposed: Value = serde_json::from_str(&text).expect("JSON");
    let id = proposed["id"].as_str().expect("an id").to_owned();
    let draft = json!({ "draft_id": id, "inputs": inputs });
    let done = approved(&ground, &mut client, &draft);
    assert_eq!(done["final_output"], "api", "{done}");
    assert_eq!(ground.api.apps(), 2);
    // A rejected draft cannot be run any more.
    ground.scratch.ok(&["draft", "reject", &id]);
    assert_eq!(code(&execute(&mut client, draft)), "E_DRAFT_STALE");
    let near = execute(&mut client, json!({ "workflow": "app_with_d" }));
    assert_eq!(code(&near), "E_NOT_FOUND", "{near}");
    client.finish();
}

#[test]
fn one_step_runs_with_given_outputs() {
    let ground = Ground::new();
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    let step = |more: Value| {
        let mut arguments = json!({ "yaml": TEXT, "step": "add_db" });
        arguments.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        arguments
    };
    let missing = execute(&mut client, step(json!({})));
    let details = &missing["error"]["details"];
    assert_eq!(code(&missing), "E_INPUTS_REQUIRED", "{missing}");
    // Only the inputs that the step uses are needed.
    assert_eq!(details["inputs_required"], json!(["plan"]), "{missing}");
    assert_eq!(details["outputs_required"], json!(["steps.create_app.output.id"]), "{missing}");
    let given = json!({ "inputs": { "plan": "small" }, "step_outputs": { "create_app": { "id": "app-9" } } });
    let done = approved(&ground, &mut client, &step(given));
    assert_eq!(done["final_output"]["app_id"], "app-9", "{done}");
    assert_eq!((done["steps"].as_array().map(Vec::len), ground.changes()), (Some(1), 1), "{done}");
    let lacking = json!({ "inputs": { "plan": "small" }, "step_outputs": { "create_app": { "name": "web" } } });
    assert_eq!(code(&execute(&mut client, step(lacking))), "E_INPUTS_REQUIRED");
    for (wrong, why) in
        [(json!({ "step": "add_d" }), "E_NOT_FOUND"), (json!({ "step_outputs": { "gone": {} } }), "E_INVALID_ARGUMENT")]
    {
        assert_eq!(code(&execute(&mut client, step(wrong.clone()))), why, "{wrong}");
    }
    client.finish();
    let run = ground.run();
    assert_eq!(run["name"], "app_with_db/add_db");
}

#[test]
fn one_step_runs_with_the_outputs_of_an_earlier_run() {
    let ground = Ground::new();
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    let whole = json!({ "yaml": TEXT, "inputs": { "region": "eu", "plan": "small" } });
    let done = approved(&ground, &mut client, &whole);
    let run = done["run"].as_str().expect("an id").to_owned();
    let before = ground.changes();
    let again = approved(&ground, &mut client, &json!({ "run": run, "step": "look" }));
    assert_eq!(again["final_output"]["name"], "web", "{again}");
    assert_eq!(ground.changes(), before);
    // Given outputs take precedence over those of the earlier run.
    let other = json!({ "run": run, "step": "look", "step_outputs": { "create_app": { "id": "gone" } } });
    assert_eq!(code(&approved(&ground, &mut client, &other)), "E_STEP_FAILED");
    // A damaged output is an error. Without the output, the step would do something else.
    assert!(
        ground.scratch.change("UPDATE run_step SET secrets = '7' WHERE name = 'create_app' AND secrets IS NOT NULL")
            >= 1
    );
    let damaged = execute(&mut client, json!({ "run": run, "step": "look" }));
    assert_eq!(code(&damaged), "E_DAMAGED", "{damaged}");
    assert!(ground.scratch.change("UPDATE run_step SET secrets = '[]' WHERE secrets = '7'") >= 1);
    client.finish();
    // The shell's command asks for consent too. `--of` without `--step` is a usage error.
    let mut command = ground.scratch.command();
    command.args(["workflow", "run", "--step", "look", "--of", &run]);
    let Some((shown, ended_well)) = at_a_terminal(&command, "y\n") else {
        return skipped("there is no script of util-linux");
    };
    assert!(
        ended_well && shown.contains("Run the step look of the workflow app_with_db (hosting:apps:info, reads: GET"),
        "{shown}"
    );
    let shell = ground.scratch.run(&["workflow", "run", "--of", &run]);
    assert_eq!(shell.status, 2, "{shell}");
}

#[test]
fn conflicting_arguments_are_refused() {
    let ground = Ground::new();
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    for wrong in [
        json!({}),
        json!({ "workflow": "a", "yaml": TEXT }),
        json!({ "workflow": "a", "draft_id": "b" }),
        json!({ "command": "hosting:apps:list", "inputs": {} }),
        json!({ "command": "hosting:apps:list", "step": "a" }),
        json!({ "command": "hosting:apps:list", "run": "x", "step": "a" }),
        json!({ "yaml": TEXT, "args": {} }),
        json!({ "yaml": TEXT, "step_outputs": {} }),
        json!({ "yaml": TEXT, "run": "x" }),
        json!({ "run": "x", "inputs": {} }),
        json!({ "step": "a" }),
    ] {
        assert_eq!(code(&execute(&mut client, wrong.clone())), "E_INVALID_ARGUMENT", "{wrong}");
    }
    client.finish();
    assert_eq!(ground.changes(), 0);
}

#[test]
fn the_placeholder_for_a_secret_of_an_earlier_run_is_not_sent() {
    let ground = Ground::new();
    let text = "\
workflow: w
steps:
  - id: token
    run: hosting:apps:info
    with: { app_id: app-1 }
    output_contract: { fields: [{ name: token, type: string }] }
  - id: use
    run: hosting:apps:create
    with: { name: '${{ steps.token.output.token }}', region: eu }
";
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    ground.api.trouble([crate::support::api::Trouble::Status(
        200,
        vec![("content-type", "application/json".to_owned())],
        "{\"id\": \"app-1\", \"token\": \"s3cr3t-of-the-answer\"}",
    )]);
    let done = approved(&ground, &mut client, &json!({ "yaml": text }));
    let run = done["run"].as_str().expect("an id").to_owned();
    assert_eq!(ground.api.apps(), 1, "{done}");
    let lost = approved(&ground, &mut client, &json!({ "run": run, "step": "use" }));
    assert_eq!((code(&lost), &lost["error"]["details"]["code"]), ("E_STEP_FAILED", &json!("E_SECRET_LOST")), "{lost}");
    assert_eq!(ground.api.apps(), 1);
    client.finish();
}

#[test]
fn the_api_answer_to_a_failed_step_is_shown_without_secrets() {
    const BODY: &str = r#"{"message": "no such region", "token": "hunter2222"}"#;
    let ground = Ground::new();
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    let asked = execute(&mut client, create());
    ground.approve(&asked);
    ground.api.trouble([Trouble::Status(422, Vec::new(), BODY)]);
    let failed = execute(&mut client, with_nonce(&create(), &asked));
    client.finish();
    let shown = r#"{"message":"no such region","token":"***"}"#;
    let (error, details) = (&failed["error"], &failed["error"]["details"]);
    assert_eq!((&details["status"], &details["excerpt"]), (&json!(422), &json!(shown)), "{error}");
    assert!(error["message"].as_str().is_some_and(|said| said.ends_with(&format!("Entity: {shown}"))), "{error}");
    let run = ground.run();
    let attempt = &run["steps"][0]["attempts"][0];
    assert_eq!((&attempt["excerpt"], &attempt["bytes"]), (&json!(shown), &json!(BODY.len())), "{attempt}");
    assert_eq!(attempt["sha256"].as_str().map(str::len), Some(64), "{attempt}");
    let told = ground.scratch.ok(&["workflow", "runs", run["run"].as_str().expect("an id")]);
    assert!(told.contains(&format!("    it answered: {shown}\n")), "{told}");
    let all = format!("{failed} {run} {told}");
    assert!(!all.contains("hunter"), "{all}");
}
