//! Tests of undoing flows.

use super::shop::{REPOS, Shop};

/// Undoing a finish restores everything.
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

/// A second undo undoes the run before the last. Undoing an undo by its id does the run again.
#[test]
fn x40_undo_goes_back_step_by_step_and_an_undo_is_taken_back_by_its_name() {
    let shop = Shop::new();
    let first = shop.state();
    shop.ok(&["flow", "feature", "start", "login"]);
    shop.work("login.txt");
    let before = shop.state();
    shop.ok(&["flow", "feature", "finish", "login"]);
    let after = shop.state();
    let finish = runs(&shop)[0]["run"].as_str().expect("a run").to_owned();
    let undone = shop.data(&["flow", "undo"]);
    assert_eq!((undone["operation"].as_str(), undone["undone"].as_str()), (Some("undo"), Some(finish.as_str())));
    assert_eq!(shop.state(), before);
    let undo = undone["run"].as_str().expect("a run");
    let redone = shop.data(&["flow", "undo", &undo[..13]]);
    assert_eq!((redone["operation"].as_str(), redone["redone"].as_str()), (Some("redo"), Some(finish.as_str())));
    assert_eq!(shop.state(), after);
    let (error, status) = shop.refused(&["flow", "undo", redone["run"].as_str().expect("a run")]);
    assert_eq!((error["code"].as_str(), status), (Some("E_RUN_STATE"), 1), "{error}");
    let (error, status) = shop.refused(&["flow", "undo", undo]);
    assert_eq!((error["details"]["state"].as_str(), status), (Some("undone"), 1), "{error}");
    shop.ok(&["flow", "undo"]);
    assert_eq!(shop.state(), before);
    shop.git(&shop.repo("lib"), &["reset", "-q", "--hard", "HEAD^"]);
    shop.git(&shop.repo("api"), &["reset", "-q", "--hard", "HEAD^"]);
    shop.git(&shop.repo("web"), &["reset", "-q", "--hard", "HEAD^"]);
    shop.ok(&["flow", "undo"]);
    assert_eq!(shop.state(), first);
    let said: Vec<String> = runs(&shop)
        .iter()
        .map(|run| ["operation", "subject", "state"].map(|key| run[key].as_str().expect("a text")).join(" "))
        .collect();
    assert_eq!(
        said,
        [
            "undo feature start feature/login done",
            "undo feature finish feature/login done",
            "redo feature finish feature/login done",
            "undo feature finish feature/login undone",
            "feature finish feature/login undone",
            "feature start feature/login undone",
            "workspace init shop done",
        ]
    );
    let (error, status) = shop.refused(&["flow", "undo"]);
    assert_eq!((status, &error["code"]), (1, &serde_json::json!("E_RUN_STATE")));
    assert!(
        error["message"].as_str().is_some_and(|said| said.contains("`workspace init` cannot be undone")),
        "{error}"
    );
}

fn runs(shop: &Shop) -> Vec<serde_json::Value> {
    shop.data(&["flow", "log"])["runs"].as_array().expect("runs").clone()
}

/// A run of another workspace is not undone, even if its id is given.
#[test]
fn a_run_of_another_workspace_is_not_found() {
    let shop = Shop::new();
    shop.ok(&["flow", "feature", "start", "login"]);
    let run = runs(&shop)[0]["run"].as_str().expect("a run").to_owned();
    let other = shop.scratch.path().join("work/other");
    std::fs::create_dir_all(&other).expect("a folder");
    let root = other.display().to_string();
    let mut init = shop.command();
    init.current_dir(&other).args(["workspace", "init", "other", "--repo", "../origins/lib.git"]);
    assert_eq!(shop.scratch.finish(&mut init).status, 0);
    for id in [run.as_str(), "xyz", ""] {
        assert_eq!(shop.refused(&["flow", "undo", id, "-w", &root]).0["code"], "E_NOT_FOUND", "{id}");
        let pushed = shop.refused(&["flow", "push", id, "--dry-run", "-w", &root]).0;
        assert_eq!(pushed["code"], "E_NOT_FOUND", "{id}");
    }
}

/// If develop is checked out, a finish and its undo change the files too.
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
fn branches_that_moved_since_are_not_taken_back() {
    let shop = Shop::new();
    shop.ok(&["flow", "feature", "start", "login"]);
    shop.work("login.txt");
    shop.ok(&["flow", "feature", "finish", "login"]);
    shop.commit(&shop.repo("web"), "more.txt", "more");
    let (before, log) = (shop.state(), shop.ok(&["flow", "log"]));
    for line in [&["flow", "undo"][..], &["flow", "undo", "--dry-run"]] {
        let (error, _) = shop.refused(line);
        assert_eq!(error["code"], "E_FLOW_MOVED", "{error}");
        let message = error["message"].as_str().expect("a message");
        assert!(message.starts_with("web: develop has since been moved: it is at "), "{error}");
        assert!(
            message.ends_with("after `feature finish feature/login`, so that run can no longer be undone"),
            "{error}"
        );
        assert!(!error["hints"].to_string().contains("try again"), "{error}");
    }
    assert_eq!((shop.state(), shop.ok(&["flow", "log"])), (before, log), "nothing was begun");
    shop.assert_tidy();
}

/// A run without a record on this machine, as in a database from somebody else, is not undone.
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
