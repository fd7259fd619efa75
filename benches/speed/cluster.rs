//! Runs a PostgreSQL server for the benchmarks, and records the statements that mcpkg sends to it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::data::Data;
use crate::installed;
use crate::peer::{self, cpu, mcpkg};
use crate::web::Web;

#[path = "../../tests/support/postgres.rs"]
#[allow(dead_code, reason = "the tests use all of it")]
pub mod postgres;

/// A connection parameter that makes the server log each statement.
const LOGGED: &str = "options=-c%20log_statement%3Dall";

/// The query with which mcpkg checks for commits, either on its own or as part of a read.
const LOOK: &str = "SELECT pg_current_snapshot()::text";

/// A PostgreSQL server that writes each commit to the disk before it acknowledges the commit.
pub struct Cluster {
    pub server: postgres::Server,
    home: PathBuf,
}

impl Cluster {
    /// Starts a server. If PostgreSQL is not available, prints the reason and returns `None`.
    pub fn start(data: &Data) -> Option<Self> {
        let server = postgres::Server::start_with(5432, "-c listen_addresses= -c log_line_prefix=%p:", |_| {})?;
        Some(Self { server, home: data.path("") })
    }

    /// Moves the content of a database file to a new database, and returns that database's address.
    pub fn database(&self, file: &Path) -> String {
        let address = self.server.database();
        let moved = mcpkg(file).args(["move", "--to", &address]).env("HOME", &self.home).output();
        let moved = moved.expect("mcpkg starts");
        assert!(moved.status.success(), "{}", String::from_utf8_lossy(&moved.stderr));
        address
    }

    /// Returns the CPU time so far of the server's child processes: one for each current connection, and PostgreSQL's
    /// background processes.
    pub fn cpu(&self) -> Duration {
        self.processes().skip(1).map(cpu).sum()
    }

    /// Keeps the server's processes on one CPU. Returns whether that succeeded.
    pub fn pin(&self, cpu: usize) -> bool {
        self.processes().all(|process| peer::pin(process, cpu))
    }

    /// Returns the ids of the server's main process and of its child processes.
    fn processes(&self) -> impl Iterator<Item = u32> {
        let file = std::fs::read_to_string(self.server.folder().join("data/postmaster.pid")).expect("its process");
        let process = file.lines().next().expect("a line");
        let children = std::fs::read_to_string(format!("/proc/{process}/task/{process}/children"));
        let children = children.expect("/proc lists the children");
        let number = |process: &str| process.parse().expect("a number");
        let all: Vec<u32> = [process].into_iter().chain(children.split_whitespace()).map(number).collect();
        all.into_iter()
    }

    /// Starts `mcpkg serve --http` on a database.
    pub fn serve(&self, address: &str) -> Web {
        serve(address, &self.home)
    }

    /// Returns the statements that mcpkg sends to PostgreSQL for one request, so that a plain program can send the same ones.
    /// `ask` sends the same request to an mcpkg server each time. The checks for commits are left out.
    pub fn statements(&self, address: &str, mut ask: impl FnMut(&Web)) -> Vec<Json> {
        let web = self.serve(&format!("{address}?{LOGGED}"));
        // First let each connection prepare its statements, and PostgreSQL choose their plans.
        (0..40).for_each(|_| ask(&web));
        let before = self.log().len();
        ask(&web);
        let log = self.log();
        let mut statements: Vec<Json> = Vec::new();
        for entry in entries(&log[before..]) {
            if let Some(parameters) = entry.strip_prefix("DETAIL:  parameters: ") {
                statements.last_mut().expect("what they belong to")["parameters"] = json!(values(parameters));
            } else if let Some((_, sql)) = entry.strip_prefix("LOG:  execute ").and_then(|rest| rest.split_once(": ")) {
                statements.push(json!({ "sql": sql, "prepared": true, "parameters": [] }));
            } else if let Some(sql) = entry.strip_prefix("LOG:  statement: ") {
                statements.push(json!({ "sql": sql, "prepared": false, "parameters": [] }));
            }
        }
        statements.retain(|statement| statement["sql"] != LOOK);
        for statement in &mut statements {
            // The plain program does not check for commits, so remove the check from the statement.
            let sql = statement["sql"].as_str().expect("a text");
            let sql = sql.strip_suffix(&format!("; {LOOK}")).unwrap_or(sql);
            let told = format!("SELECT found.*, ({LOOK}) FROM (");
            let plain = sql.strip_prefix(&told).and_then(|sql| sql.strip_suffix(") AS found"));
            statement["sql"] = json!(plain.unwrap_or(sql));
        }
        assert!(!statements.is_empty(), "the log tells nothing");
        statements
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.server.folder().join("log")).expect("the server's log")
    }
}

/// Starts `mcpkg serve --http` on the database at an address.
pub fn serve(address: &str, home: &Path) -> Web {
    let mut command = Command::new(installed::mcpkg());
    for name in ["MCPKG_DB", "MCPKG_PROJECT", "MCPKG_LOG"] {
        command.env_remove(name);
    }
    command.env("HOME", home).current_dir(home);
    command.args(["--db", address, "--json", "serve", "--http", "--port", "0"]);
    Web::start(command)
}

/// Returns the entries of a log without the process ids. Further lines of an entry begin with a tab.
fn entries(log: &str) -> Vec<String> {
    let mut entries: Vec<String> = Vec::new();
    for line in log.lines() {
        match (line.strip_prefix('\t'), line.split_once(':')) {
            (Some(more), _) => entries.last_mut().expect("an entry").push_str(&format!("\n{more}")),
            (None, Some((_process, entry))) => entries.push(entry.to_owned()),
            (None, None) => {}
        }
    }
    entries
}

/// Returns the values in a text such as `$1 = NULL, $2 = 'it''s'`.
fn values(mut text: &str) -> Vec<Option<String>> {
    let mut values = Vec::new();
    while let Some((_, rest)) = text.split_once(" = ") {
        let Some(quoted) = rest.strip_prefix('\'') else {
            values.push(None);
            text = rest;
            continue;
        };
        let mut value = String::new();
        let mut characters = quoted.char_indices();
        let end = loop {
            match characters.next().expect("a quote ends it") {
                (at, '\'') if quoted[at + 1..].starts_with('\'') => {
                    value.push('\'');
                    characters.next();
                }
                (at, '\'') => break at,
                (_, other) => value.push(other),
            }
        };
        values.push(Some(value));
        text = &quoted[end + 1..];
    }
    values
}

fn folder() -> TempDir {
    TempDir::new().expect("a scratch folder can be made")
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|output| output.stdout.starts_with(b"0\n"))
}

fn skipped(why: &str) {
    println!("skipped: what is measured on PostgreSQL, since {why}");
}
