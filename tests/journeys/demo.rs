//! The README's first command.

use crate::support::Scratch;

#[test]
fn the_demo_shows_the_main_job_and_leaves_the_users_database_alone() {
    let scratch = Scratch::new();
    let shown = scratch.finish(scratch.command().env("TMPDIR", scratch.path()).arg("demo"));
    assert_eq!(shown.status, 0, "{shown}");
    for part in [
        "The demo's database is <SCRATCH>/mcpkg-demo-",
        "initialize",
        "prompts/list",
        "prompts/get",
        "resources/list",
        "image/png",
        "Created prompt 'from-an-agent' in project 'demo'",
        "contents match their SHA-256",
        "mcpkg import CLAUDE.md .claude",
    ] {
        assert!(shown.stdout.contains(part), "{part}\n{shown}");
    }
    assert!(!scratch.db().exists());
}
