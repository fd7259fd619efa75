//! Tests of `mcpkg limit` and `mcpkg prune`.

use insta::assert_snapshot;
use mcpkg_store::events::{self, NewEvent};

use crate::support::Scratch;

#[test]
fn limits_are_listed_and_set() {
    let scratch = Scratch::with_project();
    assert_snapshot!(scratch.run(&["limit", "list"]), @r#"
    status: 0
    --- stdout
    runs	90d	100000	0	runs of tools, including refused ones
    flow-runs	365d	10000	0	flow runs, per workspace; unfinished runs are never deleted
    builds	none	50	0	builds, per workspace; running builds are never deleted
    drafts	90d	500	0	workflow drafts, per project; drafts that are waiting for a person are never deleted
    workflow-runs	90d	10000	0	runs of workflows and commands, with every attempt; unfinished runs are never deleted
    consents	1d	1000	0	confirm tokens and consent requests, per caller; pending tokens and requests are never deleted
    events	none	none	0	the audit trail; events of the last hour are never deleted, so that all servers can read them
    tasks	1h	256	0	long-running calls by agents, with their results, per caller; running calls are never deleted
    locks	30d	none	0	processes that held PostgreSQL locks; processes seen within the last day are never deleted
    --- stderr
    "#);
    assert_snapshot!(scratch.run(&["limit", "set", "events", "--age", "365d", "--number", "100000"]), @r#"
    status: 0
    --- stdout
    Set the limits of 'events': age 365d, number 100000
    --- stderr
    hint: `mcpkg prune` deletes the rows beyond these limits
    "#);
    assert_snapshot!(scratch.run(&["limit", "set", "events", "--age", "none"]), @r#"
    status: 0
    --- stdout
    Set the limits of 'events': age none, number 100000
    --- stderr
    hint: `mcpkg prune` deletes the rows beyond these limits
    "#);
    let listed = &scratch.json(&["limit", "list"])["limits"];
    let events = listed.as_array().expect("tables").iter().find(|table| table["table"] == "events").expect("events");
    assert_eq!((&events["age_seconds"], &events["number"]), (&serde_json::Value::Null, &100_000.into()));
    for (arguments, why) in [
        (
            &["limit", "set", "event", "--number", "1"][..],
            "error: No table 'event' has limits\nhint: did you mean 'events'?",
        ),
        (&["limit", "set", "events", "--age", "7"][..], "error: --age '7' has no unit"),
        (
            &["limit", "set", "events", "--number", "0"][..],
            "error: --number '0' is neither a positive number nor `none`",
        ),
    ] {
        let ran = scratch.run(arguments);
        assert!(ran.status != 0 && ran.stderr.contains(why), "{ran}");
    }
    assert_eq!(scratch.run(&["limit", "set", "events"]).status, 2);
}

#[test]
fn pruning_deletes_what_is_beyond_the_limits_after_asking() {
    let scratch = Scratch::with_project();
    assert_snapshot!(scratch.run(&["prune", "--yes"]), @r#"
    status: 0
    --- stdout
    There is nothing to prune
    --- stderr
    "#);
    let append = |at| {
        let event = NewEvent {
            at,
            actor: "shell",
            project: Some("p"),
            kind: "prompt.update",
            subject: "x",
            outcome: "ok",
            session: None,
        };
        scratch.store().write(|db| events::append(db, event)).expect("an event");
    };
    (0..5).for_each(append);
    let backdate = "UPDATE event SET at = 0 WHERE kind = 'project.create'";
    assert_eq!(scratch.change(backdate), 1);
    scratch.ok(&["limit", "set", "events", "--age", "30d"]);
    assert_snapshot!(scratch.run(&["prune", "--dry-run"]), @r#"
    status: 0
    --- stdout
    Would delete 6 rows of events
    --- stderr
    "#);
    assert_snapshot!(scratch.run(&["prune"]), @r#"
    status: 1
    --- stdout
    --- stderr
    error: Delete 6 rows of events for good needs to be confirmed. Nothing was changed
    hint: confirm with --yes
    "#);
    assert_eq!(scratch.json(&["prune", "--yes"])["deleted"]["events"], 6);
    let kinds: Vec<String> = scratch.json(&["events"])["events"]
        .as_array()
        .expect("events")
        .iter()
        .map(|event| format!("{} {}", event["kind"].as_str().unwrap_or(""), event["subject"].as_str().unwrap_or("")))
        .collect();
    assert_eq!(kinds, ["limit.set events", "prune ", "prune events: 6"]);
}

#[test]
fn doctor_reports_a_large_trail() {
    let scratch = Scratch::with_project();
    let of_trail = || -> Vec<String> {
        let checks = scratch.json(&["doctor", "--scope", "user"])["data"]["checks"].clone();
        let checks = checks.as_array().expect("checks").clone();
        checks.iter().map(|check| check["what"].to_string()).filter(|what| what.contains("events")).collect()
    };
    assert!(of_trail().is_empty());
    // Add an event whose number is a million higher than the last one.
    let insert =
        "INSERT INTO event (seq, at, actor, kind, subject, outcome) VALUES (1000001, 0, 'shell', 'x', 'x', 'ok')";
    assert_eq!(scratch.change(insert), 1);
    assert_eq!(of_trail(), ["\"the audit trail has 1000000 events, and no limit is set for the trail\""]);
    scratch.ok(&["limit", "set", "events", "--age", "52w"]);
    assert!(of_trail().is_empty());
}
