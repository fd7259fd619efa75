//! Tests that kill mcpkg before or after a git call: all repositories are in the state before the command, or all are
//! in the state after it.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use mcpkg_base::error::Code;
use mcpkg_console::action::Invocation;
use mcpkg_core::op::{Ask, Confirmation, Context};
use mcpkg_store::Store;
use mcpkg_store::projects::Selection;

use super::repositories::more;
use super::shop::{REPOS, Shop};
use crate::faults::strace;
use crate::support::{eventually, finds, kill_stride, skipped};

/// A replacement for git that kills mcpkg, its parent, before or after the n-th call.
const GIT: &str = r#"#!/bin/sh
# Several run at once, and each has a number of its own.
exec 9> "$KILL_COUNT.lock"
flock 9
n=$(($(cat "$KILL_COUNT" 2>/dev/null || echo 0) + 1))
echo "$n" > "$KILL_COUNT"
exec 9>&-
if [ "$KILL_AT" = "$n" ] && [ "$KILL_WHEN" = before ]; then kill -9 "$PPID"; fi
if [ "$KILL_AT" = "$n" ]; then
    "$REAL_GIT" "$@"; status=$?
    kill -9 "$PPID"
    exit "$status"
fi
exec "$REAL_GIT" "$@"
"#;

pub struct Killer<'s> {
    shop: &'s Shop,
    folder: std::path::PathBuf,
    real: String,
}

impl<'s> Killer<'s> {
    pub fn new(shop: &'s Shop) -> Self {
        let folder = shop.scratch.path().join("killer");
        std::fs::create_dir_all(&folder).expect("a folder");
        let git = folder.join("git");
        // A script that is still running, for example in a killed command, cannot be written again.
        if !git.exists() {
            std::fs::write(&git, GIT).expect("a script");
            std::fs::set_permissions(&git, std::fs::Permissions::from_mode(0o755)).expect("a mode");
        }
        let real = crate::support::finds("git").expect("git").display().to_string();
        Self { shop, folder, real }
    }

    /// Runs a command that is killed at its n-th git call. Returns whether it was killed.
    pub fn run<A: AsRef<std::ffi::OsStr>>(&self, arguments: &[A], at: usize, when: &str) -> bool {
        // A git that survived an earlier kill counts in a different file.
        let count = self.folder.join(format!("count-{when}-{at}"));
        let _ = std::fs::remove_file(&count);
        let path = format!("{}:{}", self.folder.display(), std::env::var("PATH").unwrap_or_default());
        let output = self
            .shop
            .command()
            .args(arguments)
            .env("PATH", path)
            .env("REAL_GIT", &self.real)
            .env("KILL_COUNT", &count)
            .env("KILL_AT", at.to_string())
            .env("KILL_WHEN", when)
            .output()
            .expect("mcpkg starts");
        output.status.code().is_none()
    }
}

/// Runs `line` under strace, which kills it at the `nth` system call named `call`. Returns whether it was killed.
pub fn killed_at<A: AsRef<std::ffi::OsStr>>(shop: &Shop, line: &[A], call: &str, nth: usize) -> bool {
    let words = strace(&format!("{call}:signal=KILL:when={nth}")).expect("there is a strace");
    let mut command = shop.command_under(&words.iter().map(String::as_str).collect::<Vec<_>>());
    let output = command.args(line).output().expect("strace starts");
    output.status.code().is_none_or(|code| code > 128)
}

/// Kills `line` before and after git calls and at the database's writes, with the stride of [`kill_stride`]. Checks
/// each time that the next command leaves all repositories in the state before or after `line`.
pub fn sweep<A: AsRef<std::ffi::OsStr>>(name: &str, shop: &Shop, line: &[A], is_after: impl Fn(&Shop) -> [bool; 3]) {
    let (mut befores, mut afters) = (0, 0);
    let before = shop.state();
    let saved = shop.save();
    // Returns whether the command was killed.
    let mut kill = |at: &str, run: &dyn Fn() -> bool| {
        shop.bring_back(&saved);
        if !run() {
            return false;
        }
        // The next command repairs the workspace. A surviving git may still be at work on a work tree.
        eventually("the workspace is put right", || {
            shop.run(&["flow", "log"]);
            (!shop.root().join(".smctl/applying").exists()).then_some(())
        });
        let after = is_after(shop);
        assert!(after == [true; 3] || after == [false; 3], "{name}: killed {at}: {after:?}");
        if after == [false; 3] {
            befores += 1;
            assert_eq!(shop.state(), before, "{name}: killed {at}");
            shop.ok(line);
            assert_eq!(is_after(shop), [true; 3]);
        } else {
            afters += 1;
        }
        shop.assert_tidy();
        true
    };
    let mut calls = 0;
    // "After call 2" is the same moment as "before call 3".
    for (when, first) in [("before", 1), ("after", 2)] {
        for at in (first..).step_by(kill_stride()) {
            if !kill(&format!("{when} call {at}"), &|| Killer::new(shop).run(line, at, when)) {
                break;
            }
            calls += 1;
        }
    }
    assert!(calls > 0, "{name}: nothing was killed");
    let mut writes = 0;
    // git does not make these calls: they are the database's writes of pages and its commits.
    for (call, step) in [("pwrite64", 7), ("fdatasync", 1)] {
        if finds("strace").is_none() {
            skipped(&format!("{name}: there is no strace to kill at the database's writes"));
            break;
        }
        for nth in (1..).step_by(step * kill_stride()) {
            if !kill(&format!("at {call} {nth}"), &|| killed_at(shop, line, call, nth)) {
                break;
            }
            writes += 1;
        }
    }
    assert!(befores > 0, "{name}: it was never killed in time");
    eprintln!(
        "{name}: {} kills, {writes} of them at writes of the database, {befores} before and {afters} after",
        calls + writes
    );
}

#[test]
fn x49_a_start_that_is_killed() {
    let is_after = |shop: &Shop| REPOS.map(|(repo, _)| shop.branch(repo) == "feature/login");
    sweep("feature start", &Shop::new(), &["flow", "feature", "start", "login"], is_after);
}

fn with_feature() -> Shop {
    let shop = Shop::new();
    shop.ok(&["flow", "feature", "start", "login"]);
    shop.work("login.txt");
    // One repository has develop checked out, so its files change too.
    shop.git(&shop.repo("web"), &["switch", "-q", "develop"]);
    shop
}

#[test]
fn x49_a_finish_that_is_killed() {
    let is_after = |shop: &Shop| {
        REPOS.map(|(repo, _)| {
            let merged = shop.git(&shop.repo(repo), &["rev-list", "--count", "--merges", "develop"]) == "1";
            let gone = shop.id(repo, "feature/login").is_empty();
            let clean = shop.git(&shop.repo(repo), &["status", "--porcelain"]).is_empty();
            assert_eq!(merged, gone, "{repo}: half done");
            assert!(clean, "{repo}: inverse changes");
            merged
        })
    };
    sweep("feature finish", &with_feature(), &["flow", "feature", "finish", "login"], is_after);
}

#[test]
fn x49_an_undo_that_is_killed() {
    let shop = with_feature();
    // The run to undo has to exist again after each kill. Only a database that is a file can be restored by a copy.
    if !shop.scratch.is_file() {
        return;
    }
    shop.ok(&["flow", "feature", "finish", "login"]);
    let is_after = |shop: &Shop| REPOS.map(|(repo, _)| !shop.id(repo, "feature/login").is_empty());
    sweep("undo", &shop, &["flow", "undo"], is_after);
}

/// A release creates a tag and changes two branches.
#[test]
fn x49_a_release_that_is_killed() {
    let shop = Shop::new();
    shop.ok(&["flow", "release", "start", "1.0.0"]);
    shop.work("version.txt");
    let is_after = |shop: &Shop| {
        REPOS.map(|(repo, _)| {
            let tagged = !shop.id(repo, "v1.0.0").is_empty();
            let merged = ["main", "develop"].map(|branch| !shop.id(repo, &format!("{branch}^2")).is_empty());
            assert_eq!(merged, [tagged, tagged], "{repo}: half done");
            tagged
        })
    };
    sweep("release finish", &shop, &["flow", "release", "finish", "1.0.0"], is_after);
}

#[test]
fn x49_an_init_that_is_killed() {
    let shop = Shop::bare();
    // The database already exists.
    shop.ok(&["project", "create", "shop"]);
    let is_after = |shop: &Shop| {
        let made = shop.root().join(".smctl/workspace.toml").exists();
        REPOS.map(|(repo, _)| {
            assert_eq!(shop.repo(repo).exists(), made, "{repo}: half done");
            made
        })
    };
    sweep("workspace init", &shop, &shop.init_line(), is_after);
}

/// Kills `workspace add`.
#[test]
fn x49_an_add_that_is_killed() {
    let shop = Shop::new();
    more(&shop);
    let is_after = |shop: &Shop| {
        let manifest = std::fs::read_to_string(shop.root().join(".smctl/workspace.toml")).expect("a manifest");
        let added = manifest.contains("docs");
        assert_eq!(shop.root().join("docs").exists(), added, "half done");
        [added; 3]
    };
    sweep("workspace add", &shop, &["workspace", "add", "../origins/docs.git"], is_after);
}

/// After a crash, a command with another database refuses to write and names the command that helps. If the database of
/// the killed command is lost, `workspace recover` undoes the work.
#[test]
fn x50_a_crash_is_found_by_a_command_with_another_database() {
    let shop = Shop::new();
    shop.ok(&["flow", "feature", "start", "login"]);
    shop.work("login.txt");
    let before = shop.state();
    let mut at = 0;
    // Find the first kill that leaves unfinished work.
    while !shop.root().join(".smctl/applying").exists() {
        at += 1;
        assert!(Killer::new(&shop).run(&["flow", "feature", "finish", "login"], at, "before"), "call {at}");
    }
    let other = shop.scratch.path().join("other.db").display().to_string();
    let (error, _) = shop.refused(&["--db", &other, "flow", "feature", "finish", "login"]);
    assert_eq!(error["code"], "E_WORKSPACE_BUSY", "{error}");
    let command = error["details"]["command"].as_str().expect("a command");
    if !shop.scratch.is_file() {
        return assert!(command.contains("postgres://") && command.ends_with(" workspace recover"), "{command}");
    }
    assert!(command.ends_with("test.db workspace recover"), "{command}");
    std::fs::remove_file(shop.scratch.db()).expect("gone");
    let (error, _) = shop.refused(&["--db", &other, "workspace", "recover"]);
    assert_eq!(error["code"], "E_CONFIRM_REQUIRED", "{error}");
    let ran = shop.run(&["--db", &other, "--yes", "workspace", "recover"]);
    assert_eq!(ran.status, 0, "{ran}");
    assert_eq!(shop.state(), before);
    shop.assert_tidy();
    let ran = shop.run(&["--db", &other, "flow", "feature", "finish", "login"]);
    assert_eq!(ran.status, 0, "{ran}");
}

/// If another database also knows the run, for example a copy, this database decides what happens to the run.
#[test]
fn a_recovery_asks_about_what_it_will_do() {
    let shop = Shop::new();
    if !shop.scratch.is_file() {
        return;
    }
    shop.ok(&["flow", "feature", "start", "login"]);
    shop.work("login.txt");
    let mut at = 0;
    while !shop.root().join(".smctl/applying").exists() {
        at += 1;
        assert!(Killer::new(&shop).run(&["flow", "feature", "finish", "login"], at, "before"), "call {at}");
    }
    let copy = shop.scratch.path().join("copy.db");
    // Outside the workspace, the command does not repair it.
    shop.scratch.ok(&["backup", &copy.display().to_string()]);
    for (state, what) in [
        ("applying", "Undo the completed steps"),
        ("landed", "Complete the interrupted change"),
        ("undone", "Remove the leftover record"),
    ] {
        let connection = rusqlite::Connection::open(&copy).expect("the copy opens");
        let newest = "UPDATE flow_run SET state = ?1 WHERE id = (SELECT max(id) FROM flow_run)";
        assert_eq!(connection.execute(newest, [state]).expect("it is changed"), 1);
        drop(connection);
        let (error, _) = shop.refused(&["--db", &copy.display().to_string(), "workspace", "recover"]);
        assert_eq!(error["code"], "E_CONFIRM_REQUIRED", "{error}");
        assert!(error["message"].as_str().is_some_and(|message| message.starts_with(what)), "{state}: {error}");
    }
    // Another program changes the steps while the question is open.
    let (before, applying) = (shop.state(), shop.root().join(".smctl/applying"));
    let ask: Arc<Ask> = Arc::new(move |_, _| {
        let steps = std::fs::read_to_string(&applying).expect("the steps");
        std::fs::write(&applying, steps.replacen("login", "logon", 1)).expect("other steps");
        Ok(())
    });
    let selection = Selection { workspace: Some(shop.root().display().to_string()), ..Selection::default() };
    let context = Context::shell(mcpkg::DOMAINS, Store::open(&copy).expect("the copy"), selection);
    let context = Context { confirmation: Confirmation::Ask, ask, approved: shop.scratch.approved(), ..context };
    let error = Invocation::new("workspace recover").run(&context).expect_err("the steps are others now");
    assert_eq!(error.code(), Code::PlanChanged, "{error}");
    assert_eq!(shop.state(), before);
}
