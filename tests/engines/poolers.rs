//! Tests with a pooler between mcpkg and the server, and of connections that nobody uses.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use mcpkg_base::error::Code;
use mcpkg_store::{Store, projects};

use super::{free_port, insert, names, project};
use crate::support::postgres::{Server, write_for_the_server};
use crate::support::{Scratch, eventually, finds, folder, is_root, skipped};

/// A running pgbouncer, which ends when this value is dropped.
struct Pooler {
    child: Child,
    port: u16,
    _folder: tempfile::TempDir,
}

impl Pooler {
    /// Starts pgbouncer in front of a server. Prints why and returns `None` if it is not installed.
    fn start(server_port: u16, mode: &str) -> Option<Self> {
        let Some(program) = finds("pgbouncer").or(Some("/usr/sbin/pgbouncer".into())).filter(|path| path.is_file())
        else {
            skipped("pgbouncer is not installed (Debian: pgbouncer)");
            return None;
        };
        let (folder, port) = (folder(), free_port());
        let settings = folder.path().join("pgbouncer.ini");
        write_for_the_server(
            &settings,
            &format!(
                "[databases]\n* = host=127.0.0.1 port={server_port} user=mcpkg\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n\
                 auth_type = any\nunix_socket_dir =\npool_mode = {mode}\nmax_client_conn = 100\ndefault_pool_size = 40\n"
            ),
        );
        let mut command = match is_root() {
            true => {
                let mut command = Command::new("runuser");
                command.args(["-u", "postgres", "--"]).arg(program);
                command
            }
            false => Command::new(program),
        };
        if is_root() {
            let owned = Command::new("chown").arg("postgres").arg(folder.path()).status();
            assert!(owned.is_ok_and(|status| status.success()));
        }
        let log = std::fs::File::create(folder.path().join("log")).expect("a log");
        let child =
            command.arg(&settings).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().expect("it starts");
        let pooler = Self { child, port, _folder: folder };
        eventually("it listens", || std::net::TcpStream::connect(("127.0.0.1", port)).ok());
        Some(pooler)
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_pooler_that_gives_each_transaction_another_connection_is_refused() {
    let port = free_port();
    let Some(server) = Server::start_with(port, "-c listen_addresses=127.0.0.1 -c fsync=off", |_| {}) else { return };
    server.query("CREATE DATABASE pooled");
    for mode in ["transaction", "statement"] {
        let Some(pooler) = Pooler::start(port, mode) else { return };
        let address = format!("postgres://mcpkg@127.0.0.1:{}/pooled?sslmode=disable", pooler.port);
        let refused = Store::open(Path::new(&address)).err().expect("it is refused");
        assert_eq!(refused.code(), Code::Unavailable, "{mode}: {}", refused.message());
        assert!(refused.message().contains("is a connection pooler"), "{mode}: {}", refused.message());
        let scratch = Scratch::at(&address);
        let ran = scratch.run(&["project", "list"]);
        assert!(ran.status == 1 && ran.stderr.contains("pool_mode = session"), "{mode}: {ran}");
        assert_eq!(server.query_of("/pooled", "SELECT count(*) FROM pg_namespace WHERE nspname = 'mcpkg'"), "0\n");
    }
}

#[test]
fn a_pooler_that_gives_each_client_a_connection_works() {
    let port = free_port();
    let Some(server) = Server::start_with(port, "-c listen_addresses=127.0.0.1 -c fsync=off", |_| {}) else { return };
    server.query("CREATE DATABASE pooled");
    let Some(pooler) = Pooler::start(port, "session") else { return };
    let address = format!("postgres://mcpkg@127.0.0.1:{}/pooled?sslmode=disable", pooler.port);
    let store = Store::open(Path::new(&address)).expect("it opens");
    let project = project(&store);
    store.write(|db| insert(db, &project, "one")).expect("it is written");
    assert_eq!(names(&store), ["one"]);
    let scratch = Scratch::at(&address);
    let mut client = crate::support::Client::start(&scratch, &["-p", "p"]).shake_hands("2025-06-18");
    let made = client.call("create_prompt", serde_json::json!({ "name": "two", "content": "x" }));
    assert!(!made.1, "{}", made.0);
    let moved = scratch.run(&["move", "--to", "away.db"]);
    assert!(moved.status == 1 && moved.stderr.contains("Servers are connected"), "{moved}");
    client.finish();
    assert!(store.read(projects::is_any).expect("a read"));
}

/// Tests that unused connections are closed.
#[test]
fn idle_connections_are_given_back() {
    let Some(world) = super::World::new() else { return };
    let store = world.open_with("?idle_timeout=1");
    let project = project(&store);
    store.write(|db| insert(db, &project, "one")).expect("it is written");
    assert_eq!(names(&store), ["one"]);
    let ours =
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name <> 'psql'";
    assert_ne!(world.query(ours), "0\n");
    // Connections are checked every half minute.
    let until = std::time::Instant::now() + std::time::Duration::from_secs(100);
    while world.query(ours) != "0\n" {
        assert!(std::time::Instant::now() < until, "they are held still");
        std::thread::sleep(std::time::Duration::from_secs(1));
    }
    assert_eq!(names(&store), ["one"]);
}
