//! Requests over stdio, one after the other: ours, ours with the front off, and the reference take turns.

use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use crate::Effort;
use crate::data::{self, Data};
use crate::peer::{Peer, line, reference};
use crate::table::{Bar, Row, Table, Value, median};

/// What a request is compared with.
#[derive(Clone, Copy)]
enum Against {
    /// A process that answers a line with itself.
    Echo,
    /// A process that answers with the bytes of our answer.
    Replay,
}

/// A request that is measured.
struct Case {
    name: &'static str,
    method: &'static str,
    parameters: fn() -> Json,
    against: Against,
    /// Requests in a round.
    samples: usize,
    /// The bars of the time to the answer and of the CPU time.
    round_trip: Option<f64>,
    cpu: Option<f64>,
}

const CASES: [Case; 6] = [
    Case {
        name: "prompts/get 1 KiB",
        method: "prompts/get",
        parameters: || json!({ "name": data::prompt(50) }),
        against: Against::Echo,
        samples: 3000,
        round_trip: Some(2.3),
        cpu: Some(3.5),
    },
    Case {
        name: "resources/read 1 KiB",
        method: "resources/read",
        parameters: || json!({ "uri": data::uri("doc-050") }),
        against: Against::Echo,
        samples: 3000,
        round_trip: Some(2.3),
        cpu: Some(3.5),
    },
    Case {
        name: "prompts/list of 100",
        method: "prompts/list",
        parameters: || json!({}),
        against: Against::Replay,
        samples: 1000,
        round_trip: Some(6.0),
        cpu: None,
    },
    Case {
        name: "resources/list page of 100",
        method: "resources/list",
        parameters: || json!({}),
        against: Against::Replay,
        samples: 1000,
        round_trip: Some(6.0),
        cpu: None,
    },
    Case {
        name: "resources/read 1 MiB text",
        method: "resources/read",
        parameters: || json!({ "uri": data::uri("text-1m") }),
        against: Against::Replay,
        samples: 60,
        round_trip: None,
        cpu: Some(3.5),
    },
    Case {
        name: "resources/read 8 MiB blob",
        method: "resources/read",
        parameters: || json!({ "uri": data::uri("blob-8m") }),
        against: Against::Replay,
        samples: 10,
        round_trip: None,
        cpu: Some(3.5),
    },
];

/// What a request costs: the median time to its answer, and the mean CPU time of the process.
#[derive(Clone, Copy)]
struct Cost {
    round_trip: Duration,
    cpu: Duration,
}

/// Measures the rows of [`CASES`].
pub fn measure(data: &Data, effort: &Effort, table: &mut Table) {
    for case in &CASES {
        let (p50, cpu) = (format!("{}: p50", case.name), format!("{}: CPU", case.name));
        let rows = [(&p50, case.round_trip), (&cpu, case.cpu)];
        if !rows.iter().any(|(row, bar)| bar.is_some() && table.wants(row)) {
            continue;
        }
        let [ours, off, reference] = case.measure(data, effort);
        for (row, bar) in rows {
            let value = |cost: Cost| Value::Time(if *row == p50 { cost.round_trip } else { cost.cpu });
            if let Some(bar) = bar {
                table.push(Row {
                    what: row.clone(),
                    ours: value(ours),
                    off: Some(value(off)),
                    reference: Some(value(reference)),
                    bar: Bar::Times(bar),
                });
            }
        }
    }
}

impl Case {
    fn measure(&self, data: &Data, effort: &Effort) -> [Cost; 3] {
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": self.method, "params": (self.parameters)() });
        let request = line(&request.to_string());
        let mut ours = Peer::serve(&data.usual(), true);
        let answer = ours.ask(&request).to_vec();
        assert!(answer.starts_with(br#"{"jsonrpc":"2.0","id":1,"result":"#), "{} failed", self.name);
        let reference = match self.against {
            Against::Echo => reference(&["--echo"]),
            Against::Replay => {
                let file = data.path("answer");
                std::fs::write(&file, &answer).expect("the answer can be kept");
                reference(&["--replay", file.to_str().expect("the scratch folder has a readable name")])
            }
        };
        let mut peers = [ours, Peer::serve(&data.usual(), false), Peer::start(reference)];
        let samples = effort.samples(self.samples);
        for peer in &mut peers {
            cost(peer, &request, samples.div_ceil(5));
        }
        let rounds: Vec<[Cost; 3]> =
            (0..effort.rounds).map(|_| peers.each_mut().map(|peer| cost(peer, &request, samples))).collect();
        std::array::from_fn(|which| Cost {
            round_trip: median(&mut rounds.iter().map(|round| round[which].round_trip).collect::<Vec<_>>()),
            cpu: median(&mut rounds.iter().map(|round| round[which].cpu).collect::<Vec<_>>()),
        })
    }
}

/// Sends `request` so often.
fn cost(peer: &mut Peer, request: &[u8], samples: usize) -> Cost {
    let before = peer.cpu();
    let mut times: Vec<Duration> = (0..samples)
        .map(|_| {
            let start = Instant::now();
            peer.ask(request);
            start.elapsed()
        })
        .collect();
    let cpu = peer.cpu() - before;
    Cost { round_trip: median(&mut times), cpu: cpu / u32::try_from(samples).expect("samples are few") }
}
