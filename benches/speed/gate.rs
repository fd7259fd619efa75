//! Measures a test of a model: the time that mcpkg adds to the worker that runs the model.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::Effort;
use crate::data::Data;
use crate::peer::{Peer, line, mcpkg};
use crate::process::{in_turn, timed};
use crate::table::{Bar, Row, Table, Value};

const TEST: &str = "smctl_gate_test of a small model, against its worker alone on the same bytes";

const MODEL: &[u8] = include_bytes!("../../tests/fixtures/onnx/relu/model.onnx");

/// Runs this file's measurement, and adds a row to the table.
pub fn measure(data: &Data, effort: &Effort, table: &mut Table) {
    if !table.wants(TEST) {
        return;
    }
    let (root, database) = (data.path("gate"), data.empty("gate.db"));
    std::fs::create_dir_all(root.join(".smctl")).expect("a folder");
    for (file, bytes) in [
        (".smctl/workspace.toml", &b"[workspace]\nname = \"gate\"\n"[..]),
        ("relu.onnx", MODEL),
        ("input.json", b"[0.5, -1.0]"),
    ] {
        std::fs::write(root.join(file), bytes).expect("a file");
    }
    let command = |arguments: &[&str]| {
        let mut command = mcpkg(&database);
        command.current_dir(&root).args(arguments).env_remove("MODELGATE_URL");
        command
    };
    timed(&mut command(&["-q", "gate", "models", "add", "relu.onnx"]));
    let mut server = Peer::shake_hands(command(&["serve", "--as", "smctl"]));
    let call = json!({ "name": "smctl_gate_test", "arguments": { "model": "relu", "input": "input.json" } });
    let call = line(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call }).to_string());
    let given = given();
    let [ours, reference] = in_turn(effort.samples(50) * effort.rounds, || {
        let begun = Instant::now();
        let answer = server.ask(&call);
        let ours = begun.elapsed();
        assert!(answer.windows(9).any(|part| part == b"latency_m"), "{}", String::from_utf8_lossy(answer));
        [ours, alone(&given)]
    });
    table.push(Row {
        what: TEST.to_owned(),
        ours: Value::Time(ours),
        off: None,
        reference: Some(Value::Time(reference)),
        bar: Bar::Times(1.5),
    });
}

/// Returns the input of the worker.
fn given() -> Vec<u8> {
    let x = json!({ "name": "x", "dtype": "float32", "shape": [1, 2] });
    let head =
        json!({ "size": MODEL.len(), "inputs": [x], "expected": [], "outputs": ["y"], "shown": 4096 }).to_string();
    let length = u32::try_from(head.len()).expect("a short head").to_le_bytes();
    [&length, head.as_bytes(), &0.5_f32.to_le_bytes(), &(-1.0_f32).to_le_bytes(), MODEL].concat()
}

fn alone(given: &[u8]) -> Duration {
    let begun = Instant::now();
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcpkg-gate-worker"));
    let mut worker = command.env_clear().stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a worker starts");
    worker.stdin.take().expect("its input").write_all(given).expect("it reads");
    let output = worker.wait_with_output().expect("its end");
    assert!(output.stdout.starts_with(b"{\"ran\""), "{}", String::from_utf8_lossy(&output.stdout));
    begun.elapsed()
}
