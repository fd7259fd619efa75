//! Taking back what a flow did.

use super::shop::{REPOS, Shop};

/// X40: undo of a finish, of a start and of a release: everything is as before.
#[test]
fn x40_a_finish_is_taken_back() {
    let shop = Shop::new();
    shop.ok(&["flow", "feature", "start", "login"]);
    shop.work("login.txt");
    shop.git(&shop.repo("lib"), &["config", "branch.feature/login.description", "what it is for"]);
    let before = shop.state();
    let dry = shop.run(&["flow", "feature", "finish", "login", "--dry-run"]);
    assert_eq!(dry.status, 0, "{dry}");
    assert_eq!(shop.state(), before, "a dry run changes nothing");
    shop.ok(&["flow", "feature", "finish", "login"]);
    shop.ok(&["flow", "undo"]);
    assert_eq!(shop.state(), before);
    let described = shop.git(&shop.repo("lib"), &["config", "branch.feature/login.description"]);
    assert_eq!(described, "what it is for");
    shop.assert_tidy();
    shop.ok(&["flow", "feature", "finish", "login"]);
    for (repo, _) in REPOS {
        assert!(shop.repo(repo).join("login.txt").exists());
    }
}

#[test]
fn x40_a_start_and_a_release_are_taken_back() {
    let shop = Shop::new();
    let before = shop.state();
    shop.ok(&["flow", "feature", "start", "login"]);
    shop.ok(&["flow", "undo"]);
    assert_eq!(shop.state(), before);
    shop.ok(&["flow", "release", "start", "1.0.0"]);
    shop.work("v.txt");
    let before = shop.state();
    shop.ok(&["flow", "release", "finish", "1.0.0"]);
    shop.ok(&["flow", "undo"]);
    assert_eq!(shop.state(), before);
    shop.ok(&["flow", "release", "finish", "1.0.0"]);
    assert_eq!(shop.id("lib", "v1.0.0^{commit}"), shop.id("lib", "main"));
}

/// X40: with develop checked out, the files go along, there and back.
#[test]
fn x40_a_checked_out_target_goes_along() {
    let shop = Shop::new();
    shop.ok(&["flow", "feature", "start", "login"]);
    shop.work("login.txt");
    for (repo, _) in REPOS {
        shop.git(&shop.repo(repo), &["switch", "-q", "develop"]);
    }
    std::fs::write(shop.repo("web").join("untracked.txt"), "mine").expect("a file");
    let before = shop.state();
    shop.ok(&["flow", "feature", "finish", "login"]);
    for (repo, _) in REPOS {
        assert!(shop.repo(repo).join("login.txt").exists(), "{repo}");
    }
    shop.ok(&["flow", "undo"]);
    assert_eq!(shop.state(), before);
}

#[test]
fn what_was_moved_since_is_not_taken_back() {
    let shop = Shop::new();
    shop.ok(&["flow", "feature", "start", "login"]);
    shop.work("login.txt");
    shop.ok(&["flow", "feature", "finish", "login"]);
    shop.commit(&shop.repo("web"), "more.txt", "more");
    let before = shop.state();
    let (error, _) = shop.refused(&["flow", "undo"]);
    assert_eq!(error["code"], "E_FLOW_MOVED", "{error}");
    assert_eq!(shop.state(), before);
    shop.assert_tidy();
}

/// A database from somebody else names a run, and moves nothing.
#[test]
fn a_run_of_another_machine_is_not_taken_back() {
    let shop = Shop::new();
    shop.ok(&["flow", "feature", "start", "login"]);
    std::fs::remove_dir_all(shop.scratch.state()).expect("no records");
    let before = shop.state();
    let (error, _) = shop.refused(&["flow", "undo"]);
    assert_eq!(error["code"], "E_UNAPPROVED", "{error}");
    assert_eq!(shop.state(), before);
}
