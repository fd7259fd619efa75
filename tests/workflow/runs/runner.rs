//! Tests how a run works: order, conditions, repeats, and the state after a process was killed.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use super::{Ground, code, execute, with_nonce};
use crate::support::api::Trouble;
use crate::support::{Client, eventually, signal};

/// Creates an app and a database, waits for the database, and reads both.
const WORKFLOW: &str = "\
workflow: app_with_db
inputs:
  region: { type: string }
  logs: { type: boolean, optional: true }
steps:
  - id: create_app
    run: hosting:apps:create
    with: { name: web, region: '${{ inputs.region }}' }
  - id: add_db
    run: hosting:databases:create
    with: { plan: small, app_id: '${{ steps.create_app.output.id }}' }
  - id: ready
    run: hosting:databases:info
    with: { database_id: '${{ steps.add_db.output.id }}' }
    repeat: { until: '${{ steps.ready.output.state == \"ready\" }}', every: 100ms, timeout: 20s }
  - id: logs
    run: hosting:apps:logs:list
    if: inputs.logs
    with: { app_id: '${{ steps.create_app.output.id }}' }
  - id: look
    run: hosting:apps:info
    with: { app_id: '${{ steps.create_app.output.id }}' }
final_output:
  app: ${{ steps.look.output.name }}
  state: ${{ steps.ready.output.state }}
";

fn arguments() -> Value {
    json!({ "yaml": WORKFLOW, "inputs": { "region": "eu" }, "wait_s": 0 })
}

/// Requests the workflow, approves it, and returns the arguments that run it.
fn approved(ground: &Ground, client: &mut Client) -> Value {
    let asked = execute(client, arguments());
    assert_eq!(code(&asked), "E_CONSENT_REQUIRED", "{asked}");
    ground.approve(&asked);
    with_nonce(&arguments(), &asked)
}

#[test]
fn steps_run_in_order_and_use_earlier_outputs() {
    let ground = Ground::new();
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    let missing = execute(&mut client, json!({ "yaml": WORKFLOW }));
    assert_eq!(
        (code(&missing), &missing["error"]["details"]["inputs_required"]),
        ("E_INPUTS_REQUIRED", &json!(["region"]))
    );
    let arguments = approved(&ground, &mut client);
    let done = execute(&mut client, arguments);
    assert_eq!(done["final_output"], json!({ "app": "web", "state": "ready" }), "{done}");
    let steps: Vec<_> = done["steps"]
        .as_array()
        .expect("steps")
        .iter()
        .map(|step| (&step["id"], &step["state"], &step["attempts"]))
        .collect();
    assert_eq!(
        json!(steps),
        json!([
            ["create_app", "succeeded", 1],
            ["add_db", "succeeded", 1],
            ["ready", "succeeded", 3],
            ["logs", "skipped", 0],
            ["look", "succeeded", 1],
        ])
    );
    assert!(done["steps"][3]["reason"].as_str().is_some_and(|why| why.contains("inputs.logs is missing")), "{done}");
    // The result does not repeat the inputs.
    assert!(done.get("inputs").is_none());
    client.finish();
}

#[test]
fn a_repeat_without_a_condition_does_not_repeat() {
    let ground = Ground::new();
    let text =
        "workflow: w\nsteps:\n  - id: a\n    run: hosting:apps:list\n    repeat: { every: 10ms, max_attempts: 5 }\n";
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    let arguments = json!({ "yaml": text });
    let asked = execute(&mut client, arguments.clone());
    ground.approve(&asked);
    let done = execute(&mut client, with_nonce(&arguments, &asked));
    assert_eq!((&done["state"], ground.api.seen().len()), (&json!("succeeded"), 1), "{done}");
    client.finish();
}

#[test]
fn a_failed_step_skips_what_needs_it_and_fails_the_run() {
    let ground = Ground::new();
    ground.api.trouble([Trouble::Status(500, Vec::new(), "{}")]);
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    let arguments = approved(&ground, &mut client);
    let failed = execute(&mut client, arguments);
    assert_eq!(code(&failed), "E_STEP_FAILED", "{failed}");
    assert_eq!(failed["error"]["details"]["step"], "create_app", "{failed}");
    let run = ground.run();
    let states: Vec<&Value> = run["steps"].as_array().expect("steps").iter().map(|step| &step["state"]).collect();
    assert_eq!(json!(states), json!(["failed", "skipped", "skipped", "skipped", "skipped"]));
    assert_eq!(run["steps"][1]["reason"], "it depends on step 'create_app', which did not succeed (state: failed)");
    assert_eq!(ground.changes(), 1);
    client.finish();
}

#[test]
fn x38_a_run_continues_after_its_caller_stopped_waiting() {
    let ground = Ground::new();
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    let mut arguments = approved(&ground, &mut client);
    arguments["wait_s"] = json!(0);
    let begun = execute(&mut client, arguments);
    assert!(matches!(begun["state"].as_str(), Some("pending" | "running" | "waiting")), "{begun}");
    let id = begun["run"].clone();
    let told = eventually("the run ends", || {
        let result = client.result("tools/call", json!({ "name": "list_runs", "arguments": { "run": id } }));
        let told = result["structuredContent"].clone();
        (told["state"] == "succeeded").then_some(told)
    });
    assert_eq!(told["final_output"]["state"], "ready");
    let read =
        client.result("resources/read", json!({ "uri": format!("mcpkg://run/{}", id.as_str().expect("an id")) }));
    assert!(
        read["contents"][0]["text"].as_str().is_some_and(|text| text.contains("\"state\":\"succeeded\"")),
        "{read}"
    );
    client.finish();
}

#[test]
fn a_request_with_an_unknown_outcome_is_not_sent_again() {
    let ground = Ground::new();
    // Creating a database supports no idempotency key.
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    let lost =
        json!({ "command": "hosting:databases:create", "args": { "plan": "small", "app_id": "app-1" }, "wait_s": 0 });
    let asked = execute(&mut client, lost.clone());
    ground.approve(&asked);
    ground.api.trouble([Trouble::Half]);
    let uncertain = execute(&mut client, with_nonce(&lost, &asked));
    assert_eq!(code(&uncertain), "E_STEP_UNCERTAIN", "{uncertain}");
    client.finish();
    let id = ground.run()["run"].as_str().expect("an id").to_owned();
    let refused = ground.scratch.run(&["workflow", "resume", &id]);
    assert!(refused.status == 1 && refused.stderr.contains("--step command=retry"), "{refused}");
    assert_eq!(ground.changes(), 1);
    let done = ground.scratch.file("db.json", "{\"id\": \"db-9\"}");
    let told = ground.scratch.json(&[
        "workflow",
        "resume",
        &id,
        "--step",
        "command=done",
        "--output",
        &done.display().to_string(),
    ]);
    assert_eq!((&told["state"], &told["final_output"]), (&json!("succeeded"), &json!({ "id": "db-9" })), "{told}");
    assert_eq!(ground.changes(), 1);
}

/// Runs the workflow in a server, and kills the server after this many requests.
fn killed_after(ground: &Ground, requests: usize) {
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    let mut arguments = approved(ground, &mut client);
    arguments["wait_s"] = json!(0);
    // The call starts the run. The kill interrupts one of the run's requests.
    execute(&mut client, arguments);
    eventually("the requests came", || (ground.api.seen().len() >= requests).then_some(()));
    client.kill();
}

#[test]
fn x37_a_resumed_run_repeats_no_step_that_succeeded() {
    for requests in 1..=6 {
        let ground = Ground::new();
        killed_after(&ground, requests);
        let run = ground.run();
        let id = run["run"].as_str().expect("an id").to_owned();
        if run["state"] != "succeeded" {
            assert_eq!(run["state"], "interrupted", "{run}");
            let mut resumed = ground.scratch.run(&["--json", "workflow", "resume", &id]);
            if resumed.status == 1 {
                // The server was killed while it created the database. A person checks whether the database exists.
                assert!(resumed.stdout.contains("E_STEP_UNCERTAIN"), "{resumed}");
                let made = ground.scratch.file("db.json", "{\"id\": \"db-1\"}").display().to_string();
                let resume = ["--json", "workflow", "resume", &id];
                let decided = match ground.api.count("POST /api/v1/databases") {
                    0 => [&resume[..], &["--step", "add_db=retry"]].concat(),
                    _ => [&resume[..], &["--step", "add_db=done", "--output", &made]].concat(),
                };
                resumed = ground.scratch.run(&decided);
            }
            assert_eq!(resumed.status, 0, "after {requests} requests: {resumed}");
        }
        assert_eq!(ground.api.apps(), 1, "after {requests} requests");
        assert_eq!(ground.api.count("POST /api/v1/databases"), 1, "after {requests} requests");
        assert_eq!(ground.run()["final_output"], json!({ "app": "web", "state": "ready" }));
    }
}

/// Starts `mcpkg workflow resume` in a separate process.
fn resuming(ground: &Ground, id: &str) -> Child {
    let mut command: Command = ground.scratch.command();
    command.args(["--json", "workflow", "resume", id]).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("mcpkg starts")
}

#[test]
fn of_two_resumes_one_wins() {
    let ground = Ground::new();
    killed_after(&ground, 3);
    let id = ground.run()["run"].as_str().expect("an id").to_owned();
    let both = [resuming(&ground, &id), resuming(&ground, &id)];
    let ended: Vec<_> = both.into_iter().map(|child| child.wait_with_output().expect("it ends")).collect();
    let won = ended.iter().filter(|output| output.status.success()).count();
    let said: Vec<String> = ended.iter().map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).collect();
    assert_eq!(won, 1, "{said:?}");
    assert!(said.iter().any(|text| text.contains("E_RUN_BUSY") || text.contains("E_RUN_STATE")), "{said:?}");
    assert_eq!((ground.api.apps(), ground.api.count("POST /api/v1/databases")), (1, 1));
}

#[test]
fn a_changed_command_stops_a_resume() {
    let ground = Ground::new();
    killed_after(&ground, 3);
    let id = ground.run()["run"].as_str().expect("an id").to_owned();
    ground.scratch.ok(&["catalog", "set", "hosting", "--base-url", "http://127.0.0.1:9/api/v1", "--yes"]);
    let before = ground.api.seen().len();
    let refused = ground.scratch.run(&["workflow", "resume", &id, "--yes"]);
    assert!(refused.status == 1 && refused.stderr.contains("--accept-changes"), "{refused}");
    assert!(refused.stderr.contains("command hosting:apps:create: base_url was http://127.0.0.1"), "{refused}");
    let told = ground.scratch.run(&["--json", "workflow", "resume", &id]).stdout;
    let told: Value = serde_json::from_str(&told).expect("JSON");
    let changes = told["error"]["details"]["changes"].as_array().expect("a list").clone();
    assert!(changes.iter().all(|change| change["what"] == "command" && change["field"] == "base_url"), "{told}");
    assert!(changes.iter().any(|change| change["after"] == "http://127.0.0.1:9/api/v1"), "{told}");
    let refused = ground.scratch.run(&["workflow", "resume", &id, "--accept-changes", "--yes"]);
    assert!(refused.status == 1 && refused.stderr.contains("--yes cannot skip this confirmation"), "{refused}");
    assert_eq!(ground.api.seen().len(), before);
}

#[test]
fn a_server_that_ends_leaves_a_run_that_can_be_resumed() {
    let ground = Ground::new();
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    let mut arguments = approved(&ground, &mut client);
    arguments["wait_s"] = json!(0);
    execute(&mut client, arguments);
    eventually("it waits", || (ground.api.count("GET /api/v1/databases") >= 1).then_some(()));
    signal(client.pid(), "TERM");
    let _ = client.wait(Duration::from_secs(8));
    client.kill();
    let run = ground.run();
    if run["state"] != "succeeded" {
        assert_eq!(run["state"], "interrupted", "{run}");
        ground.scratch.ok(&["workflow", "resume", run["run"].as_str().expect("an id")]);
    }
    assert_eq!(ground.run()["state"], "succeeded");
}

#[test]
fn damaged_data_of_a_run_is_reported_and_does_not_count_as_missing() {
    let ground = Ground::new();
    killed_after(&ground, 3);
    let scratch = &ground.scratch;
    let id = ground.run()["run"].as_str().expect("an id").to_owned();
    scratch.ok(&["prompt", "create", "odd", "no JSON"]);
    let odd = "(SELECT blob_id FROM prompt WHERE name = 'odd')";
    let of = |column: &str, table: &str| scratch.column(&format!("SELECT {column} FROM {table}")).remove(0);
    let (answer, plan) = (of("blob_id", "run_step WHERE name = 'create_app'"), of("blob_id", "run"));
    for (damage, back) in [
        (
            "UPDATE run_step SET secrets = '7' WHERE name = 'create_app'".to_owned(),
            "UPDATE run_step SET secrets = '[]' WHERE secrets = '7'".to_owned(),
        ),
        (
            format!("UPDATE run_step SET blob_id = {odd} WHERE name = 'create_app'"),
            format!("UPDATE run_step SET blob_id = {answer} WHERE name = 'create_app'"),
        ),
        (format!("UPDATE run SET blob_id = {odd}"), format!("UPDATE run SET blob_id = {plan}")),
    ] {
        assert_eq!(scratch.change(&damage), 1);
        let before = ground.api.seen().len();
        let refused = scratch.run(&["workflow", "resume", &id]);
        assert!(refused.status == 1 && refused.stderr.contains("The database is damaged"), "{damage}: {refused}");
        assert_eq!(ground.api.seen().len(), before, "{damage}");
        assert!(scratch.change(&back) >= 1);
    }
    scratch.ok(&["workflow", "resume", &id]);
    let output = of("output_blob", "run");
    assert_eq!(scratch.change(&format!("UPDATE run SET output_blob = {odd}")), 1);
    let refused = scratch.run(&["workflow", "runs", &id]);
    assert!(refused.status == 1 && refused.stderr.contains("The database is damaged"), "{refused}");
    scratch.change(&format!("UPDATE run SET output_blob = {output}"));
    assert_eq!(ground.run()["final_output"], json!({ "app": "web", "state": "ready" }));
}
