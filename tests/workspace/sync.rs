//! Tests of `workspace sync`, which treats each repository separately.

use serde_json::{Value, json};

use super::shop::{REPOS, Shop};
use crate::support::{at_a_terminal, skipped};

fn states(data: &Value) -> Vec<(String, String)> {
    let rows = data["repos"].as_array().expect("rows");
    let text = |row: &Value, key: &str| row[key].as_str().expect("a text").to_owned();
    rows.iter().map(|row| (text(row, "repo_name"), text(row, "state"))).collect()
}

fn pairs(rows: &[(&str, &str)]) -> Vec<(String, String)> {
    rows.iter().map(|(name, state)| ((*name).to_owned(), (*state).to_owned())).collect()
}

/// Commits to the main branch of a repository's origin, as another user.
fn theirs(shop: &Shop, repo: &str) -> String {
    let other = shop.scratch.path().join("others").join(repo);
    if !other.exists() {
        std::fs::create_dir_all(other.parent().expect("a folder")).expect("a folder");
        let place = other.display().to_string();
        shop.git(shop.scratch.path(), &["clone", "-q", &shop.origin(repo).display().to_string(), &place]);
    }
    shop.commit(&other, "theirs.txt", "theirs\n");
    shop.git(&other, &["push", "-q"]);
    shop.git(&other, &["rev-parse", "HEAD"])
}

#[test]
fn x14_missing_repositories_are_cloned_and_a_dead_remote_does_not_stop_others() {
    let shop = Shop::new();
    let new = theirs(&shop, "lib");
    std::fs::remove_dir_all(shop.repo("web")).expect("gone");
    std::fs::remove_dir_all(shop.origin("api")).expect("gone");
    let foreseen = shop.data(&["workspace", "sync", "web", "--dry-run"]);
    assert_eq!(states(&foreseen), pairs(&[("web", "cloned")]));
    assert!(!shop.repo("web").exists());
    let ran = shop.run(&["--json", "workspace", "sync"]);
    assert_eq!(ran.status, 1, "one failed: {ran}");
    let data: Value = serde_json::from_str(&ran.stdout).expect("one document");
    assert_eq!(states(&data), pairs(&[("lib", "synced"), ("api", "failed"), ("web", "cloned")]), "{data}");
    assert_eq!(data["all_synced"], false);
    assert_eq!(shop.id("lib", "main"), new);
    assert!(shop.repo("lib").join("theirs.txt").exists(), "the files came along");
    assert_eq!((shop.branch("web"), shop.id("web", "develop").is_empty()), ("main".to_owned(), false));
    shop.assert_tidy();
    let data = shop.data(&["workspace", "sync", "lib", "web"]);
    assert_eq!(states(&data), pairs(&[("lib", "unchanged"), ("web", "unchanged")]));
    let (error, _) = shop.refused(&["workspace", "sync", "webb"]);
    assert_eq!(error["hints"][0], "did you mean 'web'?");
}

#[test]
fn branches_that_cannot_move_without_loss_stay() {
    let shop = Shop::new();
    let new = ["lib", "api", "web"].map(|repo| theirs(&shop, repo));
    // In `lib`, another branch is checked out, so main moves without the work tree.
    shop.git(&shop.repo("lib"), &["switch", "-q", "-c", "alone"]);
    shop.commit(&shop.repo("api"), "mine.txt", "mine\n");
    std::fs::write(shop.repo("web").join("code.txt"), "changed\n").expect("a file");
    let (api, web) = (shop.id("api", "main"), shop.id("web", "main"));
    let data = shop.data(&["workspace", "sync"]);
    assert_eq!(states(&data), pairs(&[("lib", "synced"), ("api", "diverged"), ("web", "dirty")]), "{data}");
    assert_eq!([shop.id("lib", "main"), shop.id("api", "main"), shop.id("web", "main")], [new[0].clone(), api, web]);
    assert_eq!(shop.branch("lib"), "alone");
    assert_eq!(std::fs::read_to_string(shop.repo("web").join("code.txt")).expect("a file"), "changed\n");
    shop.git(&shop.repo("web"), &["restore", "code.txt"]);
    // An untracked or ignored file is not overwritten.
    for ignore in ["", "theirs.txt\n"] {
        std::fs::write(shop.repo("web").join("theirs.txt"), "mine\n").expect("a file");
        std::fs::write(shop.repo("web").join(".git/info/exclude"), ignore).expect("a file");
        let data = shop.data(&["workspace", "sync", "web"]);
        assert_eq!(states(&data), pairs(&[("web", "dirty")]), "{data}");
        assert_eq!(std::fs::read_to_string(shop.repo("web").join("theirs.txt")).expect("a file"), "mine\n");
    }
    std::fs::remove_file(shop.repo("web").join("theirs.txt")).expect("gone");
    assert_eq!(shop.data(&["workspace", "sync", "web"])["repos"][0]["state"], json!("synced"));
    assert_eq!(shop.id("web", "main"), new[2]);
}

/// A local develop follows origin's develop once origin has one. An upstream that the user configured is kept.
#[test]
fn a_branch_that_origin_gains_later_is_followed() {
    let shop = Shop::new();
    for (repo, _) in REPOS {
        shop.git(&shop.repo(repo), &["push", "-q", "origin", "develop"]);
    }
    shop.git(&shop.repo("web"), &["config", "branch.develop.remote", "elsewhere"]);
    shop.git(&shop.repo("api"), &["switch", "-q", "develop"]);
    shop.commit(&shop.repo("api"), "mine.txt", "mine\n");
    let rows = |data: &Value| data["repos"].as_array().expect("rows").iter().map(said).collect::<Vec<_>>();
    let wanted =
        ["synced: develop now follows origin/develop", "synced: develop now follows origin/develop", "unchanged: "];
    assert_eq!(rows(&shop.data(&["workspace", "sync", "--dry-run"])), wanted);
    assert_eq!(rows(&shop.data(&["workspace", "sync"])), wanted);
    assert_eq!(rows(&shop.data(&["workspace", "sync"])), ["unchanged: "; 3]);
    for (repo, upstream) in [("lib", "refs/remotes/origin/develop"), ("web", "")] {
        let format = ["for-each-ref", "--format=%(upstream)", "refs/heads/develop"];
        assert_eq!(shop.git(&shop.repo(repo), &format), upstream, "{repo}");
    }
    let status = shop.data(&["workspace", "status"]);
    assert_eq!((&status["repos"][1]["upstream"], &status["repos"][1]["ahead"]), (&json!("origin/develop"), &json!(1)));
}

fn said(row: &Value) -> String {
    let text = |key: &str| row[key].as_str().expect("a text");
    format!("{}: {}", text("state"), text("message"))
}

/// A progress bar on the terminal is cleared before the answer.
#[test]
fn the_answer_of_a_sync_begins_on_a_line_of_its_own() {
    let shop = Shop::new();
    let mut command = shop.command();
    let Some((shown, ok)) = at_a_terminal(command.args(["workspace", "sync"]).env("TERM", "xterm"), "") else {
        return skipped("there is no script(1)");
    };
    assert!(ok && shown.contains("syncing"), "a bar was shown: {shown:?}");
    let before = shown.split("REPO").next().expect("a heading").trim_end_matches("\u{1b}[1m");
    assert!(before.ends_with("\r\u{1b}[2K"), "{before:?}");
}
