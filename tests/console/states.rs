//! Tests the console while the database is moved away, replaced or read-only.

use super::{agent, console};
use crate::support::{Mount, Scratch, skipped};
use crate::workflow::runs::{Ground, code, create, execute};

#[test]
fn a_database_that_is_moved_away_is_lost_until_it_is_back() {
    let scratch = Scratch::with_project_here();
    if !scratch.is_file() {
        return;
    }
    scratch.ok(&["prompt", "create", "review", "Look for missing tests."]);
    let Some(mut screen) = console(&scratch, &[]) else { return };
    screen.wait("nothing waits for you");
    screen.keys("3");
    screen.wait("Look for missing tests.");
    let files = |from: &str, to: &str| {
        for end in ["", "-wal", "-shm"] {
            let name = |folder: &str| scratch.path().join(folder).join(format!("test.db{end}"));
            if name(from).exists() {
                std::fs::rename(name(from), name(to)).expect("moved");
            }
        }
    };
    std::fs::create_dir(scratch.path().join("away")).expect("a folder");
    files("", "away");
    // The loaded content stays visible, but no action runs.
    let text = screen.wait("LOST");
    assert!(text.contains("review"), "{text}");
    screen.keys("D");
    let text = screen.wait("the database cannot be read");
    assert!(!text.contains("Type review"), "{text}");
    files("away", "");
    screen.wait_until(|text| !text.contains("LOST"), "the database is back");
    screen.keys("D");
    screen.wait("Type review to go on");
    screen.keys("\u{1b}");
    screen.wait("Not confirmed");
}

#[test]
fn a_database_that_is_restored_underneath_is_read_again() {
    let scratch = Scratch::with_project_here();
    if !scratch.is_file() {
        return;
    }
    scratch.ok(&["prompt", "create", "review", "Look for missing tests."]);
    let backup = scratch.path().join("backup.db").display().to_string();
    scratch.ok(&["backup", &backup]);
    scratch.ok(&["prompt", "update", "review", "--content", "Look for bugs."]);
    let Some(mut screen) = console(&scratch, &[]) else { return };
    screen.wait("nothing waits for you");
    screen.keys("3");
    screen.wait("Look for bugs.");
    scratch.ok(&["restore", "--yes", &backup]);
    screen.wait("RESTORED");
    screen.wait("Look for missing tests.");
    // The next change is shown without the mark RESTORED.
    scratch.ok(&["prompt", "update", "review", "--content", "Look for bugs again."]);
    screen.wait("Look for bugs again.");
    screen.wait_until(|text| !text.contains("RESTORED"), "the state is as usual");
}

#[test]
fn a_database_that_cannot_be_written_is_read_and_says_so() {
    let scratch = Scratch::new();
    if !scratch.is_file() {
        return;
    }
    let Some(mount) = Mount::in_memory("6m", scratch.path()) else {
        return skipped("a read-only file system needs root and tmpfs");
    };
    scratch.ok(&["project", "create", "p"]);
    scratch.ok(&["prompt", "create", "review", "Look for missing tests."]);
    mount.remount("ro");
    let Some(mut screen) = console(&scratch, &[]) else { return };
    // Problems that `mcpkg doctor` finds are in the inbox, and no log line disturbs the screen.
    let text = screen.wait("CHECK");
    assert!(text.contains("2 Feed  3 Content  4 Deploy"), "{text}");
    screen.keys("3");
    screen.wait("Look for missing tests.");
    screen.keys("D");
    screen.wait("Type review to go on");
    screen.keys("review\r");
    screen.wait("error: Cannot write to the database");
    screen.keys("2");
    screen.wait("prompt create review");
    screen.keys("\u{3}");
    assert_eq!(screen.end(), 0);
    assert!(scratch.ok(&["prompt", "list"]).contains("review"));
    mount.remount("rw");
}

#[test]
fn a_commit_of_another_process_is_shown_on_every_engine() {
    // PostgreSQL, if the test run has a server, notifies the console of the commit. With SQLite, the console polls.
    let ground = Ground::new();
    ground.scratch.ok(&["project", "select", "p"]);
    let Some(screen) = console(&ground.scratch, &[]) else { return };
    screen.wait("nothing waits for you");
    let mut client = agent(&ground, "codex");
    assert_eq!(code(&execute(&mut client, create())), "E_CONSENT_REQUIRED");
    screen.wait("1 waits for you, until");
}
