//! Tests of builds: which ones are kept, when their output is deleted, and which one is a repository's last build.

use mcpkg_base::clock::Clock;
use mcpkg_store::builds::{self, Begun, Ended, GROWING, Row};
use mcpkg_store::limits::Limits;
use mcpkg_store::page::Page;
use mcpkg_store::{Db, Store, workspaces};
use uuid::Uuid;

use crate::support::Scratch;

const NOW: i64 = 1_800_000_000_000;

/// Returns a store with two workspaces, and their row ids.
fn store(scratch: &Scratch) -> (Store, [i64; 2]) {
    let store = scratch.store();
    let add = |db: &Db<'_>, root: &str| {
        let (uuid, machine, name, now) = (Uuid::now_v7(), "here", "shop", NOW);
        workspaces::add(db, &workspaces::New { uuid, machine, root, name, now })
    };
    let keys = store.write(|db| Ok([add(db, "/a")?, add(db, "/b")?])).expect("workspaces");
    (store, keys)
}

fn row(repo: &str, success: bool, skipped: bool, output: &str) -> Row {
    let (repo, step, output) = (repo.to_owned(), "build".to_owned(), output.to_owned());
    Row { repo, step, success, skipped, exit_code: (!skipped).then_some(i64::from(!success)), duration_ms: 7, output }
}

fn begin(store: &Store, workspace: i64, at: i64) -> Uuid {
    let uuid = Clock::fixed(at).uuid();
    let begun = Begun { uuid, workspace, actor: "shell", options: "{}", started_at: at };
    store.write(|db| builds::begin(db, &begun)).expect("it begins");
    uuid
}

fn end(store: &Store, uuid: Uuid, at: i64, rows: &[Row]) {
    let all_passed = rows.iter().all(|row| row.success);
    store.write(|db| builds::end(db, &Ended { uuid, all_passed, ended_at: at, rows })).expect("it ends");
}

fn kept(store: &Store, workspace: i64) -> Vec<Uuid> {
    let listed = store.read(|db| builds::list(db, workspace, &Page::all())).expect("builds");
    listed.rows.into_iter().map(|run| run.uuid).collect()
}

#[test]
fn each_workspace_keeps_builds_up_to_the_limit_and_running_builds() {
    let scratch = Scratch::new();
    let (store, [a, b]) = store(&scratch);
    store.write(|db| GROWING.set(db, Limits { age: None, number: Some(2) })).expect("a limit");
    let runs = begin(&store, a, NOW);
    let old: Vec<Uuid> = (1..=3)
        .map(|n| {
            let uuid = begin(&store, a, NOW + n);
            end(&store, uuid, NOW + n, &[row("lib", true, false, &format!("output {n}"))]);
            uuid
        })
        .collect();
    assert_eq!(kept(&store, a), [old[2], old[1], runs]);
    let other = begin(&store, b, NOW + 9);
    end(&store, other, NOW + 9, &[]);
    assert_eq!((kept(&store, a).len(), kept(&store, b)), (3, vec![other]));
    // The output of the deleted build was deleted too.
    assert_eq!(scratch.column("SELECT count(*) FROM blob"), ["2"]);
    // The running build ends in time. After a day, it would count as killed.
    end(&store, runs, NOW + 10, &[]);
    assert_eq!(kept(&store, a), [old[2], old[1]]);
    let killed = begin(&store, a, NOW);
    end(&store, begin(&store, a, NOW + 20), NOW + 20, &[]);
    assert!(kept(&store, a).contains(&killed));
    end(&store, begin(&store, a, NOW + 21), NOW + 2 * 86_400_000, &[]);
    assert!(!kept(&store, a).contains(&killed));
}

#[test]
fn a_repositorys_last_build_is_the_newest_that_ran_any_of_its_commands() {
    let scratch = Scratch::new();
    let (store, [a, b]) = store(&scratch);
    assert!(store.read(|db| builds::last(db, a)).expect("none").is_empty());
    let first = begin(&store, a, NOW);
    let tests = Row { step: "test".to_owned(), ..row("lib", false, false, "broken") };
    end(&store, first, NOW + 5, &[row("lib", true, false, ""), tests, row("api", true, false, "")]);
    let second = begin(&store, a, NOW + 10);
    end(&store, second, NOW + 15, &[row("api", false, false, ""), row("web", false, true, "")]);
    begin(&store, a, NOW + 20);
    end(&store, begin(&store, b, NOW + 30), NOW + 30, &[row("lib", true, false, "")]);
    let last = store.read(|db| builds::last(db, a)).expect("builds");
    let last: Vec<_> = last.iter().map(|last| (&*last.repo, last.run, last.success, last.ended_at)).collect();
    assert_eq!(last, [("api", second, false, NOW + 15), ("lib", first, false, NOW + 5)]);
    let rows = store.read(|db| builds::rows(db, first)).expect("rows");
    assert_eq!((rows.len(), &*rows[1].output, rows[1].exit_code, rows[0].duration_ms), (3, "broken", Some(1), 7));
}
