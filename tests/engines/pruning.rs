//! Tests of pruning on PostgreSQL: it may take longer than a client's call, and deletes rows of lost lock holders.

use mcpkg_base::clock::{self, Clock};
use mcpkg_base::error::Code;
use mcpkg_store::Store;
use mcpkg_store::events::{self, GROWING as EVENTS, NewEvent};
use mcpkg_store::limits::Limits;

use super::World;
use crate::support::{Scratch, eventually};

const HOUR: i64 = 3_600_000;

fn append(store: &Store, at: i64) {
    let event = NewEvent { at, actor: "test", project: None, kind: "test", subject: "", outcome: "ok", session: None };
    store.write(|db| events::append(db, event)).expect("an event");
}

#[test]
fn pruning_may_take_longer_than_a_call() {
    let Some(world) = World::new() else { return };
    // With these options, a call has two seconds.
    let store = world.open_with("?answer_timeout=1&pool_timeout=1");
    let now = Clock::system().now();
    for hours in [9, 8, 7, 0] {
        append(&store, now - hours * HOUR);
    }
    store.write(|db| EVENTS.set(db, Limits { age: Some(2 * HOUR), number: None })).expect("a limit");
    world.query(
        "CREATE FUNCTION mcpkg.slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(4); RETURN NULL; END $$;
         CREATE TRIGGER slow AFTER DELETE ON mcpkg.event FOR EACH STATEMENT EXECUTE FUNCTION mcpkg.slow()",
    );
    // A statement whose client gave up continues for a while.
    let idle = || {
        let active = "SELECT count(*) FROM pg_stat_activity
                       WHERE datname = current_database() AND state = 'active' AND application_name <> 'psql'";
        eventually("the server is idle", || (world.query(active) == "0\n").then_some(()));
    };
    let short =
        || store.write(|db| (EVENTS.delete)(db, EVENTS.limits(db)?, now, 2)).expect_err("no time for it").code();
    assert_eq!(short(), Code::Unavailable);
    idle();
    assert_eq!(store.write(|db| EVENTS.prune(db, now, 2)).expect("a batch"), 2);
    // Later calls on the same connection have the usual time limit.
    assert_eq!(short(), Code::Unavailable);
    idle();
    assert_eq!(store.write(|db| EVENTS.prune(db, now, 2)).expect("a batch"), 1);
    assert_eq!(store.read(|db| EVENTS.count(db, now)).expect("a count"), 0);
}

#[test]
fn rows_of_lost_lock_holders_are_pruned() {
    let Some(world) = World::new() else { return };
    let scratch = Scratch::at(&world.address);
    scratch.ok(&["project", "create", "p"]);
    let store = world.open();
    let _held = store.hold_run(clock::unique()).expect("a lock").expect("nobody has it");
    let now = Clock::system().now();
    for (name, hours) in
        [("run-a", 31 * 24), ("tasks-b", 40 * 24), ("servingc", 50 * 24), ("run-d", 29 * 24), ("run-e", 2)]
    {
        let seen_at = now - hours * HOUR;
        world.query(&format!(
            "INSERT INTO mcpkg.setting VALUES ('held.{name}', 'someone elsewhere 0'), ('beat.{name}', '{seen_at}')"
        ));
    }
    let left = || {
        let keys =
            world.query("SELECT key FROM mcpkg.setting WHERE key LIKE 'held.%' OR key LIKE 'beat.%' ORDER BY key");
        keys.lines().filter(|key| key.len() < "beat.run-".len() + 32).map(str::to_owned).collect::<Vec<_>>()
    };
    let total = || world.query("SELECT count(*) FROM mcpkg.setting WHERE key LIKE 'held.%'").trim().to_owned();
    assert_eq!((left().len(), total().as_str()), (10, "6"));
    let told = scratch.ok(&["prune", "--dry-run"]);
    assert!(told.contains("3 rows of locks"), "{told}");
    scratch.ok(&["prune", "--yes"]);
    assert_eq!(left(), ["beat.run-d", "beat.run-e", "held.run-d", "held.run-e"]);
    // A row of the last day stays, whatever the limit is.
    scratch.ok(&["limit", "set", "locks", "--number", "1", "--age", "none"]);
    scratch.ok(&["prune", "--yes"]);
    assert_eq!((left(), total().as_str()), (vec!["beat.run-e".to_owned(), "held.run-e".to_owned()], "2"));
}
