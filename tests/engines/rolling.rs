//! A rolling upgrade, with the topology of packaging/compose.yaml: PostgreSQL, two servers, and a proxy that asks them whether
//! they are ready. Under load, one server after the other is restarted, and the tables are migrated.

use std::io::{BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use regex::Regex;
use serde_json::{Value, json};

use super::World;
use crate::support::{Http, Request, Scratch, eventually, http};

/// Clients that work at the same time.
const CLIENTS: usize = 3;

/// How many requests are answered before the first step of the upgrade, and after each step.
const REQUESTS: usize = 20;

/// The locks of writers and of migrations, with their numbers from `store/engine/postgres/lock/mod.rs`.
const WRITERS: i64 = 0x6d63_706b_6700_0001;
const MIGRATION: i64 = 0x6d63_706b_6700_0002;

/// How long each wait of this test may take on a busy machine.
const BUSY: Duration = Duration::from_secs(120);

/// The proxy: it passes each connection on to a server that is ready.
struct Proxy {
    address: SocketAddr,
    backends: Arc<Mutex<Vec<Backend>>>,
}

#[derive(Clone, Copy)]
struct Backend {
    address: SocketAddr,
    is_ready: bool,
}

impl Proxy {
    fn start(servers: &[&Http]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("its address");
        let ready = |server: &&Http| Backend { address: server.address, is_ready: true };
        let backends: Arc<Mutex<Vec<Backend>>> = Arc::new(Mutex::new(servers.iter().map(ready).collect()));
        let (passing, checking) = (Arc::clone(&backends), Arc::clone(&backends));
        std::thread::spawn(move || {
            for (turn, client) in listener.incoming().flatten().enumerate() {
                let backends = Arc::clone(&passing);
                std::thread::spawn(move || pass(client, &backends, turn));
            }
        });
        std::thread::spawn(move || {
            loop {
                let found: Vec<Backend> = checking.lock().expect("the servers").clone();
                for (index, backend) in found.iter().enumerate() {
                    let is_ready =
                        ask(backend.address, &Request::new("GET", "/readyz")).is_ok_and(|answer| answer.status == 200);
                    let mut backends = checking.lock().expect("the servers");
                    if backends[index].address == backend.address {
                        backends[index].is_ready = is_ready;
                    }
                }
                std::thread::sleep(Duration::from_millis(30));
            }
        });
        Self { address, backends }
    }

    /// Replaces a server. It gets requests once it is ready.
    fn replace(&self, index: usize, server: &Http) {
        self.backends.lock().expect("the servers")[index] = Backend { address: server.address, is_ready: false };
    }

    fn is_ready(&self, index: usize) -> bool {
        self.backends.lock().expect("the servers")[index].is_ready
    }
}

/// Waits until a server is ready, connects the client to it, and copies the bytes in both directions. Tries another
/// server that is ready only if the connection fails.
fn pass(client: TcpStream, backends: &Mutex<Vec<Backend>>, turn: usize) {
    let server = in_time("a server is ready", || {
        let backends = backends.lock().expect("the servers").clone();
        let ready: Vec<&Backend> = backends.iter().filter(|backend| backend.is_ready).collect();
        let mut order = (0..ready.len()).map(|n| ready[(turn + n) % ready.len()]);
        order.find_map(|backend| TcpStream::connect(backend.address).ok())
    });
    let copy = |mut from: TcpStream, mut to: TcpStream| {
        let mut buffer = [0; 16 << 10];
        while let Ok(read @ 1..) = from.read(&mut buffer) {
            if to.write_all(&buffer[..read]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Write);
    };
    let (from_client, to_server) = (client.try_clone().expect("a handle"), server.try_clone().expect("a handle"));
    std::thread::spawn(move || copy(from_client, to_server));
    copy(server, client);
}

/// Calls `f` again and again until it returns a value, for as long as a busy machine may take.
#[track_caller]
fn in_time<T>(what: &str, mut f: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + BUSY;
    loop {
        if let Some(value) = f() {
            return value;
        }
        assert!(Instant::now() < end, "did not happen in time: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Sends a request on a connection of its own.
fn ask(address: SocketAddr, request: &Request) -> std::io::Result<http::Response> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(BUSY))?;
    stream.write_all(&request.bytes())?;
    http::read_response(&mut BufReader::new(stream))
}

/// Writes a prompt and reads it back until `ends` is set. Counts its requests in `done`. Returns the first failure.
fn work(proxy: SocketAddr, client: usize, ends: &AtomicBool, done: &AtomicUsize) -> Result<(), String> {
    let name = format!("c{client}");
    let send = |method: &str, params: Value| -> Result<Value, String> {
        let answer = ask(proxy, &http::modern("/mcp", method, params)).map_err(|error| format!("{method}: {error}"))?;
        let message = answer.message();
        let failed = answer.status != 200 || message["result"].is_null() || message["result"]["isError"] == true;
        done.fetch_add(1, Ordering::Relaxed);
        if failed { Err(format!("{method}: {} {message}", answer.status)) } else { Ok(message) }
    };
    let call = |tool: &str, arguments: Value| send("tools/call", json!({ "name": tool, "arguments": arguments }));
    call("create_prompt", json!({ "name": name, "content": "0" }))?;
    let mut written = 0;
    // If the test fails, it never sets `ends`, so there is a time limit too.
    let until = Instant::now() + BUSY * 3;
    while !ends.load(Ordering::Relaxed) && Instant::now() < until {
        written += 1;
        call("update_prompt", json!({ "name": name, "content": written.to_string() }))?;
        let read = send("prompts/get", json!({ "name": name }))?;
        let text = &read["result"]["messages"][0]["content"]["text"];
        if text.as_str() != Some(written.to_string().as_str()) {
            return Err(format!("{name} is {text}, and {written} was acknowledged"));
        }
    }
    Ok(())
}

#[test]
fn servers_are_upgraded_one_after_the_other_without_a_failed_request() {
    let Some(world) = World::new() else { return };
    let scratch = Scratch::at(&format!("{}?pool_timeout=60", world.address));
    scratch.ok(&["init"]);
    scratch.ok(&["project", "create", "p"]);
    let start = || Http::start(&scratch, &["--drain", "3"]);
    let mut servers = [start(), start()];
    let proxy = Proxy::start(&[&servers[0], &servers[1]]);
    let (ends, done) = (AtomicBool::new(false), AtomicUsize::new(0));
    let failures: Vec<String> = std::thread::scope(|scope| {
        let (ends, done, address) = (&ends, &done, proxy.address);
        let working: Vec<_> = (0..CLIENTS).map(|n| scope.spawn(move || work(address, n, ends, done))).collect();
        let go_on = |what: &str| {
            let before = done.load(Ordering::Relaxed);
            let goes_on = || {
                let is_over = working.iter().any(|client| client.is_finished());
                (is_over || done.load(Ordering::Relaxed) >= before + REQUESTS).then_some(())
            };
            in_time(what, goes_on);
        };
        go_on("requests before the upgrade");
        for (index, server) in servers.iter_mut().enumerate() {
            server.end();
            in_time("the server ends", || TcpStream::connect(server.address).is_err().then_some(()));
            assert!(server.ended().success());
            go_on("requests while a server is down");
            *server = start();
            proxy.replace(index, server);
            in_time("the new server is ready", || proxy.is_ready(index).then_some(()));
            go_on("requests to both servers");
        }
        // Migrate the tables slowly, as a newer version of mcpkg would: add columns and a table that this version does not know.
        // Like `mcpkg init`, lock all tables while nobody writes. If that takes too long, give up before PostgreSQL looks for
        // deadlocks, and try again.
        let mut newer = postgres::Client::connect(&world.address, postgres::NoTls).expect("a connection");
        newer.batch_execute(&format!("SELECT pg_advisory_lock({MIGRATION})")).expect("the lock");
        in_time("the tables are migrated", || {
            let migrated = newer.batch_execute(&format!(
                "SET lock_timeout = '250ms';
             BEGIN;
             SELECT pg_advisory_xact_lock({WRITERS});
             LOCK TABLE mcpkg.project, mcpkg.prompt IN ACCESS EXCLUSIVE MODE;
             SELECT pg_sleep(2);
             ALTER TABLE mcpkg.prompt ADD COLUMN later TEXT;
             ALTER TABLE mcpkg.project ADD COLUMN later BIGINT NOT NULL DEFAULT 7;
             CREATE TABLE mcpkg.later (id BIGINT PRIMARY KEY);
             INSERT INTO mcpkg.refinery_schema_history (version, name, applied_on, checksum)
                  VALUES (1000, 'later', '2027-01-01T00:00:00Z', '0');
             COMMIT"
            ));
            migrated.or_else(|error| newer.batch_execute("ROLLBACK").and(Err(error))).ok()
        });
        go_on("requests after the tables got more");
        ends.store(true, Ordering::Relaxed);
        working.into_iter().filter_map(|client| client.join().expect("it ends").err()).collect()
    });
    assert!(failures.is_empty(), "after {} requests: {failures:#?}", done.load(Ordering::Relaxed));
    // A server of this version that starts now must not guess what the newer tables mean.
    let refused = scratch.run(&["serve", "--http", "--port", "0"]);
    assert!(refused.stderr.contains("E_DB_NEWER") || refused.stderr.contains("newer"), "{refused}");
}

/// The version of an older database, before `source` got a column.
const OLD: i64 = 5;

/// Returns the statements that take back what the migrations after [`OLD`] added.
fn undone() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations/postgres");
    let files = std::fs::read_dir(folder).expect("the migrations").map(|entry| entry.expect("an entry").path());
    let version = |file: &PathBuf| file.file_name()?.to_str()?.get(1..4)?.parse::<i64>().ok();
    let mut newer: Vec<PathBuf> = files.filter(|file| version(file) > Some(OLD)).collect();
    newer.sort();
    let added = Regex::new(r"(?m)^(?:CREATE TABLE (\w+)|ALTER TABLE (\w+) ADD COLUMN (\w+))").expect("a pattern");
    let mut statements = format!("DELETE FROM refinery_schema_history WHERE version > {OLD};");
    for file in newer.iter().rev() {
        for found in added.captures_iter(&std::fs::read_to_string(file).expect("a migration")) {
            statements.push_str(&match found.get(1) {
                Some(table) => format!("DROP TABLE {} CASCADE;", table.as_str()),
                None => format!("ALTER TABLE {} DROP COLUMN {};", &found[2], &found[3]),
            });
        }
    }
    statements
}

/// If a server is writing, or reading a table, the migration waits. Neither the server nor the migration fails.
#[test]
fn a_migration_waits_for_writes_and_for_tables_that_are_in_use() {
    let Some(world) = World::new() else { return };
    let scratch = Scratch::at(&world.address);
    scratch.ok(&["init"]);
    let mut using = postgres::Client::connect(&world.address, postgres::NoTls).expect("a connection");
    let write = format!("SELECT pg_advisory_xact_lock_shared({WRITERS})");
    for used in [write.as_str(), "SELECT count(*) FROM source"] {
        using.batch_execute(&format!("SET search_path = mcpkg; {}", undone())).expect("an older database");
        using.batch_execute(&format!("BEGIN; {used}")).expect("it is in use");
        std::thread::scope(|scope| {
            let migrating = scope.spawn(|| scratch.ok(&["init"]));
            let waits = "SELECT count(*) FROM pg_locks WHERE NOT granted";
            eventually("the migration waits", || (world.query(waits).trim() != "0").then_some(()));
            // By now, the migration has given up at least once, which let others go on, and has tried again.
            std::thread::sleep(Duration::from_millis(700));
            using.batch_execute("SELECT count(*) FROM project; COMMIT").expect("the server goes on");
            migrating.join().expect("it is migrated");
        });
        assert_ne!(world.query("SELECT max(version) FROM mcpkg.refinery_schema_history").trim(), OLD.to_string());
    }
}
