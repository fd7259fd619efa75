//! Tests a plan and its confirmation with a token, as in contract 000: every refusal, its message, and that it changes
//! nothing.

use mcpkg_base::clock::Clock;
use mcpkg_base::error::{Code, Error};
use mcpkg_core::op::{Caller, Connection, Context, Identity};
use serde_json::{Value, json};

use crate::deploy::answers::{tool_data, tool_refused, word};
use crate::deploy::place::Place;
use crate::support::Client;

/// Returns a project, a server, and the token of a plan.
fn confirmed() -> (Place, Client, Value) {
    let place = Place::with_project();
    let mut client = place.server(&["--as", "agentpack"]);
    let data = tool_data(&mut client, "deploy", json!({}));
    assert_eq!(data["applied"], false);
    for key in ["confirm_token", "confirm_plan_hash"] {
        assert_eq!(word(&data[key]).len(), 64, "{data:#}");
    }
    assert!(word(&data["confirm_token_expires_at"]).ends_with('Z'), "{data:#}");
    let token = data["confirm_token"].clone();
    (place, client, token)
}

#[test]
fn without_yes_the_call_is_refused_before_the_token_is_checked() {
    let (place, mut client, token) = confirmed();
    let before = place.tree();
    for mut arguments in [
        json!({}),
        json!({ "yes": false }),
        json!({ "dry_run": true }),
        json!({ "confirm_token": token }),
        json!({ "confirm_token": "nonsense", "yes": false, "adopt": true }),
    ] {
        for repo in [false, true] {
            // The call is refused before its source is read, so even an invalid source is not reported.
            if repo {
                arguments["repo"] = json!("/nowhere");
            }
            let error = tool_refused(&mut client, "deploy_apply", arguments.clone(), "E_CONFIRM_REQUIRED");
            assert_eq!(error["details"]["reason_code"], "confirm_required", "{error:#}");
            assert_eq!(error["details"]["next_actions"], json!(["retry_with_yes"]), "{error:#}");
        }
    }
    assert_eq!(place.tree(), before);
    // None of these calls used up the token.
    let data = tool_data(&mut client, "deploy_apply", json!({ "confirm_token": token, "yes": true }));
    assert_eq!(data["applied"], true);
    client.finish();
}

#[test]
fn yes_without_a_valid_token_is_refused_with_the_next_steps() {
    let (place, mut client, token) = confirmed();
    let before = place.tree();
    for arguments in [json!({}), json!({ "confirm_token": "" }), json!({ "confirm_token": "  " })] {
        let mut arguments = arguments;
        arguments["yes"] = json!(true);
        let error = tool_refused(&mut client, "deploy_apply", arguments, "E_CONFIRM_TOKEN_REQUIRED");
        assert_eq!(error["details"]["reason_code"], "confirm_token_required", "{error:#}");
        assert_eq!(error["details"]["next_actions"], json!(["call_deploy", "retry_deploy_apply"]), "{error:#}");
    }
    let other = "0".repeat(64);
    for (arguments, kind) in [
        (json!({ "confirm_token": other }), "unknown"),
        (json!({ "confirm_token": "nonsense" }), "unknown"),
        (json!({ "confirm_token": token, "target": "cursor" }), "inputs_differ"),
        (json!({ "confirm_token": token, "machine": "another" }), "inputs_differ"),
    ] {
        let mut arguments = arguments;
        arguments["yes"] = json!(true);
        let error = tool_refused(&mut client, "deploy_apply", arguments, "E_CONFIRM_TOKEN_MISMATCH");
        assert_eq!(error["details"]["mismatch_kind"], kind, "{error:#}");
        assert_eq!(error["details"]["reason_code"], "confirm_token_mismatch", "{error:#}");
        assert_eq!(error["details"]["next_actions"], json!(["call_deploy", "retry_deploy_apply"]), "{error:#}");
    }
    assert_eq!(place.tree(), before);
    assert!(!tool_data(&mut client, "plan", json!({})).to_string().contains(word(&token)));
    client.finish();
}

#[test]
fn a_token_is_valid_only_for_the_plan_that_was_shown() {
    let (place, mut client, token) = confirmed();
    place.prompt("review", "Another text.\n");
    let before = place.tree();
    let apply = json!({ "confirm_token": token, "yes": true });
    let error = tool_refused(&mut client, "deploy_apply", apply.clone(), "E_CONFIRM_TOKEN_MISMATCH");
    let details = &error["details"];
    assert_eq!(details["mismatch_kind"], "plan_changed", "{error:#}");
    assert_ne!(details["confirm_plan_hash"], details["expected_confirm_plan_hash"], "{error:#}");
    // A change on disk changes the plan too.
    place.prompt("review", "Review the change.\n");
    place.write("root/.claude/commands/review.md", "Somebody's.\n");
    let error = tool_refused(&mut client, "deploy_apply", apply.clone(), "E_CONFIRM_TOKEN_MISMATCH");
    assert_eq!(error["details"]["mismatch_kind"], "plan_changed", "{error:#}");
    std::fs::remove_dir_all(place.root().join(".claude")).expect("a folder");
    assert_eq!(place.tree(), before);
    // Once the plan is again the one that was shown, the token is valid again.
    assert_eq!(tool_data(&mut client, "deploy_apply", apply)["applied"], true);
    client.finish();
}

#[test]
fn a_token_is_used_once() {
    let (place, mut client, token) = confirmed();
    let apply = json!({ "confirm_token": token, "yes": true });
    let data = tool_data(&mut client, "deploy_apply", apply.clone());
    assert!(data["snapshot_id"].is_string(), "{data:#}");
    let error = tool_refused(&mut client, "deploy_apply", apply.clone(), "E_CONFIRM_TOKEN_MISMATCH");
    assert_eq!(error["details"]["mismatch_kind"], "consumed", "{error:#}");
    // An empty plan has a token too, and applying it uses up the token.
    let token = tool_data(&mut client, "deploy", json!({}))["confirm_token"].clone();
    let apply = json!({ "confirm_token": token, "yes": true });
    let data = tool_data(&mut client, "deploy_apply", apply.clone());
    assert_eq!((&data["applied"], &data["reason"]), (&json!(false), &json!("no_changes")), "{data:#}");
    tool_refused(&mut client, "deploy_apply", apply, "E_CONFIRM_TOKEN_MISMATCH");
    assert_eq!(place.planned(&[]), [""; 0]);
    client.finish();
}

#[test]
fn a_refusal_for_adopt_leaves_the_token_valid() {
    let place = Place::with_project();
    place.write("root/.claude/commands/review.md", "Somebody's.\n");
    let before = place.tree();
    let mut client = place.server(&["--as", "agentpack"]);
    let token = tool_data(&mut client, "deploy", json!({}))["confirm_token"].clone();
    let mut apply = json!({ "confirm_token": token, "yes": true });
    for _ in 0..2 {
        let error = tool_refused(&mut client, "deploy_apply", apply.clone(), "E_ADOPT_CONFIRM_REQUIRED");
        assert_eq!((&error["details"]["flag"], &error["details"]["adopt_updates"]), (&json!("--adopt"), &json!(1)));
        assert_eq!(error["details"]["reason_code"], "adopt_confirm_required", "{error:#}");
        assert_eq!(error["details"]["next_actions"], json!(["retry_with_adopt"]), "{error:#}");
        let sample = word(&error["details"]["sample_paths"][0]);
        assert_eq!(place.short(sample), "root/.claude/commands/review.md");
        assert_eq!(place.tree(), before);
    }
    apply["adopt"] = json!(true);
    assert_eq!(tool_data(&mut client, "deploy_apply", apply)["applied"], true);
    client.finish();
}

#[test]
fn tokens_of_the_shell_work_in_a_server_and_the_other_way_round() {
    let place = Place::with_project();
    let mut client = place.server(&["--as", "agentpack"]);
    let token = place.data(&["deploy"])["confirm_token"].clone();
    let data = tool_data(&mut client, "deploy_apply", json!({ "confirm_token": token, "yes": true }));
    assert_eq!(data["applied"], true);
    place.prompt("review", "Another text.\n");
    let token = tool_data(&mut client, "deploy", json!({}))["confirm_token"].clone();
    client.finish();
    let apply = ["deploy", "--apply", "--yes", "--confirm-token", word(&token)];
    assert_eq!(place.data(&apply)["applied"], true);
    let error = place.refused(&apply, "E_CONFIRM_TOKEN_MISMATCH");
    assert_eq!(error["details"]["mismatch_kind"], "consumed", "{error:#}");
    // In the shell, a token does not replace --yes.
    place.prompt("review", "A third text.\n");
    let token = place.data(&["deploy"])["confirm_token"].clone();
    place.refused(&["deploy", "--apply", "--confirm-token", word(&token)], "E_CONFIRM_REQUIRED");
    place.refused(&["deploy", "--apply", "--yes", "--confirm-token", "x"], "E_CONFIRM_TOKEN_MISMATCH");
}

/// Calls a tool in this process, as an agent does. Returns its data.
fn called(context: &Context, name: &str, arguments: Value) -> Result<Value, Error> {
    let entry = mcpkg::DOMAINS.operations().find(|entry| entry.tool == name).expect("an operation");
    entry.from_agent(arguments).expect("good arguments").run(context).map(|reply| reply.data)
}

/// Returns a place with a project, and a context in this process with a fixed time.
fn at_a_fixed_time() -> (Place, Context) {
    let place = Place::with_project();
    let mut context = place.scratch.context();
    context.clock = Clock::fixed(1_800_000_000_000);
    context.caller = Caller::client(Some("test"), None, Connection::Stdio, Identity::Mcpkg);
    context.selection.directory = place.root().canonicalize().expect("a folder").display().to_string();
    (place, context)
}

#[test]
fn a_token_is_valid_for_ten_minutes_and_known_as_expired_for_a_day() {
    let (place, context) = at_a_fixed_time();
    let before = place.tree();
    let data = called(&context, "deploy", json!({})).expect("a plan");
    assert_eq!(data["confirm_token_expires_at"], "2027-01-15T08:10:00Z");
    let apply = json!({ "confirm_token": data["confirm_token"], "yes": true });
    for (later, code) in [
        (10 * 60_000, Code::ConfirmTokenExpired),
        (1, Code::ConfirmTokenExpired),
        (12 * 3_600_000, Code::ConfirmTokenExpired),
    ] {
        context.clock.advance(later);
        let error = called(&context, "deploy_apply", apply.clone()).expect_err("an old token");
        assert_eq!(error.code(), code, "{error}");
        assert_eq!(place.tree(), before);
    }
    // Once a token has been expired for more than a day, a new plan deletes it.
    context.clock.advance(30 * 3_600_000);
    let fresh = called(&context, "deploy", json!({})).expect("a plan");
    let error = called(&context, "deploy_apply", apply).expect_err("a token that is gone");
    assert!(matches!(error.code(), Code::ConfirmTokenMismatch | Code::ConfirmTokenExpired), "{error}");
    // The last millisecond of the ten minutes still counts.
    context.clock.advance(10 * 60_000 - 1);
    let apply = json!({ "confirm_token": fresh["confirm_token"], "yes": true });
    assert_eq!(called(&context, "deploy_apply", apply).expect("in time")["applied"], true);
}

#[test]
fn a_clock_that_goes_back_does_not_extend_a_token() {
    let (place, context) = at_a_fixed_time();
    let before = place.tree();
    let data = called(&context, "deploy", json!({})).expect("a plan");
    let apply = json!({ "confirm_token": data["confirm_token"], "yes": true });
    context.clock.advance(-60_001);
    let error = called(&context, "deploy_apply", apply.clone()).expect_err("the clock went back");
    assert_eq!(error.code(), Code::ConfirmTokenExpired, "{error}");
    assert_eq!(place.tree(), before);
    // Small steps back, up to a minute, are normal when a clock is set.
    context.clock.advance(1);
    assert_eq!(called(&context, "deploy_apply", apply).expect("a small step")["applied"], true);
}
