//! Tests in which a checkout fails after it has written some files: a filter fails, as Git LFS's filter does without a
//! network.

use super::{FINISH, assert_finished, imported};
use crate::workspace::shop::{REPOS, Shop};

/// Makes each checkout of `picture.bin` fail in `web`, the last repository, until the file `mended` exists.
fn failing(shop: &Shop) {
    let web = shop.repo("web");
    let mended = shop.scratch.path().join("mended").display().to_string();
    std::fs::write(web.join(".git/info/attributes"), "picture.bin filter=large\n").expect("a file");
    shop.git(&web, &["config", "filter.large.required", "true"]);
    shop.git(&web, &["config", "filter.large.clean", "cat"]);
    shop.git(&web, &["config", "filter.large.smudge", &format!("test -e {mended} && cat")]);
    shop.trust("web");
}

fn mend(shop: &Shop) {
    shop.scratch.file("mended", "");
}

#[test]
fn a_forward_that_fails_halfway_is_taken_back_with_its_files() {
    let shop = imported::on_develop();
    failing(&shop);
    let before = shop.state();
    let (error, _) = shop.refused(&FINISH);
    assert_eq!(error["code"], "E_GIT_FAILED", "{error}");
    assert!(error["message"].as_str().is_some_and(|said| said.contains("filter")), "{error}");
    assert_eq!(shop.state(), before);
    shop.assert_tidy();
    mend(&shop);
    shop.ok(&FINISH);
    assert_finished(&shop);
    // An undo needs no filter, because the earlier commits do not have the file.
    std::fs::remove_file(shop.scratch.path().join("mended")).expect("gone");
    shop.ok(&["flow", "undo"]);
    assert_eq!(shop.state(), before);
}

#[test]
fn a_switch_that_fails_halfway_is_taken_back_with_its_files() {
    let shop = imported::with_feature();
    failing(&shop);
    // develop has the file, and main does not.
    for (repo, _) in REPOS {
        shop.git(&shop.repo(repo), &["branch", "-f", "develop", "feature/login"]);
    }
    let before = shop.state();
    let (error, _) = shop.refused(&["flow", "feature", "start", "more"]);
    assert_eq!(error["code"], "E_GIT_FAILED", "{error}");
    assert_eq!(shop.state(), before);
    shop.assert_tidy();
    mend(&shop);
    shop.ok(&["flow", "feature", "start", "more"]);
    assert_eq!(REPOS.map(|(repo, _)| shop.branch(repo)), ["feature/more"; 3].map(str::to_owned));
}

/// If somebody writes to a file in the work tree during the checkout, that text is kept, and the file is reported.
#[test]
fn files_written_in_the_meantime_stay() {
    let shop = imported::on_develop();
    let web = shop.repo("web");
    failing(&shop);
    let mine = web.join("code.txt").display().to_string();
    // The filter runs in the middle of the checkout.
    let smudge = format!("echo mine > '{mine}'; exit 1");
    shop.git(&web, &["config", "filter.large.smudge", &smudge]);
    shop.trust("web");
    let (error, _) = shop.refused(&FINISH);
    assert_eq!(error["code"], "E_FLOW_UNDONE", "{error}");
    assert_eq!(error["details"]["kept"][0]["repo"], "web", "{error}");
    assert!(error.to_string().contains("code.txt"), "{error}");
    assert_eq!(std::fs::read_to_string(mine).expect("a file"), "mine\n");
    assert_eq!(shop.git(&web, &["status", "--porcelain"]), " M code.txt");
    shop.assert_tidy();
}

/// A failure after the merge does not undo the merge. A repository whose work tree cannot leave the feature's branch keeps
/// that branch.
#[test]
fn a_work_tree_that_cannot_leave_the_branch_keeps_it() {
    let shop = imported::with_feature();
    let web = shop.repo("web");
    for (repo, _) in REPOS {
        shop.git(&shop.repo(repo), &["switch", "-q", "feature/login"]);
    }
    // The checkout of develop writes `develop.txt`.
    std::fs::write(web.join(".git/info/attributes"), "develop.txt filter=large\n").expect("a file");
    shop.git(&web, &["config", "filter.large.required", "true"]);
    shop.git(&web, &["config", "filter.large.clean", "cat"]);
    shop.git(&web, &["config", "filter.large.smudge", "false"]);
    shop.trust("web");
    let data = shop.data(&FINISH);
    let warnings = data["warnings"].to_string();
    assert!(warnings.contains("not done: web: switch"), "{data}");
    assert!(warnings.contains("not done: web: delete feature/login"), "{data}");
    assert_eq!((shop.branch("web"), shop.branch("lib")), ("feature/login".to_owned(), "develop".to_owned()));
    assert_eq!(shop.git(&web, &["status", "--porcelain"]), "", "its files are whole");
    assert_eq!((shop.id("lib", "feature/login"), shop.id("web", "develop^2")), (String::new(), shop.id("web", "HEAD")));
    shop.assert_tidy();
    shop.git(&web, &["config", "filter.large.smudge", "cat"]);
    shop.trust("web");
    shop.ok(&FINISH);
    assert_finished(&shop);
}

/// A user's merge settings do not change how a branch is moved forward.
#[test]
fn merge_options_of_a_branch_are_ignored() {
    for options in ["--squash", "--no-commit --no-ff", "--autostash", "--verify-signatures", "-s ours"] {
        let shop = imported::on_develop();
        shop.git(&shop.repo("web"), &["config", "branch.develop.mergeOptions", options]);
        shop.git(&shop.repo("lib"), &["config", "merge.autoStash", "true"]);
        shop.ok(&FINISH);
        assert_finished(&shop);
    }
}
