//! Measures requests over HTTP on persistent connections, against an axum handler that returns the same bytes. Also
//! measures how soon a listener is notified of a change.

use std::path::Path;
use std::time::{Duration, Instant};

use mcpkg_base::clock::Clock;
use mcpkg_store::Store;
use serde_json::{Value as Json, json};

use crate::Effort;
use crate::data::{self, Data};
use crate::peer::reference;
use crate::table::{Bar, Row, Table, Value, median};
use crate::web::{Connection, Web, in_session, stateless};

const DELAY: &str = "commit in another process to its notification: median";

/// The number of connections in the rows that count requests per second.
const CONNECTIONS: usize = 8;

/// The protocol revision that a client uses.
#[derive(Clone, Copy)]
enum Form {
    /// 2026-07-28: each request stands alone.
    Stateless,
    /// 2025-11-25: the requests belong to a session.
    Session,
}

/// Runs this file's measurements, and adds a row to the table for each.
pub fn measure(data: &Data, effort: &Effort, table: &mut Table) {
    for form in [Form::Stateless, Form::Session] {
        get(form, data, effort, table);
    }
    if table.wants(DELAY) {
        table.push(Row {
            what: DELAY.to_owned(),
            ours: Value::Time(delay(&data.empty("http-delay.db"), effort.samples(40) * effort.rounds)),
            off: None,
            reference: None,
            bar: Bar::None,
        });
    }
}

impl Form {
    fn name(self) -> &'static str {
        match self {
            Form::Stateless => "stateless",
            Form::Session => "in a session",
        }
    }

    /// Returns a function that builds requests for the server.
    fn requests(self, web: &Web) -> impl Fn(Json) -> Vec<u8> {
        let session = match self {
            Form::Stateless => None,
            Form::Session => Some(web.connect().session()),
        };
        move |parameters| match &session {
            None => stateless("prompts/get", parameters),
            Some(session) => in_session(session, "prompts/get", parameters),
        }
    }
}

fn get(form: Form, data: &Data, effort: &Effort, table: &mut Table) {
    let name = format!("prompts/get 1 KiB over HTTP, {}", form.name());
    let row = |of: &str| format!("{name}{of}");
    let (p50, cpu, fresh, rate) = (row(": p50"), row(": CPU"), row(", fresh: p50"), row(", 8 connections"));
    if ![&p50, &cpu, &fresh, &rate].iter().any(|row| table.wants(row)) {
        return;
    }
    let ours = Web::serve(&data.usual());
    let requests = form.requests(&ours);
    let request = requests(json!({ "name": data::prompt(50) }));
    let mut connection = ours.connect();
    let answer = connection.ask(&request).expect("an answer");
    assert!(answer.status == 200 && answer.body.starts_with(br#"{"jsonrpc":"2.0","id":1,"result":"#), "{name} failed");
    let webs = [&ours, &handler(&data.path("http-answer"), answer.body)];

    let samples = effort.samples(3000);
    let mut connections = webs.map(Web::connect);
    let mut number = 1_000_000;
    let mut turns = |fresh: bool| {
        let rounds: Vec<[[Duration; 2]; 2]> = (0..=effort.rounds)
            .map(|_| {
                std::array::from_fn(|which| {
                    let before = webs[which].cpu();
                    let next = || {
                        number += 1;
                        requests(json!({ "name": data::prompt(50), "_meta": { "progressToken": number } }))
                    };
                    let time = match fresh {
                        true => one_by_one(&mut connections[which], samples, next),
                        false => one_by_one(&mut connections[which], samples, || request.clone()),
                    };
                    [time, (webs[which].cpu() - before) / u32::try_from(samples).expect("samples are few")]
                })
            })
            .collect();
        // The first round only warms up.
        let of = |which: usize, what: usize| {
            Value::Time(median(&mut rounds[1..].iter().map(|round| round[which][what]).collect::<Vec<_>>()))
        };
        [[of(0, 0), of(1, 0)], [of(0, 1), of(1, 1)]]
    };
    let mut push = |what: &str, [ours, reference]: [Value; 2], bar: Bar| {
        table.push(Row { what: what.to_owned(), ours, off: None, reference: Some(reference), bar });
    };
    let [time, cpu_time] = turns(false);
    push(&p50, time, Bar::Times(1.4));
    push(&cpu, cpu_time, Bar::None);
    push(&fresh, turns(true)[0], Bar::None);
    push(&rate, together(webs, &request, effort), Bar::AtLeast(0.7));
}

/// Starts an axum handler that returns `answer`.
fn handler(file: &Path, answer: &[u8]) -> Web {
    std::fs::write(file, answer).expect("the answer can be kept");
    Web::start(reference(&["--handler", file.to_str().expect("the scratch folder has a readable name")]))
}

/// Returns the median time until an answer, with one request at a time.
pub fn one_by_one(connection: &mut Connection, samples: usize, mut request: impl FnMut() -> Vec<u8>) -> Duration {
    let mut times: Vec<Duration> = (0..samples)
        .map(|_| {
            let request = request();
            let start = Instant::now();
            let answer = connection.ask(&request).expect("an answer");
            assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(answer.body));
            start.elapsed()
        })
        .collect();
    median(&mut times)
}

/// Returns the requests per second of mcpkg and of the reference. Each connection always has one request in flight.
fn together(webs: [&Web; 2], request: &[u8], effort: &Effort) -> [Value; 2] {
    let samples = effort.samples(1000);
    let mut connections = webs.map(|web| [(); CONNECTIONS].map(|()| web.connect()));
    let rounds: Vec<[Duration; 2]> = (0..=effort.rounds)
        .map(|_| {
            connections.each_mut().map(|connections| {
                let start = Instant::now();
                for connection in connections.iter_mut() {
                    connection.tell(request).expect("the server takes a request");
                }
                for sample in 1..=samples {
                    for connection in connections.iter_mut() {
                        assert_eq!(connection.answer().expect("an answer").status, 200);
                        if sample < samples {
                            connection.tell(request).expect("the server takes a request");
                        }
                    }
                }
                start.elapsed()
            })
        })
        .collect();
    std::array::from_fn(|which| {
        let time = median(&mut rounds[1..].iter().map(|round| round[which]).collect::<Vec<_>>());
        Value::Rate((samples * CONNECTIONS) as f64 / time.as_secs_f64())
    })
}

/// Returns the median time from a commit of this process until a `subscriptions/listen` stream of the server reports
/// it.
pub fn delay(database: &Path, samples: usize) -> Duration {
    let (store, clock) = (Store::open(database).expect("the database opens"), Clock::system());
    let web = Web::serve(database);
    let mut listener = web.connect().listen();
    let mut times: Vec<Duration> = (0..samples)
        .map(|n| {
            // The server checks for commits every few milliseconds. Commit at varying moments between two checks.
            std::thread::sleep(Duration::from_micros(20_000 + (n as u64 * 7_919) % 20_000));
            data::create(&store, &clock, &format!("new-{n}"), None, "x").expect("the prompt can be written");
            let start = Instant::now();
            listener.hear("notifications/prompts/list_changed");
            start.elapsed()
        })
        .collect();
    median(&mut times)
}
