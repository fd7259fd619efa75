//! Tests that kill operations without a journal: a sync, and creating and archiving a spec.

use std::path::Path;

use crate::support::{Tree, eventually, finds, kill_stride, skipped};
use crate::workspace::killed::{Killer, killed_at};
use crate::workspace::shop::{REPOS, Shop};
use crate::workspace::spec_shop;

/// After a killed sync, each clone is complete or missing, and each branch is at its old or its new commit.
#[test]
fn x49_a_sync_that_is_killed() {
    let shop = Shop::new();
    let seed = shop.scratch.path().join("seed/lib");
    shop.commit(&seed, "more.txt", "more\n");
    shop.git(&seed, &["push", "-q", &shop.origin("lib").display().to_string(), "main"]);
    std::fs::remove_dir_all(shop.repo("web")).expect("gone");
    let (old, new) = (shop.id("lib", "main"), shop.git(&seed, &["rev-parse", "HEAD"]));
    let saved = shop.save();
    let mut kills = 0;
    for (when, first) in [("before", 1), ("after", 2)] {
        for at in (first..).step_by(kill_stride()) {
            shop.bring_back(&saved);
            if !Killer::new(&shop).run(&["workspace", "sync"], at, when) {
                break;
            }
            kills += 1;
            let is = shop.id("lib", "main");
            assert!(is == old || is == new, "killed {when} call {at}");
            let whole = shop.repo("web").join("code.txt").exists();
            assert_eq!(whole, shop.repo("web").exists(), "killed {when} call {at}: half a clone");
            // A git that survived for a moment still holds its locks.
            eventually("the same command succeeds", || (shop.run(&["workspace", "sync"]).status == 0).then_some(()));
            assert_eq!(shop.id("lib", "main"), new);
            assert!(REPOS.iter().all(|(repo, _)| shop.repo(repo).join("code.txt").exists()));
            assert_eq!(shop.git(&shop.repo("lib"), &["status", "--porcelain"]), "");
            shop.assert_tidy();
        }
    }
    assert!(kills > 0, "nothing was killed");
    eprintln!("workspace sync: {kills} kills");
}

/// Returns what is in the tree of specs, except empty folders.
fn specs(shop: &Shop) -> Vec<String> {
    let folder = shop.root().join("openspec");
    if !folder.exists() {
        return Vec::new();
    }
    Tree::of(&folder).0.keys().map(|path| path.display().to_string()).collect()
}

/// Kills `line` at many of the system calls that change the disk. `is_after` returns whether the work was done.
fn sweep_calls(shop: &Shop, line: &[&str], folder: &Path, is_after: impl Fn() -> bool) {
    let (mut kills, mut afters) = (0, 0);
    let saved = shop.save();
    for (call, step) in
        [("mkdirat", 1), ("mkdir", 1), ("rename", 1), ("renameat", 1), ("renameat2", 1), ("pwrite64", 2), ("fsync", 1)]
    {
        for nth in (1..).step_by(step * kill_stride()) {
            shop.bring_back(&saved);
            if !killed_at(shop, line, call, nth) {
                break;
            }
            kills += 1;
            let after = is_after();
            afters += usize::from(after);
            let ran = shop.run(line);
            // Either the killed run or this one has done the work.
            assert!(ran.status == 0 || after, "{call} {nth}: {ran}");
            assert!(is_after(), "{call} {nth}");
            let stray: Vec<_> =
                specs(shop).into_iter().filter(|path| path.contains("/.") && !path.ends_with(".yaml")).collect();
            assert!(stray.is_empty(), "{call} {nth}: {stray:?}");
            assert!(folder.join(".openspec.yaml").is_file(), "{call} {nth}");
            shop.assert_tidy();
        }
    }
    assert!(kills > afters, "nothing was killed");
    eprintln!("{}: {kills} kills, {afters} when it was done", line.join(" "));
}

#[test]
fn x49_a_spec_that_is_made_or_archived_while_it_is_killed() {
    if finds("strace").is_none() {
        return skipped("there is no strace");
    }
    let shop = Shop::new();
    let open = shop.root().join("openspec/changes/login");
    sweep_calls(&shop, &["spec", "new", "login"], &open, || {
        let there = open.exists();
        let whole =
            ["proposal.md", "design.md", "tasks.md", ".openspec.yaml"].iter().all(|file| open.join(file).is_file());
        assert_eq!(there, whole, "half a spec");
        there
    });
    spec_shop::complete(&shop.scratch, "work/shop/openspec/changes/login");
    let archive = shop.root().join("openspec/changes/archive");
    let day =
        shop.data(&["spec", "archive", "login", "--dry-run"])["archive_path"].as_str().expect("a path").to_owned();
    let target = archive.join(Path::new(&day).file_name().expect("a name"));
    sweep_calls(&shop, &["spec", "archive", "login"], &target, || {
        let (is_open, is_archived) = (open.join("tasks.md").is_file(), target.join("tasks.md").is_file());
        assert!(is_open != is_archived, "half a spec");
        is_archived
    });
}
