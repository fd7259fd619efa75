//! Tests that kill mcpkg before or after a git call while it adds, removes or restores sets of worktrees.

use super::killed::sweep;
use super::shop::{REPOS, Shop};
use super::worktrees::{place, with_changes};

#[test]
fn x49_a_worktree_add_that_is_killed() {
    let is_after = |shop: &Shop| {
        REPOS.map(|(repo, _)| {
            let made = place(shop, "login", repo).join("code.txt").exists();
            assert_eq!(!shop.id(repo, "feature/login").is_empty(), made, "{repo}: half done");
            made
        })
    };
    sweep("worktree add", &Shop::new(), &["worktree", "add", "login"], is_after);
}

/// The set that is removed has changes in one of its worktrees.
#[test]
fn x49_a_worktree_remove_that_is_killed() {
    let is_after = |shop: &Shop| {
        REPOS.map(|(repo, _)| {
            let gone = !place(shop, "login", repo).exists();
            let known = shop.git(&shop.repo(repo), &["worktree", "list"]).lines().count();
            assert_eq!(known, if gone { 1 } else { 2 }, "{repo}: half done");
            gone
        })
    };
    sweep("worktree remove", &with_changes(), &["worktree", "remove", "login", "--force"], is_after);
}

#[test]
fn x49_a_worktree_restore_that_is_killed() {
    let shop = with_changes();
    shop.ok(&["worktree", "remove", "login", "--force"]);
    let is_after = |shop: &Shop| {
        REPOS.map(|(repo, _)| {
            let made = place(shop, "login", repo).exists();
            if made && repo == "api" {
                let text = std::fs::read_to_string(place(shop, "login", repo).join(".env"));
                assert_eq!(text.expect("a file"), "SECRET=1\n", "{repo}: half done");
            }
            made
        })
    };
    sweep("worktree restore", &shop, &["worktree", "restore", "login"], is_after);
}
