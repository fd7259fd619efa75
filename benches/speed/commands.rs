//! The index of commands: a search in the library and over stdio, and a command's spec, each against the least that could
//! answer it.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mcpkg::clock::Clock;
use mcpkg::op::Context;
use mcpkg::store::Store;
use mcpkg::store::projects::Selection;
use mcpkg::workflow::commands::reachable;
use mcpkg::workflow::index::{Found, Index, search};
use mcpkg::workflow::source::Brief;
use mcpkg::workflow::spec::CommandEffect;
use memchr::memmem;
use serde_json::{Value as Json, json};

use crate::Effort;
use crate::data::{self, Data};
use crate::peer::{Peer, line};
use crate::table::{Bar, Row, Table, Value, median};

/// How many commands an index has.
const COMMANDS: usize = 5_000;

/// What is searched for.
const WORDS: [&str; 3] = ["create", "app", "postgres"];

/// How many commands a page of what was found has.
const PAGE: usize = 20;

const LIBRARY: &str = "search of three words over 5000 commands: p50";
const STDIO: &str = "tools/call search_commands over mcpkg's own, anew: p50";
const SPEC: &str = "tools/call get_command_spec, anew: p50";

/// Measures the rows of the index of commands.
pub fn measure(data: &Data, effort: &Effort, table: &mut Table) {
    if table.wants(LIBRARY) {
        library(effort, table);
    }
    if table.wants(STDIO) || table.wants(SPEC) {
        let database = data.empty("commands.db");
        let store = Store::open(&database).expect("the database opens");
        let context = Context::shell(store, Selection::default());
        over_stdio(data, &context, effort, table);
        spec(&context, effort, table);
    }
}

fn row(table: &mut Table, what: &str, ours: Duration, reference: Duration, bar: f64) {
    let (ours, reference) = (Value::Time(ours), Some(Value::Time(reference)));
    table.push(Row { what: what.to_owned(), ours, off: None, reference, bar: Bar::Times(bar) });
}

/// Returns the medians of two things that take turns.
fn in_turns(effort: &Effort, samples: usize, mut ours: impl FnMut(), mut reference: impl FnMut()) -> [Duration; 2] {
    let time = |f: &mut dyn FnMut()| {
        let mut times: Vec<Duration> = (0..samples)
            .map(|_| {
                let start = Instant::now();
                f();
                start.elapsed()
            })
            .collect();
        median(&mut times)
    };
    // The first round only warms up.
    let rounds: Vec<[Duration; 2]> = (0..=effort.rounds).map(|_| [time(&mut ours), time(&mut reference)]).collect();
    std::array::from_fn(|which| median(&mut rounds[1..].iter().map(|round| round[which]).collect::<Vec<_>>()))
}

/// Commands as the description of a large API has them.
fn briefs() -> Vec<Brief> {
    const ACTIONS: [(&str, &str); 5] =
        [("list", "List"), ("info", "Show"), ("create", "Create"), ("update", "Change"), ("delete", "Delete")];
    const THINGS: [&str; 10] =
        ["app", "addon", "pipeline", "database", "domain", "release", "dyno", "key", "webhook", "collaborator"];
    (0..COMMANDS)
        .map(|n| {
            let (action, verb) = ACTIONS[n % ACTIONS.len()];
            let (thing, of) = (THINGS[n / 5 % THINGS.len()], THINGS[n / 50 % THINGS.len()]);
            let plan = if n.is_multiple_of(97) { " with a postgres plan" } else { "" };
            Brief {
                id: format!("hosting:{of}s:{thing}s-{}:{action}", n / 500),
                summary: format!("{verb} a {thing} of a {of} in region {}{plan}", n % 37),
                words: format!("{of}_id {thing} region name limit page_{}", n % 11),
                aliases: Vec::new(),
                effect: CommandEffect::Read,
                deprecated: false,
                lists: action == "list",
            }
        })
        .collect()
}

fn texts(briefs: &[Brief]) -> Vec<String> {
    briefs.iter().map(|brief| format!("{} {} {}", brief.id, brief.summary, brief.words)).collect()
}

/// Looks for each word in each text, as the plainest search does.
fn look(texts: &[String], words: &[&str]) -> usize {
    let finders: Vec<_> = words.iter().map(|word| memmem::Finder::new(word)).collect();
    let has = |text: &&String| finders.iter().filter(|finder| finder.find(text.as_bytes()).is_some()).count() > 0;
    texts.iter().filter(has).count()
}

/// The first page of what was found.
fn page(index: &Index, query: &str) -> usize {
    let mut found = search(&[index], query, |_| true);
    let page = PAGE.min(found.len());
    if found.len() > page {
        found.select_nth_unstable_by(page, Found::order);
        found.truncate(page);
    }
    found.sort_unstable_by(Found::order);
    found.len()
}

fn library(effort: &Effort, table: &mut Table) {
    let briefs = briefs();
    let texts = texts(&briefs);
    let (index, query) = (Index::new(briefs), WORDS.join(" "));
    assert!(page(&index, &query) == PAGE && look(&texts, &WORDS) > PAGE, "the search finds something");
    let ours = || drop(black_box(page(&index, black_box(&query))));
    let [ours, reference] = in_turns(effort, effort.samples(200), ours, || drop(black_box(look(&texts, &WORDS))));
    row(table, LIBRARY, ours, reference, 1.0);
}

/// What calls a tool; each request differs from all before.
fn calls(tool: &'static str, arguments: Json) -> impl FnMut() -> Vec<u8> {
    let mut number = 1_000_000;
    move || {
        number += 1;
        let parameters = json!({ "name": tool, "arguments": arguments, "_meta": { "progressToken": number } });
        line(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": parameters }).to_string())
    }
}

fn over_stdio(data: &Data, context: &Context, effort: &Effort, table: &mut Table) {
    if !table.wants(STDIO) {
        return;
    }
    let indexes: Vec<Arc<Index>> = reachable(context).indexes(None).expect("an index");
    let texts: Vec<String> = indexes.iter().flat_map(|index| texts(index.briefs())).collect();
    let words = ["create", "prompt", "postgres"];
    let (mut ours, mut other) = (Peer::serve(context.database(), true), Peer::serve(&data.usual(), true));
    let mut call = calls("search_commands", json!({ "query": words.join(" ") }));
    let answer = String::from_utf8_lossy(ours.ask(&call())).into_owned();
    assert!(answer.contains("mcpkg:prompt:create"), "the search failed: {answer}");
    let ping = line(r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{}}"#);
    let reference = || {
        black_box(look(&texts, &words));
        other.ask(&ping);
    };
    let [ours, reference] = in_turns(effort, effort.samples(500), || drop(ours.ask(&call()).len()), reference);
    row(table, STDIO, ours, reference, 1.5);
}

fn spec(context: &Context, effort: &Effort, table: &mut Table) {
    if !table.wants(SPEC) {
        return;
    }
    let mut ours = Peer::serve(context.database(), true);
    let mut call = calls("get_command_spec", json!({ "id": "mcpkg:prompt:list" }));
    let answer = ours.ask(&call()).to_vec();
    let told = String::from_utf8_lossy(&answer);
    assert!(told.contains("\"isError\":false"), "there is no such command: {told}");
    // A prompt whose answer has as many bytes.
    let text = "x".repeat(answer.len());
    data::create(&context.store, &Clock::system(), "as-long", None, &text).expect("a prompt");
    let mut other = Peer::serve(context.database(), true);
    let mut get = calls("get_prompt", json!({ "name": "as-long" }));
    let (ours_once, reference_once) = (|| drop(ours.ask(&call()).len()), || drop(other.ask(&get()).len()));
    let [ours, reference] = in_turns(effort, effort.samples(2000), ours_once, reference_once);
    row(table, SPEC, ours, reference, 1.5);
}
