//! Measures a call of a plugin's tool through `execute`. The reference makes the same call with rmcp's client, and a
//! durable insert before and after it, because a run of one step stores as much. The plugin is a second mcpkg server.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mcpkg_base::approved::Approved;
use mcpkg_core::op::{Confirmation, Context, Entry};
use mcpkg_store::Store;
use mcpkg_store::projects::Selection;
use rmcp::RoleClient;
use rmcp::model::CallToolRequestParams;
use rmcp::service::RunningService;
use serde_json::{Value as Json, json};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::runtime::{Builder, Runtime};

use crate::Effort;
use crate::data::{self, Data};
use crate::hosting;
use crate::installed;
use crate::peer::mcpkg;
use crate::process::in_turn;
use crate::runs::keep;
use crate::table::{Bar, Row, Table, Value};

const READS: &str = "a plugin's tool that only reads, through execute: p50, against that call and two durable inserts";
const CHANGES: &str =
    "a plugin's tool that a person says yes to, through execute: p50, against that call and two durable inserts";

/// Runs this file's measurements, and adds a row to the table for each.
pub fn measure(data: &Data, effort: &Effort, table: &mut Table) {
    if ![READS, CHANGES].iter().any(|row| table.wants(row)) {
        return;
    }
    let store = Store::open(&data.empty("plugins.db")).expect("the database opens");
    // This context acts as a person at a terminal who approves everything.
    let context = Context {
        approved: Approved::below(hosting::approved(data)),
        confirmation: Confirmation::Ask,
        ask: Arc::new(|_, _| Ok(())),
        ..Context::shell(mcpkg::DOMAINS, store.clone(), Selection::default())
    };
    let database = data.usual();
    let command = [
        installed::mcpkg().to_str().expect("a readable name"),
        "--db",
        database.to_str().expect("a readable name"),
        "serve",
    ];
    run(&context, "add_plugin", json!({ "name": "second", "command": command }));
    let theirs = Client::start(&database);
    let arguments = json!({ "name": data::prompt(50) });
    // What a server declares about its own tools counts only after a person has confirmed it.
    for (what, trusted) in [(CHANGES, false), (READS, true)] {
        run(&context, "set_plugin", json!({ "name": "second", "trust_annotations": trusted }));
        let call = json!({ "command": "second:get_prompt", "args": arguments });
        let [ours, called_and_kept] = in_turn(effort.samples(200) * effort.rounds, || {
            let begun = Instant::now();
            let answer = run(&context, "execute", call.clone());
            let ours = begun.elapsed();
            assert_eq!(answer["state"], "succeeded", "{answer}");
            let begun = Instant::now();
            keep(&store, "tools/call get_prompt").expect("a row");
            let noted = begun.elapsed();
            let called = theirs.call(&arguments);
            let begun = Instant::now();
            keep(&store, "what it answered").expect("a row");
            [ours, noted + called + begun.elapsed()]
        });
        let (ours, reference) = (Value::Time(ours), Some(Value::Time(called_and_kept)));
        table.push(Row { what: what.to_owned(), ours, off: None, reference, bar: Bar::Times(2.5) });
    }
    run(&context, "remove_plugin", json!({ "name": "second" }));
}

/// Runs an operation, and returns its data.
fn run(context: &Context, tool: &str, arguments: Json) -> Json {
    let is_it = |entry: &&'static Entry| entry.tool == tool;
    let entry = mcpkg::DOMAINS.operations().find(is_it).expect("an operation");
    let reply = entry.from_agent(arguments).expect("its arguments").run(context);
    reply.unwrap_or_else(|error| panic!("{tool}: {error}")).into_value()
}

/// An rmcp client of a server that is a child process.
struct Client {
    runtime: Runtime,
    service: RunningService<RoleClient, ()>,
    child: Child,
}

impl Client {
    fn start(database: &Path) -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
        let mut command: Command = mcpkg(database);
        let mut child =
            command.arg("serve").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the server starts");
        let (stdin, stdout) = (child.stdin.take().expect("its input"), child.stdout.take().expect("its output"));
        let service = runtime.block_on(async {
            let stdin = Sender::from_owned_fd(OwnedFd::from(stdin)).expect("a pipe");
            let stdout = Receiver::from_owned_fd(OwnedFd::from(stdout)).expect("a pipe");
            rmcp::serve_client((), (stdout, stdin)).await.expect("the server shakes hands")
        });
        Self { runtime, service, child }
    }

    /// Calls get_prompt and returns the time that the call took.
    fn call(&self, arguments: &Json) -> Duration {
        let begun = Instant::now();
        let arguments = arguments.as_object().expect("arguments").clone();
        let call = CallToolRequestParams::new("get_prompt").with_arguments(arguments);
        let answer = self.runtime.block_on(self.service.call_tool(call)).expect("an answer");
        let took = begun.elapsed();
        assert_ne!(answer.is_error, Some(true), "{answer:?}");
        took
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
