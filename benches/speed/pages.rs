//! Measures the console of a server, as a browser uses it: the size of the first page, a page of a hundred items, how soon a
//! page shows a commit of another process, and what open pages and the console itself cost the server.

use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use mcpkg_base::clock::Clock;
use mcpkg_store::Store;
use serde_json::json;

use crate::data::{self, Data};
use crate::peer::mcpkg;
use crate::process::in_turn;
use crate::table::{Bar, Row, Table, Value, median};
use crate::web::{Connection, Listener, Web, stateless};
use crate::{Effort, console, http};

const SIZE: &str = "console in a browser: first page with its style and script, compressed";
const PAGE: &str = "console in a browser: page of 100 items, against resources/list of 100, fresh: p50";
const COMMIT: &str = "console in a browser: commit in another process to the new page, against a server's notification";
const TABS: &str = "console in a browser: prompts/get 1 KiB over HTTP with six open event streams, against none: p50";
const START: &str = "console in a browser: start of `serve --http --console` to first answer, against `serve --http`";

/// The number of event streams in [`TABS`].
const STREAMS: usize = 6;

/// Runs this file's measurements, and adds a row to the table for each.
pub fn measure(data: &Data, effort: &Effort, table: &mut Table) {
    let push = |table: &mut Table, what: &str, [ours, reference]: [Duration; 2], bar: f64| {
        let (ours, reference) = (Value::Time(ours), Some(Value::Time(reference)));
        table.push(Row { what: what.to_owned(), ours, off: None, reference, bar: Bar::Times(bar) });
    };
    if table.wants(START) {
        let start = |arguments: &[&str]| {
            let start = Instant::now();
            let web = Web::serve_with(&data.usual(), arguments);
            let status = web.connect().ask(&get("/healthz", "")).expect("an answer").status;
            assert_eq!(status, 200);
            start.elapsed()
        };
        let times = in_turn(effort.samples(50) * effort.rounds, || [start(&["--console"]), start(&[])]);
        push(table, START, times, 1.03);
    }
    if ![SIZE, PAGE, COMMIT, TABS].iter().any(|row| table.wants(row)) {
        return;
    }
    if console::is_skipped() {
        return;
    }
    if table.wants(SIZE) {
        let browser = Browser::open(&data.usual());
        let bytes = ["/inbox", "/style.css", "/live.js"].map(|part| compressed(&browser.body(part))).iter().sum();
        let ours = Value::Memory(bytes);
        table.push(Row { what: SIZE.to_owned(), ours, off: None, reference: None, bar: Bar::Bytes(45 << 10) });
    }
    if table.wants(PAGE) {
        push(table, PAGE, page(data, effort), 4.0);
    }
    if table.wants(COMMIT) {
        let samples = effort.samples(50) * effort.rounds;
        let reference = http::delay(&data.empty("pages-delay.db"), samples);
        push(table, COMMIT, [commit_to_page(&data.empty("pages-seen.db"), samples), reference], 4.0);
    }
    if table.wants(TABS) {
        push(table, TABS, with_tabs(data, effort), 1.03);
    }
}

/// A browser that is signed in to the console of a server.
struct Browser {
    web: Web,
    cookie: String,
}

impl Browser {
    /// Starts a server with a console, and signs in with a link from a terminal.
    fn open(database: &Path) -> Self {
        let web = Web::serve_with(database, &["--console"]);
        let mut command = mcpkg(database);
        command.args(["console", &format!("--link=http://{}", web.address())]);
        let printed = console::script(&command).stderr(Stdio::inherit()).output().expect("script starts");
        let printed = String::from_utf8_lossy(&printed.stdout).into_owned();
        let (_, token) = printed.split_once("/login?token=").unwrap_or_else(|| panic!("a link: {printed}"));
        let form = format!("token={}", &token[..64]);
        let head = format!(
            "POST /login HTTP/1.1\r\nHost: {0}\r\nOrigin: http://{0}\r\nContent-Type: application/x-www-form-urlencoded\r\n\
             Content-Length: {1}\r\n\r\n{form}",
            web.address(),
            form.len()
        );
        let mut connection = web.connect();
        let answer = connection.ask(head.as_bytes()).expect("an answer");
        assert_eq!(answer.status, 303, "{}", answer.head);
        let (_, cookie) = answer.head.split_once("set-cookie: ").expect("a cookie");
        let cookie = cookie.split(';').next().expect("a pair").to_owned();
        Self { web, cookie }
    }

    /// Returns a request for a page or its parts.
    fn request(&self, path: &str) -> Vec<u8> {
        get(path, &format!("Cookie: {}\r\nmcpkg-live: 1\r\n", self.cookie))
    }

    fn body(&self, path: &str) -> Vec<u8> {
        let mut connection = self.web.connect();
        let answer = connection.ask(&self.request(path)).expect("an answer");
        assert_eq!(answer.status, 200, "{path}");
        answer.body.to_vec()
    }

    /// Opens an event stream, and waits for its first event.
    fn events(&self) -> Listener {
        let mut listener = self.web.connect().stream(&self.request("/events"));
        listener.hear("data:");
        listener
    }
}

fn get(path: &str, headers: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n").into_bytes()
}

fn compressed(bytes: &[u8]) -> u64 {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).expect("it is compressed");
    encoder.finish().expect("it is compressed").len() as u64
}

fn page(data: &Data, effort: &Effort) -> [Duration; 2] {
    let browser = Browser::open(&data.large(100));
    let body = String::from_utf8(browser.body("/content")).expect("text");
    assert!(body.contains(&data::row_name(0)) && body.contains(&data::row_name(99)), "{body}");
    let request = browser.request("/content");
    let (mut pages, mut lists) = (browser.web.connect(), browser.web.connect());
    let mut number = 0;
    let mut list = || {
        number += 1;
        stateless("resources/list", json!({ "_meta": { "progressToken": number } }))
    };
    let answer = lists.ask(&list()).expect("an answer");
    assert!(memchr::memmem::find(answer.body, data::row_name(99).as_bytes()).is_some(), "all are on one page");
    rounds(effort, || {
        let samples = effort.samples(300);
        [http::one_by_one(&mut pages, samples, || request.clone()), http::one_by_one(&mut lists, samples, &mut list)]
    })
}

/// Returns the median time from a commit of this process until a browser has the page that shows it: until the event, and
/// then for the page.
fn commit_to_page(database: &Path, samples: usize) -> Duration {
    let (store, clock) = (Store::open(database).expect("the database opens"), Clock::system());
    let browser = Browser::open(database);
    let (mut events, mut pages) = (browser.events(), browser.web.connect());
    let request = browser.request("/feed");
    let mut times: Vec<Duration> = (0..samples)
        .map(|n| {
            std::thread::sleep(Duration::from_micros(20_000 + (n as u64 * 7_919) % 20_000));
            let name = format!("new-{n}");
            data::create(&store, &clock, &name, None, "x").expect("the prompt can be written");
            let start = Instant::now();
            events.hear("data:");
            let answer = pages.ask(&request).expect("an answer");
            let time = start.elapsed();
            assert!(memchr::memmem::find(answer.body, name.as_bytes()).is_some(), "the page shows the commit");
            time
        })
        .collect();
    median(&mut times)
}

fn with_tabs(data: &Data, effort: &Effort) -> [Duration; 2] {
    let browser = Browser::open(&data.usual());
    let _streams: Vec<Listener> = (0..STREAMS).map(|_| browser.events()).collect();
    let alone = Web::serve_with(&data.usual(), &["--console"]);
    let request = stateless("prompts/get", json!({ "name": data::prompt(50) }));
    let mut connections = [&browser.web, &alone].map(Web::connect);
    rounds(effort, || {
        connections
            .each_mut()
            .map(|connection: &mut Connection| http::one_by_one(connection, effort.samples(3000), || request.clone()))
    })
}

/// Returns the medians of several rounds. The first round only warms up.
fn rounds(effort: &Effort, mut round: impl FnMut() -> [Duration; 2]) -> [Duration; 2] {
    round();
    in_turn(effort.rounds, round)
}
