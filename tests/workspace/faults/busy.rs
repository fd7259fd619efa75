//! Tests in which somebody else is working in a repository: locks of refs and indexes, conflicts, operations in
//! progress, and another finish.

use std::path::Path;

use super::{FINISH, assert_finished, imported};
use crate::workspace::shop::{REPOS, Shop};

/// Checks that the finish is refused with `code`, and that it changes nothing.
#[track_caller]
fn assert_refused(shop: &Shop, code: &str, words: &str) {
    let before = shop.state();
    let (error, _) = shop.refused(&FINISH);
    assert_eq!(error["code"], code, "{error}");
    assert!(error.to_string().contains(words), "{words}: {error}");
    assert_eq!(shop.state(), before);
    assert!(!shop.root().join(".smctl/applying").exists(), "a journal stays");
}

/// Starts a merge that stops with a conflict in a file that the feature does not change.
fn conflicted(shop: &Shop, folder: &Path) {
    shop.git(folder, &["switch", "-q", "-c", "other"]);
    shop.commit(folder, "README.md", "theirs\n");
    shop.git(folder, &["switch", "-q", "develop"]);
    shop.commit(folder, "README.md", "ours\n");
    let merged = shop.git_command(folder).args(["merge", "-q", "other"]).output().expect("git starts");
    assert!(!merged.status.success());
}

/// Tests the lock of a ref, and the lock of the index of a work tree that has the branch checked out.
#[test]
fn x46_locks_of_other_gits_are_refused_before_anything_moves() {
    let shop = imported::on_develop();
    let git = shop.repo("web").join(".git");
    for (n, lock) in ["refs/heads/develop.lock", "index.lock"].into_iter().enumerate() {
        std::fs::write(git.join(lock), "").expect("a lock");
        assert_refused(&shop, "E_GIT_LOCKED", ".lock");
        std::fs::remove_file(git.join(lock)).expect("gone");
        if n == 0 {
            shop.git(&shop.repo("web"), &["switch", "-q", "feature/login"]);
        }
    }
    shop.git(&shop.repo("web"), &["switch", "-q", "develop"]);
    // The branch is checked out in a worktree of its own.
    let set = shop.root().join(".worktrees/login/web");
    shop.git(&shop.repo("web"), &["worktree", "add", "-q", &set.display().to_string(), "feature/login"]);
    let lock = git.join("worktrees/web/index.lock");
    std::fs::write(&lock, "").expect("a lock");
    assert_refused(&shop, "E_GIT_LOCKED", "index.lock");
    std::fs::remove_file(lock).expect("gone");
    shop.ok(&FINISH);
    assert_finished(&shop);
}

/// With a lock that affects only the deletion of the branch, the branch stays, and the next finish deletes it.
#[test]
fn a_branch_that_cannot_be_deleted_stays_and_is_reported() {
    let shop = imported::on_develop();
    let web = shop.repo("web");
    shop.git(&web, &["pack-refs", "--all"]);
    let lock = web.join(".git/packed-refs.lock");
    std::fs::write(&lock, "").expect("a lock");
    let data = shop.data(&FINISH);
    assert!(data["warnings"].to_string().contains("web: delete feature/login"), "{data}");
    assert_eq!(shop.git(&web, &["show", "develop:code.txt"]), "one\nchanged");
    assert!(!shop.id("web", "feature/login").is_empty());
    std::fs::remove_file(lock).expect("gone");
    shop.ok(&FINISH);
    assert_finished(&shop);
}

/// Tests conflicts in the index, with and without a merge in progress.
#[test]
fn x46_conflicts_are_refused_before_anything_moves() {
    let shop = imported::on_develop();
    let web = shop.repo("web");
    conflicted(&shop, &web);
    assert_refused(&shop, "E_FLOW_DIRTY", "merge is in progress");
    // The state after a `git stash pop` with conflicts.
    std::fs::remove_file(web.join(".git/MERGE_HEAD")).expect("gone");
    assert_refused(&shop, "E_FLOW_DIRTY", "README.md");
    shop.git(&web, &["reset", "-q", "--hard"]);
    shop.ok(&FINISH);
    assert_finished(&shop);
}

/// Tests a git operation that is in progress in another work tree, on develop or on the branch.
#[test]
fn x46_an_operation_in_progress_in_another_work_tree_is_refused() {
    let shop = imported::with_feature();
    let web = shop.repo("web");
    let elsewhere = shop.scratch.path().join("elsewhere");
    shop.git(&web, &["worktree", "add", "-q", &elsewhere.display().to_string(), "develop"]);
    conflicted(&shop, &elsewhere);
    assert_refused(&shop, "E_FLOW_DIRTY", "merge is in progress");
    shop.git(&elsewhere, &["merge", "--abort"]);
    // During a rebase, the branch is not checked out anywhere, but deleting it would break the rebase.
    shop.git(&elsewhere, &["switch", "-q", "feature/login"]);
    shop.commit(&elsewhere, "README.md", "branch\n");
    let rebased = shop.git_command(&elsewhere).args(["rebase", "-q", "develop"]).output().expect("git starts");
    assert!(!rebased.status.success());
    assert_refused(&shop, "E_FLOW_DIRTY", "rebase is in progress");
    shop.git(&elsewhere, &["rebase", "--abort"]);
    shop.git(&elsewhere, &["bisect", "start"]);
    shop.git(&elsewhere, &["switch", "-q", "--detach", "HEAD~1"]);
    assert_refused(&shop, "E_FLOW_DIRTY", "bisect is in progress");
    shop.git(&elsewhere, &["bisect", "reset"]);
    shop.git(&elsewhere, &["reset", "-q", "--hard", "HEAD~1"]);
    shop.git(&elsewhere, &["switch", "-q", "develop"]);
    shop.ok(&FINISH);
    assert_eq!(shop.id("web", "feature/login"), "");
}

/// Two features that are finished at the same time are finished one after the other.
#[test]
fn x45_two_features_at_the_same_time_are_both_finished() {
    let shop = imported::on_develop();
    for (repo, _) in REPOS {
        shop.git(&shop.repo(repo), &["branch", "-q", "feature/other", "main"]);
        shop.git(&shop.repo(repo), &["switch", "-q", "feature/other"]);
        shop.commit(&shop.repo(repo), "other.txt", "other\n");
        shop.git(&shop.repo(repo), &["switch", "-q", "develop"]);
    }
    let start = |name: &str| {
        let mut command = shop.command();
        let command = command.args(["--json", "flow", "feature", "finish", name]);
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().expect("mcpkg starts")
    };
    for child in [start("login"), start("other")] {
        let output = child.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
    assert_finished(&shop);
    for (repo, _) in REPOS {
        assert_eq!(shop.git(&shop.repo(repo), &["show", "develop:other.txt"]), "other");
    }
}

/// Files that git refuses to overwrite are not changed: an untracked file, even one that is empty or the same as the
/// new file, and a deleted file.
#[test]
fn files_that_git_refuses_to_overwrite_stay_unchanged() {
    let shop = imported::with_feature();
    let web = shop.repo("web");
    std::fs::remove_file(web.join("README.md")).expect("gone");
    for text in ["", "dev", "develop\n", "mine\n"] {
        std::fs::write(web.join("develop.txt"), text).expect("a file");
        let before = shop.state();
        let (error, _) = shop.refused(&["flow", "feature", "start", "more"]);
        assert_eq!(error["code"], "E_GIT_FAILED", "{text}: {error}");
        assert_eq!(shop.state(), before, "{text}");
        shop.assert_tidy();
    }
    std::fs::remove_file(web.join("develop.txt")).expect("gone");
    shop.ok(&["flow", "feature", "start", "more"]);
}
