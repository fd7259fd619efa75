//! Tests of moving a database from a file to a server and back.

use super::World;
use crate::support::Scratch;

/// Returns what commands show of a database.
fn shown(scratch: &Scratch, database: &str) -> Vec<String> {
    let commands: [&[&str]; 7] = [
        &["project", "list", "--json"],
        &["prompt", "list", "--json"],
        &["resource", "list", "--json"],
        &["skill", "list", "--json"],
        &["prompt", "history", "review", "--json"],
        &["search", "running", "--json"],
        &["resource", "show", "big.bin", "--json"],
    ];
    commands.map(|command| scratch.ok(&[&["--db", database], command].concat())).to_vec()
}

#[test]
fn a_database_moves_to_a_server_and_back_whole() {
    let Some(world) = World::new() else { return };
    let scratch = Scratch::new();
    if !scratch.is_file() {
        return;
    }
    scratch.ok(&["project", "create", "p"]);
    scratch.file("things/review.md", "Running tests, \u{e9}t\u{e9}");
    scratch.file("things/big.bin", (0..5_000_000_u32).map(|n| (n * 7 % 251) as u8).collect::<Vec<u8>>());
    scratch.file("things/skills/a/SKILL.md", "---\nname: a\ndescription: Runs\n---\nRun it.\n");
    scratch.ok(&["import", "things", "--documents"]);
    scratch.ok(&["prompt", "create", "review", "Runs well"]);
    scratch.ok(&["prompt", "update", "review", "--content", "Ran well"]);
    let file = scratch.db().to_string_lossy().into_owned();
    let before = shown(&scratch, &file);

    scratch.ok(&["move", "--to", &world.address]);
    assert_eq!(shown(&scratch, &world.address), before);
    scratch.ok(&["--db", &world.address, "check", "--deep"]);
    let again = scratch.run(&["move", "--to", &world.address]);
    assert_eq!(again.status, 1, "{again}");
    assert!(again.stderr.contains("already has projects"), "{again}");

    scratch.ok(&["--db", &world.address, "move", "--to", "back.db"]);
    let back = scratch.path().join("back.db").to_string_lossy().into_owned();
    assert_eq!(shown(&scratch, &back), before);
    scratch.ok(&["--db", &back, "check", "--deep"]);

    // New rows come after those that were moved.
    scratch.ok(&["--db", &world.address, "prompt", "create", "next", "text"]);
    scratch.ok(&["--db", &world.address, "check", "--deep"]);
    // Restoring a backup replaces the database, and the replaced one is kept.
    scratch.ok(&["--db", &world.address, "restore", "back.db", "--yes"]);
    assert_eq!(shown(&scratch, &world.address), before);
}

#[test]
fn a_move_that_fails_leaves_nothing() {
    let Some(world) = World::new() else { return };
    let scratch = Scratch::with_project();
    if !scratch.is_file() {
        return;
    }
    drop(world.open());
    // A table refuses the new rows, so the whole move is undone.
    world.query("ALTER TABLE mcpkg.project ADD CONSTRAINT none CHECK (name <> 'p')");
    let refused = scratch.run(&["move", "--to", &world.address]);
    assert_ne!(refused.status, 0, "{refused}");
    assert_eq!(world.query("SELECT count(*) FROM mcpkg.project"), "0\n");
    assert_eq!(world.query("SELECT count(*) FROM mcpkg.event"), "0\n");
}
