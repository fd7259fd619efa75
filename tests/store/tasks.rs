//! Tests of tasks in the store: only the requester sees a task, a task ends once, and it is deleted when it expires.

use mcpkg_base::clock::Clock;
use mcpkg_store::Holding;
use mcpkg_store::Store;
use mcpkg_store::tasks::{self, End, GROWING, Status, Task};
use uuid::Uuid;

use crate::support::Scratch;

/// How long a task is kept, in milliseconds.
const KEPT: i64 = 1000;

fn task(asker: &str, at: i64) -> Task {
    Task {
        id: Clock::system().uuid(),
        asker: asker.to_owned(),
        tool: "plan".to_owned(),
        runner: Uuid::nil(),
        status: Status::Working,
        message: None,
        outcome: None,
        created_at: at,
        updated_at: at,
        expires_at: at + KEPT,
    }
}

fn insert(store: &Store, task: &Task) -> bool {
    store.write(|db| tasks::insert(db, task)).expect("a write")
}

fn get(store: &Store, asker: &str, id: Uuid, now: i64) -> Option<Task> {
    store.read(|db| tasks::get(db, asker, id, now)).expect("a read")
}

fn end(store: &Store, id: Uuid, at: i64) -> bool {
    let end = End { status: Status::Completed, message: None, outcome: Some("{}"), at, expires_at: at + KEPT };
    store.write(|db| tasks::end(db, id, end)).expect("a write")
}

#[test]
fn a_task_belongs_to_its_asker_and_ends_once() {
    let scratch = Scratch::with_project();
    let store = scratch.store();
    let mine = task("user", 0);
    assert!(insert(&store, &mine));
    assert_eq!(get(&store, "user", mine.id, 0), Some(mine.clone()));
    assert_eq!(get(&store, "key:ci", mine.id, 0), None);
    assert_eq!(store.read(tasks::working).expect("a read"), std::slice::from_ref(&mine));
    assert!(end(&store, mine.id, 10));
    assert!(!end(&store, mine.id, 20), "it had ended");
    let ended = get(&store, "user", mine.id, 10).expect("the task");
    assert_eq!((ended.status, ended.outcome.as_deref(), ended.updated_at), (Status::Completed, Some("{}"), 10));
    assert!(store.read(tasks::working).expect("a read").is_empty());
}

#[test]
fn a_task_that_ended_expires_and_one_that_works_stays() {
    let scratch = Scratch::with_project();
    let store = scratch.store();
    let (ended, working) = (task("user", 0), task("user", 0));
    assert!(insert(&store, &ended) && insert(&store, &working) && end(&store, ended.id, 0));
    assert!(get(&store, "user", ended.id, KEPT).is_some(), "kept to the last millisecond");
    assert!(get(&store, "user", ended.id, KEPT + 1).is_none());
    assert!(get(&store, "user", working.id, KEPT * 9).is_some());
    // The next insert deletes expired tasks.
    assert!(insert(&store, &task("user", KEPT + 1)));
    assert!(get(&store, "user", ended.id, 0).is_none(), "its row is gone");
    assert!(get(&store, "user", working.id, KEPT * 9).is_some());
}

#[test]
fn the_number_of_tasks_of_an_asker_is_limited() {
    let scratch = Scratch::with_project();
    let store = scratch.store();
    for _ in 0..GROWING.usual.number.expect("a limit") {
        assert!(insert(&store, &task("user", 0)));
    }
    assert!(!insert(&store, &task("user", 0)));
    assert!(insert(&store, &task("key:ci", 0)), "another asker has its own");
}

#[test]
fn a_runner_lives_as_long_as_its_lock() {
    let scratch = Scratch::with_project();
    let store = scratch.store();
    let runner = store.begin_tasks().expect("a runner");
    let id = runner.id();
    let other = Store::open(&scratch.db()).expect("the database opens again");
    assert!(store.runs_tasks(id) == Holding::Held && other.runs_tasks(id) == Holding::Held);
    drop(runner);
    assert!(other.runs_tasks(id) == Holding::Free && other.runs_tasks(Uuid::nil()) == Holding::Free);
}
