//! Measures operations whose time depends on the database file: pages of a large database, and durable writes.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use mcpkg_store::page::Page;
use mcpkg_store::projects::Selection;
use mcpkg_store::{Reader, Store, resources};
use serde_json::json;

use crate::Effort;
use crate::data::{self, Data};
use crate::peer::{Peer, line, reference};
use crate::process::in_turn;
use crate::table::{Bar, Row, Table, Value};

const CREATE: &str = "durable create_prompt: p50";
const SMALL: usize = 1_000;
const PAGE: usize = 100;

/// Runs this file's measurements, and adds a row to the table for each.
pub fn measure(data: &Data, effort: &Effort, table: &mut Table) {
    if table.wants(CREATE) {
        create(data, effort, table);
    }
    pages("", |rows| data.large(rows), effort, table);
}

/// Returns the names of the two rows that [`pages`] measures: the first page and the last page.
pub fn names(engine: &str, effort: &Effort) -> [String; 2] {
    ["first", "last"].map(|page| format!("{page} page of {PAGE} in {} rows against {SMALL}{engine}", effort.rows))
}

/// Measures the first and the last page of a list in a large database, compared with the same page in a small one. `make`
/// returns a database with this many rows.
pub fn pages(engine: &str, make: impl Fn(usize) -> PathBuf, effort: &Effort, table: &mut Table) {
    let names = names(engine, effort);
    if !names.iter().any(|name| table.wants(name)) {
        return;
    }
    let start = Instant::now();
    let [large, small] = [effort.rows, SMALL].map(|rows| {
        let store = Store::open(&make(rows)).expect("the database opens");
        store.reader().expect("the database can be read")
    });
    println!("{} rows were written in {:.0} s", effort.rows, start.elapsed().as_secs_f64());
    let [first, last] = names;
    for (what, is_last) in [(first, false), (last, true)] {
        let page = |rows: usize| {
            let after = if is_last { data::row_name(rows - PAGE - 1) } else { String::new() };
            Page { after, limit: PAGE }
        };
        let [large_page, small_page] = [effort.rows, SMALL].map(page);
        let both = || [time(&large, &large_page), time(&small, &small_page)];
        in_turn(effort.samples(100), both);
        let [ours, reference] = in_turn(effort.samples(500) * effort.rounds, both);
        let (ours, reference) = (Value::Time(ours), Some(Value::Time(reference)));
        table.push(Row { what, ours, off: None, reference, bar: Bar::Times(1.5) });
    }
}

fn time(reader: &Reader, page: &Page) -> Duration {
    let start = Instant::now();
    let mut rows = 0;
    let read = reader.statement(|db| {
        resources::each(db, &Selection::default(), page, |line| {
            std::hint::black_box(line);
            rows += 1;
            Ok(())
        })
    });
    let time = start.elapsed();
    read.expect("the page can be read");
    assert_eq!(rows, PAGE, "rows of a page");
    time
}

fn create(data: &Data, effort: &Effort, table: &mut Table) {
    let hand = data.empty("hand.db");
    let hand = reference(&["--hand", hand.to_str().expect("the scratch folder has a readable name")]);
    let mut ours = Peer::serve(&data.empty("create.db"), true);
    let mut hand = Peer::start(hand);
    let mut number = 0;
    let mut both = || {
        number += 1;
        let arguments = json!({
            "name": format!("created-{number}"),
            "description": "What a client keeps",
            "content": format!("{number}: {}", "a line of a usual prompt\n".repeat(40)),
        });
        let parameters = json!({ "name": "create_prompt", "arguments": arguments });
        let call = json!({ "jsonrpc": "2.0", "id": number, "method": "tools/call", "params": parameters });
        let call = line(&call.to_string());
        [&mut ours, &mut hand].map(|peer| {
            let start = Instant::now();
            let answer = peer.ask(&call);
            let time = start.elapsed();
            assert!(answer.windows(14).any(|part| part == b"Created prompt"), "{}", String::from_utf8_lossy(answer));
            time
        })
    };
    in_turn(effort.samples(50), &mut both);
    let [ours, reference] = in_turn(effort.samples(200) * effort.rounds, both);
    table.push(Row {
        what: CREATE.to_owned(),
        ours: Value::Time(ours),
        off: None,
        reference: Some(Value::Time(reference)),
        bar: Bar::Times(1.3),
    });
}
