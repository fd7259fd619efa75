//! Tests of questions at a terminal, and of long operations that are interrupted.

use super::terminal::NO_SCRIPT;
use crate::support::{Scratch, at_a_terminal, skipped, typed_after};

#[test]
fn a_missing_item_is_reported_before_a_question() {
    let scratch = Scratch::with_project();
    for (arguments, said) in [
        (&["project", "delete", "nope"][..], "Project 'nope' does not exist"),
        (&["access", "revoke", "nope"], "nope"),
        (&["restore", "nope.db"], "nope.db"),
        (&["skill", "delete", "nope"], "nope"),
        (&["prompt", "delete", "nope"], "nope"),
        (&["resource", "delete", "nope"], "nope"),
    ] {
        let Some((shown, ok)) = at_a_terminal(scratch.command().args(arguments), "n\n") else {
            return skipped(NO_SCRIPT);
        };
        assert!(!ok && shown.contains(said) && !shown.contains("[y/N"), "{arguments:?}\n{shown}");
    }
    let (shown, ok) = at_a_terminal(scratch.command().args(["project", "delete", "p"]), "n\n").expect("script");
    assert!(!ok && shown.contains("Delete project 'p'") && shown.contains("nothing was changed"), "{shown}");
    scratch.ok(&["project", "show", "p"]);
    // A missing database is not created just to look for the project.
    let elsewhere = Scratch::new();
    let ran = elsewhere.run(&["project", "delete", "p"]);
    assert!(ran.status == 1 && !elsewhere.db().exists(), "{ran}");
}

/// Types Ctrl-C when a command at a terminal shows `awaited`. Checks that it exits with 130 and says that it was
/// cancelled.
fn interrupted(scratch: &Scratch, arguments: &[&str], awaited: &str) -> Option<()> {
    let mut command = scratch.command();
    command.env("TERM", "xterm").args(arguments);
    let (shown, status) = typed_after(&command, awaited, "\x03")?;
    assert_eq!(status, 130, "{shown}");
    assert!(shown.contains(awaited) && shown.to_lowercase().contains("cancelled"), "{shown}");
    Some(())
}

#[test]
fn ctrl_c_at_a_question_cancels() {
    let scratch = Scratch::with_project();
    let Some(()) = interrupted(&scratch, &["project", "delete", "p"], "[y/N") else { return skipped(NO_SCRIPT) };
    scratch.ok(&["project", "show", "p"]);
}

#[test]
fn an_import_ends_at_ctrl_c_and_imports_nothing() {
    let scratch = Scratch::with_project();
    for n in 0..6_000 {
        scratch.file(&format!("docs/{}/{n}.md", n % 50), format!("{n}\n").repeat(100));
    }
    for awaited in ["Importing", "Writing"] {
        let Some(()) = interrupted(&scratch, &["import", "--documents", "docs"], awaited) else {
            return skipped(NO_SCRIPT);
        };
        assert_eq!(scratch.json(&["resource", "list"])["resources"], serde_json::json!([]), "{awaited}");
    }
}

#[test]
fn a_backup_ends_at_ctrl_c_and_leaves_no_file() {
    let scratch = Scratch::with_project();
    for n in 0..8 {
        scratch.file("large", format!("{n:08}").repeat(2 << 20));
        scratch.ok(&["resource", "create", &format!("r{n}"), &format!("file:///{n}"), "@large"]);
    }
    let folder = scratch.path().join("backups");
    std::fs::create_dir(&folder).expect("a folder");
    let Some(()) = interrupted(&scratch, &["backup", "backups/copy.db"], "Backing up") else {
        return skipped(NO_SCRIPT);
    };
    let left: Vec<_> =
        std::fs::read_dir(&folder).expect("the folder").flatten().map(|entry| entry.file_name()).collect();
    assert!(left.is_empty(), "{left:?}");
    scratch.ok(&["backup", "backups/copy.db"]);
}
