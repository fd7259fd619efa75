//! Measures whole processes: their start, their memory, and a shell command.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::Effort;
use crate::data::{self, Data};
use crate::peer::{INITIALIZE, Peer, line, mcpkg, reference};
use crate::table::{Bar, Row, Table, Value, median};

const START: &str = "start to first answer";
const READS: &str = "resident after ten 8 MiB reads";
const IDLE: &str = "resident idle";
const LIST: &str = "`mcpkg prompt list` as a process";

/// The query that `mcpkg prompt list` sends to the database.
const QUERY: &str = "SELECT name, size, revision, updated_at, description FROM prompt JOIN blob ON blob.id = blob_id
                     WHERE project_id = (SELECT project_id FROM selection) ORDER BY name";

/// Runs this file's measurements, and adds a row to the table for each.
pub fn measure(data: &Data, effort: &Effort, table: &mut Table) {
    if table.wants(READS) || table.wants(IDLE) {
        memory(data, table);
    }
    if table.wants(START) {
        let serve = |front: bool| {
            let mut command = mcpkg(&data.usual());
            command.arg("serve").args((!front).then_some("--no-front"));
            first_answer(command)
        };
        let mut off = Vec::new();
        let [ours, reference] = in_turn(effort.samples(50) * effort.rounds, || {
            off.push(serve(false));
            [serve(true), first_answer(reference(&["--echo"]))]
        });
        table.push(Row {
            what: START.to_owned(),
            ours: Value::Time(ours),
            off: Some(Value::Time(median(&mut off))),
            reference: Some(Value::Time(reference)),
            bar: Bar::Times(3.0),
        });
    }
    if table.wants(LIST) {
        list(data, effort, table);
    }
}

fn memory(data: &Data, table: &mut Table) {
    let ask = |method: &str, parameters: serde_json::Value| {
        line(&json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": parameters }).to_string())
    };
    let list = ask("prompts/list", json!({}));
    let read = ask("resources/read", json!({ "uri": data::uri("blob-8m") }));
    let [ours, off] = [true, false].map(|front| {
        let mut peer = Peer::serve(&data.usual(), front);
        peer.ask(&list);
        let idle = peer.resident();
        for _ in 0..10 {
            peer.ask(&read);
        }
        (idle, peer.resident())
    });
    for (what, ours, off, bar) in [(READS, ours.1, off.1, 48 << 20), (IDLE, ours.0, off.0, 16 << 20)] {
        table.push(Row {
            what: what.to_owned(),
            ours: Value::Memory(ours),
            off: Some(Value::Memory(off)),
            reference: None,
            bar: Bar::Bytes(bar),
        });
    }
}

fn list(data: &Data, effort: &Effort, table: &mut Table) {
    if Command::new("sqlite3").arg("-version").stdout(Stdio::null()).status().is_err() {
        println!("skipped: {LIST}, since there is no sqlite3");
        return;
    }
    let run = |mut command: Command| {
        let start = Instant::now();
        let output = command.output().expect("the command starts");
        let time = start.elapsed();
        assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
        let lines = output.stdout.iter().filter(|byte| **byte == b'\n').count();
        assert!(lines >= 100, "{command:?} lists {lines} lines");
        time
    };
    let [ours, reference] = in_turn(effort.samples(50) * effort.rounds, || {
        let mut ours = mcpkg(&data.usual());
        ours.args(["prompt", "list"]);
        let mut theirs = Command::new("sqlite3");
        theirs.arg(data.usual()).arg(QUERY);
        [run(ours), run(theirs)]
    });
    table.push(Row {
        what: LIST.to_owned(),
        ours: Value::Time(ours),
        off: None,
        reference: Some(Value::Time(reference)),
        bar: Bar::Times(3.0),
    });
}

/// Starts a server and returns the time until its first answer.
pub fn first_answer(command: Command) -> Duration {
    let start = Instant::now();
    let mut peer = Peer::start(command);
    peer.ask(&line(INITIALIZE));
    start.elapsed()
}

/// Runs a command, which must succeed, and returns its duration.
pub fn timed(command: &mut Command) -> Duration {
    let start = Instant::now();
    let output = command.output().expect("the command starts");
    let time = start.elapsed();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    time
}

/// Returns the medians of several measurements that take turns.
pub fn in_turn<const N: usize>(samples: usize, mut all: impl FnMut() -> [Duration; N]) -> [Duration; N] {
    let rounds: Vec<[Duration; N]> = (0..samples).map(|_| all()).collect();
    std::array::from_fn(|which| median(&mut rounds.iter().map(|round| round[which]).collect::<Vec<_>>()))
}
