//! Tests of what differs on PostgreSQL. `just postgres` runs the whole suite on it too.

use std::path::Path;
use std::sync::Arc;

use mcpkg_base::clock;
use mcpkg_store::projects::Selection;
use mcpkg_store::revisions::Author;
use mcpkg_store::{Store, items, projects, prompts};

use crate::support::postgres::Server;

mod admission;
mod connections;
mod failover;
mod frozen;
mod gated;
mod lost_locks;
mod many_rows;
mod many_writers;
mod moving;
mod opening;
mod poolers;
mod pruning;
mod rolling;
mod two;
mod writing;

const AUTHOR: Author<'_> = Author { actor: "test", now: 0 };

/// A server with an empty database.
struct World {
    server: Arc<Server>,
    address: String,
}

impl World {
    /// Creates an empty database. Prints why and returns `None` without PostgreSQL.
    fn new() -> Option<Self> {
        let server = Server::shared()?;
        let address = server.database();
        Some(Self { server, address })
    }

    fn open(&self) -> Store {
        self.open_with("")
    }

    /// Opens the database with more options in its address, such as `?pool_size=2`.
    fn open_with(&self, more: &str) -> Store {
        Store::open(Path::new(&format!("{}{more}", self.address))).expect("the database opens")
    }

    /// Runs a query in the database.
    fn query(&self, sql: &str) -> String {
        self.server.query_of(&self.address, sql)
    }

    /// Ends all connections to the database, as a restart of the server does.
    fn end_connections(&self) {
        self.server.end_connections(&self.address);
    }
}

/// Returns a port that is free now.
fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("its address").port()
}

/// Creates the project `p`.
fn project(store: &Store) -> projects::Project {
    store.write(|db| projects::insert(db, clock::unique(), "p", 0)).expect("a project").0
}

/// Writes a prompt in the transaction of `db`.
fn insert(db: &mcpkg_store::Db<'_>, project: &projects::Project, name: &str) -> mcpkg_base::error::Result<()> {
    let ids = items::Ids { uuid: clock::unique(), indexed: None };
    prompts::insert(db, AUTHOR, project, ids, name, prompts::Attributes::default(), "text").map(drop)
}

/// Returns the names of all prompts, in order.
fn names(store: &Store) -> Vec<String> {
    store.read(|db| prompts::names(db, &Selection::default(), "", usize::MAX)).expect("the names")
}
