//! Tests that growing tables are kept within their limits. Rows that wait, run or were not read yet stay.

use mcpkg_base::clock::Clock;
use mcpkg_store::consents::{self, Binding, New, State};
use mcpkg_store::events::{self, NewEvent};
use mcpkg_store::limits::{Growing, Limits};
use mcpkg_store::tasks::{self, End, Status, Task};
use mcpkg_store::{Store, consents::GROWING as CONSENTS, events::GROWING as EVENTS, tasks::GROWING as TASKS};
use uuid::Uuid;

use crate::support::Scratch;

const HOUR: i64 = 3_600_000;
const NOW: i64 = 1_800_000_000_000;

/// Deletes in batches of two, and returns the number of deleted rows. Checks that exactly the rows beyond the limits
/// were deleted.
fn prune(store: &Store, growing: &Growing, limits: Limits) -> u64 {
    let beyond = store.read(|db| (growing.beyond)(db, limits, NOW)).expect("a count");
    let mut deleted = 0;
    loop {
        let batch = store.write(|db| (growing.delete)(db, limits, NOW, 2)).expect("a batch");
        assert!(batch <= 2, "{batch}");
        deleted += batch;
        if batch < 2 {
            break;
        }
    }
    assert_eq!(deleted, beyond);
    assert_eq!(store.read(|db| (growing.beyond)(db, limits, NOW)).expect("a count"), 0);
    deleted
}

fn aged(age: i64) -> Limits {
    Limits { age: Some(age), number: None }
}

fn numbered(number: u32) -> Limits {
    Limits { age: None, number: Some(number) }
}

#[test]
fn each_table_has_its_limits_until_users_set_others() {
    let scratch = Scratch::with_project_here();
    let store = scratch.store();
    for growing in [CONSENTS, EVENTS, TASKS] {
        let limits = || store.read(|db| growing.limits(db)).expect("limits");
        assert_eq!(limits(), growing.usual);
        for set in [Limits { age: Some(7 * HOUR), number: Some(9) }, Limits::NONE, aged(0), numbered(1)] {
            store.write(|db| growing.set(db, set)).expect("set");
            assert_eq!(limits(), set);
        }
    }
}

#[test]
fn events_are_deleted_by_age_and_number_except_in_the_last_hour() {
    let scratch = Scratch::with_project_here();
    let store = scratch.store();
    let left = || -> Vec<i64> {
        let events = store.read(|db| events::after(db, 0, 100)).expect("events");
        events.into_iter().map(|event| (NOW - event.at) / HOUR).filter(|hours| (0..100).contains(hours)).collect()
    };
    let append = |hours: i64| {
        let event = NewEvent {
            at: NOW - hours * HOUR,
            actor: "shell",
            project: None,
            kind: "test",
            subject: "",
            outcome: "ok",
            session: None,
        };
        store.write(|db| events::append(db, event)).expect("an event");
    };
    for hours in (1..=9).rev() {
        append(hours);
        // An event with a wrong time, from a broken clock, is deleted with the events around it.
        append(-99_999);
    }
    append(0);
    assert_eq!(prune(&store, &EVENTS, Limits::NONE), 0);
    prune(&store, &EVENTS, aged(7 * HOUR + 1));
    assert_eq!(left(), [7, 6, 5, 4, 3, 2, 1, 0]);
    prune(&store, &EVENTS, numbered(7));
    assert_eq!(left(), [3, 2, 1, 0]);
    prune(&store, &EVENTS, numbered(1));
    assert_eq!(left(), [1, 0], "what servers may not have read");
    prune(&store, &EVENTS, aged(0));
    assert_eq!(left(), [1, 0]);
    // The newest event stays, however old it is: servers use it to detect that nothing is new.
    let newest = store.read(events::newest).expect("a place");
    let later = |limits| store.write(|db| (EVENTS.delete)(db, limits, NOW + 99 * HOUR, 100)).expect("a batch");
    assert_eq!(later(aged(0)), 2);
    assert_eq!((store.read(events::newest).expect("a place"), left()), (newest, vec![0]));
}

#[test]
fn waiting_consents_stay_and_ended_ones_are_deleted() {
    let scratch = Scratch::with_project_here();
    let store = scratch.store();
    let insert = |asker: &str, token: Option<&[u8; 32]>, expires_at: i64| -> Uuid {
        let binding = Binding { operation: "rollback", asker, project: "p", inputs: "{}", plan_hash: "hash" };
        let uuid = Clock::system().uuid();
        let new = New {
            uuid,
            binding,
            caller: "mcp:x",
            summary: "x",
            effects: "[]",
            effect: None,
            asked_at: NOW - 20 * HOUR,
            expires_at,
        };
        match token {
            Some(sha256) => store.write(|db| consents::insert_token(db, &new, sha256)).expect("a row"),
            None => assert!(store.write(|db| consents::insert(db, &new)).expect("a row")),
        }
        uuid
    };
    let there = |uuid: &Uuid| store.read(|db| consents::get(db, *uuid)).expect("a read").is_some();
    let old = insert("user", None, NOW - 9 * HOUR);
    let (denied, used, waits) =
        (insert("user", None, NOW + 1), insert("user", None, NOW + 1), insert("user", None, NOW + 1));
    let other = insert("key:ci", None, NOW - HOUR);
    insert("user", Some(&[1; 32]), NOW + 1);
    store
        .write(|db| {
            assert!(consents::deny(db, denied, NOW, None)?);
            assert!(
                consents::approve(db, used, State::Pending, NOW, NOW + 1, None)? && consents::consume(db, used, NOW)?
            );
            Ok(())
        })
        .expect("decided");
    assert_eq!(prune(&store, &CONSENTS, Limits::NONE), 0);
    assert_eq!(prune(&store, &CONSENTS, aged(9 * HOUR)), 0, "to the last millisecond");
    assert_eq!(prune(&store, &CONSENTS, aged(2 * HOUR)), 1);
    assert!(!there(&old) && there(&other));
    // These requests stay: the newest of each requester, requests that wait, and a refusal that still holds.
    assert_eq!(prune(&store, &CONSENTS, numbered(1)), 1);
    assert!(there(&denied) && !there(&used) && there(&waits) && there(&other));
    assert_eq!(prune(&store, &CONSENTS, aged(0)), 1);
    assert!(there(&denied) && there(&waits) && !there(&other));
    let token = store.read(|db| consents::of_token(db, &[1; 32])).expect("a read");
    assert!(token.is_some(), "it is in time");
}

#[test]
fn running_tasks_stay_and_ended_ones_are_deleted() {
    let scratch = Scratch::with_project_here();
    let store = scratch.store();
    let insert = |ended: Option<i64>| -> Uuid {
        let task = Task {
            id: Clock::system().uuid(),
            asker: "user".to_owned(),
            tool: "plan".to_owned(),
            runner: Uuid::nil(),
            status: Status::Working,
            message: None,
            outcome: None,
            created_at: NOW - 30 * HOUR,
            updated_at: NOW - 30 * HOUR,
            expires_at: NOW - 29 * HOUR,
        };
        store
            .write(|db| {
                assert!(tasks::insert(db, &task)?);
                if let Some(at) = ended {
                    let end = End { status: Status::Cancelled, message: None, outcome: None, at, expires_at: NOW + 1 };
                    assert!(tasks::end(db, task.id, end)?);
                }
                Ok(())
            })
            .expect("a task");
        task.id
    };
    let there = |id: &Uuid| store.read(|db| tasks::get(db, "user", *id, NOW)).expect("a read").is_some();
    let (works, old, new) = (insert(None), insert(Some(NOW - 9 * HOUR)), insert(Some(NOW - HOUR)));
    assert_eq!(prune(&store, &TASKS, Limits::NONE), 0);
    assert_eq!(prune(&store, &TASKS, aged(9 * HOUR)), 0, "to the last millisecond");
    assert_eq!(prune(&store, &TASKS, aged(2 * HOUR)), 1);
    assert!(there(&works) && !there(&old) && there(&new));
    let newest = insert(Some(NOW));
    assert_eq!(prune(&store, &TASKS, numbered(1)), 1);
    assert!(there(&works) && !there(&new) && there(&newest));
}

#[test]
fn limits_that_users_set_apply_when_rows_are_added() {
    let scratch = Scratch::with_project_here();
    let store = scratch.store();
    store
        .write(|db| {
            TASKS.set(db, Limits { age: Some(5 * HOUR), number: Some(2) })?;
            assert_eq!(tasks::kept_until(db, NOW)?, NOW + 5 * HOUR);
            let task = || Task {
                id: Clock::system().uuid(),
                asker: "user".to_owned(),
                tool: "plan".to_owned(),
                runner: Uuid::nil(),
                status: Status::Working,
                message: None,
                outcome: None,
                created_at: NOW,
                updated_at: NOW,
                expires_at: NOW + HOUR,
            };
            assert!(tasks::insert(db, &task())? && tasks::insert(db, &task())? && !tasks::insert(db, &task())?);
            TASKS.set(db, Limits::NONE)?;
            assert!(tasks::insert(db, &task())?);
            assert!(tasks::kept_until(db, NOW)? > NOW + 1_000 * 24 * HOUR);
            Ok(())
        })
        .expect("tasks");
}
