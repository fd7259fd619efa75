//! Tests what `mcpkg doctor` says outside a deploy root, and about files that were deployed elsewhere.

use serde_json::{Value, json};

use crate::deploy::answers::{tool_refused, word};
use crate::deploy::place::Place;
use crate::support::{Client, Ran};

/// Runs `doctor` in the home folder, which is not a deploy root.
fn at_home(place: &Place, more: &[&str]) -> Ran {
    place.scratch.finish(place.command().current_dir(place.home()).arg("doctor").args(more))
}

fn checks(place: &Place) -> Vec<Value> {
    let ran = at_home(place, &["--json"]);
    let envelope: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran}"));
    assert_eq!((&envelope["ok"], ran.status), (&Value::Bool(true), 0), "{envelope:#}");
    envelope["data"]["checks"].as_array().expect("checks").clone()
}

/// Returns the findings about an area: state, text and action.
fn said(place: &Place, area: &str) -> Vec<(String, String, Option<String>)> {
    let of_area = checks(place).into_iter().filter(|check| check["area"] == area);
    let said = |check: Value| {
        let action = check["action"].as_str().map(str::to_owned);
        (word(&check["state"]).to_owned(), word(&check["what"]).to_owned(), action)
    };
    of_area.map(said).collect()
}

#[test]
fn outside_a_deploy_root_doctor_checks_the_rest_and_says_what_it_skipped() {
    let place = Place::with_project();
    place.deploy(&[]);
    let ran = at_home(&place, &[]);
    assert_eq!(ran.status, 0, "{ran}");
    for area in ["database", "selection", "clients", "deployed", "folders"] {
        assert!(ran.stdout.lines().any(|line| line.starts_with(area)), "{area}: {ran}");
    }
    let folders = said(&place, "folders");
    let [(state, what, Some(action))] = folders.as_slice() else { panic!("{folders:?}") };
    assert_eq!(state, "note");
    assert_eq!(what, "not checked: no deploy root is known on this machine");
    assert!(action.contains("--root DIR"), "{action}");
    // Skipping a check is not a problem.
    assert_eq!(at_home(&place, &["--check"]).status, 0);
    // The MCP tool `doctor` checks only the deploy folders, so it fails without one.
    let mut client = Client::spawn(place.command().current_dir(place.home()).arg("serve")).shake_hands("2025-06-18");
    tool_refused(&mut client, "doctor", json!({}), "E_ROOT_REQUIRED");
    client.finish();
}

#[test]
fn doctor_reports_deployed_files_wherever_it_is_started() {
    let place = Place::with_project();
    assert_eq!(said(&place, "deployed"), []);
    place.deploy(&["--target", "claude_code"]);
    let root = "<SCRATCH>/root";
    let all = format!("3 files of project 'p' below {root}");
    assert_eq!(said(&place, "deployed"), [("ok".to_owned(), all.clone(), None)]);
    std::fs::remove_file(place.root().join(".claude/commands/review.md")).expect("a file");
    let status = format!("mcpkg status --project p --root {root}");
    let missing = format!("{all}; 1 of them is missing");
    assert_eq!(said(&place, "deployed"), [("note".to_owned(), missing, Some(status))]);
    std::fs::remove_dir_all(place.root()).expect("a folder");
    let gone = said(&place, "deployed");
    let [(state, what, Some(action))] = gone.as_slice() else { panic!("{gone:?}") };
    assert_eq!((state.as_str(), what.as_str()), ("note", format!("{all}, a folder that no longer exists").as_str()));
    assert_eq!(action, &format!("mcpkg rollback --project p --root {root} --to pristine --forget"));
    // The suggested command works.
    let scratch = place.scratch.path().display().to_string();
    let line = format!("{} --yes", action.replacen("mcpkg", crate::support::BINARY, 1).replace("<SCRATCH>", &scratch));
    let mut shell = place.command_under(&["sh", "-c", &line]);
    assert_eq!(place.scratch.finish(shell.current_dir(place.home())).status, 0, "{line}");
    assert_eq!(said(&place, "deployed"), []);
}

#[test]
fn doctor_does_not_read_files_that_only_the_database_names() {
    let place = Place::with_project();
    place.deploy(&["--target", "claude_code"]);
    let elsewhere = place.scratch.path().join("other-state");
    let mut command = place.command();
    command.current_dir(place.home()).env("XDG_STATE_HOME", elsewhere).args(["--json", "doctor"]);
    let ran = place.scratch.finish(&mut command);
    assert!(ran.stdout.contains("you have never deployed there"), "{ran}");
}
