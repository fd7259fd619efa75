//! Tests in which the primary is lost and a standby replaces it.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use mcpkg_base::error::Code;
use mcpkg_store::events::{NewEvent, append};
use mcpkg_store::watch::Change;
use mcpkg_store::{Access, Store};
use serde_json::{Value, json};

use super::{free_port, insert, names, project};
use crate::support::postgres::Server;
use crate::support::{Http, Scratch, eventually, http};

/// The number of acknowledged writes before the primary is lost, and again afterwards.
const WRITES: usize = 40;

/// The standby is synchronous, so it has everything that is acknowledged.
#[test]
fn killing_the_primary_under_load_loses_no_acknowledged_write() {
    let ports = [free_port(), free_port()];
    let Some(primary) = Server::start_with(ports[0], "-c listen_addresses=127.0.0.1", |_| {}) else { return };
    let standby = primary.standby(ports[1]);
    primary.query("ALTER SYSTEM SET synchronous_standby_names = '*'");
    primary.query("SELECT pg_reload_conf()");
    let synchronous = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'";
    eventually("the standby is synchronous", || (primary.query(synchronous) == "1\n").then_some(()));

    let address = format!(
        "postgres://mcpkg@127.0.0.1:{},127.0.0.1:{}/postgres?target_session_attrs=read-write&connect_timeout=1",
        ports[0], ports[1]
    );
    let open = || Store::open(Path::new(&address)).expect("it opens");
    let store = open();
    let project = project(&store);
    let (acknowledged, ends) = (Mutex::new(Vec::new()), AtomicBool::new(false));
    let count = || acknowledged.lock().expect("the names").len();
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| {
            let mut unknown = Vec::new();
            for n in 0.. {
                let name = format!("n{n:06}");
                match store.write(|db| insert(db, &project, &name)) {
                    Ok(()) => acknowledged.lock().expect("the names").push(name),
                    Err(error) if error.code() == Code::OutcomeUnknown => unknown.push(name),
                    Err(error) => assert!(
                        matches!(error.code(), Code::Unavailable | Code::Busy | Code::ReadOnly),
                        "{:?}: {}",
                        error.code(),
                        error.message()
                    ),
                }
                if ends.load(Ordering::Relaxed) {
                    break;
                }
            }
            unknown
        });
        eventually("writes are acknowledged", || (count() > WRITES).then_some(()));
        primary.kill();
        let before = count();
        standby.promote();
        eventually("writes are acknowledged again", || (count() > before + WRITES).then_some(()));
        assert!(!names(&store).is_empty(), "reads come back by themselves");
        ends.store(true, Ordering::Relaxed);
        let unknown = writing.join().expect("it ends");
        let there = names(&open());
        for name in acknowledged.lock().expect("the names").iter() {
            assert!(there.binary_search(name).is_ok(), "{name} was acknowledged, and is gone");
        }
        let others: Vec<&String> =
            there.iter().filter(|name| !acknowledged.lock().expect("the names").contains(name)).collect();
        assert!(
            others.iter().all(|name| unknown.contains(name)),
            "a write that was told as failed is there: {others:?}"
        );
    });
}

/// A store that was opened on a standby reads it, notices changes, and can write when the standby becomes the primary.
#[test]
fn a_standby_is_read_and_is_written_once_it_is_the_primary() {
    let ports = [free_port(), free_port()];
    let Some(primary) = Server::start_with(ports[0], "-c listen_addresses=127.0.0.1 -c fsync=off", |_| {}) else {
        return;
    };
    let address = |port: u16| format!("postgres://mcpkg@127.0.0.1:{port}/postgres");
    let open = |port: u16| Store::open(Path::new(&address(port))).expect("it opens");
    let (writer, project) = {
        let store = open(ports[0]);
        let project = project(&store);
        (store, project)
    };
    let standby = primary.standby(ports[1]);
    let store = open(ports[1]);
    let mut watch = store.watch(store.position().expect("a position")).expect("a watch");
    let mut is_told = |what: &str| {
        eventually(what, || {
            watch.wait(std::time::Duration::from_millis(20));
            (watch.look().expect("a look") != Change::None).then_some(())
        });
    };
    let write = |store: &Store, name: &str| {
        store.write(|db| {
            insert(db, &project, name)?;
            let subject = name;
            append(
                db,
                NewEvent {
                    at: 0,
                    actor: "test",
                    project: None,
                    kind: "prompt.create",
                    subject,
                    outcome: "ok",
                    session: None,
                },
            )
        })
    };
    write(&writer, "before").expect("the primary writes");
    is_told("the standby has it");
    assert_eq!(names(&store), ["before"]);
    assert_eq!(store.access().expect("it answers"), Access::ReadOnly);
    assert_eq!(write(&store, "refused").expect_err("a standby").code(), Code::ReadOnly);

    drop(writer);
    primary.kill();
    standby.promote();
    assert_eq!(store.access().expect("it answers"), Access::Writable);
    write(&store, "after").expect("the same store writes");
    is_told("the new primary tells of it");
    assert_eq!(names(&store), ["after", "before"]);
}

/// A request that fails because the database is gone is answered by its id, so that the client knows which one failed.
#[test]
fn a_request_is_answered_by_its_id_while_the_database_is_down() {
    let Some(server) = Server::start() else { return };
    let scratch = Scratch::new();
    let address = server.database();
    let shell = |words: &[&str]| {
        let mut command = scratch.command();
        command.env("MCPKG_DB", &address).args(words);
        command
    };
    let made = scratch.finish(&mut shell(&["project", "create", "p"]));
    assert_eq!(made.status, 0, "{made}");
    let made = scratch.finish(&mut shell(&["--json", "access", "create", "agent"]));
    let made: Value = serde_json::from_str(&made.stdout).unwrap_or_else(|_| panic!("{made}"));
    let http = Http::spawn(&mut shell(&["--json", "serve", "--http", "--port", "0"]));
    let bearer = format!("Bearer {}", made["key"].as_str().expect("a key"));
    let ask = |id: Value| {
        let request = http::modern("/mcp", "prompts/list", json!({})).edited(|message| message["id"] = id);
        http.send(&request.with("Authorization", &bearer))
    };
    assert_eq!(ask(json!(1)).message()["id"], 1);
    let ready = || http.send(&http::Request::new("GET", "/readyz")).status;
    assert_eq!(ready(), 200);
    server.kill();
    assert_eq!(ready(), 503);
    for id in [json!(7), json!("seven")] {
        let answer = ask(id.clone());
        assert_eq!((&answer.message()["id"], answer.message()["error"].is_object()), (&id, true), "{}", answer.text());
    }
}
