//! Tests that change files while a deploy writes them. The deploy runs in this process, so that a test can act after an
//! exact number of files.

use std::path::Path;
use std::sync::Arc;

use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::Context;
use mcpkg_store::projects::Selection;
use serde_json::{Value, json};

use super::{Big, counts, deployed, summary};
use crate::support::{Thing, set_mode};

/// Returns the context of a shell in the root.
fn context(big: &Big) -> Context {
    let directory = big.ground.root().canonicalize().expect("a root").to_string_lossy().into_owned();
    let selection = Selection { directory, ..Selection::default() };
    Context {
        approved: big.ground.scratch.approved(),
        ..Context::shell(mcpkg::DOMAINS, big.ground.scratch.store(), selection)
    }
}

fn run(context: &Context, command: &[&str], tool: &str, arguments: Value) -> Result<Value> {
    let entry =
        mcpkg::DOMAINS.operations().find(|entry| entry.cli == command && entry.tool == tool).expect("an operation");
    entry.from_agent(arguments)?.run(context).map(|reply| reply.data)
}

/// Deploys the second state in this process, and calls `act` after `after` files are written.
pub fn deploy_with(big: &Big, after: u64, act: impl Fn(&Context) + Send + Sync + 'static) -> Result<Value> {
    let mut context = context(big);
    let repo = big.ground.repo();
    let token = run(&context, &["deploy"], "deploy", json!({ "repo": repo }))?["confirm_token"].take();
    let quiet = context.clone();
    context.progress = Arc::new(move |what, done, _| {
        if what == "Writing" && done == after {
            act(&quiet);
        }
    });
    run(&context, &["deploy"], "deploy_apply", json!({ "repo": repo, "yes": true, "confirm_token": token }))
}

/// Checks that the deploy failed with this `cause` and was undone, that nothing of it remains, and that the plan is unchanged.
#[track_caller]
pub fn assert_undone(big: &Big, outcome: Result<Value>, cause: &str) -> Error {
    let error = outcome.expect_err("it cannot go on");
    assert_eq!(error.code(), Code::DeployUndone, "{error}");
    assert_eq!(error.details().expect("details")["cause"], cause, "{error}: {:?}", error.details());
    assert!(!big.settled("undone"));
    assert_eq!(summary(&big.ground), counts(100, 100, 100));
    error
}

/// Returns the path of a file of the skill, relative to the root.
fn file(part: usize, n: usize) -> String {
    format!(".claude/skills/big/part{part}/f{n:03}.md")
}

#[test]
fn a_deploy_that_is_given_up_is_undone() {
    let big = Big::new();
    for at in [1, 150, 299] {
        let outcome = deploy_with(&big, at, |context| context.cancelled.cancel());
        assert_undone(&big, outcome, "E_CANCELLED");
    }
    deployed(&big.ground);
    assert!(big.settled("deployed"));
}

/// Calls `act` on a file before the deploy reaches it. Returns the error, and what was at the file's path afterwards.
#[track_caller]
fn touched(big: &Big, name: &str, act: impl Fn(&Path) + Send + Sync + 'static) -> (Error, Option<Thing>) {
    let path = big.ground.root().join(name);
    let outcome = deploy_with(big, 40, move |_| act(&path));
    let error = outcome.expect_err("it cannot go on");
    assert_eq!(error.code(), Code::DeployUndone, "{error}");
    let mut tree = big.ground.tree();
    let key = Path::new("root").join(name);
    let there = tree.0.remove(&key);
    assert!(tree.leftovers().is_empty(), "{:?}", tree.leftovers());
    let mut before = big.before.clone();
    before.0.remove(&key);
    // `act` may have replaced the file with a folder that contains files.
    tree.0.retain(|path, _| !path.starts_with(&key));
    tree.assert_is(&before, "but for the file that was touched");
    (error, there)
}

#[test]
fn a_file_that_changes_between_plan_and_write_is_not_overwritten() {
    let big = Big::new();
    // File 222 is in both states, 223 only in the first, 224 only in the second.
    let (updated, deleted, created) = (file(5, 222), file(5, 223), file(5, 224));
    let edit = |path: &Path| std::fs::write(path, "by hand\n").expect("an edit");
    for name in [&updated, &deleted, &created] {
        let original = std::fs::read(big.ground.root().join(name)).ok();
        let (error, there) = touched(&big, name, edit);
        assert!(matches!(there, Some(Thing::File(_, ref bytes)) if bytes == b"by hand\n"), "{name}: {there:?}");
        assert!(error.message().contains(name.as_str()), "{error}");
        // The user's change stays, and the next deploy does not overwrite it without `--adopt`.
        let refused = big.ground.refused(&Big::deploy());
        assert_eq!(refused["code"], "E_ADOPT_CONFIRM_REQUIRED", "{refused:#}");
        match original {
            Some(bytes) => std::fs::write(big.ground.root().join(name), bytes).expect("as it was"),
            None => std::fs::remove_file(big.ground.root().join(name)).expect("it goes"),
        }
        assert!(!big.settled("as it was"));
    }
    deployed(&big.ground);
    assert!(big.settled("deployed"));
}

#[test]
fn modes_links_and_folders_that_appear_meanwhile_are_kept_too() {
    let big = Big::new();
    let (updated, created) = (file(5, 222), file(5, 224));
    let root = big.ground.root();
    let (_, there) = touched(&big, &updated, |path| set_mode(path, 0o600));
    assert!(matches!(there, Some(Thing::File(0o600, _))), "{there:?}");
    set_mode(&root.join(&updated), 0o644);
    for name in [&updated, &created] {
        let original = std::fs::read(root.join(name)).ok();
        let (_, there) = touched(&big, name, |path| {
            let _ = std::fs::remove_file(path);
            std::os::unix::fs::symlink("elsewhere", path).expect("a link");
        });
        assert_eq!(there, Some(Thing::Link("elsewhere".into())));
        std::fs::remove_file(root.join(name)).expect("the link goes");
        original.iter().for_each(|bytes| std::fs::write(root.join(name), bytes).expect("as it was"));
        let (_, there) = touched(&big, name, |path| {
            let _ = std::fs::remove_file(path);
            std::fs::create_dir_all(path.join("inner")).expect("a folder");
        });
        assert!(matches!(there, Some(Thing::Folder(_))), "{there:?}");
        std::fs::remove_dir_all(root.join(name)).expect("the folder goes");
        original.iter().for_each(|bytes| std::fs::write(root.join(name), bytes).expect("as it was"));
    }
    assert!(!big.settled("as it was"));
    deployed(&big.ground);
}

#[test]
fn the_undo_keeps_and_names_a_file_that_was_edited_after_the_deploy_wrote_it() {
    let big = Big::new();
    let root = big.ground.root();
    // Files are written in the order of their paths. After 150 files, file 30 is written, and file 222 is not.
    let (written, next) = (root.join(file(0, 30)), root.join(file(5, 222)));
    let path = written.clone();
    let outcome = deploy_with(&big, 150, move |_| {
        std::fs::write(&path, "by hand, afterwards\n").expect("an edit");
        std::fs::remove_file(&next).expect("a file");
        std::fs::create_dir(&next).expect("a folder in its place");
    });
    let error = outcome.expect_err("a folder stands in the way");
    assert_eq!(error.code(), Code::DeployUndone);
    let kept = error.details().expect("details")["kept"].to_string();
    assert!(kept.contains("f030.md") && kept.contains("f222.md"), "{kept}");
    assert_eq!(std::fs::read(&written).expect("it stays"), b"by hand, afterwards\n");
    let tree = big.ground.tree();
    assert_eq!(tree.differences(&big.before).len(), 2, "{:?}", tree.differences(&big.before));
    assert!(tree.leftovers().is_empty());
}

#[test]
fn removing_the_folder_of_an_interrupted_deploy_does_not_block_later_deploys() {
    for taken in [".claude/skills/big/part0", ".claude", "."] {
        let big = Big::new();
        let Some(ran) = big.run_traced("linkat:signal=SIGKILL:when=150", &Big::deploy()) else {
            return crate::support::skipped("there is no strace");
        };
        assert_ne!(ran.status, 0);
        std::fs::remove_dir_all(big.ground.root().join(taken).canonicalize().expect("a folder")).expect("it goes");
        let ran = big.ground.scratch.run(&["prompt", "list"]);
        assert_eq!(ran.status, 0, "{ran}");
        if taken == "." {
            // The whole root was removed. mcpkg does not bring it back.
            assert!(!big.ground.root().exists());
            std::fs::create_dir(big.ground.root()).expect("a new root");
        } else if taken == ".claude" {
            std::fs::remove_dir_all(big.ground.root().join(".claude")).expect("what was put back");
        }
        // Deploys work again.
        let data = big.ground.data(&[&Big::deploy()[..], &["--adopt"]].concat());
        assert_eq!(data["applied"], true, "{data}");
        assert_eq!(summary(&big.ground), counts(0, 0, 0));
        assert!(big.ground.tree().leftovers().is_empty());
    }
}
