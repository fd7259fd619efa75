//! Tests `mcpkg demo`, the README's first command.

use crate::support::Scratch;

#[test]
fn the_demo_shows_the_main_job_and_leaves_the_users_files_alone() {
    let scratch = Scratch::new();
    let shown = scratch.finish(scratch.command().env("TMPDIR", scratch.path()).arg("demo"));
    assert_eq!(shown.status, 0, "{shown}");
    for part in [
        "The demo works in <SCRATCH>/mcpkg-demo-",
        "mcpkg import ../kit",
        "an agent lists and reads 3 items",
        "the change reaches the other agents",
        "the folder is empty again",
        "its contents match their SHA-256",
        "mcpkg up --undo",
    ] {
        assert!(shown.stdout.contains(part), "{part}\n{shown}");
    }
    // Each step fits in one row of an 80-column terminal.
    let first = shown.stdout.lines().next().expect("the folder").to_owned();
    let wide: Vec<&str> = shown.stdout.lines().filter(|line| **line != first && line.chars().count() > 80).collect();
    assert!(wide.is_empty(), "{wide:#?}");
    let long = scratch.finish(scratch.command().env("TMPDIR", scratch.path()).args(["demo", "-v"]));
    for part in ["Review the last commit for races first.", "6 created", "verified"] {
        assert!(long.stdout.contains(part), "{part}\n{long}");
    }
    assert!(!scratch.db().exists());
}
