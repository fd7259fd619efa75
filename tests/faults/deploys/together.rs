//! Tests with several processes and calls that deploy at the same time.

use std::process::{Child, Stdio};

use serde_json::{Value, json};

use super::{Big, counts, deployed, summary};
use crate::support::{Client, eventually, signal};

/// Returns the confirm token of a deploy of the second state.
fn token(big: &Big) -> String {
    let data = big.ground.data(&["deploy", "--repo", "../../repo"]);
    data["confirm_token"].as_str().expect("a token").to_owned()
}

fn start(big: &Big, arguments: &[&str]) -> Child {
    let mut command = big.ground.command();
    command.arg("--json").args(arguments).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("mcpkg starts")
}

fn answer(child: Child) -> Value {
    let output = child.wait_with_output().expect("it ends");
    serde_json::from_slice(&output.stdout).expect("an envelope")
}

/// Checks that exactly one of these deploys was applied, and that the others report why they were not.
#[track_caller]
fn assert_one_won(answers: &[Value]) {
    let applied = answers.iter().filter(|it| it["ok"] == true && it["data"]["applied"] == true).count();
    assert_eq!(applied, 1, "{answers:#?}");
    for lost in answers.iter().filter(|it| it["ok"] == false) {
        let error = &lost["errors"][0];
        let consumed = error["code"] == "E_CONFIRM_TOKEN_MISMATCH" && error["details"]["mismatch_kind"] == "consumed";
        assert!(consumed || error["code"] == "E_DEPLOY_IN_PROGRESS", "{lost:#}");
    }
    assert_eq!(answers.iter().filter(|it| it["ok"] == false).count(), answers.len() - 1, "{answers:#?}");
}

#[test]
fn of_several_processes_with_one_token_exactly_one_applies() {
    let big = Big::new();
    for _ in 0..5 {
        let token = token(&big);
        let arguments = [&Big::deploy()[..], &["--confirm-token", &token]].concat();
        let children: Vec<Child> = (0..4).map(|_| start(&big, &arguments)).collect();
        let answers: Vec<Value> = children.into_iter().map(answer).collect();
        assert_one_won(&answers);
        assert!(big.settled("one applied"));
        // The token stays used up.
        let error = big.ground.refused(&arguments);
        assert_eq!(
            (error["code"].as_str(), error["details"]["mismatch_kind"].as_str()),
            (Some("E_CONFIRM_TOKEN_MISMATCH"), Some("consumed"))
        );
        big.back();
    }
}

#[test]
fn of_several_pipelined_calls_with_one_token_exactly_one_applies() {
    let big = Big::new();
    let mut server = Client::spawn(big.ground.command().args(["serve", "--as", "agentpack"])).shake_hands("2025-06-18");
    let repo = big.ground.repo();
    for _ in 0..5 {
        let (text, failed) = server.call("deploy", json!({ "repo": repo }));
        assert!(!failed, "{text}");
        let planned: Value = serde_json::from_str(&text).expect("an envelope");
        let token = &planned["data"]["confirm_token"];
        let arguments = json!({ "repo": repo, "yes": true, "confirm_token": token });
        let call = json!({ "name": "deploy_apply", "arguments": arguments });
        let ids: Vec<i64> = (0..4).map(|_| server.post("tools/call", call.clone())).collect();
        let answers: Vec<Value> =
            ids.iter().map(|id| server.answer(&json!(id))["result"]["structuredContent"].take()).collect();
        assert_one_won(&answers);
        assert!(big.settled("one applied"));
        big.back();
    }
    server.finish();
}

#[test]
fn reads_work_while_another_process_applies_and_writes_report_it() {
    let big = Big::new();
    let token = token(&big);
    let lock = mcpkg_store::Store::open(&big.ground.scratch.db())
        .expect("the database")
        .begin_apply()
        .expect("the lock")
        .expect("it is free");
    for read in ["plan", "diff", "status", "preview"] {
        big.ground.data(&[read, "--repo", "../../repo"]);
    }
    assert_eq!(summary(&big.ground), counts(100, 100, 100));
    big.ground.data(&["deploy", "--repo", "../../repo"]);
    big.ground.data(&["rollback", "--to", "pristine", "--repo", "../../repo", "--dry-run"]);
    let with_token = [&Big::deploy()[..], &["--confirm-token", &token]].concat();
    let rollback = ["rollback", "--to", &big.first, "--yes"];
    for write in [&Big::deploy()[..], &with_token, &rollback] {
        let error = big.ground.refused(write);
        assert_eq!(error["code"], "E_DEPLOY_IN_PROGRESS", "{error:#}");
    }
    assert!(!big.settled("nobody wrote"));
    drop(lock);
    // The token was not used up.
    assert_eq!(big.ground.data(&with_token)["applied"], true);
    assert!(big.settled("applied"));
}

#[test]
fn a_live_apply_is_not_undone_by_anybody_else() {
    let big = Big::new();
    let mut stopped_in_the_middle = 0;
    for _ in 0..4 {
        let child = start(&big, &Big::deploy());
        let early = big.ground.root().join(".claude/skills/big/part0/f002.md");
        eventually("it writes", || early.exists().then_some(()));
        signal(child.id(), "STOP");
        let state = || std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap_or_default();
        // The process may end before it can be stopped. Then it is a zombie.
        eventually("it stands still", || [") T ", ") Z "].iter().any(|it| state().contains(it)).then_some(()));
        let left = big.ground.tree();
        let in_the_middle = !left.leftovers().is_empty();
        stopped_in_the_middle += usize::from(in_the_middle);
        for read in [&["prompt", "list"][..], &["plan", "--repo", "../../repo"], &["status", "--repo", "../../repo"]] {
            big.ground.ok(read);
        }
        if in_the_middle {
            let error = big.ground.refused(&["rollback", "--to", &big.first, "--yes"]);
            assert_eq!(error["code"], "E_DEPLOY_IN_PROGRESS", "{error:#}");
        }
        big.ground.tree().assert_is(&left, "while it stood still");
        signal(child.id(), "CONT");
        let applied = answer(child);
        assert_eq!(applied["data"]["applied"], true, "{applied:#}");
        assert!(big.settled("it went on"));
        big.back();
    }
    assert!(stopped_in_the_middle > 0, "none was stopped in the middle");
    deployed(&big.ground);
}
