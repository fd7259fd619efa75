//! Tests mcpkg while the PostgreSQL server is unreachable or accepts no new connections.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use mcpkg_base::clock;
use mcpkg_store::deploys::{self, Deployed, Image, PlaceKey};
use mcpkg_store::{Db, RunHolder, Store, snapshots};
use serde_json::json;

use super::free_port;
use crate::deploy::tasks;
use crate::support::gate::{Gate, Pass};
use crate::support::postgres::Server;
use crate::support::{Client, Scratch, eventually, shell_wait};
use crate::workflow::faults::begun;
use crate::workflow::runs::Ground;

/// Starts a PostgreSQL server with one database, and a proxy in front of it that can block connections. Returns `None`
/// with a message if there is no PostgreSQL.
fn gated() -> Option<(Server, Gate)> {
    let port = free_port();
    let server = Server::start_with(port, "-c listen_addresses=127.0.0.1 -c fsync=off", |_| {})?;
    server.query("CREATE DATABASE gated");
    Some((server, Gate::before(port)))
}

/// The number of files of a deploy.
const FILES: usize = 1_200;

/// The number of runs whose locks are held at once.
const HELD: usize = 20;

#[test]
fn locks_are_retried_less_and_less_often_while_the_server_is_unreachable() {
    let Some((server, gate)) = gated() else { return };
    let store = Store::open(Path::new(&gate.address("gated"))).expect("it opens");
    let hold = |_| store.hold_run(clock::unique()).expect("a lock").expect("nobody has it");
    let held: Vec<RunHolder> = (0..HELD).map(hold).collect();
    let there = || {
        let locks = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ExclusiveLock'";
        server.query(locks).trim().parse::<usize>().expect("a number")
    };
    assert_eq!(there(), HELD);
    gate.set(Pass::Refused);
    eventually("the locks are gone", || (there() == 0).then_some(()));
    let before = gate.came();
    std::thread::sleep(Duration::from_secs(6));
    let each = (gate.came() - before) / HELD;
    assert!((2..=9).contains(&each), "each lock was tried {each} times in 6 s");
    gate.set(Pass::On);
    eventually("the locks are held again", || (there() == HELD).then_some(()));
    drop(held);
}

#[test]
fn a_lost_lock_is_reported_once() {
    let Some((_server, gate)) = gated() else { return };
    let scratch = Scratch::at(&gate.address("gated"));
    scratch.ok(&["project", "create", "p"]);
    let log = scratch.path().join("log");
    let mut serve = scratch.command();
    serve.args(["serve", "-p", "p"]).env("MCPKG_LOG", "debug");
    let file = std::fs::File::create(&log).expect("a log");
    let mut client = Client::spawn_logging(&mut serve, file.into()).shake_hands("2025-06-18");
    client.result("prompts/list", json!({}));
    gate.set(Pass::Refused);
    std::thread::sleep(Duration::from_secs(6));
    gate.set(Pass::On);
    let lines = |words: &str| {
        let log = std::fs::read_to_string(&log).expect("the log");
        log.lines().filter(|line| line.contains(words)).count()
    };
    eventually("acquired the lock again", || (lines("acquired the lock again") > 0).then_some(()));
    assert_eq!(lines("a lock lost its connection"), 1);
    let tries = lines("cannot acquire the lock yet");
    assert!((1..=2).contains(&tries), "{tries} lines");
    client.finish();
}

/// A server opens a separate connection for its first task, which may take long. Other requests must not wait for it.
#[test]
fn reading_a_task_does_not_wait_for_the_connection_of_another() {
    let Some((_server, gate)) = gated() else { return };
    let place = tasks::slow_on(Scratch::at(&format!("{}&connect_timeout=10", gate.address("gated"))));
    let mut client = tasks::client(&place);
    let unknown = json!({ "taskId": clock::unique().to_string() });
    assert_eq!(client.error("tasks/get", unknown.clone())["code"], -32602);
    gate.set(Pass::Stalled);
    let before = gate.came();
    client.post("tools/call", tasks::call(&place, "plan"));
    eventually("it connects", || (gate.came() > before).then_some(()));
    let begun = Instant::now();
    assert_eq!(client.error("tasks/get", unknown)["code"], -32602);
    assert!(begun.elapsed() < Duration::from_secs(5), "it took {:?}", begun.elapsed());
    client.kill();
}

/// An API whose only command needs two secrets.
const TWO_SECRETS: &str = r#"{
  "openapi": "3.0.3", "info": { "title": "Two", "version": "1" },
  "security": [{ "one": [], "two": [] }],
  "paths": { "/pairs": { "post": {
    "operationId": "pairs/create", "summary": "Create a pair",
    "requestBody": { "required": true, "content": { "application/json": { "schema": {
      "type": "object", "properties": { "one": { "type": "string" }, "two": { "type": "string" } } } } } },
    "responses": { "201": { "description": "Made" } } } } },
  "components": { "securitySchemes": {
    "one": { "type": "apiKey", "in": "header", "name": "X-One" },
    "two": { "type": "apiKey", "in": "header", "name": "X-Two" } } }
}"#;

/// The database becomes unreachable after mcpkg read the first secret, and before it reads the second.
#[test]
fn a_secrets_program_runs_once_while_the_database_is_unreachable() {
    let Some((_server, gate)) = gated() else { return };
    let ground = Ground::on(Scratch::at(&gate.address("gated")));
    let document = ground.scratch.file("two.json", TWO_SECRETS).display().to_string();
    ground.scratch.ok(&["catalog", "import", &document, "--prefix", "two", "--base-url", &ground.api.base()]);
    let path = |name: &str| ground.scratch.path().join(name);
    let (ran, gone) = (path("ran"), path("gone"));
    for name in ["one", "two"] {
        // Each program runs twice: mcpkg reads both secrets for the step's arguments, and again for the request's
        // headers.
        let script = format!("#!/bin/sh\necho {name} >> '{}'\n{}\necho value\n", ran.display(), shell_wait(&gone));
        let program = ground.scratch.file(name, script);
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("a mode");
        let reference = format!("{name}=command:{}", program.display());
        ground.scratch.ok(&["catalog", "set", "two", "--auth", &reference, "--yes"]);
    }
    let programs = || std::fs::read_to_string(&ran).unwrap_or_default();
    let text = "\
workflow: w
steps:
  - id: a
    run: two:pairs:create
    with: { one: '${{ secrets.one }}', two: '${{ secrets.two }}' }
";
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    begun(&ground, &mut client, text);
    eventually("the first secret is read", || (programs() == "one\n").then_some(()));
    gate.set(Pass::Refused);
    ground.scratch.file("gone", "");
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(programs(), "one\n", "the database is away");
    gate.set(Pass::On);
    eventually("the request is sent", || (ground.changes() > 0).then_some(()));
    assert_eq!(programs(), "one\ntwo\none\ntwo\n", "once for the arguments, and once for the headers");
    client.finish();
}

#[test]
fn a_journal_of_many_files_takes_few_round_trips() {
    let Some((_server, gate)) = gated() else { return };
    let store = Store::open(Path::new(&gate.address("gated"))).expect("it opens");
    let path = |n: usize| format!("/root/{n:04}");
    let link = |n: usize| Image::Link(format!("to {n}"));
    let folders: Vec<String> = (0..FILES).map(path).collect();
    let key = PlaceKey {
        source: "project:x".to_owned(),
        origin: String::new(),
        machine: "here".to_owned(),
        root: "/root".to_owned(),
    };
    let place = store.write(|db| deploys::make_place(db, &key)).expect("a location");
    let journal = |db: &Db<'_>| {
        let file = |n| snapshots::File {
            snapshot: 0,
            path: path(n),
            root: key.root.clone(),
            op: "create".to_owned(),
            targets: vec!["codex".to_owned()],
            module_ids: vec!["x".to_owned()],
            block: false,
            keep: snapshots::Keep::Written,
            before: Image::Absent,
            after: link(n),
            attributes: None,
        };
        let new = snapshots::NewSnapshot {
            uuid: clock::unique(),
            place,
            kind: snapshots::Kind::Deploy,
            targets: &["codex".to_owned()],
            profile: "default",
            plan_hash: "0",
            rolled_back_to: None,
            actor: "shell",
            now: 1,
        };
        snapshots::begin(db, &new, &(0..FILES).map(file).collect::<Vec<_>>(), &folders)
    };
    let row = |n, applied| Deployed {
        path: path(n),
        place,
        root: key.root.clone(),
        targets: vec!["codex".to_owned()],
        module_ids: vec!["x".to_owned()],
        block: false,
        written: true,
        applied,
        pristine: Image::Absent,
        pristine_attributes: None,
        stat: None,
    };
    let before = gate.turns();
    let id = store.write(journal).expect("a journal");
    // The first half of the rows is new, and then all of them change.
    let half: Vec<Deployed> = (0..FILES / 2).map(|n| row(n, Image::Absent)).collect();
    let all: Vec<Deployed> = (0..FILES).map(|n| row(n, link(n))).collect();
    store.write(|db| deploys::put(db, "here", &half).and_then(|()| deploys::put(db, "here", &all))).expect("rows");
    let turns = gate.turns() - before;
    assert!(turns < FILES / 4, "{turns} round trips for {FILES} files");
    let (files, rows) = store.read(|db| Ok((snapshots::files(db, id)?, deploys::of_place(db, place)?))).expect("rows");
    assert_eq!((files.len(), rows.len()), (FILES, FILES));
    let is_right = |(n, (file, row)): (usize, (&snapshots::File, &Deployed))| {
        file.path == path(n) && file.after == link(n) && row.path == path(n) && row.applied == link(n)
    };
    assert!(files.iter().zip(&rows).enumerate().all(is_right), "in order");
    // If one row is refused, none is written.
    let mut bad = all.clone();
    bad[FILES / 2].place = -1;
    store.write(|db| deploys::forget(db, "here", place, &[])).expect("nothing to do");
    assert!(store.write(|db| deploys::put(db, "there", &bad)).is_err());
    assert_eq!(store.read(|db| deploys::at(db, "there", &path(0))).expect("a read").map(|row| row.path), None);
    let some: Vec<String> = (0..FILES / 2).map(path).collect();
    let some: Vec<&str> = some.iter().map(String::as_str).collect();
    store.write(|db| deploys::forget(db, "here", place, &some)).expect("forgotten");
    assert_eq!(store.read(|db| deploys::of_place(db, place)).expect("rows").len(), FILES - FILES / 2);
}
