//! Measures builds of a workspace: the cost of starting commands, running them in parallel, and the memory for their
//! output.

use std::path::PathBuf;
use std::process::Command;

use mcpkg_base::approved::Approved;
use mcpkg_core::consent::request;
use mcpkg_core::op::{Caller, Connection, Context, Identity};
use mcpkg_store::Store;
use mcpkg_store::consents;
use mcpkg_store::page::Page;
use mcpkg_store::projects::Selection;

use crate::Effort;
use crate::data::Data;
use crate::peer::{Peer, line, mcpkg, reference};
use crate::process::{in_turn, timed};
use crate::table::{Bar, Row, Table, Value};

const MANY: &str = "build of 40 repositories whose command is `true`, as a process";
const SLEEP: &str = "build of two repositories that sleep for a second, in parallel";
const MEMORY: &str = "resident after a build that printed 100 MiB";

/// A command that prints 100 MiB.
const LOUD: &str = "sh -c 'yes 0123456789abcde | head -c 104857600'";

/// Runs this file's measurements, and adds a row to the table for each.
pub fn measure(data: &Data, effort: &Effort, table: &mut Table) {
    if table.wants(MANY) {
        let many = Shop::make(data, "many", 40, "true");
        let [ours, reference] = in_turn(effort.samples(30) * effort.rounds, || {
            [timed(&mut many.build(&[])), timed(&mut reference(&["--start", "40", "true"]))]
        });
        push(table, MANY, [Value::Time(ours), Value::Time(reference)], 2.0);
    }
    if table.wants(SLEEP) {
        let (two, one) = (Shop::make(data, "two", 2, "sleep 1"), Shop::make(data, "one", 1, "sleep 1"));
        let [ours, reference] =
            in_turn(3, || [timed(&mut two.build(&["--parallel", "--jobs", "2"])), timed(&mut one.build(&[]))]);
        push(table, SLEEP, [Value::Time(ours), Value::Time(reference)], 1.2);
    }
    if table.wants(MEMORY) {
        let [ours, reference] = [("loud", LOUD), ("quiet", "true")].map(|(name, command)| {
            let shop = Shop::make(data, name, 1, command);
            let mut server = Peer::shake_hands(shop.command(&["serve"]));
            let call = line(
                r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"smctl_build","arguments":{}}}"#,
            );
            server.ask(&call);
            shop.consent();
            let answer = String::from_utf8_lossy(server.ask(&call)).into_owned();
            assert!(answer.contains(r#""isError":false"#), "{answer}");
            Value::Memory(server.resident())
        });
        push(table, MEMORY, [ours, reference], 1.3);
    }
}

fn push(table: &mut Table, what: &str, [ours, reference]: [Value; 2], bar: f64) {
    table.push(Row { what: what.to_owned(), ours, off: None, reference: Some(reference), bar: Bar::Times(bar) });
}

/// Starts a program this many times, one after the other. This is the reference for a build.
pub fn start(times: &str, program: &str) {
    for _ in 0..times.parse().expect("a number") {
        assert!(Command::new(program).status().expect("the program starts").success());
    }
}

/// A workspace in which each repository has one build command.
struct Shop {
    root: PathBuf,
    database: PathBuf,
    state: PathBuf,
}

impl Shop {
    fn make(data: &Data, name: &str, repos: usize, command: &str) -> Self {
        let root = data.path(&format!("workspace-{name}"));
        std::fs::create_dir_all(root.join(".smctl")).expect("a folder");
        let mut manifest = format!("[workspace]\nname = \"{name}\"\n");
        for n in 0..repos {
            std::fs::create_dir(root.join(format!("repo-{n}"))).expect("a folder");
            let entry = format!("\n[[repos]]\nname = \"repo-{n}\"\nurl = \"https://example.org/repo-{n}.git\"\n");
            manifest.push_str(&format!("{entry}build_cmd = \"{command}\"\n"));
        }
        std::fs::write(root.join(".smctl/workspace.toml"), manifest).expect("a manifest");
        let (database, state) = (data.empty(&format!("workspace-{name}.db")), data.path(&format!("state-{name}")));
        Self { root, database, state }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = mcpkg(&self.database);
        command.current_dir(&self.root).env("XDG_STATE_HOME", &self.state).args(arguments);
        for name in ["MCPKG_WORKSPACE", "SMCTL_WORKSPACE"] {
            command.env_remove(name);
        }
        command
    }

    fn build(&self, flags: &[&str]) -> Command {
        self.command(&[&["-q", "build"], flags].concat())
    }

    /// Approves all pending requests, as the user of a client would.
    fn consent(&self) {
        let store = Store::open(&self.database).expect("the database opens");
        let caller = Caller::client(Some("bench"), None, Connection::Stdio, Identity::Mcpkg);
        let approved = Approved::below(self.state.join("mcpkg/approved"));
        let context = Context { approved, ..Context::new(mcpkg::DOMAINS, caller, store, Selection::default()) };
        let now = context.clock.now();
        let waiting = context.store.read(|db| consents::list(db, Some(now), &Page::all())).expect("requests");
        for request in waiting.rows {
            request::approve(&context, &request, None).expect("the user may");
        }
    }
}
