//! Tests of pushing: only on request, only forward, and each repository all or nothing.

use serde_json::{Value, json};

use super::shop::{REPOS, Shop};
use crate::support::Client;
use crate::workflow::runs::{approve, code, execute, with_nonce};

/// Finishes and pushes in one command. Without a confirmation, nothing is done at all.
#[test]
fn a_finish_pushes_on_request() {
    let shop = Shop::new();
    shop.ok(&["flow", "feature", "start", "login"]);
    shop.work("login.txt");
    let before = shop.state();
    let (error, _) = shop.refused(&["flow", "feature", "finish", "login", "--push"]);
    assert_eq!(error["code"], "E_CONFIRM_REQUIRED", "{error}");
    assert_eq!(shop.state(), before);
    let data = shop.data(&["--yes", "flow", "feature", "finish", "login", "--push"]);
    for (index, (repo, _)) in REPOS.iter().enumerate() {
        assert_eq!(data["push"][index]["state"], "pushed", "{data}");
        let at = shop.git_command(&shop.origin(repo)).args(["rev-parse", "develop"]).output().expect("git starts");
        assert_eq!(String::from_utf8_lossy(&at.stdout).trim(), shop.id(repo, "develop"));
    }
}

/// Nothing is pushed without a request. If a remote has moved, its push is refused while the others are pushed.
/// Once the branch is repaired, the refused push can be repeated.
#[test]
fn x42_nothing_is_pushed_without_a_request_and_refused_pushes_can_be_repeated() {
    let shop = Shop::new();
    let at = |repo: &str, name: &str| {
        let output = shop.git_command(&shop.origin(repo)).args(["rev-parse", "--verify", "-q", name]).output();
        String::from_utf8_lossy(&output.expect("git starts").stdout).trim().to_owned()
    };
    shop.ok(&["flow", "feature", "start", "login"]);
    shop.work("login.txt");
    let run = shop.data(&["flow", "feature", "finish", "login"])["run"].as_str().expect("a run").to_owned();
    for (repo, _) in REPOS {
        assert_eq!(at(repo, "develop"), "", "nothing was pushed");
    }
    let ran = shop.run(&["flow", "push"]);
    assert_ne!(ran.status, 0, "nobody said yes: {ran}");
    assert_eq!(at("lib", "develop"), "");
    // Another user pushes develop to one of the origins.
    let other = shop.scratch.path().join("other");
    shop.git(shop.scratch.path(), &["clone", "-q", &shop.origin("web").display().to_string(), "other"]);
    shop.git(&other, &["switch", "-q", "-c", "develop"]);
    shop.commit(&other, "theirs.txt", "theirs");
    shop.git(&other, &["push", "-q", "origin", "develop"]);
    let theirs = at("web", "develop");
    let local = shop.id("web", "develop");
    let (error, exit) = shop.refused(&["--yes", "flow", "push", "login"]);
    assert_eq!((error["code"].as_str(), exit), (Some("E_REMOTE_FAILED"), 7), "{error}");
    assert_eq!(error["details"]["repos"][2]["state"], "refused", "{error}");
    assert_eq!((at("web", "develop"), shop.id("web", "develop")), (theirs, local), "there and here as before");
    for repo in ["lib", "api"] {
        assert_eq!(at(repo, "develop"), shop.id(repo, "develop"));
    }
    let (error, _) = shop.refused(&["flow", "undo"]);
    assert_eq!(error["code"], "E_FLOW_PUSHED", "{error}");
    // Repair the branch as a user would: merge origin's branch, and push the result.
    let web = shop.repo("web");
    shop.git(&web, &["fetch", "-q"]);
    shop.git(&web, &["switch", "-q", "develop"]);
    shop.git(&web, &["merge", "-q", "--no-edit", "origin/develop"]);
    let pushed = shop.data(&["--yes", "flow", "push", &run]);
    let states: Vec<_> = pushed["repos"].as_array().expect("rows").iter().map(|row| &row["state"]).collect();
    assert_eq!(states, ["unchanged", "unchanged", "pushed"], "{pushed}");
    assert_eq!(at("web", "develop"), shop.id("web", "develop"));
    let again = shop.data(&["--yes", "flow", "push", &run]);
    assert!(again["repos"].as_array().expect("rows").iter().all(|row| row["state"] == "unchanged"), "{again}");
}

/// Runs can be pushed in any order. What a later run already pushed is not sent again.
#[test]
fn x42_an_earlier_run_is_pushed_after_a_later_one() {
    let shop = Shop::new();
    for version in ["1.0.0", "1.1.0"] {
        shop.ok(&["flow", "release", "start", version]);
        shop.work(&format!("{version}.txt"));
        shop.ok(&["flow", "release", "finish", version]);
    }
    shop.ok(&["--yes", "flow", "push", "1.1.0"]);
    let pushed = shop.data(&["--yes", "flow", "push", "1.0.0"]);
    assert!(pushed["repos"].as_array().expect("rows").iter().all(|row| row["state"] == "pushed"), "{pushed}");
    for (repo, _) in REPOS {
        let there = shop.git(&shop.origin(repo), &["for-each-ref", "--format=%(refname) %(objectname)"]);
        let here = shop
            .git(&shop.repo(repo), &["for-each-ref", "--format=%(refname) %(objectname)", "refs/heads", "refs/tags"]);
        assert_eq!(there, here, "{repo}");
    }
    let again = shop.data(&["--yes", "flow", "push", "1.0.0"]);
    assert!(again["repos"].as_array().expect("rows").iter().all(|row| row["state"] == "unchanged"), "{again}");
}

/// An agent's push is a command that a person consents to. The consent covers these commits and these addresses, once.
#[test]
fn an_agent_pushes_only_with_consent() {
    let shop = Shop::new();
    let at = |repo: &str, name: &str| {
        let output = shop.git_command(&shop.origin(repo)).args(["rev-parse", "--verify", "-q", name]).output();
        String::from_utf8_lossy(&output.expect("git starts").stdout).trim().to_owned()
    };
    let finished = |name: &str| {
        shop.ok(&["flow", "feature", "start", name]);
        shop.work(&format!("{name}.txt"));
        shop.ok(&["flow", "feature", "finish", name]);
    };
    finished("login");
    let mut client = shop.client(&[]);
    let listed = client.result("tools/list", json!({})).to_string();
    assert!(listed.contains("smctl_flow_feature_finish") && !listed.contains("smctl_flow_push"), "no tool: {listed}");
    let push = json!({ "command": "mcpkg:flow:push", "wait_s": 0 });
    let asked = execute(&mut client, push.clone());
    assert_eq!(code(&asked), "E_CONSENT_REQUIRED", "{asked}");
    let effects = asked["error"]["details"]["effects"].to_string();
    for (repo, _) in REPOS {
        assert!(effects.contains(&format!("develop to {}", shop.id(repo, "develop"))), "{effects}");
        assert!(effects.contains(&shop.origin(repo).display().to_string()), "{effects}");
    }
    approve(&shop.scratch, &asked);
    // Commits that the person did not see are not pushed.
    finished("logout");
    let other = execute(&mut client, with_nonce(&push, &asked));
    assert_ne!(code(&other), "ok", "{other}");
    assert_eq!(REPOS.map(|(repo, _)| at(repo, "develop")), ["", "", ""]);
    let asked = execute(&mut client, push.clone());
    assert_eq!(code(&asked), "E_CONSENT_REQUIRED", "{asked}");
    approve(&shop.scratch, &asked);
    let pushed = execute(&mut client, with_nonce(&push, &asked));
    assert_eq!(pushed["state"], "succeeded", "{pushed}");
    assert_eq!(states(&pushed["final_output"]), ["pushed"; 3], "{pushed}");
    for (repo, _) in REPOS {
        assert_eq!(at(repo, "develop"), shop.id(repo, "develop"));
    }
    client.finish();
    // A server with `--as smctl` offers agents no way to push.
    let mut client = Client::spawn(shop.command().args(["serve", "--as", "smctl"])).shake_hands("2025-06-18");
    let refused = client.request("tools/call", json!({ "name": "smctl_flow_push", "arguments": {} }));
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    client.finish();
}

fn states(data: &Value) -> Vec<&str> {
    data["repos"].as_array().expect("rows").iter().filter_map(|row| row["state"].as_str()).collect()
}
