//! Tests writes: lost connections, waiting for other writers, and their errors. Also tests that both engines order
//! names alike.

use std::path::Path;

use mcpkg_base::clock;
use mcpkg_base::error::Code;
use mcpkg_store::page::Page;
use mcpkg_store::projects::Selection;
use mcpkg_store::{Store, items, projects, prompts};

use super::{AUTHOR, World, insert, names, project};
use crate::support::eventually;
use crate::support::postgres::Server;

/// The number of the lock of writers, as in `store/engine/postgres/lock/mod.rs`.
const WRITERS: i64 = 0x6d63_706b_6700_0001;

/// The lock of migrations.
const MIGRATION: i64 = 0x6d63_706b_6700_0002;

#[test]
fn a_write_whose_connection_ends_before_its_commit_changes_nothing_and_fails() {
    let Some(world) = World::new() else { return };
    let store = world.open();
    let project = project(&store);
    let failed = store.write(|db| {
        insert(db, &project, "a")?;
        world.end_connections();
        insert(db, &project, "b")
    });
    let failed = failed.expect_err("it fails");
    assert_eq!(failed.code(), Code::Unavailable);
    assert!(failed.message().contains("nothing was changed"), "{}", failed.message());
    assert_eq!(names(&store), [""; 0]);
    store.write(|db| insert(db, &project, "c")).expect("the next one is well");
    assert_eq!(names(&store), ["c"]);
}

/// The connection ends during the commit. The commit has in fact happened, but still waits for a standby that does
/// not exist.
#[test]
fn a_write_whose_connection_ends_during_its_commit_is_reported_as_unknown() {
    let Some(server) = Server::start_with(5432, "-c listen_addresses=''", |_| {}) else { return };
    let store = Store::open(Path::new(&server.address("mcpkg", "postgres"))).expect("it opens");
    let project = project(&store);
    server.query("ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
    server.query("SELECT pg_reload_conf()");
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    eventually("the setting is read", || (server.query("SHOW synchronous_standby_names") == "nobody\n").then_some(()));
    let failed = std::thread::scope(|scope| {
        let write = scope.spawn(|| store.write(|db| insert(db, &project, "a")));
        eventually("the commit waits", || (server.query(waiting) == "1\n").then_some(()));
        server.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
        write.join().expect("it ends")
    });
    assert_eq!(failed.expect_err("it is not acknowledged").code(), Code::OutcomeUnknown);
    assert_eq!(names(&store), ["a"], "and it was");
}

#[test]
fn waiting_too_long_for_another_writer_fails_as_busy() {
    let Some(world) = World::new() else { return };
    let store = world.open_with("?pool_size=2&pool_timeout=1");
    let project = project(&store);
    let slow = world.open();
    std::thread::scope(|scope| {
        let (begun, has_begun) = std::sync::mpsc::channel();
        let (end, ends) = std::sync::mpsc::channel::<()>();
        let writing = scope.spawn(move || {
            slow.write(|_| {
                begun.send(()).expect("somebody waits");
                ends.recv().expect("an end");
                Ok(())
            })
        });
        has_begun.recv().expect("it begins");
        let locked = world.query(&format!("SELECT pg_try_advisory_lock({WRITERS})"));
        assert_eq!(locked, "f\n", "the lock is the one of those that write");
        assert_eq!(store.write(|db| insert(db, &project, "a")).expect_err("it is busy").code(), Code::Busy);
        assert_eq!(names(&store), [""; 0], "and who reads does not wait");
        end.send(()).expect("it waits");
        writing.join().expect("it ends").expect("it writes");
    });
    store.write(|db| insert(db, &project, "b")).expect("a write");
    assert_eq!(names(&store), ["b"]);
}

/// A migration excludes writes. Writes wait longer for a migration than for another writer.
#[test]
fn a_write_waits_until_the_tables_are_migrated_and_a_read_does_not() {
    let Some(world) = World::new() else { return };
    let store = world.open_with("?pool_timeout=1");
    let project = project(&store);
    let mut migrating = postgres::Client::connect(&world.address, postgres::NoTls).expect("a connection");
    let locks = format!("SELECT pg_advisory_lock({MIGRATION}); SELECT pg_advisory_lock({WRITERS})");
    migrating.batch_execute(&locks).expect("the locks");
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| store.write(|db| insert(db, &project, "a")));
        std::thread::sleep(std::time::Duration::from_millis(2500));
        assert_eq!(names(&store), [""; 0], "a read does not wait");
        assert!(!writing.is_finished(), "the write waits");
        migrating.batch_execute("SELECT pg_advisory_unlock_all()").expect("the migration ends");
        writing.join().expect("it ends").expect("it writes");
    });
    assert_eq!(names(&store), ["a"]);
}

/// PostgreSQL ends statements that take longer than its settings allow.
#[test]
fn a_statement_that_exceeds_the_servers_time_limit_fails_as_busy() {
    let Some(world) = World::new() else { return };
    let slow = world.open();
    let store = world.open_with("?options=-c%20statement_timeout%3D200");
    let project = project(&slow);
    std::thread::scope(|scope| {
        let ((begun, has_begun), (end, ends)) = (std::sync::mpsc::channel(), std::sync::mpsc::channel::<()>());
        let writing = scope.spawn(move || {
            slow.write(|_| {
                begun.send(()).expect("somebody waits");
                ends.recv().expect("an end");
                Ok(())
            })
        });
        has_begun.recv().expect("it begins");
        assert_eq!(store.write(|db| insert(db, &project, "a")).expect_err("it is ended").code(), Code::Busy);
        end.send(()).expect("it waits");
        writing.join().expect("it ends").expect("it writes");
    });
    assert_eq!(names(&store), [""; 0]);
    store.write(|db| insert(db, &project, "b")).expect("a write");
    assert_eq!(names(&store), ["b"]);
}

/// The writers of two projects store the same new contents in opposite orders.
#[test]
fn one_of_two_writers_that_wait_for_each_other_fails_as_busy() {
    let Some(world) = World::new() else { return };
    let store = world.open();
    for name in ["p", "q"] {
        store.write(|db| projects::insert(db, clock::unique(), name, 0)).expect("a project");
    }
    let barrier = std::sync::Barrier::new(2);
    let write = |project: &str, contents: [&str; 2]| {
        let selection = Selection { named: Some(project.to_owned()), ..Selection::default() };
        world.open().write_in(&selection, |db, project| {
            let project = project?;
            for content in contents {
                let ids = items::Ids { uuid: clock::unique(), indexed: None };
                prompts::insert(db, AUTHOR, &project, ids, content, prompts::Attributes::default(), content)?;
                if content == contents[0] {
                    barrier.wait();
                }
            }
            Ok(())
        })
    };
    let written = std::thread::scope(|scope| {
        let both = [("p", ["one", "two"]), ("q", ["two", "one"])];
        let both = both.map(|(project, contents)| scope.spawn(move || write(project, contents)));
        both.map(|writing| writing.join().expect("it ends"))
    });
    let busy: Vec<usize> = (0..2).filter(|which| written[*which].is_err()).collect();
    assert_eq!(busy.len(), 1, "{written:?}");
    assert_eq!(written[busy[0]].as_ref().expect_err("it is ended").code(), Code::Busy);
    let of = |project: &str| {
        let selection = Selection { named: Some(project.to_owned()), ..Selection::default() };
        store.read(|db| prompts::names(db, &selection, "", 9)).expect("the names")
    };
    let mut found = [of("p"), of("q")];
    assert_eq!(found[busy[0]], [""; 0], "nothing of it was changed");
    assert_eq!(std::mem::take(&mut found[1 - busy[0]]), ["one", "two"]);
}

#[test]
fn names_are_ordered_alike_by_both_engines() {
    let Some(world) = World::new() else { return };
    let file = crate::support::Scratch::new();
    let file = Store::open(&file.path().join("file.db")).expect("a file");
    let listed = [world.open(), file].map(|store| {
        let project = project(&store);
        for name in ["b", "B", "a", "_x", "-x", "Z.9", "a.b", "a-b", "a_b", "aB", "ab", "10", "9", "A"] {
            store.write(|db| insert(db, &project, name)).expect("a write");
        }
        let all = names(&store);
        // Read page by page. Each page begins after the last name of the page before.
        let (mut page, mut paged) = (Page { after: String::new(), limit: 3 }, Vec::new());
        loop {
            let slice = store.read(|db| prompts::list(db, project.id, &page)).expect("a page");
            paged.extend(slice.rows.into_iter().map(|prompt| prompt.name));
            if !slice.more {
                break;
            }
            page.after.clone_from(paged.last().expect("it has names"));
        }
        assert_eq!(paged, all);
        all
    });
    assert_eq!(listed[0], listed[1]);
    assert_eq!(listed[0].len(), 14);
}
