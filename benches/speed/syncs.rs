//! Measures syncs of a project with a folder, each by a new process.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::Effort;
use crate::peer::mcpkg;
use crate::process::in_turn;
use crate::table::{Bar, Row, Table, Value};

const UNCHANGED: &str = "sync of 2000 files, nothing changed";

/// Runs this file's measurements, and adds a row to the table for each.
pub fn measure(effort: &Effort, table: &mut Table) {
    if table.wants(UNCHANGED) {
        unchanged(effort, table);
    }
}

fn unchanged(effort: &Effort, table: &mut Table) {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let database = scratch.path().join("sync.db");
    let team = scratch.path().join("team");
    for n in 0..2000 {
        let path = team.join(format!("docs/{}/file-{n}.md", n % 40));
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(&path, format!("# File {n}\n{}", "A line of some words that are the file's own.\n".repeat(20)))
            .expect("a file");
    }
    let ours = |arguments: &[&str]| {
        let mut command = mcpkg(&database);
        command.env("XDG_STATE_HOME", scratch.path().join("state")).args(arguments).current_dir(scratch.path());
        run(command)
    };
    ours(&["project", "create", "p"]);
    ours(&["sync", "team"]);
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.arg("-C").arg(&team).args(["-c", "user.name=b", "-c", "user.email=b@example.org"]).args(arguments);
        run(command)
    };
    if Command::new("git").arg("--version").output().is_err() {
        println!("skipped: {UNCHANGED}, since there is no git");
        return;
    }
    git(&["init", "-q"]);
    git(&["add", "-A"]);
    git(&["commit", "-qm", "all"]);
    // mcpkg and git both read a file again if it was written a moment ago. Wait until all files are older than that.
    std::thread::sleep(Duration::from_millis(1200));
    ours(&["sync"]);
    git(&["status", "--short"]);
    let [ours, reference] =
        in_turn(effort.samples(50) * effort.rounds, || [ours(&["sync"]), git(&["status", "--short"])]);
    table.push(Row {
        what: UNCHANGED.to_owned(),
        ours: Value::Time(ours),
        off: None,
        reference: Some(Value::Time(reference)),
        bar: Bar::Times(2.0),
    });
}

/// Runs a command, which must succeed, and returns its duration.
fn run(mut command: Command) -> Duration {
    let start = Instant::now();
    let output = command.output().expect("the command starts");
    let time = start.elapsed();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    time
}
