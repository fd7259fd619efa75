//! Measures requests over stdio, one at a time. mcpkg, mcpkg without its fast path (the front), and the reference take
//! turns.

use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use crate::Effort;
use crate::data::{self, Data};
use crate::peer::{Peer, line, reference};
use crate::references::Library;
use crate::table::{Bar, Row, Table, Value, median};

/// The reference for a request.
#[derive(Clone, Copy)]
enum Against {
    /// A process that sends each line back.
    Echo,
    /// A process that always sends mcpkg's answer.
    Replay,
    /// mcpkg's own answer to another method.
    Ours(&'static str),
}

/// A request to measure.
struct Case {
    name: &'static str,
    method: &'static str,
    parameters: fn() -> Json,
    against: Against,
    /// The number of requests in a round.
    samples: usize,
    /// The bars if each request is the same, so that the front may repeat an earlier answer.
    again: Bars,
    /// The bars if each request differs from all earlier ones.
    fresh: Bars,
}

/// The bars for the time until the answer and for the CPU time. A figure without a bar is not shown.
#[derive(Clone, Copy, Default)]
struct Bars {
    p50: Option<Bar>,
    cpu: Option<Bar>,
}

impl Bars {
    const NONE: Self = Self { p50: None, cpu: None };

    const fn p50(times: f64) -> Self {
        Self { p50: Some(Bar::Times(times)), cpu: None }
    }

    const fn cpu(times: f64) -> Self {
        Self { p50: None, cpu: Some(Bar::Times(times)) }
    }
}

const CASES: [Case; 10] = [
    Case {
        name: "ping",
        method: "ping",
        parameters: || json!({}),
        against: Against::Echo,
        samples: 3000,
        again: Bars::p50(2.0),
        fresh: Bars::NONE,
    },
    Case {
        name: "tools/list",
        method: "tools/list",
        parameters: || json!({}),
        against: Against::Replay,
        samples: 1000,
        again: Bars::p50(1.5),
        fresh: Bars { p50: Some(Bar::None), cpu: None },
    },
    Case {
        name: "prompts/get 1 KiB",
        method: "prompts/get",
        parameters: || json!({ "name": data::prompt(50) }),
        against: Against::Echo,
        samples: 3000,
        again: Bars { p50: Some(Bar::Times(2.3)), cpu: Some(Bar::Times(3.5)) },
        fresh: Bars { p50: Some(Bar::Times(3.3)), cpu: Some(Bar::None) },
    },
    Case {
        name: "resources/read 1 KiB",
        method: "resources/read",
        parameters: || json!({ "uri": data::uri("doc-050") }),
        against: Against::Echo,
        samples: 3000,
        again: Bars { p50: Some(Bar::Times(2.3)), cpu: Some(Bar::Times(3.5)) },
        fresh: Bars { p50: Some(Bar::Times(3.3)), cpu: Some(Bar::None) },
    },
    Case {
        name: "tools/call get_prompt 1 KiB",
        method: "tools/call",
        parameters: || json!({ "name": "get_prompt", "arguments": { "name": data::prompt(50) } }),
        against: Against::Echo,
        samples: 2000,
        again: Bars::p50(2.6),
        fresh: Bars::p50(5.2),
    },
    Case {
        name: "prompts/list of 100",
        method: "prompts/list",
        parameters: || json!({}),
        against: Against::Replay,
        samples: 1000,
        again: Bars::p50(6.0),
        fresh: Bars::p50(4.0),
    },
    Case {
        name: "resources/list page of 100",
        method: "resources/list",
        parameters: || json!({}),
        against: Against::Replay,
        samples: 1000,
        again: Bars::p50(6.0),
        fresh: Bars::p50(4.0),
    },
    Case {
        name: "tools/call list_prompts of 100",
        method: "tools/call",
        parameters: || json!({ "name": "list_prompts", "arguments": {} }),
        against: Against::Ours("prompts/list"),
        samples: 500,
        again: Bars::NONE,
        fresh: Bars::p50(1.5),
    },
    Case {
        name: "resources/read 1 MiB text",
        method: "resources/read",
        parameters: || json!({ "uri": data::uri("text-1m") }),
        against: Against::Replay,
        samples: 60,
        again: Bars::cpu(3.5),
        fresh: Bars::cpu(5.0),
    },
    Case {
        name: "resources/read 8 MiB blob",
        method: "resources/read",
        parameters: || json!({ "uri": data::uri("blob-8m") }),
        against: Against::Replay,
        samples: 10,
        again: Bars::cpu(3.5),
        fresh: Bars::cpu(3.5),
    },
];

/// The cost of a request: the median time until its answer, and the mean CPU time of the process.
#[derive(Clone, Copy)]
struct Cost {
    round_trip: Duration,
    cpu: Duration,
}

/// Whether the request is always the same, so that the front may repeat an earlier answer, or different each time.
#[derive(Clone, Copy, PartialEq)]
enum Asked {
    Again,
    Fresh,
}

/// Runs the measurements of [`CASES`], and those that have their own functions. Adds a row to the table for each
/// figure.
pub fn measure(data: &Data, effort: &Effort, table: &mut Table) {
    for case in &CASES {
        for (asked, bars) in [(Asked::Again, case.again), (Asked::Fresh, case.fresh)] {
            let name = if asked == Asked::Again { case.name.to_owned() } else { format!("{}, fresh", case.name) };
            let (p50, cpu) = (format!("{name}: p50"), format!("{name}: CPU"));
            let rows = [(&p50, bars.p50), (&cpu, bars.cpu)];
            if !rows.iter().any(|(row, bar)| bar.is_some() && table.wants(row)) {
                continue;
            }
            let [ours, off, reference] = case.measure(asked, data, effort);
            for (row, bar) in rows {
                let value = |cost: Cost| Value::Time(if *row == p50 { cost.round_trip } else { cost.cpu });
                if let Some(bar) = bar {
                    table.push(Row {
                        what: row.clone(),
                        ours: value(ours),
                        off: Some(value(off)),
                        reference: Some(value(reference)),
                        bar,
                    });
                }
            }
        }
    }
    if table.wants(SEARCH) {
        search(data, effort, table);
    }
    if table.wants(PEAK) {
        peak(data, table);
    }
}

/// Returns a function that builds requests with `method`. Fresh requests differ from all earlier ones.
fn requests(method: &'static str, parameters: impl Fn() -> Json, asked: Asked) -> impl FnMut() -> Vec<u8> {
    let mut number = 1_000_000;
    move || {
        let mut parameters = parameters();
        if asked == Asked::Fresh {
            number += 1;
            parameters["_meta"] = json!({ "progressToken": number });
        }
        line(&json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": parameters }).to_string())
    }
}

impl Case {
    fn measure(&self, asked: Asked, data: &Data, effort: &Effort) -> [Cost; 3] {
        let mut request = requests(self.method, self.parameters, asked);
        let mut ours = Peer::serve(&data.usual(), true);
        let answer = ours.ask(&request()).to_vec();
        assert!(answer.starts_with(br#"{"jsonrpc":"2.0","id":1,"result":"#), "{} failed", self.name);
        assert!(!answer.ends_with(b"\"isError\":true}}\n"), "{} failed", self.name);
        let (reference, mut of_reference): (_, Box<dyn FnMut() -> Vec<u8>>) = match self.against {
            Against::Echo => {
                (Peer::start(reference(&["--echo"])), Box::new(requests(self.method, self.parameters, asked)))
            }
            Against::Replay => {
                let file = data.path("answer");
                std::fs::write(&file, &answer).expect("the answer can be kept");
                let replay = reference(&["--replay", file.to_str().expect("the scratch folder has a readable name")]);
                (Peer::start(replay), Box::new(requests(self.method, self.parameters, asked)))
            }
            Against::Ours(method) => {
                (Peer::serve(&data.usual(), true), Box::new(requests(method, || json!({}), asked)))
            }
        };
        let mut peers = [ours, Peer::serve(&data.usual(), false), reference];
        let samples = effort.samples(self.samples);
        let mut turn = |samples: usize| -> [Cost; 3] {
            std::array::from_fn(|which| {
                let request: &mut dyn FnMut() -> Vec<u8> = if which == 2 { &mut *of_reference } else { &mut request };
                cost(&mut peers[which], request, samples)
            })
        };
        turn(samples.div_ceil(5));
        let rounds: Vec<[Cost; 3]> = (0..effort.rounds).map(|_| turn(samples)).collect();
        std::array::from_fn(|which| Cost {
            round_trip: median(&mut rounds.iter().map(|round| round[which].round_trip).collect::<Vec<_>>()),
            cpu: median(&mut rounds.iter().map(|round| round[which].cpu).collect::<Vec<_>>()),
        })
    }
}

/// Sends `samples` requests and returns the cost of one.
fn cost(peer: &mut Peer, request: &mut dyn FnMut() -> Vec<u8>, samples: usize) -> Cost {
    let before = peer.cpu();
    let mut times: Vec<Duration> = (0..samples)
        .map(|_| {
            let request = request();
            let start = Instant::now();
            peer.ask(&request);
            start.elapsed()
        })
        .collect();
    let cpu = peer.cpu() - before;
    Cost { round_trip: median(&mut times), cpu: cpu / u32::try_from(samples).expect("samples are few") }
}

const SEARCH: &str = "tools/call search_content of 100 prompts, fresh: p50";

/// Measures a search. The reference is the search's query in SQLite's library plus a get_prompt, which stands for the
/// rest of the work.
fn search(data: &Data, effort: &Effort, table: &mut Table) {
    let database = data.prompts("prompts.db");
    let call = |name: &'static str, arguments: Json| {
        let parameters = move || json!({ "name": name, "arguments": arguments });
        requests("tools/call", parameters, Asked::Fresh)
    };
    let mut search = call("search_content", json!({ "query": data::WORD }));
    let mut get = call("get_prompt", json!({ "name": data::prompt(50) }));
    let mut peers = [true, false].map(|front| Peer::serve(&database, front));
    let answer = String::from_utf8_lossy(peers[0].ask(&search())).into_owned();
    let library = Library::open(&database);
    assert!(answer.contains("\"isError\":false") && library.search() == data::HITS, "the search failed: {answer}");
    let samples = effort.samples(500);
    let rounds: Vec<[Duration; 4]> = (0..=effort.rounds)
        .map(|_| {
            let [ours, off] = peers.each_mut().map(|peer| cost(peer, &mut search, samples).round_trip);
            let get = cost(&mut peers[0], &mut get, samples).round_trip;
            let mut query: Vec<Duration> = (0..samples)
                .map(|_| {
                    let start = Instant::now();
                    library.search();
                    start.elapsed()
                })
                .collect();
            [ours, off, get, median(&mut query)]
        })
        .collect();
    // The first round only warms up.
    let [ours, off, get, query] =
        std::array::from_fn(|which| median(&mut rounds[1..].iter().map(|round| round[which]).collect::<Vec<_>>()));
    table.push(Row {
        what: SEARCH.to_owned(),
        ours: Value::Time(ours),
        off: Some(Value::Time(off)),
        reference: Some(Value::Time(query + get)),
        bar: Bar::Times(2.0),
    });
}

const PEAK: &str = "peak after reads fresh";

/// Measures the highest memory use of a server that answered each of [`CASES`] ten times, with fresh requests.
fn peak(data: &Data, table: &mut Table) {
    let [ours, off] = [true, false].map(|front| {
        let mut peer = Peer::serve(&data.usual(), front);
        for case in &CASES {
            let mut request = requests(case.method, case.parameters, Asked::Fresh);
            for _ in 0..10 {
                peer.ask(&request());
            }
        }
        peer.peak()
    });
    table.push(Row {
        what: PEAK.to_owned(),
        ours: Value::Memory(ours),
        off: Some(Value::Memory(off)),
        reference: None,
        bar: Bar::Bytes(48 << 20),
    });
}
