//! Measures the latency of the tools for writing workflows, compared with the 150 ms that contract 004 (commands and
//! workflows) allows.

use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use crate::Effort;
use crate::commands::calls;
use crate::data::Data;
use crate::hosting;
use crate::peer::Peer;
use crate::table::{Bar, Row, Table, Value, median};

/// The latency that the contract allows at the median.
const ALLOWED: Duration = Duration::from_millis(150);

/// The number of steps in the workflow that is checked and planned.
const STEPS: usize = 20;

/// A tool to call.
struct Case {
    row: &'static str,
    tool: &'static str,
    arguments: fn() -> Json,
}

const CASES: [Case; 4] = [
    Case {
        row: "search_commands over stdio, 5000 commands, fresh: p50, against 150 ms",
        tool: "search_commands",
        arguments: || json!({ "query": "create app postgres" }),
    },
    Case {
        row: "get_command_spec over stdio, 5000 commands, fresh: p50, against 150 ms",
        tool: "get_command_spec",
        arguments: || json!({ "id": hosting::COMMAND }),
    },
    Case {
        row: "validate_workflow over stdio, 20 steps, fresh: p50, against 150 ms",
        tool: "validate_workflow",
        arguments: || json!({ "yaml": text() }),
    },
    Case {
        row: "dry_run over stdio, 20 steps, fresh: p50, against 150 ms",
        tool: "dry_run",
        arguments: || json!({ "yaml": text(), "sample_inputs": { "app": "a" } }),
    },
];

/// Runs this file's measurements, and adds a row to the table for each.
pub fn measure(data: &Data, effort: &Effort, table: &mut Table) {
    for case in &CASES {
        if table.wants(case.row) {
            case.measure(data, effort, table);
        }
    }
}

impl Case {
    fn measure(&self, data: &Data, effort: &Effort, table: &mut Table) {
        let mut server = Peer::serve(&hosting::database(data), true);
        let mut call = calls(self.tool, (self.arguments)());
        let answer = String::from_utf8_lossy(server.ask(&call())).into_owned();
        assert!(answer.contains("\"isError\":false"), "{} failed: {answer}", self.tool);
        let mut times: Vec<Duration> = (0..effort.samples(100) * effort.rounds)
            .map(|_| {
                let call = call();
                let begun = Instant::now();
                server.ask(&call);
                begun.elapsed()
            })
            .collect();
        let (ours, reference) = (Value::Time(median(&mut times)), Some(Value::Time(ALLOWED)));
        table.push(Row { what: self.row.to_owned(), ours, off: None, reference, bar: Bar::Times(0.1) });
    }
}

/// Returns a workflow in which each step uses the previous step's answer.
fn text() -> String {
    let mut text = "workflow: chain\ninputs:\n  app:\n    description: Where it begins\nsteps:\n".to_owned();
    for step in 0..STEPS {
        let item = match step {
            0 => "inputs.app".to_owned(),
            _ => format!("steps.step_{}.output.id", step - 1),
        };
        text.push_str(&format!("  - id: step_{step}\n    run: {}\n    with:\n", hosting::COMMAND));
        text.push_str(&format!("      addon_id: ${{{{ inputs.app }}}}\n      item: ${{{{ {item} }}}}\n"));
    }
    text
}
