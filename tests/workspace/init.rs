//! Tests of creating a workspace.

use serde_json::json;

use super::shop::{REPOS, Shop};
use crate::support::Client;

#[test]
fn three_repositories_are_cloned_with_both_branches() {
    let shop = Shop::bare();
    let line = shop.init_line();
    let data = shop.data(&line.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(data["name"], "shop");
    let rows = data["repos"].as_array().expect("rows");
    assert_eq!(rows[1], json!({ "name": "api", "path": "services/api", "cloned": true }));
    for (repo, _) in REPOS {
        assert_eq!(shop.branch(repo), "main");
        assert_eq!(shop.id(repo, "develop"), shop.id(repo, "main"));
    }
    let manifest = std::fs::read_to_string(shop.root().join(".smctl/workspace.toml")).expect("a manifest");
    assert!(manifest.contains("path = \"services/api\""), "{manifest}");
    shop.assert_tidy();
}

#[test]
fn x12_init_overwrites_nothing() {
    let shop = Shop::new();
    let before = shop.state();
    let (error, exit) = shop.refused(&["workspace", "init", "other"]);
    assert_eq!((error["code"].as_str(), exit), (Some("E_WORKSPACE_EXISTS"), 4));
    assert_eq!(shop.state(), before);
    let bare = Shop::bare();
    std::fs::create_dir(bare.root().join("web")).expect("a folder");
    std::fs::write(bare.root().join("web/mine.txt"), "mine").expect("a file");
    let line = bare.init_line();
    let (error, _) = bare.refused(&line.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(error["code"], "E_WORKSPACE_EXISTS", "{error}");
    let left: Vec<_> = std::fs::read_dir(bare.root()).expect("a folder").flatten().map(|e| e.file_name()).collect();
    assert_eq!(left, ["web"], "nothing was made");
}

#[test]
fn x19_a_failed_clone_leaves_no_other_clones() {
    let shop = Shop::bare();
    std::fs::remove_dir_all(shop.origin("web")).expect("gone");
    std::fs::create_dir(shop.origin("web")).expect("no repository");
    let line = shop.init_line();
    let (error, exit) = shop.refused(&line.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!((error["code"].as_str(), exit), (Some("E_REMOTE_FAILED"), 7), "{error}");
    for (repo, _) in REPOS {
        assert!(!shop.repo(repo).exists(), "{repo} stays");
    }
    let left: Vec<_> = std::fs::read_dir(shop.root()).expect("a folder").flatten().map(|e| e.file_name()).collect();
    assert!(left.is_empty(), "{left:?}");
    shop.assert_tidy();
    // Files that existed before are kept.
    std::fs::create_dir(shop.root().join(".smctl")).expect("a folder");
    std::fs::write(shop.root().join(".smctl/mine.txt"), "mine").expect("a file");
    shop.refused(&line.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(std::fs::read_to_string(shop.root().join(".smctl/mine.txt")).expect("a file"), "mine");
}

/// If an init fails, it deletes its lock file. Another init that waits for this lock must not continue with the deleted
/// file.
#[test]
fn failed_inits_at_once_leave_nothing_and_a_good_one_creates_the_workspace() {
    let shop = Shop::bare();
    let start = |repo: &str| {
        let mut command = shop.command();
        command.args(["workspace", "init", "shop", "--repo", repo]);
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        command.spawn().expect("mcpkg starts")
    };
    let failing = shop.scratch.path().join("gone.git");
    std::fs::create_dir(&failing).expect("no repository");
    let failing = failing.display().to_string();
    let ended: Vec<_> = (0..6).map(|_| start(&failing)).collect();
    for child in ended {
        let output = child.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(7) && said.contains("cannot clone"), "{said}");
    }
    assert_eq!(std::fs::read_dir(shop.root()).expect("a folder").count(), 0);
    let good = shop.origin("lib").display().to_string();
    let ended: Vec<_> = (0..7).map(|n| start(if n == 3 { &good } else { &failing })).collect();
    let ended: Vec<_> = ended.into_iter().map(|child| child.wait_with_output().expect("it ends")).collect();
    let codes: Vec<_> = ended.iter().map(|output| output.status.code()).collect();
    assert_eq!(codes[3], Some(0), "{codes:?}: {}", String::from_utf8_lossy(&ended[3].stderr));
    assert!(codes.iter().enumerate().all(|(n, code)| n == 3 || matches!(code, Some(4 | 7))), "{codes:?}");
    for file in ["workspace.toml", ".gitignore"] {
        assert!(shop.root().join(".smctl").join(file).exists(), "{file}");
    }
    assert_eq!(shop.branch("lib"), "main");
}

#[test]
fn an_existing_clone_is_taken_over() {
    let shop = Shop::bare();
    shop.git(&shop.root(), &["clone", "-q", &shop.origin("lib").display().to_string(), "lib"]);
    shop.commit(&shop.repo("lib"), "mine.txt", "mine");
    let line = shop.init_line();
    let data = shop.data(&line.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(data["repos"][0]["cloned"], false, "{data}");
    assert!(shop.repo("lib").join("mine.txt").exists());
}

/// Neither a dry run nor a failed clone shows a URL's password or creates the repository's folder.
#[test]
fn a_dry_run_makes_nothing_and_shows_no_password() {
    let shop = Shop::bare();
    let ran = shop.run(&["workspace", "init", "--dry-run", "--repo", "https://ada:geheim@127.0.0.1:1/x.git"]);
    assert_eq!(ran.status, 0, "{ran}");
    assert!(!format!("{ran}").contains("geheim"), "{ran}");
    let ran = shop.run(&["workspace", "init", "--repo", "https://ada:geheim@127.0.0.1:1/x.git"]);
    assert_eq!(ran.status, 7, "{ran}");
    assert!(!format!("{ran}").contains("geheim"), "{ran}");
    assert!(!shop.root().join("x").exists());
    shop.assert_tidy();
}

/// If the root itself is a repository, mcpkg's files do not make it dirty.
#[test]
fn a_root_that_is_a_repository_stays_clean() {
    let shop = Shop::bare();
    let root = shop.root();
    shop.git(&root, &["init", "-q"]);
    std::fs::write(root.join(".git/info/exclude"), "/mine").expect("a list");
    let line = shop.init_line();
    shop.ok(&line.iter().map(String::as_str).collect::<Vec<_>>());
    shop.ok(&["worktree", "add", "login"]);
    let status = shop.git_command(&root).args(["status", "--porcelain"]).output().expect("git starts");
    assert_eq!(String::from_utf8_lossy(&status.stdout), "");
    let excluded = std::fs::read_to_string(root.join(".git/info/exclude")).expect("a list");
    assert_eq!(excluded, "/mine\n/.smctl/\n/.worktrees/\n/lib/\n/services/api/\n/web/\n");
}

#[test]
fn an_agent_clones_from_a_folder_outside_only_with_consent() {
    let shop = Shop::bare();
    let mut client = Client::spawn(shop.command().arg("serve").args(["--as", "smctl"])).shake_hands("2025-06-18");
    let repos = json!([{ "url": shop.origin("lib").display().to_string() }]);
    let arguments = json!({ "name": "smctl_workspace_init", "arguments": { "name": "shop", "repos": repos } });
    let answer = client.request("tools/call", arguments);
    assert_eq!(answer["error"]["code"], -32000, "{answer}");
    assert_eq!(answer["error"]["data"]["code"], "E_CONSENT_REQUIRED", "{answer}");
    assert!(!shop.repo("lib").exists());
    client.finish();
}
