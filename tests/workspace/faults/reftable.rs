//! Tests of repositories whose refs are in reftables, which have one lock for all refs.

use super::{FINISH, assert_finished, imported};
use crate::support::skipped;
use crate::workspace::killed::sweep;
use crate::workspace::shop::{REPOS, Shop};

/// Converts two of the three repositories to reftables. Returns `None` if git does not support them.
fn migrated(shop: Shop) -> Option<Shop> {
    for repo in ["lib", "web"] {
        // git 2.47 cannot convert reflogs.
        let _ = std::fs::remove_dir_all(shop.repo(repo).join(".git/logs"));
        let line = ["refs", "migrate", "--ref-format=reftable"];
        let migrated = shop.git_command(&shop.repo(repo)).args(line).output().expect("git starts");
        if !migrated.status.success() {
            skipped("this git keeps no refs in tables");
            return None;
        }
        assert!(shop.repo(repo).join(".git/reftable").is_dir());
    }
    Some(shop)
}

#[test]
fn x47_a_flow_over_refs_in_tables_is_all_or_nothing() {
    let Some(shop) = migrated(imported::on_develop()) else { return };
    let before = shop.state();
    shop.ok(&FINISH);
    assert_finished(&shop);
    shop.ok(&["flow", "undo"]);
    assert_eq!(shop.state(), before);
    let lock = shop.repo("web").join(".git/reftable/tables.list.lock");
    std::fs::write(&lock, "").expect("a lock");
    let (error, _) = shop.refused(&FINISH);
    assert_eq!(error["code"], "E_GIT_LOCKED", "{error}");
    std::fs::remove_file(lock).expect("gone");
    assert_eq!(shop.state(), before);
    shop.ok(&FINISH);
    shop.ok(&["flow", "release", "start", "1.0.0"]);
    shop.work("version.txt");
    let before = shop.state();
    shop.ok(&["flow", "release", "finish", "1.0.0"]);
    for (repo, _) in REPOS {
        assert_eq!(shop.git(&shop.repo(repo), &["describe", "develop^2"]), "v1.0.0");
    }
    shop.ok(&["flow", "undo"]);
    assert_eq!(shop.state(), before);
    shop.assert_tidy();
}

#[test]
fn x49_a_finish_over_refs_in_tables_that_is_killed() {
    let Some(shop) = migrated(imported::on_develop()) else { return };
    let is_after = |shop: &Shop| {
        REPOS.map(|(repo, _)| {
            let merged = !shop.id(repo, "develop^2").is_empty();
            assert_eq!(merged, shop.id(repo, "feature/login").is_empty(), "{repo}: half done");
            merged
        })
    };
    sweep("feature finish (reftable)", &shop, &FINISH, is_after);
}
