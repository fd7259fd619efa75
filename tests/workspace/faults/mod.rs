//! Tests of failures in the middle of a command: all repositories are in the state before the command, or all are in
//! the state after it. The error says what to do, and after that, the same command succeeds.

mod busy;
mod database;
mod disks;
mod files;
mod killed;
mod programs;
mod reftable;
mod remotes;
mod watches;

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use super::imported;
use super::shop::{REPOS, Shop};
use crate::support::{Ran, finds};

/// The command that finishes the feature of [`imported::with_feature`].
const FINISH: [&str; 4] = ["flow", "feature", "finish", "login"];

/// A replacement for `git` that is first on PATH. The real git is `$REAL_GIT`.
struct Wrapper {
    folder: PathBuf,
}

impl Wrapper {
    fn new(shop: &Shop, script: &str) -> Self {
        let folder = shop.scratch.path().join("wrapper");
        let git = shop.scratch.file("wrapper/git", format!("#!/bin/sh\n{script}\n"));
        std::fs::set_permissions(git, std::fs::Permissions::from_mode(0o755)).expect("a mode");
        Self { folder }
    }

    /// Returns a command that runs the real binary with this git.
    fn command(&self, shop: &Shop) -> Command {
        let mut command = shop.command();
        let path = format!("{}:{}", self.folder.display(), std::env::var("PATH").unwrap_or_default());
        command.env("PATH", path).env("REAL_GIT", finds("git").expect("git"));
        command
    }

    fn run(&self, shop: &Shop, arguments: &[&str]) -> Ran {
        shop.scratch.finish(self.command(shop).args(arguments))
    }
}

/// Returns the error of a command with `--json`.
#[track_caller]
fn error(ran: &Ran) -> Value {
    assert_ne!(ran.status, 0, "{ran}");
    let mut value: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}\n{ran}"));
    value["error"].take()
}

/// Checks that the feature is merged in each repository, its branch is deleted, and no file is changed.
#[track_caller]
fn assert_finished(shop: &Shop) {
    for (repo, _) in REPOS {
        assert_eq!(shop.git(&shop.repo(repo), &["show", "develop:code.txt"]), "one\nchanged", "{repo}");
        assert_eq!(shop.id(repo, "feature/login"), "", "{repo}");
        assert_eq!(shop.git(&shop.repo(repo), &["status", "--porcelain"]), "", "{repo}");
        assert_eq!(shop.branch(repo), "develop", "{repo}");
    }
    shop.assert_tidy();
}
