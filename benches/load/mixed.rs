//! Measures clients that send the next read as soon as the last one is answered. Phases in which nobody writes
//! alternate with phases in which others write at a fixed rate.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use mcpkg_store::projects::{self, Selection};
use mcpkg_store::{Store, blobs, prompts};
use serde_json::{Value as Json, json};

use crate::data::{self, Data};
use crate::table::{Bar, Row, Table, Value, median};
use crate::web::{Web, in_session, stateless};

const READERS: usize = 32;
const WRITERS: usize = 4;

/// The time between two writes of one writer. All writers together write a hundred times a second.
const PACE: Duration = Duration::from_millis(40);

const P50: &str = "32 clients read while 4 write: p50 of reads, against alone";
const FAILED: &str = "32 clients read while 4 write: failed requests";
const LOST: &str = "32 clients read while 4 write: lost writes";

/// The value of the phase that ends the benchmark.
const OVER: usize = usize::MAX;

/// The observations of a reader.
#[derive(Default)]
struct Seen {
    /// The nanoseconds until each answer, by phase. Nobody writes in even-numbered phases.
    times: Vec<Vec<u32>>,
    failed: usize,
}

/// The results that a writer received.
#[derive(Default)]
struct Written {
    acknowledged: Vec<(String, String)>,
    failed: usize,
}

/// Runs this file's measurements, and adds a row to the table for each.
pub fn measure(data: &Data, quick: bool, table: &mut Table) {
    if ![P50, FAILED, LOST].iter().any(|row| table.wants(row)) {
        return;
    }
    // Phases with and without writers alternate, so that a busy machine slows both equally. In a full run, the phases
    // with writers take a minute in total.
    let (rounds, alone, both) = if quick { (2, 1, 2) } else { (6, 5, 10) };
    let web = Web::serve(&data.usual());
    let phase = AtomicUsize::new(0);
    let (seen, written) = thread::scope(|scope| {
        let readers: Vec<_> = (0..READERS)
            .map(|n| {
                scope.spawn({
                    let (web, phase) = (&web, &phase);
                    move || read(web, phase, n, 2 * rounds)
                })
            })
            .collect();
        let writers: Vec<_> = (0..WRITERS)
            .map(|n| {
                scope.spawn({
                    let (web, phase) = (&web, &phase);
                    move || write(web, phase, n)
                })
            })
            .collect();
        for now in 0..2 * rounds {
            phase.store(now, Ordering::SeqCst);
            thread::sleep(Duration::from_secs(if now % 2 == 0 { alone } else { both }));
        }
        phase.store(OVER, Ordering::SeqCst);
        let seen: Vec<Seen> = readers.into_iter().map(|reader| reader.join().expect("a reader ends")).collect();
        let written: Vec<Written> = writers.into_iter().map(|writer| writer.join().expect("a writer ends")).collect();
        (seen, written)
    });
    drop(web);

    let mut p50 = [Vec::new(), Vec::new()];
    for now in 0..2 * rounds {
        let mut times: Vec<u32> = seen.iter().flat_map(|seen| &seen.times[now]).copied().collect();
        p50[now % 2].push(median(&mut times));
    }
    let [alone, both] = p50.each_mut().map(|times| Value::Time(Duration::from_nanos(median(times).into())));
    let row = |what: &str, ours, reference, bar| Row { what: what.to_owned(), ours, off: None, reference, bar };
    let failed = seen.iter().map(|seen| seen.failed).chain(written.iter().map(|written| written.failed)).sum();
    let reads: usize = seen.iter().flat_map(|seen| &seen.times).map(Vec::len).sum();
    let writes: usize = written.iter().map(|written| written.acknowledged.len()).sum();
    println!("{READERS} clients made {reads} reads, {WRITERS} made {writes} writes");
    table.push(row(P50, both, Some(alone), Bar::Times(2.0)));
    table.push(row(FAILED, Value::Count(failed), None, Bar::Never));
    table.push(row(LOST, Value::Count(lost(data, &written)), None, Bar::Never));
}

/// Sends one read after another, none twice in a row. Every second client uses a session.
fn read(web: &Web, phase: &AtomicUsize, n: usize, phases: usize) -> Seen {
    let mut connection = web.connect();
    let session = (n % 2 == 1).then(|| connection.session());
    let request = |method: &str, parameters: Json| match &session {
        None => stateless(method, parameters),
        Some(session) => in_session(session, method, parameters),
    };
    let mut requests: Vec<Vec<u8>> =
        (0..100).map(|prompt| request("prompts/get", json!({ "name": data::prompt(prompt) }))).collect();
    requests
        .extend((0..100).map(|doc| request("resources/read", json!({ "uri": data::uri(&format!("doc-{doc:03}")) }))));
    requests.push(request("prompts/list", json!({})));
    let mut seen = Seen { times: vec![Vec::new(); phases], failed: 0 };
    for next in (n..).step_by(7) {
        let start = Instant::now();
        let now = phase.load(Ordering::Relaxed);
        if now == OVER {
            return seen;
        }
        match connection.ask(&requests[next % requests.len()]) {
            Ok(answer) if answer.status == 200 && answer.body.starts_with(br#"{"jsonrpc":"2.0","id":1,"result":"#) => {
                seen.times[now].push(u32::try_from(start.elapsed().as_nanos()).unwrap_or(u32::MAX));
            }
            Ok(answer) => {
                eprintln!("a read failed: {} {}", answer.status, String::from_utf8_lossy(answer.body));
                seen.failed += 1;
            }
            Err(error) => {
                eprintln!("a read failed: {error}");
                seen.failed += 1;
                connection = web.connect();
            }
        }
    }
    seen
}

/// Creates and then changes prompts, over and over, in odd-numbered phases.
fn write(web: &Web, phase: &AtomicUsize, n: usize) -> Written {
    let mut connection = web.connect();
    let session = (n % 2 == 1).then(|| connection.session());
    let mut written = Written::default();
    let mut due = Instant::now();
    for number in 0_usize.. {
        while phase.load(Ordering::Relaxed).is_multiple_of(2) {
            thread::sleep(Duration::from_millis(1));
            due = Instant::now();
        }
        if phase.load(Ordering::Relaxed) == OVER {
            break;
        }
        thread::sleep(due.saturating_duration_since(Instant::now()));
        due += PACE;
        let (tool, content) = match number % 2 {
            0 => ("create_prompt", format!("first {n} {number}")),
            _ => ("update_prompt", format!("second {n} {number}")),
        };
        let name = format!("load-{n}-{}", number / 2);
        let parameters = json!({ "name": tool, "arguments": { "name": name, "content": content } });
        let request = match &session {
            None => stateless("tools/call", parameters),
            Some(session) => in_session(session, "tools/call", parameters),
        };
        match connection.ask(&request) {
            Ok(answer) if memchr::memmem::find(answer.body, br#""isError":false"#).is_some() => {
                written.acknowledged.push((name, content));
            }
            Ok(answer) => {
                eprintln!("a write failed: {} {}", answer.status, String::from_utf8_lossy(answer.body));
                written.failed += 1;
            }
            Err(error) => {
                eprintln!("a write failed: {error}");
                written.failed += 1;
                connection = web.connect();
            }
        }
    }
    written
}

/// Returns how many prompts do not have the content of their last acknowledged write.
fn lost(data: &Data, written: &[Written]) -> usize {
    let store = Store::open(&data.usual()).expect("the database opens");
    let kept = store.read(|db| {
        let project = projects::require(db, &Selection::default())?;
        let mut kept = 0;
        for written in written {
            for (at, (name, content)) in written.acknowledged.iter().enumerate() {
                let changed = written.acknowledged.get(at + 1).is_some_and(|(next, _)| next == name);
                let prompt = prompts::find(db, project.id, name)?;
                let there = prompt.map(|prompt| blobs::get(db, prompt.blob)).transpose()?;
                kept += usize::from(changed || there.is_some_and(|there| there == content.as_bytes()));
            }
        }
        Ok(kept)
    });
    written.iter().map(|written| written.acknowledged.len()).sum::<usize>() - kept.expect("the database can be read")
}
