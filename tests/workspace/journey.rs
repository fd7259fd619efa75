//! Tests the story of a team that comes from smctl: its agent continues with an unchanged client configuration, and a
//! person continues with smctl's commands.

use std::fs;

use serde_json::{Value, json};

use super::called::smctl;
use super::original::{MANIFEST, TASKS, original};
use crate::support::Client;

const SPEC: &str = "smctl-gate-v1";
const REPOS: [&str; 2] = ["smallaios", "ModelGate"];

/// Calls a tool, which must succeed, and returns its object.
#[track_caller]
fn call(client: &mut Client, tool: &str, arguments: Value) -> Value {
    let mut answer = client.result("tools/call", json!({ "name": tool, "arguments": arguments }));
    assert_eq!(answer["isError"], false, "{answer}");
    answer["structuredContent"].take()
}

#[test]
fn a_team_that_used_smctl_continues_without_changes() {
    let shop = original();
    let mut client = Client::spawn(smctl(&shop).args(["serve", "--mcp", "--stdio"])).shake_hands("2025-06-18");
    // The client reads what smctl left.
    let status = call(&mut client, "smctl_workspace_status", json!({}));
    assert_eq!((&status["name"], &status["repos"][0]["branch"]), (&json!("my-project"), &json!("develop")));
    let config = client.result("resources/read", json!({ "uri": "smctl://workspace/config" }));
    assert_eq!(config["contents"][0]["text"], MANIFEST);
    let sets = call(&mut client, "smctl_worktree_list", json!({}));
    let branches: Vec<_> =
        sets["sets"][0]["worktrees"].as_array().expect("worktrees").iter().map(|row| &row["branch"]).collect();
    assert_eq!(branches, ["feature/smctl-gate-v1"; 2], "{sets}");
    let specs = call(&mut client, "smctl_spec_status", json!({}));
    assert_eq!(specs["specs"][0]["qualified"], "ModelGate:smctl-gate-v1", "{specs}");
    let tasks = client.result("resources/read", json!({ "uri": format!("smctl://spec/{SPEC}/tasks") }));
    assert_eq!(tasks["contents"][0]["text"], TASKS);
    // The agent finishes the feature, and a person undoes it. Both repositories and their worktrees are as before.
    let state = || {
        let of = |repo: &str| {
            let folder = shop.root().join(repo);
            let refs = shop.git(&folder, &["for-each-ref", "--format=%(refname) %(objectname)", "refs/heads"]);
            (refs, shop.git(&folder, &["worktree", "list"]), shop.git(&folder, &["status", "--porcelain"]))
        };
        REPOS.map(of)
    };
    let before = state();
    let finished = call(&mut client, "smctl_flow_feature_finish", json!({ "name": SPEC }));
    assert!(finished["repos"].as_array().expect("rows").iter().all(|row| row["success"] == true), "{finished}");
    assert!(!shop.root().join(".worktrees").join(SPEC).exists());
    let undone = shop.scratch.finish(smctl(&shop).args(["flow", "undo"]));
    assert_eq!(undone.status, 0, "{undone}");
    assert_eq!(state(), before);
    // Finish with smctl's command `done`. Then make a release, which smctl never merged into develop.
    let done = shop.scratch.finish(smctl(&shop).args(["done", SPEC]));
    assert_eq!(done.status, 0, "{done}");
    let tasks = shop.root().join("ModelGate/openspec/changes").join(SPEC).join("tasks.md");
    fs::write(&tasks, TASKS.replace("[ ]", "[x]")).expect("a file");
    let archived = call(&mut client, "smctl_spec_archive", json!({ "name": SPEC }));
    assert!(archived["archive_path"].as_str().is_some_and(|path| path.contains("changes/archive/")), "{archived}");
    let gate = shop.root().join("ModelGate");
    shop.git(&gate, &["add", "-A"]);
    shop.git(&gate, &["commit", "-q", "-m", "the spec is done"]);
    call(&mut client, "smctl_flow_release_start", json!({ "version": "0.2.0" }));
    let released = call(&mut client, "smctl_flow_release_finish", json!({ "version": "0.2.0" }));
    assert_eq!(released["tag"], "v0.2.0", "{released}");
    for repo in REPOS {
        let folder = shop.root().join(repo);
        for branch in ["main", "develop"] {
            shop.git(&folder, &["cat-file", "-e", &format!("{branch}:gate.rs")]);
        }
        assert!(shop.git(&folder, &["describe", "develop"]).starts_with("v0.2.0"), "{repo}");
    }
    assert_eq!(fs::read_to_string(shop.root().join(".smctl/workspace.toml")).expect("the manifest"), MANIFEST);
    client.finish();
}
