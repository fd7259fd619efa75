//! Measures a run of many steps. The reference is a loop that sends the same requests with the same client, and stores
//! as much for each request.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::{HeaderMap, Method};
use mcpkg_base::approved::Approved;
use mcpkg_base::error::Result;
use mcpkg_base::http::{Limits, Outgoing, Reach, Rules, Url, exchange};
use mcpkg_core::op::{Confirmation, Context};
use mcpkg_store::Store;
use mcpkg_store::events::{self, NewEvent};
use mcpkg_store::projects::Selection;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::Effort;
use crate::data::Data;
use crate::hosting;
use crate::peer::reference;
use crate::process::in_turn;
use crate::table::{Bar, Row, Table, Value};
use crate::web::Web;

const RUN: &str = "run of 100 steps, against a loop of the same requests and two durable inserts each";

const STEPS: usize = 100;

/// The answer of the API.
const ANSWER: &str = r#"{"id":"seven","name":"Seven","region":"eu"}"#;

/// Runs this file's measurement, and adds a row to the table.
pub fn measure(data: &Data, effort: &Effort, table: &mut Table) {
    if !table.wants(RUN) {
        return;
    }
    let (answer, document, database) = (data.path("thing.json"), data.path("things.json"), data.empty("runs.db"));
    fs::write(&answer, ANSWER).expect("the answer");
    let api = Web::start(reference(&["--handler", answer.to_str().expect("the scratch folder has a readable name")]));
    let base = format!("http://{}", api.address());
    let text = json!({ "type": "string" });
    let thing = json!({ "type": "object", "properties": { "id": text, "name": text, "region": text } });
    let told = json!({
        "openapi": "3.1.0", "info": { "title": "Things", "version": "1" }, "servers": [{ "url": base }],
        "paths": { "/things/{thing}": { "get": {
            "parameters": [{ "name": "thing", "in": "path", "required": true, "schema": text }],
            "responses": { "200": { "content": { "application/json": { "schema": thing } } } },
        } } },
    });
    fs::write(&document, told.to_string()).expect("the document");
    hosting::import(data, &database, &document, "api");

    let store = Store::open(&database).expect("the database opens");
    // This context acts as a person at a terminal who approves everything.
    let context = Context {
        approved: Approved::below(hosting::approved(data)),
        confirmation: Confirmation::Ask,
        ask: Arc::new(|_, _| Ok(())),
        ..Context::shell(mcpkg::DOMAINS, store.clone(), Selection::default())
    };
    let execute = mcpkg::DOMAINS.operations().find(|entry| entry.tool == "execute").expect("an operation");
    let workflow = text_of(STEPS);
    let [ours, reference] = in_turn(effort.samples(10) * effort.rounds, || {
        let begun = Instant::now();
        let call = execute.from_agent(json!({ "yaml": workflow })).expect("its arguments");
        let reply = call.run(&context).expect("the run").into_value();
        let ours = begun.elapsed();
        assert_eq!(reply["state"], "succeeded", "{reply}");
        [ours, by_hand(&store, &base)]
    });
    let (ours, reference) = (Value::Time(ours), Some(Value::Time(reference)));
    table.push(Row { what: RUN.to_owned(), ours, off: None, reference, bar: Bar::Times(1.3) });
}

/// Returns a workflow in which each step asks for the thing that the previous step returned.
fn text_of(steps: usize) -> String {
    let mut text = "workflow: chain\nsteps:\n".to_owned();
    for step in 0..steps {
        let thing = match step {
            0 => "seven".to_owned(),
            _ => format!("${{{{ steps.step_{}.output.id }}}}", step - 1),
        };
        text.push_str(&format!("  - id: step_{step}\n    run: api:things:info\n    with:\n      thing: {thing}\n"));
    }
    text
}

fn by_hand(store: &Store, base: &str) -> Duration {
    let begun = Instant::now();
    for _ in 0..STEPS {
        let outgoing = Outgoing {
            method: Method::GET,
            url: Url::parse(&format!("{base}/things/seven")).expect("a URL"),
            headers: HeaderMap::new(),
            body: Vec::new(),
        };
        let limits = Limits {
            until: Instant::now() + Duration::from_secs(30),
            cancelled: CancellationToken::new(),
            size: 1 << 20,
        };
        let rules = Rules { limits, reach: Reach::Anywhere, repeats: true };
        keep(store, "GET /things/{thing}").expect("a row");
        let answer = exchange(&outgoing, &rules).expect("an answer");
        keep(store, std::str::from_utf8(&answer.body).expect("a text")).expect("a row");
    }
    begun.elapsed()
}

/// Inserts a row and waits until it is on the disk.
pub fn keep(store: &Store, subject: &str) -> Result<()> {
    store.write(|db| {
        let event =
            NewEvent { at: 0, actor: "bench", project: None, kind: "execute", subject, outcome: "ok", session: None };
        events::append(db, event)
    })
}
