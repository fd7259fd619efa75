//! Tests of the program under the name `smctl`: smctl's client configurations, short commands and exit statuses.

use std::path::PathBuf;
use std::process::Command;

use serde_json::json;

use super::shop::{REPOS, Shop};
use crate::support::{BINARY, Client};

/// Returns a link called `smctl` to the program.
fn link(shop: &Shop) -> PathBuf {
    let folder = shop.scratch.path().join("bin");
    std::fs::create_dir_all(&folder).expect("a folder");
    let link = folder.join("smctl");
    if !link.exists() {
        std::os::unix::fs::symlink(BINARY, &link).expect("a link");
    }
    link
}

/// Returns a command that runs the program under the name `smctl`, with the environment and folder of `shop`.
pub fn smctl(shop: &Shop) -> Command {
    let plain = shop.command();
    let mut command = Command::new(link(shop));
    command.env_clear().envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(shop.root());
    command
}

#[test]
fn smctls_client_configuration_works_unchanged() {
    let shop = Shop::new();
    let mut client = Client::spawn(smctl(&shop).args(["serve", "--mcp", "--stdio"])).shake_hands("2025-06-18");
    let tools = client.result("tools/list", json!({}));
    let names = tools["tools"].as_array().expect("tools").iter().filter_map(|tool| tool["name"].as_str());
    assert!(names.clone().all(|name| name.starts_with("smctl_")) && names.count() > 0, "{tools}");
    client.finish();
    let mut client = Client::spawn(smctl(&shop).args(["serve", "--as", "mcpkg"])).shake_hands("2025-06-18");
    let tools = client.result("tools/list", json!({})).to_string();
    assert!(tools.contains("create_prompt"), "what is said counts");
    client.finish();
}

#[test]
fn short_words_stand_for_smctls_commands() {
    let shop = Shop::new();
    let ran = shop.scratch.finish(smctl(&shop).args(["feat", "login"]));
    assert_eq!(ran.status, 0, "{ran}");
    for (repo, path) in REPOS {
        assert!(shop.root().join(".worktrees/login").join(path).join("README.md").exists(), "{repo}");
    }
    let ran = shop.scratch.finish(smctl(&shop).args(["done", "login"]));
    assert_eq!(ran.status, 0, "{ran}");
    assert!(REPOS.iter().all(|(repo, _)| shop.id(repo, "feature/login").is_empty()));
}

#[test]
fn exit_statuses_are_smctls_only_under_that_name() {
    let shop = Shop::new();
    shop.ok(&["flow", "feature", "start", "login"]);
    shop.work("login.txt");
    let api = shop.repo("api");
    shop.git(&api, &["switch", "-q", "develop"]);
    shop.commit(&api, "login.txt", "another\n");
    let both = |arguments: &[&str]| {
        let one = shop.run(arguments).status;
        let other = shop.scratch.finish(smctl(&shop).args(arguments)).status;
        (one, other)
    };
    assert_eq!(both(&["flow", "feature", "finish", "login"]), (1, 3), "git");
    assert_eq!(both(&["--json", "flow", "feature", "finish", "login"]), (1, 3), "git");
    assert_eq!(both(&["flow", "feature", "start", "x", "--dry-run"]), (0, 10), "a dry run");
    assert_eq!(both(&["flow", "feature", "start"]), (2, 2), "usage");
    assert_eq!(both(&["-w", "/", "flow", "feature", "start", "x"]), (4, 4), "no workspace");
}

#[test]
fn a_clients_entry_starts_smctl_and_passes_the_check() {
    let shop = Shop::new();
    let root = shop.root().display().to_string();
    let arguments = ["client", "add", "claude-code", "--as", "smctl", "-w", &root];
    let added = shop.data(&arguments);
    assert_eq!(added["name"], "smctl");
    let entry = added["entry"].to_string();
    assert!(entry.contains(r#""serve","--as","smctl""#) && entry.contains("/work/shop"), "{entry}");
    let checked = shop.run(&["client", "check", "claude-code"]);
    assert_eq!(checked.status, 0, "{checked}");
    assert!(checked.stdout.contains("smctl"), "{checked}");
    shop.ok(&["client", "remove", "claude-code", "--name", "smctl"]);
}
