//! Tests of features in three repositories: all or nothing.

use std::process::Command;

use serde_json::{Value, json};

use super::shop::{REPOS, Shop};
use super::worktrees::place;
use crate::support::{BINARY, Client, finds, is_root, set_mode, skipped};

#[test]
fn a_feature_is_started_and_finished_in_all_repositories() {
    let shop = Shop::new();
    let data = shop.data(&["flow", "feature", "start", "login"]);
    assert_eq!(
        (data["operation"].as_str(), data["branch_name"].as_str()),
        (Some("feature start"), Some("feature/login"))
    );
    shop.work("login.txt");
    let tips = REPOS.map(|(repo, _)| shop.id(repo, "feature/login"));
    let old = REPOS.map(|(repo, _)| shop.id(repo, "develop"));
    let data = shop.data(&["flow", "feature", "finish", "login"]);
    for (n, (repo, _)) in REPOS.into_iter().enumerate() {
        assert_eq!(data["repos"][n]["success"], true, "{data}");
        assert_eq!(shop.id(repo, "develop^1"), old[n]);
        assert_eq!(shop.id(repo, "develop^2"), tips[n]);
        assert_eq!(shop.id(repo, "feature/login"), "", "the branch is gone");
        assert_eq!(shop.branch(repo), "develop");
        assert!(shop.repo(repo).join("login.txt").exists());
        assert_eq!(
            shop.git(&shop.repo(repo), &["log", "-1", "--format=%s"]),
            "Merge branch 'feature/login' into develop"
        );
        assert_eq!(shop.git(&shop.repo(repo), &["status", "--porcelain"]), "");
    }
    shop.assert_tidy();
}

/// A build may leave read-only folders, which only root can remove without changing their mode.
#[test]
fn a_read_only_folder_in_a_worktree_does_not_prevent_its_removal() {
    let nobody = ["runuser", "-u", "nobody", "--"];
    let reaches = || Command::new("runuser").args(["-u", "nobody", "--", "test", "-x", BINARY]).status();
    if !is_root() || finds("runuser").is_none() || !reaches().is_ok_and(|status| status.success()) {
        return skipped("another user needs root, runuser and a binary that it may run");
    }
    let shop = Shop::new();
    for (repo, _) in REPOS {
        // The user `nobody` has a different home, so git finds no name there.
        shop.git(&shop.repo(repo), &["config", "user.name", "nobody"]);
        shop.git(&shop.repo(repo), &["config", "user.email", "nobody@example.com"]);
    }
    shop.commit(&shop.repo("lib"), ".gitignore", "cache/\n");
    shop.git(&shop.repo("lib"), &["branch", "-f", "develop"]);
    shop.ok(&["worktree", "add", "login"]);
    let lib = place(&shop, "login", "lib");
    shop.commit(&lib, "login.txt", "lib\n");
    let cache = lib.join("cache/deep");
    std::fs::create_dir_all(&cache).expect("a folder");
    std::fs::write(cache.join("built"), "built\n").expect("a file");
    let owned = Command::new("chown").args(["-R", "nobody"]).arg(shop.scratch.path()).status();
    assert!(owned.expect("chown").success());
    for folder in [&cache, &lib.join("cache")] {
        set_mode(folder, 0o555);
    }
    let mut finish = shop.command_under(&nobody);
    let ran = shop.scratch.finish(finish.args(["flow", "feature", "finish", "login"]));
    assert!(ran.status == 0 && !ran.stderr.contains("Cannot remove"), "{ran}");
    assert!(!lib.exists() && !shop.root().join(".smctl/tmp").exists());
    let ran = shop.scratch.finish(shop.command_under(&nobody).args(["worktree", "add", "again"]));
    assert_eq!(ran.status, 0, "{ran}");
}

#[test]
fn a_feature_is_started_and_finished_over_stdio() {
    for modern in [false, true] {
        let shop = Shop::bare();
        // Origins inside the root need no consent.
        for (repo, _) in REPOS {
            let from = shop.origin(repo);
            std::fs::create_dir_all(shop.root().join("origins")).expect("a folder");
            std::fs::rename(from, shop.root().join(format!("origins/{repo}.git"))).expect("moved");
        }
        let mut command = shop.command();
        let mut client = if modern {
            Client::modern_with(command.args(["serve", "--as", "smctl"]), json!({}))
        } else {
            Client::spawn(command.args(["serve", "--as", "smctl"])).shake_hands("2025-06-18")
        };
        let call = |client: &mut Client, name: &str, arguments| {
            let answer = client.request("tools/call", json!({ "name": name, "arguments": arguments }));
            assert_eq!(answer["result"]["isError"], false, "{answer}");
            let result = &answer["result"];
            let text: serde_json::Value =
                serde_json::from_str(result["content"][0]["text"].as_str().expect("text")).expect("JSON");
            assert_eq!(text, result["structuredContent"]);
            text
        };
        let repos: Vec<_> =
            REPOS.iter().map(|(repo, path)| json!({ "url": format!("origins/{repo}.git"), "path": path })).collect();
        call(&mut client, "smctl_workspace_init", json!({ "name": "shop", "repos": repos }));
        call(&mut client, "smctl_flow_feature_start", json!({ "name": "login" }));
        shop.work("login.txt");
        let finished = call(&mut client, "smctl_flow_feature_finish", json!({ "name": "login" }));
        assert_eq!(finished["operation"], "feature finish");
        for (repo, _) in REPOS {
            assert_eq!(shop.git(&shop.repo(repo), &["rev-list", "--count", "--merges", "develop"]), "1");
        }
        client.finish();
    }
}

/// A conflict leaves every repository unchanged, byte for byte, and all conflicts are reported.
#[test]
fn x4_a_conflict_moves_nothing_anywhere() {
    let shop = Shop::new();
    shop.ok(&["flow", "feature", "start", "login"]);
    shop.work("login.txt");
    for repo in ["api", "web"] {
        let folder = shop.repo(repo);
        shop.commit(&folder, "code.txt", "one\nours\nthree\n");
        shop.git(&folder, &["switch", "-q", "develop"]);
        shop.commit(&folder, "code.txt", "one\ntheirs\nthree\n");
    }
    let before = shop.state();
    let (error, exit) = shop.refused(&["flow", "feature", "finish", "login"]);
    assert_eq!((error["code"].as_str(), exit), (Some("E_FLOW_CONFLICT"), 1));
    let conflicts = &error["details"]["conflicts"];
    assert_eq!(conflicts[0], json!({ "repo": "api", "target": "develop", "paths": ["code.txt"] }));
    assert_eq!(conflicts[1]["repo"], "web");
    assert_eq!(shop.state(), before);
    shop.assert_tidy();
    for repo in ["api", "web"] {
        let folder = shop.repo(repo);
        shop.git(&folder, &["switch", "-q", "feature/login"]);
        let merged = shop.git_command(&folder).args(["merge", "-q", "develop"]).output().expect("git");
        assert!(!merged.status.success(), "a conflict by hand too");
        shop.commit(&folder, "code.txt", "one\nboth\nthree\n");
    }
    shop.ok(&["flow", "feature", "finish", "login"]);
    assert_eq!(std::fs::read_to_string(shop.repo("api").join("code.txt")).expect("a file"), "one\nboth\nthree\n");
}

/// The error is the example in contract 003, including its data.
#[test]
fn x16_a_branch_that_nobody_has_is_the_contracts_example() {
    let shop = Shop::new();
    let mut client = shop.client(&["--as", "smctl"]);
    let answer =
        client.request("tools/call", json!({ "name": "smctl_flow_feature_finish", "arguments": { "name": "foo" } }));
    let error = &answer["error"];
    assert_eq!(error["code"], -32000, "{answer}");
    assert_eq!(error["message"], "Feature branch 'foo' does not exist in repo lib");
    assert_eq!(error["data"]["repo"], "lib");
    assert_eq!(error["data"]["branch"], "feature/foo");
    assert_eq!(error["data"]["suggestion"], "Run smctl_flow_feature_start first");
    client.finish();
}

/// A squash of changes that the target already contains makes no empty commit.
#[test]
fn a_squash_of_what_is_there_already_makes_no_commit() {
    let shop = Shop::new();
    shop.ok(&["flow", "feature", "start", "login"]);
    shop.work("login.txt");
    shop.ok(&["flow", "feature", "finish", "login", "--squash", "--no-delete"]);
    let before: Vec<_> = REPOS.iter().map(|(repo, _)| shop.id(repo, "develop")).collect();
    let done = shop.data(&["flow", "feature", "finish", "login", "--squash"]);
    let after: Vec<_> = REPOS.iter().map(|(repo, _)| shop.id(repo, "develop")).collect();
    assert_eq!(before, after, "{done}");
    assert!(done.to_string().contains("nothing to merge: develop already has every commit"), "{done}");
}

/// An error that prevents a flow names the repository, and the command that helps.
#[test]
fn errors_about_a_repository_name_it() {
    let shop = Shop::new();
    shop.ok(&["flow", "feature", "start", "login"]);
    shop.work("login.txt");
    shop.git(&shop.repo("web"), &["switch", "-q", "feature/login"]);
    std::fs::write(shop.repo("web").join("login.txt"), "changed").expect("a file");
    let hint = |error: &Value| error["hints"].to_string();
    let (error, _) = shop.refused(&["flow", "feature", "finish", "login"]);
    assert!(error["code"] == "E_FLOW_DIRTY" && hint(&error).contains("`git stash`"), "{error}");
    shop.git(&shop.repo("web"), &["checkout", "-q", "login.txt"]);
    shop.git(&shop.repo("web"), &["switch", "-q", "develop"]);
    std::fs::write(shop.repo("web").join("login.txt"), "in the way").expect("a file");
    let (error, _) = shop.refused(&["flow", "feature", "finish", "login"]);
    assert!(error["code"] == "E_FLOW_DIRTY" && hint(&error).contains("`git stash -u`"), "{error}");
    std::fs::write(shop.repo("api").join(".git/HEAD"), "garbage").expect("written");
    let (error, _) = shop.refused(&["flow", "feature", "start", "other"]);
    let message = error["message"].as_str().expect("a message");
    assert!(message.starts_with("api: ") && hint(&error).contains("git -C "), "{error}");
}

/// A squash has one parent, the branch is deleted, and its commits survive a garbage collection.
#[test]
fn x17_a_squash_has_one_parent_and_loses_no_commit() {
    let shop = Shop::new();
    shop.ok(&["flow", "feature", "start", "login"]);
    shop.work("a.txt");
    shop.work("b.txt");
    let tip = shop.id("lib", "feature/login");
    shop.ok(&["flow", "feature", "finish", "login", "--squash"]);
    assert_eq!(shop.id("lib", "develop^2"), "");
    assert_eq!(shop.id("lib", "feature/login"), "");
    shop.git(&shop.repo("lib"), &["reflog", "expire", "--expire=now", "--all"]);
    shop.git(&shop.repo("lib"), &["gc", "-q", "--prune=now"]);
    assert_eq!(shop.git(&shop.repo("lib"), &["cat-file", "-t", &tip]), "commit");
}

/// A failure in one repository leaves nothing in the others.
#[test]
fn x19_a_start_that_fails_in_one_leaves_nothing_in_the_others() {
    let shop = Shop::new();
    shop.git(&shop.repo("web"), &["branch", "feature/login"]);
    let before = shop.state();
    let (error, _) = shop.refused(&["flow", "feature", "start", "login"]);
    assert_eq!(error["code"], "E_BRANCH_IN_USE");
    assert_eq!(shop.state(), before);
    // git itself refuses: switching would lose a change.
    shop.git(&shop.repo("web"), &["branch", "-D", "feature/login"]);
    let web = shop.repo("web");
    shop.git(&web, &["switch", "-q", "develop"]);
    shop.commit(&web, "code.txt", "changed\n");
    shop.git(&web, &["switch", "-q", "main"]);
    std::fs::write(web.join("code.txt"), "not committed\n").expect("a file");
    let before = shop.state();
    let (error, _) = shop.refused(&["flow", "feature", "start", "login"]);
    assert_eq!(error["code"], "E_GIT_FAILED", "{error}");
    assert_eq!(shop.state(), before);
    shop.assert_tidy();
}

/// An ignored file in the way of a merge is not overwritten.
#[test]
fn x20_an_ignored_file_in_the_way_is_not_overwritten() {
    let shop = Shop::new();
    let lib = shop.repo("lib");
    shop.git(&lib, &["switch", "-q", "develop"]);
    shop.commit(&lib, ".gitignore", "*.env\n");
    shop.ok(&["flow", "feature", "start", "login"]);
    std::fs::write(lib.join("x.env"), "theirs").expect("a file");
    shop.git(&lib, &["add", "-f", "x.env"]);
    shop.git(&lib, &["commit", "-q", "-m", "an env"]);
    shop.git(&lib, &["switch", "-q", "develop"]);
    std::fs::write(lib.join("x.env"), "mine").expect("a file");
    let before = shop.state();
    let (error, _) = shop.refused(&["flow", "feature", "finish", "login"]);
    assert_eq!(error["code"], "E_FLOW_DIRTY", "{error}");
    assert_eq!(shop.state(), before);
    assert_eq!(std::fs::read_to_string(lib.join("x.env")).expect("a file"), "mine");
}

/// The attributes of the target branch apply, whatever is checked out.
#[test]
fn x22_the_attributes_of_the_target_count() {
    let shop = Shop::new();
    let lib = shop.repo("lib");
    shop.git(&lib, &["switch", "-q", "develop"]);
    shop.commit(&lib, ".gitattributes", "list.txt merge=union\n");
    shop.commit(&lib, "list.txt", "base\n");
    shop.ok(&["flow", "feature", "start", "login"]);
    shop.commit(&lib, "list.txt", "base\nfeature\n");
    shop.git(&lib, &["switch", "-q", "develop"]);
    shop.commit(&lib, "list.txt", "base\ndevelop\n");
    // The checked-out branch has no attributes.
    shop.git(&lib, &["switch", "-q", "main"]);
    shop.ok(&["flow", "feature", "finish", "login"]);
    let list = shop.git(&lib, &["show", "develop:list.txt"]);
    assert_eq!(list, "base\ndevelop\nfeature");
}

/// Names that would leave the folder or look like options are refused before anything is done.
#[test]
fn x11_names_are_refused_first() {
    let shop = Shop::new();
    let before = shop.state();
    for name in ["../x", "a/b", "-x", "x.lock", "feature/x"] {
        let ran = shop.run(&["flow", "feature", "start", "--", name]);
        assert_eq!(ran.status, 2, "{name}: {ran}");
    }
    assert_eq!(shop.state(), before);
}

/// For an unknown repository, the error names the nearest one.
#[test]
fn x8_an_unknown_repository_is_an_error() {
    let shop = Shop::new();
    let ran = shop.run(&["flow", "feature", "start", "x", "--repo", "servce"]);
    assert_eq!(ran.status, 2, "{ran}");
    let ran = shop.run(&["flow", "feature", "start", "x", "--repo", "wep"]);
    assert!(ran.stderr.contains("did you mean 'web'?"), "{ran}");
}

/// With a git operation in progress or a lock of the index, nothing is moved.
#[test]
fn x46_operations_in_progress_are_refused() {
    let shop = Shop::new();
    shop.ok(&["flow", "feature", "start", "login"]);
    shop.work("login.txt");
    let git = shop.repo("web").join(".git");
    for (sign, operation) in [("MERGE_HEAD", "merge"), ("rebase-merge", "rebase"), ("BISECT_LOG", "bisect")] {
        if sign == "rebase-merge" {
            std::fs::create_dir(git.join(sign)).expect("a folder");
        } else {
            std::fs::write(git.join(sign), "").expect("a file");
        }
        let refs = shop.git(&shop.repo("lib"), &["for-each-ref"]);
        let (error, _) = shop.refused(&["flow", "feature", "finish", "login"]);
        assert_eq!(error["code"], "E_FLOW_DIRTY", "{error}");
        assert!(error["message"].as_str().is_some_and(|message| message.contains(operation)), "{error}");
        assert_eq!(shop.git(&shop.repo("lib"), &["for-each-ref"]), refs);
        let _ = std::fs::remove_file(git.join(sign)).or_else(|_| std::fs::remove_dir(git.join(sign)));
    }
    // Lock the index while develop is checked out, so that the finish would change files too.
    for (repo, _) in REPOS {
        shop.git(&shop.repo(repo), &["switch", "-q", "develop"]);
    }
    std::fs::write(git.join("index.lock"), "").expect("a lock");
    let before = shop.id("lib", "develop");
    let (error, _) = shop.refused(&["flow", "feature", "finish", "login"]);
    assert_eq!(error["code"], "E_GIT_LOCKED", "{error}");
    assert_eq!(shop.id("lib", "develop"), before);
    std::fs::remove_file(git.join("index.lock")).expect("gone");
    shop.ok(&["flow", "feature", "finish", "login"]);
    shop.assert_tidy();
}

/// Two commands finish the same feature at once. One does it. The error of the other names the run that did it.
#[test]
fn x45_two_that_finish_one_feature() {
    let shop = Shop::new();
    shop.ok(&["flow", "feature", "start", "login"]);
    shop.work("login.txt");
    let line = ["--json", "flow", "feature", "finish", "login"];
    let start = || {
        let mut command = shop.command();
        command.args(line).stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::null());
        command.spawn().expect("mcpkg starts")
    };
    let outputs = [start(), start()].map(|child| child.wait_with_output().expect("it ends"));
    let mut failed = outputs.iter().filter(|output| !output.status.success());
    let answer: serde_json::Value = serde_json::from_slice(&failed.next().expect("one fails").stdout).expect("JSON");
    assert!(failed.next().is_none(), "the other one does it");
    assert_eq!(answer["error"]["code"], "E_BRANCH_NOT_FOUND", "{answer}");
    assert!(answer["error"]["message"].as_str().is_some_and(|said| said.contains("was already finished by run")));
    for (repo, _) in REPOS {
        assert_eq!(shop.git(&shop.repo(repo), &["rev-list", "--count", "--merges", "develop"]), "1");
    }
}

/// Arguments that only the shell has, and mistyped ones, are refused from agents.
#[test]
fn x41_arguments_of_the_shell_are_refused_from_agents() {
    let shop = Shop::new();
    let mut client = shop.client(&["--as", "smctl"]);
    for (argument, near) in [("dry_run", None), ("push", None), ("no_delet", Some("no_delete"))] {
        let arguments = json!({ "name": "x", argument: true });
        let answer =
            client.request("tools/call", json!({ "name": "smctl_flow_feature_finish", "arguments": arguments }));
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        if let Some(near) = near {
            assert!(answer.to_string().contains(near), "{answer}");
        }
    }
    client.finish();
}
