//! Tests the inbox: requests of one agent for the same reading command share one row, a person can approve them in two
//! ways, and the survey of this machine adds items.

use serde_json::json;

use super::{agent, console, started};
use crate::deploy::place::Place;
use crate::workflow::runs::{Ground, code, execute};

fn info(app: &str) -> serde_json::Value {
    json!({ "command": "hosting:apps:info", "args": { "app_id": app }, "wait_s": 0 })
}

#[test]
fn equal_reads_are_one_row_and_their_answer_is_once_or_for_hours() {
    let ground = Ground::new();
    ground.scratch.ok(&["project", "select", "p"]);
    let mut client = agent(&ground, "codex");
    for app in ["app-1", "app-2", "app-3"] {
        assert_eq!(code(&execute(&mut client, info(app))), "E_CONSENT_REQUIRED");
    }
    let waiting = ground.scratch.json(&["inbox"])["waiting"].clone();
    assert_eq!((waiting.as_array().map(Vec::len), &waiting[0]["count"]), (Some(1), &json!(3)), "{waiting:#}");
    let Some(mut screen) = console(&ground.scratch, &[]) else { return };
    screen.wait("ASK x3");
    screen.keys("a");
    let text = screen.wait("all hosting reads until");
    assert!(text.contains("once") && text.contains("agents without a key"), "{text}");
    // `once` is selected. Enter takes the selected answer. Then only `y` approves.
    screen.keys("\r");
    let text = screen.wait("Consent to it?");
    assert!(!text.contains("for 4h"), "{text}");
    screen.keys("y");
    screen.wait(". mcp:codex can run it now: Run hosting:apps:info");
    screen.wait("ASK x2");
    screen.keys("a");
    screen.wait("all hosting reads until");
    screen.keys("j\r");
    screen.wait("for 4h, to everything that every agent without an access key");
    screen.keys("y");
    screen.wait(": all reads of hosting, and once: Run hosting:apps:info");
    assert_ne!(code(&execute(&mut client, info("app-4"))), "E_CONSENT_REQUIRED");
}

#[test]
fn a_synced_folder_that_differs_is_in_the_inbox_and_can_be_synced() {
    let place = Place::with_project();
    let folder = place.scratch.path().join("team");
    place.ok(&["sync", &folder.display().to_string()]);
    let Some(mut screen) = started(place.command(), &[]) else { return };
    screen.wait("nothing waits for you");
    place.prompt("review", "Review, changed in the project.\n");
    // The survey changes nothing, and records no refused event.
    assert!(!place.ok(&["events"]).contains("refused"));
    // Opening the inbox surveys the synced folder.
    screen.keys("21");
    screen.wait("differs in 1 item");
    screen.keys("/sync\r\r");
    let text = screen.wait("Inbox > sync with a folder");
    assert!(text.contains("write"), "{text}");
    screen.keys("s");
    screen.wait("Sync the project with");
    screen.keys("y");
    screen.wait("Synced project 'p'");
    screen.keys("1");
    screen.wait_until(|text| !text.contains("differs in"), "the folder is in sync");
}
