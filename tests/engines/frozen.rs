//! Tests with a server that does not answer: its machine is frozen, or the network dropped the connection.

use std::path::Path;
use std::time::{Duration, Instant};

use mcpkg_base::error::Code;
use mcpkg_store::{Store, projects};
use serde_json::json;

use super::{insert, names, project};
use crate::support::postgres::Server;
use crate::support::{Client, Http, Request, Scratch, eventually, signal};

/// Returns the address with short time limits.
fn short(address: &str) -> String {
    format!("{address}?connect_timeout=1&answer_timeout=1&pool_timeout=1")
}

/// Longer than any call that ends at its time limit, even on a busy machine.
const LONG: Duration = Duration::from_secs(25);

#[track_caller]
fn in_time<T>(what: &str, f: impl FnOnce() -> T) -> T {
    let begun = Instant::now();
    let value = f();
    assert!(begun.elapsed() < LONG, "{what} took {:?}", begun.elapsed());
    value
}

#[test]
fn calls_to_a_frozen_server_end_in_time() {
    let Some(server) = Server::start() else { return };
    let address = short(&server.database());
    let open = || Store::open(Path::new(&address));
    let store = open().expect("it opens");
    let project = project(&store);
    store.write(|db| insert(db, &project, "before")).expect("it is written");
    let reader = store.reader().expect("a reader");
    let mut watch = store.watch(store.position().expect("a position")).expect("a watch");
    let frozen = server.freeze();
    let unavailable = |done: Result<(), mcpkg_base::error::Error>| {
        let code = done.expect_err("the server is frozen").code();
        assert!(matches!(code, Code::Unavailable | Code::Busy), "{code:?}");
    };
    in_time("a read", || unavailable(store.read(|db| projects::is_any(db).map(drop))));
    in_time("a write", || unavailable(store.write(|db| insert(db, &project, "lost"))));
    in_time("a reader", || unavailable(reader.statement(|db| projects::is_any(db).map(drop))));
    in_time("a look", || unavailable(watch.look().map(drop)));
    in_time("opening", || unavailable(open().map(drop)));
    let limited = store.limited(Duration::from_millis(300), tokio_util::sync::CancellationToken::new());
    in_time("a read with a deadline", || unavailable(limited.read(|db| projects::is_any(db).map(drop))));
    drop(frozen);
    let there = eventually("it is read again", || store.read(|_| Ok(())).ok().map(|()| names(&store)));
    assert_eq!(there, ["before"], "what was told as failed is there");
    eventually("it is written again", || store.write(|db| insert(db, &project, "after")).ok());
    // A reader with a lost connection makes a new one.
    eventually("a reader reads again", || reader.statement(|db| projects::is_any(db).map(drop)).ok());
    eventually("commits are seen again", || watch.look().ok());
}

/// A commit whose answer is lost may have happened.
#[test]
fn a_commit_that_a_frozen_server_does_not_answer_is_unknown() {
    let Some(server) = Server::start() else { return };
    let address = short(&server.database());
    let store = Store::open(Path::new(&address)).expect("it opens");
    let project = project(&store);
    let mut frozen = None;
    let written = in_time("the commit", || {
        store.write(|db| {
            insert(db, &project, "perhaps")?;
            frozen = Some(server.freeze());
            Ok(())
        })
    });
    assert_eq!(written.expect_err("nobody answers").code(), Code::OutcomeUnknown);
    drop(frozen);
    let there = eventually("it is read again", || store.read(|_| Ok(())).ok().map(|()| names(&store)));
    assert!(there.is_empty() || there == ["perhaps"], "{there:?}");
}

#[test]
fn a_server_of_ours_is_not_ready_and_ends_while_the_database_is_frozen() {
    let Some(server) = Server::start() else { return };
    let scratch = Scratch::at(&short(&server.database()));
    scratch.ok(&["project", "create", "p"]);
    let mut http = Http::start(&scratch, &[]);
    let ready = |http: &Http| http.send(&Request::new("GET", "/readyz")).status;
    assert_eq!(ready(&http), 200);
    let mut client = Client::start(&scratch, &["-p", "p"]).shake_hands("2025-06-18");
    client.result("prompts/list", json!({}));
    let frozen = server.freeze();
    in_time("/readyz", || assert_eq!(ready(&http), 503));
    in_time("/healthz", || assert_eq!(http.send(&Request::new("GET", "/healthz")).status, 200));
    let refused = in_time("a call", || {
        let arguments = json!({ "name": "x", "content": "text" });
        client.request("tools/call", json!({ "name": "create_prompt", "arguments": arguments }))
    });
    assert!(refused["result"]["isError"] == json!(true) || refused["error"].is_object(), "{refused}");
    let ran = in_time("a command", || scratch.run(&["project", "list"]));
    assert!(ran.status == 1 && ran.stderr.contains("does not respond"), "{ran}");
    // Both servers can still be terminated.
    in_time("SIGTERM over HTTP", || {
        http.end();
        http.ended();
    });
    in_time("SIGTERM over stdio", || {
        signal(client.pid(), "TERM");
        client.ended();
    });
    drop(frozen);
    eventually("it is served again", || (scratch.run(&["project", "list"]).status == 0).then_some(()));
}
