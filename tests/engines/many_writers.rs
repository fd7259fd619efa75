//! Tests of writers to different projects, which wait for each other only at the commit.

use std::sync::mpsc::{Receiver, Sender, channel};

use mcpkg_base::clock;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_store::events::{self, NewEvent};
use mcpkg_store::projects::{self, Project, Selection};
use mcpkg_store::{Db, Store, blobs, prompts};

use super::{World, insert};
use crate::support::eventually;

const PROJECTS: [&str; 2] = ["p", "q"];

fn selection(project: &str) -> Selection {
    Selection { named: Some(project.to_owned()), ..Selection::default() }
}

fn make_projects(store: &Store) {
    for name in PROJECTS {
        store.write(|db| projects::insert(db, clock::unique(), name, 0)).expect("a project");
    }
}

fn event(db: &Db<'_>, subject: &str) -> Result<()> {
    events::append(
        db,
        NewEvent { at: 0, actor: "test", project: None, kind: "prompt.create", subject, outcome: "ok", session: None },
    )
}

/// Writes to a project as operations do.
fn write<T>(store: &Store, project: &str, f: impl FnOnce(&Db<'_>, &Project) -> Result<T>) -> Result<T> {
    store.write_in(&selection(project), |db, project| f(db, &project?))
}

/// Returns a channel on which one thread waits for another.
fn halves() -> (Sender<()>, Receiver<()>) {
    channel()
}

#[test]
fn writers_of_different_projects_continue_and_those_of_one_project_wait() {
    let Some(world) = World::new() else { return };
    let (slow, store) = (world.open(), world.open_with("?pool_timeout=1"));
    make_projects(&store);
    // Store the content in advance, so that later writes of it store nothing new.
    write(&store, "q", |db, project| insert(db, project, "before")).expect("a write");
    std::thread::scope(|scope| {
        let ((begun, has_begun), (end, ends)) = (halves(), halves());
        let writing = scope.spawn(move || {
            write(&slow, "p", |db, project| {
                insert(db, project, "slow")?;
                begun.send(()).expect("somebody waits");
                ends.recv().expect("an end");
                event(db, "slow")
            })
        });
        has_begun.recv().expect("it begins");
        let other = |db: &Db<'_>, project: &Project| {
            insert(db, project, "other")?;
            event(db, "other")
        };
        write(&store, "q", other).expect("another project's goes on");
        assert_eq!(write(&store, "p", other).expect_err("it waits").code(), Code::Busy);
        let deleted = store.write(|db| projects::delete(db, "q"));
        assert_eq!(deleted.expect_err("who writes to all waits for each").code(), Code::Busy);
        end.send(()).expect("it waits");
        writing.join().expect("it ends").expect("it writes");
    });
    let subjects: Vec<_> =
        store.read(|db| events::after(db, 0, 9)).expect("events").into_iter().map(|e| e.subject).collect();
    assert_eq!(subjects, ["other", "slow"], "numbered as they were committed, not as they began");
}

#[test]
fn an_event_waits_for_one_that_was_appended_before_it() {
    let Some(world) = World::new() else { return };
    let (one, other) = (world.open(), world.open());
    make_projects(&one);
    std::thread::scope(|scope| {
        let ((begun, has_begun), (end, ends)) = (halves(), halves());
        let first = scope.spawn(move || {
            write(&one, "p", |db, _| {
                event(db, "first")?;
                begun.send(()).expect("somebody waits");
                ends.recv().expect("an end");
                Ok(())
            })
        });
        has_begun.recv().expect("it begins");
        let second = scope.spawn(|| write(&other, "q", |db, _| event(db, "second")));
        eventually("the second one waits", || {
            let waiting = world.query("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted");
            (waiting == "1\n").then_some(())
        });
        end.send(()).expect("it waits");
        first.join().expect("it ends").expect("it writes");
        second.join().expect("it ends").expect("it writes");
    });
    let store = world.open();
    let events = store.read(|db| events::after(db, 0, 9)).expect("events");
    assert_eq!(events.iter().map(|event| event.subject.as_str()).collect::<Vec<_>>(), ["first", "second"]);
}

#[test]
fn the_same_new_content_in_two_projects_at_once_is_stored_once_whichever_of_them_fails() {
    let Some(world) = World::new() else { return };
    for first_fails in [false, true] {
        let (one, other) = (world.open(), world.open());
        if !first_fails {
            make_projects(&one);
        }
        let name = format!("fails-{first_fails}");
        let put = |db: &Db<'_>, project: &Project| {
            let ids = mcpkg_store::items::Ids { uuid: clock::unique(), indexed: None };
            prompts::insert(db, super::AUTHOR, project, ids, &name, prompts::Attributes::default(), &name).map(drop)
        };
        std::thread::scope(|scope| {
            let ((begun, has_begun), (end, ends)) = (halves(), halves());
            let first = scope.spawn(move || {
                write(&one, "p", |db, project| {
                    put(db, project)?;
                    begun.send(()).expect("somebody waits");
                    ends.recv().expect("an end");
                    if first_fails { Err(Error::new(Code::Cancelled, "given up")) } else { Ok(()) }
                })
            });
            has_begun.recv().expect("it begins");
            let second = scope.spawn(|| write(&other, "q", put));
            eventually("the second one waits for the content", || {
                let waiting =
                    world.query("SELECT count(*) FROM pg_locks WHERE locktype = 'transactionid' AND NOT granted");
                (waiting == "1\n").then_some(())
            });
            end.send(()).expect("it waits");
            assert_eq!(first.join().expect("it ends").is_err(), first_fails);
            second.join().expect("it ends").expect("it writes");
        });
        let store = world.open();
        let id =
            store.read(|db| blobs::find(db, &name.clone().into_bytes().into())).expect("a read").expect("it is stored");
        assert_eq!(store.read(|db| blobs::get(db, id)).expect("it is whole"), name.as_bytes());
    }
}
