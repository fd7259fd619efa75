//! Tests of sets of worktrees: creating them in all repositories or none, removing them in two passes, and restoring
//! them.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::shop::{REPOS, Shop};
use crate::support::Client;

/// Returns the path of a repository's worktree in a set.
pub fn place(shop: &Shop, set: &str, repo: &str) -> PathBuf {
    let (_, path) = REPOS.into_iter().find(|(name, _)| *name == repo).expect("a repository");
    shop.root().join(".worktrees").join(set).join(path)
}

/// Returns the contents of a worktree: its status, what is staged, and the bytes of each file, except those of git and
/// in `target`.
fn found(shop: &Shop, folder: &Path) -> Vec<String> {
    fn files(folder: &Path, found: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            if path.is_dir() && !path.is_symlink() {
                if name != "target" {
                    files(&path, found);
                }
            } else if name != ".git" {
                let mode = path.symlink_metadata().expect("metadata").permissions();
                let bytes = std::fs::read(&path).unwrap_or_default();
                found.push(format!("{} {mode:?} {:?}", path.display(), String::from_utf8_lossy(&bytes)));
            }
        }
    }
    let mut all = Vec::new();
    files(folder, &mut all);
    all.sort();
    all.push(shop.git(folder, &["status", "--porcelain", "--untracked-files=all"]));
    all.push(shop.git(folder, &["diff", "--cached"]));
    all.push(shop.git(folder, &["log", "-1", "--format=%H %D"]));
    all
}

/// Returns a workspace with a set in which the worktree of `api` has changes of many kinds.
pub fn with_changes() -> Shop {
    let shop = Shop::new();
    shop.commit(&shop.repo("api"), ".gitignore", ".env\ntarget/\n");
    shop.git(&shop.repo("api"), &["branch", "-f", "develop"]);
    shop.ok(&["worktree", "add", "login"]);
    let api = place(&shop, "login", "api");
    shop.commit(&api, "committed.txt", "committed\n");
    for (name, text) in [
        ("code.txt", "changed\r\n"),
        ("staged.txt", "staged\n"),
        ("new \u{e9}.txt", "new\n"),
        (".env", "SECRET=1\n"),
        ("target/built", "built\n"),
    ] {
        std::fs::create_dir_all(api.join(name).parent().expect("a folder")).expect("a folder");
        std::fs::write(api.join(name), text).expect("a file");
    }
    shop.git(&api, &["add", "staged.txt"]);
    std::fs::write(api.join("staged.txt"), "staged, then changed\n").expect("a file");
    std::fs::remove_file(api.join("README.md")).expect("deleted");
    shop
}

#[test]
fn x3_one_dirty_worktree_blocks_the_removal_and_a_restore_brings_everything_back() {
    let shop = with_changes();
    let before = REPOS.map(|(repo, _)| found(&shop, &place(&shop, "login", repo)));
    let refs = shop.state();
    let (error, exit) = shop.refused(&["worktree", "remove", "login"]);
    assert_eq!((error["code"].as_str(), exit), (Some("E_WORKTREE_DIRTY"), 1), "{error}");
    let message = error["message"].as_str().expect("a message");
    for name in ["code.txt", "staged.txt", "new \u{e9}.txt", "README.md"] {
        assert!(message.contains(name), "{message}");
    }
    assert_eq!(error["details"]["repos"].as_array().map(Vec::len), Some(1), "{error}");
    assert_eq!(shop.state(), refs);

    let data = shop.data(&["worktree", "remove", "login", "--force"]);
    assert_eq!((&data["removed"], &data["force"]), (&json!("login"), &json!(true)));
    let kept = data["kept"].as_array().expect("rows");
    let api = kept.iter().find(|row| row["repo_name"] == "api").expect("a row");
    assert_eq!((&api["ignored"], &api["let_go"]), (&json!([".env"]), &json!(["target/"])), "{api}");
    // The branches of the other two had no commits that develop does not have.
    let deleted: Vec<_> = kept.iter().map(|row| row["branch_deleted"].clone()).collect();
    assert_eq!(deleted, [json!(true), json!(false), json!(true)]);
    assert!(!shop.root().join(".worktrees").exists(), "folders that are empty go");
    assert!(shop.id("lib", "feature/login").is_empty() && !shop.id("api", "feature/login").is_empty());
    for (repo, _) in REPOS {
        assert_eq!(shop.git(&shop.repo(repo), &["worktree", "list"]).lines().count(), 1);
        shop.git(&shop.repo(repo), &["gc", "-q", "--prune=now"]);
    }
    shop.assert_tidy();

    let foreseen = shop.data(&["worktree", "restore", "login", "--dry-run"]);
    assert!(foreseen["dry_run"] == true && !shop.root().join(".worktrees").exists(), "{foreseen}");
    shop.ok(&["worktree", "restore", "login"]);
    let after = REPOS.map(|(repo, _)| found(&shop, &place(&shop, "login", repo)));
    assert_eq!(after, before);
    shop.assert_tidy();
    let (error, _) = shop.refused(&["worktree", "restore", "login"]);
    assert_eq!(error["code"], "E_ALREADY_EXISTS");
}

#[test]
fn x18_worktrees_start_at_develop_and_existing_branches_are_checked_out() {
    let shop = Shop::new();
    let api = shop.repo("api");
    shop.git(&api, &["switch", "-q", "develop"]);
    shop.commit(&api, "develop.txt", "develop\n");
    shop.git(&api, &["switch", "-q", "main"]);
    shop.git(&shop.repo("lib"), &["branch", "feature/login", "main"]);
    let web = shop.repo("web");
    shop.git(&web, &["push", "-q", "origin", "main:refs/heads/feature/login"]);
    shop.git(&web, &["fetch", "-q"]);
    let foreseen = shop.data(&["worktree", "add", "login", "--dry-run"]);
    assert_eq!(foreseen["dry_run"], true);
    assert!(!shop.root().join(".worktrees").exists() && shop.id("api", "feature/login").is_empty());
    let data = shop.data(&["worktree", "add", "login"]);
    let row = &data["worktrees"][1];
    assert_eq!(
        row,
        &json!({
            "repo_name": "api",
            "branch": "feature/login",
            "path": place(&shop, "login", "api").display().to_string().replace(&*shop.scratch.path().to_string_lossy(), "<SCRATCH>"),
            "exists": true,
            "clean": true,
            "modified_files": 0,
        })
    );
    assert_eq!(shop.id("api", "feature/login"), shop.id("api", "develop"));
    assert_ne!(shop.id("api", "develop"), shop.id("api", "main"));
    let upstream = ["rev-parse", "--abbrev-ref", "feature/login@{upstream}"];
    assert_eq!(shop.git(&web, &upstream), "origin/feature/login");
    for (repo, _) in REPOS {
        assert_eq!(shop.branch(repo), "main", "the checkouts stay");
        assert_eq!(shop.git(&place(&shop, "login", repo), &["branch", "--show-current"]), "feature/login");
    }
    shop.assert_tidy();
}

#[test]
fn a_branch_in_use_is_refused_first_and_leaves_nothing() {
    let shop = Shop::new();
    shop.git(&shop.repo("web"), &["switch", "-q", "-c", "feature/login"]);
    let before = shop.state();
    let (error, _) = shop.refused(&["worktree", "add", "login"]);
    assert_eq!(
        (error["code"].as_str(), &error["details"]["repo"]),
        (Some("E_BRANCH_IN_USE"), &json!("web")),
        "{error}"
    );
    assert!(error["message"].as_str().expect("a message").contains("/web"), "{error}");
    assert_eq!(shop.state(), before);
    let (error, _) = shop.refused(&["worktree", "add", "login", "--repos", "webb"]);
    assert_eq!(error["hints"][0], "did you mean 'web'?");
    for name in ["../x", "a/b", "-x", "a..b"] {
        let (error, exit) = shop.refused(&["worktree", "add", "--", name]);
        assert_eq!((error["code"].as_str(), exit), (Some("E_INVALID_ARGUMENT"), 2), "{name}");
    }
    // A folder that is not a worktree is not touched.
    std::fs::create_dir_all(place(&shop, "other", "lib")).expect("a folder");
    std::fs::write(place(&shop, "other", "lib").join("mine"), "mine").expect("a file");
    let (error, _) = shop.refused(&["worktree", "add", "other"]);
    assert_eq!(error["code"], "E_ALREADY_EXISTS");
    assert!(place(&shop, "other", "lib").join("mine").exists() && shop.id("api", "feature/other").is_empty());
}

#[test]
fn x27_commands_work_from_a_subfolder_and_from_inside_a_set() {
    let shop = Shop::new();
    shop.ok(&["worktree", "add", "login", "--repos", "lib,api"]);
    let deep = place(&shop, "login", "api").join("deep");
    std::fs::create_dir_all(&deep).expect("a folder");
    let here = |folder: &Path, line: &[&str]| {
        let ran = shop.scratch.finish(shop.command().current_dir(folder).arg("--json").args(line));
        assert_eq!(ran.status, 0, "{line:?}: {ran}");
        serde_json::from_str::<serde_json::Value>(&ran.stdout).expect("JSON")
    };
    for folder in [&deep, &shop.repo("api")] {
        let data = here(folder, &["workspace", "status"]);
        assert_eq!(data["repos"].as_array().map(Vec::len), Some(3));
        let sets = here(folder, &["worktree", "list"]);
        assert_eq!(sets["sets"][0]["worktrees"].as_array().map(Vec::len), Some(2), "{sets}");
    }
    // Add the missing repository to the set, from inside the set.
    let data = here(&deep, &["worktree", "add", "login"]);
    assert_eq!(data["worktrees"].as_array().map(Vec::len), Some(3), "{data}");
    assert!(place(&shop, "login", "web").join("code.txt").exists());
    let ran = shop.scratch.finish(shop.command().current_dir(&deep).args(["worktree", "cd", "login", "web"]));
    assert_eq!(ran.stdout, "<SCRATCH>/work/shop/.worktrees/login/web\n");
    let ran = shop.scratch.finish(shop.command().current_dir(&deep).args(["worktree", "cd", "login"]));
    assert_eq!(ran.stdout, "<SCRATCH>/work/shop/.worktrees/login\n");
    let (error, _) = shop.refused(&["worktree", "add", "login"]);
    assert_eq!(error["code"], "E_ALREADY_EXISTS");
    let (error, _) = shop.refused(&["worktree", "cd", "logni"]);
    assert_eq!(
        (error["code"].as_str(), error["hints"][0].as_str()),
        (Some("E_NOT_FOUND"), Some("did you mean 'login'?"))
    );
    here(&deep, &["worktree", "remove", "login"]);
    assert!(!place(&shop, "login", "api").exists());
}

/// `--force` does not remove a worktree with files that cannot be kept.
#[test]
fn x46_worktrees_with_changes_that_cannot_be_kept_are_not_removed() {
    let shop = Shop::new();
    shop.commit(&shop.repo("lib"), ".gitignore", "*.bin\n");
    shop.git(&shop.repo("lib"), &["branch", "-f", "develop"]);
    shop.ok(&["worktree", "add", "login"]);
    let lib = place(&shop, "login", "lib");
    let refused = |words: &str, force: &[&str]| {
        let before = shop.state();
        let (error, _) = shop.refused(&[&["worktree", "remove", "login"], force].concat());
        assert_eq!(error["code"], "E_WORKTREE_DIRTY", "{error}");
        assert!(error["message"].as_str().expect("a message").contains(words), "{words}: {error}");
        assert_eq!(shop.state(), before);
    };
    shop.git(&shop.repo("lib"), &["worktree", "lock", "--reason", "on a stick", &lib.display().to_string()]);
    refused("locked: on a stick", &["--force"]);
    shop.git(&shop.repo("lib"), &["worktree", "unlock", &lib.display().to_string()]);

    let index_lock = shop.repo("lib").join(".git/worktrees/lib/index.lock");
    std::fs::write(&index_lock, "").expect("a lock");
    refused("index.lock", &["--force"]);
    std::fs::remove_file(index_lock).expect("gone");

    std::fs::write(lib.join("large.bin"), vec![0; (1 << 20) + 1]).expect("a file");
    refused("large.bin", &["--force"]);
    std::fs::remove_file(lib.join("large.bin")).expect("gone");

    std::fs::create_dir(lib.join("inner")).expect("a folder");
    shop.git(&lib.join("inner"), &["init", "-q"]);
    refused("separate repository", &["--force"]);
    std::fs::remove_dir_all(lib.join("inner")).expect("gone");

    let origin = format!("file://{}", shop.origin("web").display());
    shop.git(&lib, &["-c", "protocol.file.allow=always", "submodule", "add", "-q", &origin, "inner"]);
    refused("submodules", &["--force"]);
    shop.git(&lib, &["reset", "-q", "--hard"]);
    shop.git(&lib, &["submodule", "deinit", "--all", "-f", "-q"]);
    std::fs::remove_dir_all(shop.repo("lib").join(".git/worktrees/lib/modules")).expect("gone");
    let _ = std::fs::remove_dir_all(lib.join("inner"));

    // A merge in progress counts as a change.
    shop.commit(&lib, "code.txt", "branch\n");
    shop.git(&lib, &["switch", "-q", "--detach", "HEAD~1"]);
    shop.commit(&lib, "code.txt", "other\n");
    let merged = shop.git_command(&lib).args(["merge", "-q", "feature/login"]).output().expect("git starts");
    assert!(!merged.status.success());
    refused("merge is in progress", &[]);
    let text = std::fs::read(lib.join("code.txt")).expect("a file");
    let at = shop.git(&lib, &["rev-parse", "HEAD"]);
    shop.ok(&["worktree", "remove", "login", "--force"]);
    shop.ok(&["worktree", "restore", "login"]);
    assert_eq!(std::fs::read(lib.join("code.txt")).expect("a file"), text, "conflict markers and all");
    assert_eq!(shop.git(&lib, &["rev-parse", "HEAD"]), at, "no branch had it");
}

#[test]
fn x21_an_ignored_file_is_kept_without_force_too() {
    let shop = Shop::new();
    shop.commit(&shop.repo("lib"), ".gitignore", ".env\n");
    shop.git(&shop.repo("lib"), &["branch", "-f", "develop"]);
    shop.ok(&["worktree", "add", "login"]);
    let file = place(&shop, "login", "lib").join("conf/.env");
    std::fs::create_dir(file.parent().expect("a folder")).expect("a folder");
    std::fs::write(&file, "SECRET=1\n").expect("a file");
    let foreseen = shop.data(&["worktree", "remove", "login", "--dry-run"]);
    assert!(foreseen["dry_run"] == true && file.exists(), "{foreseen}");
    let data = shop.data(&["worktree", "remove", "login"]);
    assert_eq!(data["kept"][0]["ignored"], json!(["conf/.env"]));
    assert!(!file.exists());
    // Answers do not contain the file's content.
    assert!(!data.to_string().contains("SECRET"));
    shop.ok(&["worktree", "restore", "login"]);
    assert_eq!(std::fs::read_to_string(&file).expect("a file"), "SECRET=1\n");
}

#[test]
fn x40_a_removal_is_undone() {
    let shop = with_changes();
    let upstream = ["branch", "-q", "--set-upstream-to=origin/main", "feature/login"];
    shop.git(&shop.repo("lib"), &upstream);
    let before = REPOS.map(|(repo, _)| found(&shop, &place(&shop, "login", repo)));
    let config = std::fs::read_to_string(shop.repo("lib").join(".git/config")).expect("a file");
    shop.ok(&["worktree", "remove", "login", "--force"]);
    shop.ok(&["flow", "undo"]);
    let after = REPOS.map(|(repo, _)| found(&shop, &place(&shop, "login", repo)));
    assert_eq!(after, before);
    let again = std::fs::read_to_string(shop.repo("lib").join(".git/config")).expect("a file");
    assert_eq!(again.contains("[branch \"feature/login\"]"), config.contains("[branch \"feature/login\"]"));
    shop.assert_tidy();
    // `flow undo` also undoes an add.
    shop.ok(&["worktree", "add", "more"]);
    shop.ok(&["flow", "undo"]);
    assert!(!shop.root().join(".worktrees/more").exists() && shop.id("web", "feature/more").is_empty());
}

#[test]
fn a_branch_that_moved_since_is_not_mixed_with_old_files() {
    let shop = with_changes();
    shop.ok(&["worktree", "remove", "login", "--force"]);
    let api = shop.repo("api");
    shop.git(&api, &["switch", "-q", "feature/login"]);
    shop.commit(&api, "later.txt", "later\n");
    shop.git(&api, &["switch", "-q", "main"]);
    let before = shop.state();
    let (error, _) = shop.refused(&["worktree", "restore", "login"]);
    assert_eq!(error["code"], "E_FLOW_MOVED", "{error}");
    assert_eq!(shop.state(), before);
    let (error, _) = shop.refused(&["worktree", "restore", "none"]);
    assert_eq!(error["code"], "E_NOT_FOUND");
}

#[test]
fn a_set_whose_folder_is_gone_is_listed_and_removed() {
    let shop = Shop::new();
    shop.ok(&["worktree", "add", "login"]);
    std::fs::remove_dir_all(place(&shop, "login", "web")).expect("gone");
    let data = shop.data(&["worktree", "list"]);
    let rows = data["sets"][0]["worktrees"].as_array().expect("rows");
    let facts: Vec<_> = rows.iter().map(|row| (row["exists"].clone(), row["clean"].clone())).collect();
    assert_eq!(facts[2], (json!(false), json!(null)));
    let shown = shop.ok(&["worktree", "list"]);
    assert!(shown.contains("its folder is missing"), "{shown}");
    shop.ok(&["worktree", "remove", "login"]);
    assert_eq!(shop.data(&["worktree", "list"]), json!({ "sets": [] }));
    shop.assert_tidy();
}

/// `.worktrees` is a link that leads out of the workspace.
#[test]
fn x35_no_worktree_is_made_outside_of_the_root() {
    let shop = Shop::new();
    let outside = shop.scratch.path().join("outside");
    std::fs::create_dir(&outside).expect("a folder");
    #[cfg(unix)]
    std::os::unix::fs::symlink(&outside, shop.root().join(".worktrees")).expect("a link");
    let before = shop.state();
    let (error, _) = shop.refused(&["worktree", "add", "login"]);
    assert_eq!(error["code"], "E_IO_INVALID_PATH", "{error}");
    assert_eq!(shop.state(), before);
    assert_eq!(std::fs::read_dir(&outside).expect("a folder").count(), 0);
}

#[test]
fn agents_have_the_contracts_tools_for_worktrees() {
    let shop = with_changes();
    let mut client = Client::spawn(shop.command().arg("serve").args(["--as", "smctl"])).shake_hands("2025-06-18");
    let mut call = |name: &str, arguments: serde_json::Value| {
        client.request("tools/call", json!({ "name": name, "arguments": arguments }))
    };
    let answer = call("smctl_worktree_remove", json!({ "name": "login" }));
    assert_eq!(answer["error"]["code"], -32002, "{answer}");
    assert_eq!(answer["error"]["data"]["code"], "E_WORKTREE_DIRTY", "{answer}");
    for unknown in [json!({ "name": "login", "dry_run": true }), json!({ "name": "login", "forse": true })] {
        let answer = call("smctl_worktree_remove", unknown);
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
    let answer = call("smctl_worktree_list", json!({}));
    assert_eq!(answer["result"]["structuredContent"]["sets"][0]["name"], "login", "{answer}");
    let answer = call("smctl_workspace_status", json!({}));
    assert_eq!(answer["result"]["structuredContent"]["repos"][0]["name"], "lib", "{answer}");
    let answer = call("smctl_worktree_add", json!({ "name": "second", "repos": ["lib"] }));
    assert_eq!(answer["result"]["structuredContent"]["worktrees"][0]["branch"], "feature/second", "{answer}");
    let answer = call("smctl_worktree_remove", json!({ "name": "login", "force": true }));
    assert_eq!(answer["result"]["structuredContent"]["removed"], "login", "{answer}");
    client.finish();
    assert!(!place(&shop, "login", "api").exists());
}

/// A start with worktrees creates all of them. If one cannot be created, the start fails and leaves no branch.
#[test]
fn x2_worktrees_are_made_or_nothing_is_left() {
    let shop = Shop::new();
    let before = shop.state();
    let taken = place(&shop, "login", "web");
    std::fs::create_dir_all(&taken).expect("a folder");
    std::fs::write(taken.join("mine.txt"), "mine").expect("a file");
    let (error, _) = shop.refused(&["flow", "feature", "start", "login", "--worktree"]);
    assert!(error["message"].as_str().is_some_and(|said| said.contains("login/web")), "{error}");
    std::fs::remove_dir_all(shop.root().join(".worktrees")).expect("gone");
    assert_eq!(shop.state(), before);
    let started = shop.data(&["flow", "feature", "start", "login", "--worktree"]);
    for (at, (repo, _)) in REPOS.into_iter().enumerate() {
        let place = place(&shop, "login", repo);
        assert_eq!(shop.git(&place, &["branch", "--show-current"]), "feature/login");
        assert!(started["repos"][at]["worktree"].is_string(), "{started}");
        assert_eq!(shop.branch(repo), "main", "the checkouts stay");
    }
}

#[test]
fn a_workspace_without_repositories_is_reported() {
    let shop = Shop::bare();
    shop.ok(&["workspace", "init", "shop"]);
    for line in [
        &["worktree", "add", "x"][..],
        &["worktree", "add", "x", "--dry-run"],
        &["flow", "feature", "start", "x"],
        &["flow", "feature", "finish", "x"],
    ] {
        let (error, _) = shop.refused(line);
        assert_eq!(error["message"], "The workspace 'shop' has no repositories", "{error}");
        assert_eq!(error["hints"], json!(["add one with `mcpkg workspace add URL`"]), "{error}");
    }
}
