//! Tests servers that are terminated during a run, and clocks that are set back or forward.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mcpkg_base::clock::Clock;
use mcpkg_core::op::{Confirmation, Context};
use serde_json::{Value, json};

use super::{WAITING, approved, attempts, begun, requests_noted};
use crate::faults::faketime;
use crate::support::api::Trouble;
use crate::support::{Client, eventually, signal};
use crate::workflow::runs::{Ground, execute};

const TWO: &str = "\
workflow: two
steps:
  - id: first
    run: hosting:databases:create
    with: { plan: small, app_id: app-1 }
  - id: second
    run: hosting:databases:create
    depends_on: [first]
    with: { plan: large, app_id: app-1 }
";

/// Starts a run of two steps, lets the first step's request meet `trouble`, and terminates the server during that
/// request. Returns the run.
fn ended_in(ground: &Ground, trouble: Trouble) -> Value {
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    ground.api.trouble([trouble]);
    begun(ground, &mut client, TWO);
    eventually("the request comes", || (ground.api.seen().len() == 1).then_some(()));
    let told = Instant::now();
    signal(client.pid(), "TERM");
    client.ended();
    // The step gets five seconds. The rest is a margin for busy machines.
    assert!(told.elapsed() < Duration::from_secs(9), "{:?}", told.elapsed());
    ground.run()
}

#[test]
fn a_terminated_server_finishes_its_step_and_starts_no_other() {
    let ground = Ground::new();
    let run = ended_in(&ground, Trouble::Late(Duration::from_secs(2)));
    assert_eq!((&run["state"], &run["steps"][0]["state"]), (&json!("interrupted"), &json!("succeeded")), "{run}");
    assert_eq!(ground.api.seen().len(), 1);
    ground.scratch.ok(&["workflow", "resume", run["run"].as_str().expect("an id")]);
    assert_eq!(ground.api.seen().len(), 2);
    assert_eq!(ground.run()["state"], "succeeded");
}

#[test]
fn a_step_that_outlasts_its_terminated_server_needs_a_decision() {
    let ground = Ground::new();
    let run = ended_in(&ground, Trouble::Stall);
    assert_eq!(run["state"], "interrupted", "{run}");
    let id = run["run"].as_str().expect("an id");
    let refused = ground.scratch.run(&["workflow", "resume", id]);
    assert!(refused.status == 1 && refused.stderr.contains("--step first=retry"), "{refused}");
    assert_eq!(ground.api.seen().len(), 1);
    ground.scratch.ok(&["workflow", "resume", id, "--step", "first=retry"]);
    assert_eq!(ground.api.seen().len(), 3);
}

/// Makes the heartbeat of the killed run look old. Tests with PostgreSQL need this: there, this process and the killed
/// server keep their lock files in different places, as if they were on different machines.
fn not_seen_for_long(ground: &Ground) {
    ground.scratch.change("UPDATE setting SET value = '0' WHERE key LIKE 'beat.run-%'");
}

/// Runs an operation as a person at a terminal, with this clock.
fn run_at(ground: &Ground, clock: &Clock, words: &[&str], arguments: Value) -> mcpkg_base::error::Result<Value> {
    let context = Context { clock: clock.clone(), ask: Arc::new(|_, _| Ok(())), ..ground.person() };
    let context = Context { confirmation: Confirmation::Ask, ..context };
    let entry =
        mcpkg::DOMAINS.operations().find(|entry| entry.cli == words && entry.faces.shell()).expect("an operation");
    entry.from_agent(arguments)?.run(&context).map(mcpkg_core::op::Reply::into_value)
}

#[test]
fn a_clock_that_goes_back_does_not_prolong_a_wait() {
    let ground = Ground::new();
    let clock = Clock::fixed(1_900_000_000_000);
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    let id = begun(&ground, &mut client, WAITING);
    eventually("it waits", || (ground.api.seen().len() >= 2).then_some(()));
    client.kill();
    not_seen_for_long(&ground);
    // The process that resumes has a clock that is years behind, and its clock goes back further.
    clock.advance(-1_000_000_000_000);
    let json = vec![("content-type", "application/json".to_owned())];
    ground.api.trouble_after(3, Trouble::Status(200, json, "[{\"id\": \"go\"}]"));
    let clocks = clock.clone();
    let going_back = std::thread::spawn(move || {
        for _ in 0..20 {
            std::thread::sleep(Duration::from_millis(20));
            clocks.advance(-86_400_000);
        }
    });
    let done = run_at(&ground, &clock, &["workflow", "resume"], json!({ "run": id })).expect("it goes on");
    going_back.join().expect("a thread");
    assert_eq!(done["state"], "succeeded", "{done}");
    let run = ground.run();
    assert_eq!(requests_noted(&run), ground.api.seen().len());
    let rounds: Vec<i64> = attempts(&run).iter().filter_map(|(_, attempt)| attempt["round"].as_i64()).collect();
    // Each round of the wait follows the one before, except that the round during the kill is repeated. The last round
    // belongs to the step after the wait.
    let (made, waited) = rounds.split_last().expect("rounds");
    assert_eq!((*made, waited[0]), (1, 1), "{rounds:?}");
    assert!(waited.windows(2).all(|pair| matches!(pair[1] - pair[0], 0 | 1)), "{rounds:?}");
}

#[test]
fn a_clock_that_goes_forward_ends_a_wait_at_its_timeout() {
    let ground = Ground::new();
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    let id = begun(&ground, &mut client, WAITING);
    eventually("it waits", || (ground.api.seen().len() >= 2).then_some(()));
    client.kill();
    not_seen_for_long(&ground);
    let sent = ground.api.seen().len();
    let clock = Clock::fixed(4_000_000_000_000);
    let failed = run_at(&ground, &clock, &["workflow", "resume"], json!({ "run": id })).expect_err("it is late");
    assert_eq!(failed.code().name(), "E_STEP_FAILED");
    assert!(failed.to_string().contains("was not met in time"), "{failed}");
    assert!(ground.api.seen().len() <= sent + 1);
}

#[test]
fn an_approved_nonce_is_invalid_after_the_clock_was_set_back() {
    let ground = Ground::new();
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    let arguments = approved(&ground, &mut client, TWO, &json!({}));
    client.finish();
    let Some(library) = faketime() else { return };
    let mut server = ground.scratch.command();
    server.env("LD_PRELOAD", library).env("FAKETIME", "-2h").arg("serve");
    let mut client = Client::spawn(&mut server).shake_hands("2025-06-18");
    assert_eq!(execute(&mut client, arguments)["error"]["code"], "E_CONSENT_EXPIRED");
    client.finish();
    assert!(ground.api.seen().is_empty());
}
