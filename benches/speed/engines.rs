//! Measures mcpkg on PostgreSQL over HTTP. Most references are plain programs that send the same statements to
//! PostgreSQL.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use crate::Effort;
use crate::cluster::Cluster;
use crate::data::{self, Data};
use crate::disk;
use crate::http::one_by_one;
use crate::peer::{Peer, pin, reference};
use crate::table::{Bar, Row, Table, Value, median};
use crate::web::{Connection, Web, stateless};

const ENGINE: &str = " on PostgreSQL";
const CREATE: &str = "durable create_prompt over HTTP on PostgreSQL: p50";
const CREATES: &str = "create_prompt on PostgreSQL, 8 connections";
const TOLD: &str = "a write on one server to the notification on another, on PostgreSQL: median";

/// The number of connections to a server in the rows that count requests.
const CONNECTIONS: usize = 8;

/// A read to measure, and the number of samples in a round.
struct Case {
    name: &'static str,
    method: &'static str,
    parameters: fn() -> Json,
    samples: usize,
}

const CASES: [Case; 5] = [
    Case {
        name: "prompts/get 1 KiB",
        method: "prompts/get",
        parameters: || json!({ "name": data::prompt(50) }),
        samples: 2000,
    },
    Case {
        name: "resources/read 1 KiB",
        method: "resources/read",
        parameters: || json!({ "uri": data::uri("doc-050") }),
        samples: 2000,
    },
    Case { name: "prompts/list of 100", method: "prompts/list", parameters: || json!({}), samples: 1000 },
    Case { name: "resources/list page of 100", method: "resources/list", parameters: || json!({}), samples: 1000 },
    Case {
        name: "tools/call search_content",
        method: "tools/call",
        parameters: || json!({ "name": "search_content", "arguments": { "query": data::WORD } }),
        samples: 300,
    },
];

/// Runs this file's measurements, and adds a row to the table for each.
pub fn measure(data: &Data, effort: &Effort, table: &mut Table) {
    if !names(effort).any(|name| table.wants(&name)) {
        return;
    }
    let Some(cluster) = Cluster::start(data) else { return };
    let usual = cluster.database(&data.usual());
    for case in &CASES {
        case.measure(data, &cluster, &usual, effort, table);
    }
    servers(&cluster, &usual, effort, table);
    if table.wants(CREATE) || table.wants(CREATES) {
        create(data, &cluster, effort, table);
    }
    if table.wants(TOLD) {
        told(data, &cluster, effort, table);
    }
    disk::pages(ENGINE, |rows| cluster.database(&data.large(rows)).into(), effort, table);
}

/// Returns the names of all rows, to find out whether the user asked for one of them.
fn names(effort: &Effort) -> impl Iterator<Item = String> {
    let reads = CASES.iter().flat_map(|case| [case.row(false), case.row(true), case.trips()]);
    let others = [CREATE.to_owned(), CREATES.to_owned(), TOLD.to_owned(), of_servers(2), of_servers(4)];
    reads.chain(others).chain(disk::names(ENGINE, effort))
}

/// Returns a function that builds requests. If `fresh` is true, each request differs from all earlier ones.
fn requests(method: &'static str, parameters: impl Fn() -> Json, fresh: bool) -> impl FnMut() -> Vec<u8> {
    let mut number = 1_000_000;
    move || {
        let mut parameters = parameters();
        if fresh {
            number += 1;
            parameters["_meta"] = json!({ "progressToken": number });
        }
        stateless(method, parameters)
    }
}

impl Case {
    fn row(&self, fresh: bool) -> String {
        format!("{} over HTTP{ENGINE}{}: p50", self.name, if fresh { ", fresh" } else { "" })
    }

    fn trips(&self) -> String {
        format!("{} over HTTP{ENGINE}, fresh: statements", self.name)
    }

    fn measure(&self, data: &Data, cluster: &Cluster, address: &str, effort: &Effort, table: &mut Table) {
        let rows = [false, true].map(|fresh| self.row(fresh));
        if !rows.iter().any(|row| table.wants(row)) {
            return;
        }
        let mut fresh = requests(self.method, self.parameters, true);
        let plan = cluster.statements(address, |web| {
            web.connect().ask(&fresh()).expect("an answer");
        });
        let ours = cluster.serve(address);
        let answer = ours.connect().ask(&fresh()).expect("an answer").body.to_vec();
        let text = String::from_utf8_lossy(&answer);
        assert!(text.starts_with(r#"{"jsonrpc":"2.0","id":1,"result":"#), "{}: {text}", self.name);
        assert!(!text.contains(r#""isError":true"#), "{}: {text}", self.name);
        let plain = plain(data, address, &plan, &answer);
        let webs = [&ours, &plain];
        let samples = effort.samples(self.samples);
        for (row, fresh) in rows.into_iter().zip([false, true]) {
            let [ours, reference] = in_turn(webs, requests(self.method, self.parameters, fresh), samples, effort);
            let (ours, reference) = (Value::Time(ours), Some(Value::Time(reference)));
            table.push(Row { what: row, ours, off: None, reference, bar: Bar::Times(1.5) });
        }
        let (ours, reference) = (Value::Count(plan.len()), None);
        table.push(Row { what: self.trips(), ours, off: None, reference, bar: Bar::None });
    }
}

/// Starts the plain program that runs these statements for each request and returns this answer.
fn plain(data: &Data, address: &str, plan: &[Json], answer: &[u8]) -> Web {
    let (of_plan, of_answer) = (data.path("plain-plan"), data.path("plain-answer"));
    std::fs::write(&of_plan, json!(plan).to_string()).expect("the statements can be kept");
    std::fs::write(&of_answer, answer).expect("the answer can be kept");
    let text = |path: &Path| path.to_str().expect("the scratch folder has a readable name").to_owned();
    Web::start(reference(&["--statements", address, &text(&of_plan), &text(&of_answer)]))
}

/// Sends requests to two servers in turn. Returns the median time until an answer for each. The first round only
/// warms up.
fn in_turn(webs: [&Web; 2], mut request: impl FnMut() -> Vec<u8>, samples: usize, effort: &Effort) -> [Duration; 2] {
    let mut connections = webs.map(Web::connect);
    let rounds: Vec<[Duration; 2]> = (0..=effort.rounds)
        .map(|_| connections.each_mut().map(|connection| one_by_one(connection, samples, &mut request)))
        .collect();
    std::array::from_fn(|which| median(&mut rounds[1..].iter().map(|round| round[which]).collect::<Vec<_>>()))
}

fn of_servers(servers: usize) -> String {
    format!("prompts/get{ENGINE}, fresh: in a second of CPU of {servers} servers, against one")
}

/// Prints the CPU time of a request, in mcpkg's server and in the database.
fn print_cpu(what: &str, requests: usize, cpu: [Duration; 2]) {
    let [server, database] = cpu.map(|cpu| Value::Time(cpu / u32::try_from(requests).expect("requests are few")));
    println!("a {what} on PostgreSQL takes {server} of CPU in the server, {database} in the database");
}

/// Measures whether a server gets slower when more servers use the same database. Each server has as many clients as
/// the first one.
///
/// In production, servers run on machines of their own, so that neither their clients nor the database evicts data from their
/// CPU caches. To imitate that, the servers run on one CPU, and everything else on another.
fn servers(cluster: &Cluster, address: &str, effort: &Effort, table: &mut Table) {
    if ![2, 4].iter().any(|servers| table.wants(&of_servers(*servers))) {
        return;
    }
    let samples = effort.samples(8000);
    let groups: Vec<Vec<Web>> =
        [1, 2, 4].iter().map(|servers| (0..*servers).map(|_| cluster.serve(address)).collect()).collect();
    let mut connections: Vec<Vec<Connection>> = groups
        .iter()
        .map(|webs| webs.iter().cycle().take(CONNECTIONS * webs.len()).map(Web::connect).collect())
        .collect();
    let mut request = requests("prompts/get", || json!({ "name": data::prompt(50) }), true);
    let apart = |cpu| cluster.pin(cpu) && pin(std::process::id(), cpu);
    if !apart(1) {
        println!("skipped: a CPU of their own for the servers on PostgreSQL, since another one cannot be had");
    }
    let mut rates: Vec<Vec<Duration>> = vec![Vec::new(); groups.len()];
    for _ in 0..=effort.rounds {
        for (which, webs) in groups.iter().enumerate() {
            let cpu = || webs.iter().map(Web::cpu).sum::<Duration>();
            let before = [cpu(), cluster.cpu()];
            together(&mut connections[which], samples, &mut request);
            let taken = [cpu() - before[0], cluster.cpu() - before[1]];
            rates[which].push(taken[0]);
            if webs.len() == 1 {
                print_cpu("prompts/get, fresh,", samples, taken);
            }
        }
    }
    apart(0);
    let answers = (samples / CONNECTIONS * CONNECTIONS) as f64;
    // The first round only warms up.
    let rates: Vec<Value> =
        rates.iter_mut().map(|cpu| Value::Rate(answers / median(&mut cpu[1..]).as_secs_f64())).collect();
    for (which, servers) in [(1, 2), (2, 4)] {
        let (ours, reference) = (rates[which], Some(rates[0]));
        table.push(Row { what: of_servers(servers), ours, off: None, reference, bar: Bar::AtLeast(0.9) });
    }
}

/// Keeps one request in flight on each connection until this many requests are answered.
fn together(connections: &mut [Connection], requests: usize, request: &mut impl FnMut() -> Vec<u8>) {
    let turns = requests / connections.len();
    for connection in connections.iter_mut() {
        connection.tell(&request()).expect("the server takes a request");
    }
    for turn in 1..=turns {
        for connection in connections.iter_mut() {
            assert_eq!(connection.answer().expect("an answer").status, 200);
            if turn < turns {
                connection.tell(&request()).expect("the server takes a request");
            }
        }
    }
}

/// Returns a function that builds calls of create_prompt. Each call creates another prompt.
fn creates() -> impl FnMut() -> Vec<u8> {
    let mut number = 0;
    move || {
        number += 1;
        let content = format!("{number}: {}", "a line of a usual prompt\n".repeat(40));
        let arguments = json!({ "name": format!("created-{number}"), "content": content });
        stateless("tools/call", json!({ "name": "create_prompt", "arguments": arguments }))
    }
}

fn create(data: &Data, cluster: &Cluster, effort: &Effort, table: &mut Table) {
    let ours = cluster.serve(&cluster.database(&data.empty("ours-on-postgres.db")));
    let hand = Web::start(reference(&["--hand-http", &cluster.database(&data.empty("hand-on-postgres.db"))]));
    let mut connections = [&ours, &hand].map(Web::connect);
    let mut calls = creates();
    let samples = effort.samples(200);
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..=effort.rounds {
        for _ in 0..samples {
            let call = calls();
            for (connection, times) in connections.iter_mut().zip(&mut times) {
                let start = Instant::now();
                let answer = connection.ask(&call).expect("an answer");
                let time = start.elapsed();
                let text = String::from_utf8_lossy(answer.body);
                assert!(text.contains("Created prompt"), "{text}");
                if round > 0 {
                    times.push(time);
                }
            }
        }
    }
    let [one, plain] = times.each_mut().map(|times| Value::Time(median(times)));
    let reference = Some(plain);
    table.push(Row { what: CREATE.to_owned(), ours: one, off: None, reference, bar: Bar::Times(1.5) });
    let requests = samples * effort.rounds;
    let [rate, plain] = [&ours, &hand].map(|web| {
        let mut connections: Vec<Connection> = (0..CONNECTIONS).map(|_| web.connect()).collect();
        let (before, start) = ([web.cpu(), cluster.cpu()], Instant::now());
        together(&mut connections, requests, &mut calls);
        let time = start.elapsed();
        print_cpu("create_prompt", requests, [web.cpu() - before[0], cluster.cpu() - before[1]]);
        Value::Rate((requests / CONNECTIONS * CONNECTIONS) as f64 / time.as_secs_f64())
    });
    let reference = Some(plain);
    table.push(Row { what: CREATES.to_owned(), ours: rate, off: None, reference, bar: Bar::None });
}

/// Measures the time from a call of create_prompt until a listener at another server receives the notification. The
/// reference is the time that two plain programs need for the same.
fn told(data: &Data, cluster: &Cluster, effort: &Effort, table: &mut Table) {
    let (of_ours, of_plain) =
        (cluster.database(&data.empty("told-on-postgres.db")), cluster.database(&data.empty("told-plainly.db")));
    let webs = [cluster.serve(&of_ours), cluster.serve(&of_ours)];
    let mut listener = webs[1].connect().listen();
    let mut writer = webs[0].connect();
    let mut plain = Peer::start(reference(&["--listen", &of_plain]));
    plain.wait_for("ready");
    let hand = Web::start(reference(&["--hand-http", &of_plain]));
    let mut plain_writer = hand.connect();
    let mut calls = creates();
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..effort.samples(40) * effort.rounds {
        let call = calls();
        let start = Instant::now();
        writer.tell(&call).expect("the server takes a request");
        listener.hear("notifications/prompts/list_changed");
        times[0].push(start.elapsed());
        assert_eq!(writer.answer().expect("an answer").status, 200);
        let start = Instant::now();
        plain_writer.tell(&call).expect("the program takes a request");
        plain.wait_for("changed");
        times[1].push(start.elapsed());
        assert_eq!(plain_writer.answer().expect("an answer").status, 200);
    }
    plain.kill();
    let [ours, reference] = times.each_mut().map(|times| Value::Time(median(times)));
    let reference = Some(reference);
    table.push(Row { what: TOLD.to_owned(), ours, off: None, reference, bar: Bar::Times(2.0) });
}
