//! Tests that a failed run continues from the failed step, and repeats no step that succeeded.

use std::time::Duration;

use serde_json::{Value, json};

use super::Ground;
use super::steps::TEXT;
use crate::support::api::Trouble;
use crate::support::{Ran, at_a_terminal, skipped};

const RUN: [&str; 9] = ["--json", "workflow", "run", "app_with_db", "-i", "region=eu", "-i", "plan=small", "--yes"];

/// Returns a ground with the workflow, which a person saved at a terminal. Returns `None` if there is no terminal.
fn approved(text: &str) -> Option<Ground> {
    let ground = Ground::new();
    ground.scratch.file("app.yaml", text);
    if at_a_terminal(ground.scratch.command().args(["workflow", "import", "app.yaml"]), "").is_none() {
        skipped("there is no script of util-linux");
        return None;
    }
    Some(ground)
}

fn error(ran: &Ran) -> Value {
    assert!(matches!(ran.status, 1 | 2), "{ran}");
    serde_json::from_str::<Value>(&ran.stdout).expect("JSON")["error"].clone()
}

/// Runs the workflow. Its second request gets the answer `trouble`. Returns the error and the run's id.
fn failed(ground: &Ground, trouble: Trouble) -> (Value, String) {
    ground.api.trouble_after(1, trouble);
    let failure = error(&ground.scratch.run(&RUN));
    let run = failure["details"]["run"].as_str().expect("an id").to_owned();
    (failure, run)
}

fn refused() -> Trouble {
    Trouble::Status(422, vec![], "the plan is sold out")
}

#[test]
fn a_failed_run_continues_from_the_failed_step() {
    let Some(ground) = approved(TEXT) else { return };
    let (failure, run) = failed(&ground, refused());
    assert_eq!((&failure["code"], &failure["details"]["step"]), (&json!("E_STEP_FAILED"), &json!("add_db")));
    let resume =
        |arguments: &[&str]| ground.scratch.run(&[&["--json", "workflow", "resume", &run], arguments].concat());
    // The hint shows how to retry. A step that succeeded cannot be repeated.
    let ended = error(&resume(&[]));
    assert_eq!(ended["code"], "E_RUN_STATE", "{ended}");
    let told = ground.scratch.run(&["workflow", "resume", &run]);
    assert!(told.stderr.contains(&format!("`mcpkg workflow resume {run} --retry`")), "{told}");
    for (from, why) in [("create_app", "succeeded; mcpkg does not repeat it"), ("add_d", "no step 'add_d'")] {
        let refused = error(&resume(&["--from", from]));
        assert!(refused["message"].as_str().is_some_and(|message| message.contains(why)), "{refused}");
    }
    assert_eq!(resume(&["--retry", "--from", "add_db"]).status, 2);
    assert_eq!(ground.changes(), 2);
    // A retry may fail too.
    ground.api.trouble([refused()]);
    assert_eq!(error(&resume(&["--retry"]))["code"], "E_STEP_FAILED");
    let done = resume(&["--retry"]);
    assert_eq!(done.status, 0, "{done}");
    let done: Value = serde_json::from_str(&done.stdout).expect("JSON");
    assert_eq!(
        (&done["state"], &done["final_output"], &done["run"]),
        (&json!("succeeded"), &json!("web"), &json!(run))
    );
    assert_eq!((ground.api.apps(), ground.changes()), (1, 4), "the app was made once");
    let steps = ground.run()["steps"].clone();
    let attempts = |at: usize| steps[at]["attempts"].as_array().map(Vec::len);
    assert_eq!([attempts(0), attempts(1), attempts(2)], [Some(1), Some(3), Some(1)], "{steps}");
    // A retry of a refused request is a new request, so it gets a new idempotency key.
    let keys: Vec<&Value> = steps[1]["attempts"].as_array().expect("attempts").iter().map(|one| &one["key"]).collect();
    assert!(keys.iter().all(|key| key.is_null()) || keys[0] != keys[1] && keys[1] != keys[2], "{keys:?}");
    assert_eq!(error(&resume(&["--retry"]))["code"], "E_RUN_STATE", "it has succeeded");
}

#[test]
fn a_run_continues_from_a_named_step() {
    // A failure in one branch does not affect the other.
    let text = TEXT
        .replace("    if: steps.add_db.output.id\n", "")
        .replace("final_output: ${{ steps.look.output.name }}\n", "");
    let Some(ground) = approved(&text) else { return };
    let (_, run) = failed(&ground, refused());
    let before = ground.api.seen().len();
    let done = ground.scratch.json(&["workflow", "resume", &run, "--from", "add_db"]);
    assert_eq!(done["state"], "succeeded", "{done}");
    assert_eq!((ground.api.seen().len(), ground.api.apps()), (before + 1, 1));
}

#[test]
fn a_run_of_another_machine_is_not_retried_without_a_person() {
    let Some(ground) = approved(TEXT) else { return };
    let (_, run) = failed(&ground, refused());
    let approved = ground.scratch.approved();
    for (record, _) in approved.all(mcpkg_base::approved::Kind::Run).expect("records") {
        approved.withdraw(mcpkg_base::approved::Kind::Run, &record).expect("it goes");
    }
    let refused = error(&ground.scratch.run(&["--json", "workflow", "resume", &run, "--retry", "--yes"]));
    assert_eq!(refused["code"], "E_CONSENT_REQUIRED", "{refused}");
    assert_eq!(ground.changes(), 2);
}

#[test]
fn the_next_step_is_a_retry_only_if_that_may_help() {
    let Some(ground) = approved(TEXT) else { return };
    for (status, step) in [
        (400, "fix_arguments"),
        (403, "ask_user"),
        (404, "fix_arguments"),
        (409, "fix_arguments"),
        (422, "fix_arguments"),
        (429, "retry_command"),
        (500, "retry_command"),
    ] {
        ground.api.reset();
        // mcpkg repeats a request to a busy API a few times, so several answers have to fail.
        ground.api.trouble_after(1, Trouble::Status(status, vec![], "no"));
        ground.api.trouble((0..9).map(|_| Trouble::Status(status, vec![], "no")));
        let failure = error(&ground.scratch.run(&RUN));
        assert_eq!((&failure["details"]["status"], &failure["next_step"]), (&json!(status), &json!(step)), "{failure}");
    }
}

#[test]
fn an_attempt_is_shown_with_the_path_of_its_request() {
    let Some(ground) = approved(TEXT) else { return };
    ground.api.trouble([Trouble::Late(Duration::ZERO)]);
    assert_eq!(ground.scratch.run(&RUN).status, 0);
    let run = ground.run();
    assert_eq!(run["steps"][0]["attempts"][0]["path"], "/api/v1/apps", "{run}");
    let shown = ground.scratch.ok(&["workflow", "runs", run["run"].as_str().expect("an id")]);
    let host = ground.api.base();
    let host = host.trim_start_matches("http://");
    assert!(shown.contains(&format!("POST {host}/apps ")), "{shown}");
}
