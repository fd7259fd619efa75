//! Tests faulty plugins. Each fault ends in time with a specific error, and leaves no process behind.

use std::time::{Duration, Instant};

use mcpkg_core::op::Context;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{Ground, call, tools};
use crate::support::eventually;

fn ground(call: &str) -> Ground {
    Ground::playing(json!({ "tools": tools(), "call": call }))
}

/// Waits until no process of the plugin runs.
fn over(ground: &Ground) {
    eventually("nothing of the plugin runs", || ground.play.is_over().then_some(()));
}

#[test]
fn a_plugin_that_dies_is_reported_with_its_stderr_and_restarted() {
    let ground = ground("die");
    let (code, message, may_be_done) = ground.fails("toy:add_note");
    assert_eq!((code.as_str(), may_be_done), ("E_PLUGIN_FAILED", true), "{message}");
    assert!(message.contains("exit status: 9") && message.contains("no more of this"), "{message}");
    over(&ground);
    assert_eq!(ground.listed()["state"], "backing_off");
    ground.play.now(&json!({ "tools": tools() }));
    // After a pause of one second, the call starts the plugin again.
    let answered = ground.call("toy:add_note", json!({ "text": "a" })).expect("an answer");
    assert_eq!(answered.output, "add_note: {\"text\":\"a\"}");
}

#[test]
fn a_plugin_that_forks_leaves_no_child() {
    let ground = ground("fork");
    let (code, message, _) = ground.fails("toy:add_note");
    assert_eq!(code, "E_PLUGIN_FAILED", "{message}");
    assert_eq!(ground.play.logged("child").len(), 1);
    over(&ground);
}

#[test]
fn endless_lines_and_floods_are_cut() {
    for (call, why) in [("line", "a line longer than 16 MiB"), ("flood", "more than 64 MiB at once")] {
        let ground = ground(call);
        let (code, message, may_be_done) = ground.fails("toy:add_note");
        assert_eq!((code.as_str(), may_be_done), ("E_PLUGIN_FAILED", true), "{call}: {message}");
        assert!(message.contains(why), "{call}: {message}");
        over(&ground);
    }
}

#[test]
fn a_silent_plugin_ends_with_the_timeout_of_the_call() {
    let ground = ground("silent");
    ground.scratch.ok(&["plugin", "set", "toy", "--timeout", "2"]);
    let begun = Instant::now();
    let (code, message, may_be_done) = ground.fails("toy:add_note");
    assert_eq!((code.as_str(), may_be_done), ("E_TIMEOUT", true), "{message}");
    assert!(begun.elapsed() >= Duration::from_secs(2));
    over(&ground);
    // The plugin starts, but does not answer the handshake.
    ground.play.now(&json!({ "tools": tools(), "start": "silent" }));
    let (code, message, may_be_done) = ground.fails("toy:add_note");
    assert_eq!((code.as_str(), may_be_done), ("E_PLUGIN_UNAVAILABLE", false), "{message}");
    assert!(message.contains("did not answer in time"), "{message}");
    over(&ground);
}

#[test]
fn a_canceled_call_ends_at_once_and_the_plugin_is_notified() {
    let ground = ground("silent");
    let cancelled = CancellationToken::new();
    let context = Context { cancelled: cancelled.clone(), ..ground.person() };
    let failed = std::thread::scope(|scope| {
        let calling = scope.spawn(|| call(&context, "toy:add_note", json!({})).expect_err("given up"));
        eventually("the call arrives", || ground.play.log().contains(&"called add_note".to_owned()).then_some(()));
        cancelled.cancel();
        calling.join().expect("a thread")
    });
    assert_eq!((failed.error.code().name(), failed.may_be_done), ("E_CANCELLED", true));
    eventually("it is told", || ground.play.log().contains(&"cancelled".to_owned()).then_some(()));
}

#[test]
fn a_plugin_that_keeps_failing_is_skipped_until_plugin_check_succeeds() {
    let ground = Ground::new();
    ground.play.now(&json!({ "tools": tools(), "start": "die" }));
    for _ in 0..3 {
        let (code, message, may_be_done) = ground.fails("toy:add_note");
        assert_eq!((code.as_str(), may_be_done), ("E_PLUGIN_UNAVAILABLE", false), "{message}");
        assert!(message.contains("I never start"), "{message}");
    }
    // After ten failures within an hour, mcpkg skips the plugin. The times are in the database, so all processes see
    // them.
    let now = ground.person().clock.now();
    let fail = |times: Vec<i64>| {
        let store = ground.scratch.store();
        let id = mcpkg_workflow::plugin::plugins::all(&ground.person()).expect("plugins")[0].server.id;
        let times = Value::from(times).to_string();
        store.write(|db| mcpkg_store::plugins::set_failures(db, id, &times, Some("it ended"))).expect("kept");
    };
    fail((0..10).map(|n| now - 600_000 + n).collect());
    assert_eq!(ground.listed()["state"], "failed");
    let failed = ground.call("toy:add_note", json!({})).expect_err("it is skipped");
    assert_eq!(failed.error.code().name(), "E_PLUGIN_UNAVAILABLE");
    assert!(failed.error.message().contains("failed ten times within an hour: it ended"), "{}", failed.error);
    assert!(
        failed.error.details().is_some_and(|details| details["retry_after_ms"].as_u64() > Some(3_000_000 - 600_000))
    );
    let doctor = ground.scratch.run(&["doctor", "--scope", "user"]);
    assert!(doctor.stdout.contains("'toy' failed ten times within an hour"), "{doctor}");
    fail((0..10).map(|n| now - 3_700_000 + n).collect());
    ground.play.now(&json!({ "tools": tools() }));
    ground.call("toy:add_note", json!({})).expect("an answer");
    fail((0..10).map(|n| now - 600_000 + n).collect());
    ground.scratch.ok(&["plugin", "check", "toy"]);
    assert_eq!(ground.listed()["state"], "well");
}

#[test]
fn requests_from_a_plugin_are_declined_and_a_tools_error_is_a_failure() {
    let ground = ground("ask");
    ground.call("toy:add_note", json!({})).expect("an answer");
    let answers = || ground.play.log().iter().filter(|line| line.starts_with("answered")).cloned().collect::<Vec<_>>();
    eventually("all three are answered", || (answers().len() == 3).then_some(()));
    let answers = answers();
    assert_eq!(answers.iter().filter(|answer| *answer == "answered -32601").count(), 2, "{answers:?}");
    assert!(answers.iter().any(|answer| answer.contains("decline")), "{answers:?}");
    ground.play.now(&json!({ "tools": tools(), "call": "fail" }));
    let (code, message, may_be_done) = ground.fails("toy:add_note");
    assert_eq!((code.as_str(), may_be_done), ("E_PLUGIN_FAILED", false));
    assert_eq!(message, "'toy:add_note' failed: it cannot be done");
}

#[test]
fn a_plugin_that_is_removed_during_a_call_ends_with_the_call() {
    let ground = ground("silent");
    std::thread::scope(|scope| {
        let calling = scope.spawn(|| ground.fails("toy:add_note"));
        eventually("the call arrives", || ground.play.log().contains(&"called add_note".to_owned()).then_some(()));
        // Another process removes the plugin.
        ground.scratch.ok(&["plugin", "remove", "toy", "--yes"]);
        let (code, message, may_be_done) = calling.join().expect("a thread");
        assert_eq!((code.as_str(), may_be_done), ("E_PLUGIN_FAILED", true));
        assert!(message.contains("removed or changed during the call"), "{message}");
    });
    over(&ground);
}

#[test]
fn an_unused_plugin_is_stopped() {
    let ground = Ground::new();
    ground.scratch.ok(&["plugin", "set", "toy", "--idle", "1"]);
    ground.call("toy:add_note", json!({})).expect("an answer");
    assert!(!ground.play.is_over());
    over(&ground);
    assert_eq!(ground.listed()["state"], "well");
    ground.call("toy:add_note", json!({})).expect("an answer");
}
