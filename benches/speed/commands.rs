//! Measures the index of commands: a search in the library and over stdio, a command's spec, and the cost of many
//! commands for a server. A search is compared with a plain text search, a spec with a prompt of the same size, and a
//! server that has the commands with a server that has none.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mcpkg_base::clock::Clock;
use mcpkg_core::op::Context;
use mcpkg_store::Store;
use mcpkg_store::projects::Selection;
use mcpkg_workflow::commands::{Reachable, SOURCES, reachable};
use mcpkg_workflow::index::{Index, SearchHit};
use memchr::memmem;
use serde_json::{Value as Json, json};

use crate::Effort;
use crate::data::{self, Data};
use crate::hosting;
use crate::peer::{Peer, line, mcpkg};
use crate::process::{first_answer, in_turn};
use crate::table::{Bar, Row, Table, Value, median};

/// The words of the search.
const WORDS: [&str; 3] = ["create", "app", "postgres"];

/// The number of commands on a page of search results.
const PAGE: usize = 20;

const LIBRARY: &str = "search of three words over 5000 commands: p50";
const STDIO: &str = "tools/call search_commands over 5000 commands, fresh: p50";
const SIZE: &str = "tools/call search_commands: an answer of 20 hits";
const SPEC: &str = "tools/call get_command_spec, fresh: p50";
const START: &str = "start to first answer, 5000 commands in the database";
const MEMORY: &str = "resident after 100 searches, 5000 commands in the database";

/// Runs the measurements of the index of commands, and adds a row to the table for each.
pub fn measure(data: &Data, effort: &Effort, table: &mut Table) {
    if ![LIBRARY, STDIO, SIZE, SPEC, START, MEMORY].iter().any(|row| table.wants(row)) {
        return;
    }
    let database = hosting::database(data);
    let store = Store::open(&database).expect("the database opens");
    let context = Context::shell(mcpkg::DOMAINS, store, Selection::default());
    if table.wants(LIBRARY) {
        library(&context, effort, table);
    }
    if table.wants(STDIO) || table.wants(SIZE) {
        over_stdio(data, &context, effort, table);
    }
    if table.wants(SPEC) {
        spec(&context, effort, table);
    }
    if table.wants(START) {
        let without = data.empty("without-start.db");
        let [ours, reference] = in_turn(effort.samples(50) * effort.rounds, || {
            [&database, &without].map(|database| {
                let mut command = mcpkg(database);
                command.arg("serve");
                first_answer(command)
            })
        });
        row(table, START, ours, reference, 1.1);
    }
    if table.wants(MEMORY) {
        memory(data, &context, table);
    }
}

fn row(table: &mut Table, what: &str, ours: Duration, reference: Duration, bar: f64) {
    let (ours, reference) = (Value::Time(ours), Some(Value::Time(reference)));
    table.push(Row { what: what.to_owned(), ours, off: None, reference, bar: Bar::Times(bar) });
}

/// Returns the median times of two functions that take turns. Both return a number, so that the compiler cannot remove
/// their work.
fn in_turns(
    effort: &Effort,
    samples: usize,
    mut ours: impl FnMut() -> usize,
    mut reference: impl FnMut() -> usize,
) -> [Duration; 2] {
    let time = |f: &mut dyn FnMut() -> usize| {
        let mut times: Vec<Duration> = (0..samples)
            .map(|_| {
                let start = Instant::now();
                black_box(f());
                start.elapsed()
            })
            .collect();
        median(&mut times)
    };
    // The first round only warms up.
    let rounds: Vec<[Duration; 2]> = (0..=effort.rounds).map(|_| [time(&mut ours), time(&mut reference)]).collect();
    std::array::from_fn(|which| median(&mut rounds[1..].iter().map(|round| round[which]).collect::<Vec<_>>()))
}

/// Returns the text of each command that the plain search looks at: its id, its summary and the names of its arguments.
fn texts(context: &Context) -> Vec<String> {
    let briefs = SOURCES.iter().flat_map(|source| source.briefs(context).expect("its commands"));
    briefs.map(|brief| format!("{} {} {}", brief.id, brief.summary, brief.words)).collect()
}

/// Returns how many texts contain at least one of the words. This is the simplest possible search.
fn look(texts: &[String]) -> usize {
    let finders = WORDS.map(memmem::Finder::new);
    let has = |text: &&String| finders.iter().filter(|finder| finder.find(text.as_bytes()).is_some()).count() > 0;
    texts.iter().filter(has).count()
}

/// Searches, and returns the number of results on the first page.
fn page(commands: &Reachable<'_>, indexes: &[Arc<Index>]) -> usize {
    let query = WORDS.join(" ");
    let mut found = commands.search(indexes, black_box(&query), |_| true);
    let page = PAGE.min(found.len());
    if found.len() > page {
        found.select_nth_unstable_by(page, SearchHit::order);
        found.truncate(page);
    }
    found.sort_unstable_by(SearchHit::order);
    found.len()
}

fn library(context: &Context, effort: &Effort, table: &mut Table) {
    let (texts, commands) = (texts(context), reachable(context));
    let indexes = commands.indexes(None).expect("an index");
    assert!(texts.len() >= hosting::COMMANDS, "{} commands", texts.len());
    assert!(page(&commands, &indexes) == PAGE && look(&texts) > PAGE, "the search finds something");
    let ours = || page(&commands, &indexes);
    let [ours, reference] = in_turns(effort, effort.samples(200), ours, || look(black_box(&texts)));
    row(table, LIBRARY, ours, reference, 1.0);
}

/// Returns a function that builds calls of a tool. Each call differs from all earlier ones.
pub fn calls(tool: &'static str, arguments: Json) -> impl FnMut() -> Vec<u8> {
    let mut number = 1_000_000;
    move || {
        number += 1;
        let parameters = json!({ "name": tool, "arguments": arguments, "_meta": { "progressToken": number } });
        line(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": parameters }).to_string())
    }
}

fn over_stdio(data: &Data, context: &Context, effort: &Effort, table: &mut Table) {
    let texts = texts(context);
    let (mut ours, mut other) = (Peer::serve(context.database(), true), Peer::serve(&data.usual(), true));
    let mut call = calls("search_commands", json!({ "query": WORDS.join(" "), "limit": PAGE }));
    let answer: Json = serde_json::from_slice(ours.ask(&call())).expect("JSON");
    let found = &answer["result"]["structuredContent"];
    assert!(found["results"].as_array().is_some_and(|hits| hits.len() == PAGE), "the search failed: {answer}");
    let size = Value::Memory(found.to_string().len() as u64);
    table.push(Row { what: SIZE.to_owned(), ours: size, off: None, reference: None, bar: Bar::Bytes(4 << 10) });
    if !table.wants(STDIO) {
        return;
    }
    let ping = line(r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{}}"#);
    let reference = || {
        let found = look(black_box(&texts));
        found + other.ask(&ping).len()
    };
    let [ours, reference] = in_turns(effort, effort.samples(500), || ours.ask(&call()).len(), reference);
    row(table, STDIO, ours, reference, 1.5);
}

fn spec(context: &Context, effort: &Effort, table: &mut Table) {
    let mut ours = Peer::serve(context.database(), true);
    let mut call = calls("get_command_spec", json!({ "id": hosting::COMMAND }));
    let answer = ours.ask(&call()).to_vec();
    let told = String::from_utf8_lossy(&answer);
    assert!(told.contains("\"isError\":false"), "there is no such command: {told}");
    // Create a prompt whose text is as long as the answer.
    let text = "x".repeat(answer.len());
    data::create(&context.store, &Clock::system(), "as-long", None, &text).expect("a prompt");
    let mut other = Peer::serve(context.database(), true);
    let mut get = calls("get_prompt", json!({ "name": "as-long" }));
    let (ours_once, reference_once) = (|| ours.ask(&call()).len(), || other.ask(&get()).len());
    let [ours, reference] = in_turns(effort, effort.samples(2000), ours_once, reference_once);
    row(table, SPEC, ours, reference, 1.5);
}

/// Measures the memory of a server after a hundred searches. The reference is a server with an empty database.
fn memory(data: &Data, context: &Context, table: &mut Table) {
    let [ours, reference] = [context.database(), &data.empty("without-memory.db")].map(|database| {
        let mut server = Peer::serve(database, true);
        let mut call = calls("search_commands", json!({ "query": WORDS.join(" "), "limit": PAGE }));
        for _ in 0..100 {
            server.ask(&call());
        }
        Value::Memory(server.resident())
    });
    let (what, bar) = (MEMORY.to_owned(), Bar::BytesMore(24 << 20));
    table.push(Row { what, ours, off: None, reference: Some(reference), bar });
}
