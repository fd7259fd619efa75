//! Tests in which connections end, or are too few.

use mcpkg_base::error::Code;
use mcpkg_store::projects;
use mcpkg_store::watch::Change;
use tokio_util::sync::CancellationToken;

use super::{World, insert, names, project};
use crate::support::eventually;

#[test]
fn a_connection_that_ended_between_two_requests_is_not_noticed() {
    let Some(world) = World::new() else { return };
    let store = world.open();
    let project = project(&store);
    let reader =
        store.limited(std::time::Duration::from_secs(60), CancellationToken::new()).reader().expect("a reader");
    for n in 0..3 {
        store.write(|db| insert(db, &project, &format!("a{n}"))).expect("a write");
        assert!(reader.statement(projects::is_any).expect("a read"));
        assert_eq!(names(&store).len(), n + 1);
        world.end_connections();
    }
}

#[test]
fn a_watch_whose_connection_ended_reports_what_it_missed() {
    let Some(world) = World::new() else { return };
    let store = world.open();
    let project = project(&store);
    let mut watch = store.watch(store.position().expect("a position")).expect("a watch");
    assert_eq!(watch.look().expect("a look"), Change::None);
    world.end_connections();
    store.write(|db| event(db, "missed")).expect("a write");
    watch.wait(std::time::Duration::from_millis(10));
    let told = watch.look().expect("a look");
    assert!(matches!(&told, Change::Events(events) if events.len() == 1 && events[0].subject == "missed"), "{told:?}");
    drop(project);
}

/// The watch's new connection listens for events, as the lost one did.
#[test]
fn a_watch_whose_connection_ended_reports_later_events() {
    let Some(world) = World::new() else { return };
    let store = world.open();
    let project = project(&store);
    let mut watch = store.watch(store.position().expect("a position")).expect("a watch");
    world.end_connections();
    assert_eq!(watch.look().expect("a look"), Change::None);
    store.write(|db| event(db, "after")).expect("a write");
    assert!(watch.wait(std::time::Duration::from_millis(900)), "it was told");
    drop(project);
}

fn event(db: &mcpkg_store::Db<'_>, subject: &str) -> mcpkg_base::error::Result<()> {
    use mcpkg_store::events::{NewEvent, append};
    append(
        db,
        NewEvent { at: 0, actor: "test", project: None, kind: "prompt.create", subject, outcome: "ok", session: None },
    )
}

#[test]
fn an_event_that_is_committed_late_is_reported_in_the_same_order() {
    let Some(world) = World::new() else { return };
    let (one, other) = (world.open(), world.open());
    let mut watch = other.watch(other.position().expect("a position")).expect("a watch");
    let mut told = Vec::new();
    let mut look = |watch: &mut mcpkg_store::watch::Watch| match watch.look().expect("a look") {
        Change::Events(events) => told.extend(events.into_iter().map(|event| (event.seq, event.subject))),
        Change::None => {}
        Change::Restored => panic!("nothing was restored"),
    };
    std::thread::scope(|scope| {
        let (begun, has_begun) = std::sync::mpsc::channel();
        scope.spawn(|| {
            let (begun, one) = (begun, &one);
            one.write(|db| {
                event(db, "late")?;
                begun.send(()).expect("somebody waits");
                std::thread::sleep(std::time::Duration::from_millis(300));
                event(db, "later")
            })
            .expect("a write");
        });
        has_begun.recv().expect("it begins");
        look(&mut watch);
        other.write(|db| event(db, "other")).expect("a write");
        look(&mut watch);
    });
    look(&mut watch);
    let (numbers, subjects): (Vec<i64>, Vec<&str>) = told.iter().map(|(seq, subject)| (*seq, subject.as_str())).unzip();
    assert!(numbers.is_sorted(), "{numbers:?}");
    assert_eq!(subjects, ["late", "later", "other"]);
}

#[test]
fn many_readers_at_once_stay_within_the_limit_of_connections() {
    let Some(world) = World::new() else { return };
    let store = world.open_with("?pool_size=3");
    project(&store);
    // psql's own connections are not counted, because the last one may be about to end.
    let open = || {
        // Neither are the server's own workers, such as a vacuum.
        let ours =
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name <> 'psql'
            AND backend_type = 'client backend'";
        world.query(ours).trim().parse::<u32>().expect("a number")
    };
    eventually("the one that it was opened with is gone", || (open() == 1).then_some(()));
    let most = std::thread::scope(|scope| {
        let readers: Vec<_> = (0..64)
            .map(|_| {
                let store = store.clone();
                scope.spawn(move || (0..20).for_each(|_| assert!(store.read(projects::is_any).expect("a read"))))
            })
            .collect();
        let mut most = 0;
        while readers.iter().any(|reader| !reader.is_finished()) {
            most = most.max(open());
        }
        most
    });
    // The store may open three connections for reading, and one for writing.
    assert!((1..=4).contains(&most), "{most} connections");
}

/// A call waits for a free connection only for a limited time.
#[test]
fn waiting_too_long_for_a_connection_fails_as_busy() {
    let Some(world) = World::new() else { return };
    let store = world.open_with("?pool_size=1&pool_timeout=1");
    std::thread::scope(|scope| {
        let ((begun, has_begun), (end, ends)) = (std::sync::mpsc::channel(), std::sync::mpsc::channel::<()>());
        let other = store.clone();
        let reading = scope.spawn(move || {
            other.read(|_| {
                begun.send(()).expect("somebody waits");
                ends.recv().expect("an end");
                Ok(())
            })
        });
        has_begun.recv().expect("it begins");
        assert_eq!(store.read(projects::is_any).expect_err("there is none").code(), Code::Busy);
        end.send(()).expect("it waits");
        reading.join().expect("it ends").expect("it reads");
    });
    assert!(!store.read(projects::is_any).expect("a read"));
}
