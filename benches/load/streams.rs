//! Opens many `subscriptions/listen` streams. Measures the memory that they need, and how soon a change reaches all of
//! them.

use std::time::{Duration, Instant};

use mcpkg_base::clock::Clock;
use mcpkg_store::Store;

use crate::data::{self, Data};
use crate::table::{Bar, Row, Table, Value, median};
use crate::web::Web;

const STREAMS: usize = 1000;
const MEMORY: &str = "1000 open listen streams: resident";
const REACHED: &str = "a change reaches 1000 streams, against one: median";

/// Runs this file's measurements, and adds a row to the table for each.
pub fn measure(data: &Data, quick: bool, table: &mut Table) {
    if !table.wants(MEMORY) && !table.wants(REACHED) {
        return;
    }
    let changes = if quick { 10 } else { 50 };
    let database = data.empty("streams.db");
    let (store, clock) = (Store::open(&database).expect("the database opens"), Clock::system());
    let [one, all] = [Web::serve(&database), Web::serve(&database)];
    let mut listeners = [&one, &all].map(|web| vec![web.connect().listen()]);
    listeners[1].extend((1..STREAMS).map(|_| all.connect().listen()));
    let opened = all.resident();
    let mut times = [Vec::new(), Vec::new()];
    for change in 0..changes {
        // The servers check for commits every few milliseconds. Commit at varying moments between two checks.
        std::thread::sleep(Duration::from_micros(20_000 + (change * 7_919) % 20_000));
        for (which, name) in ["one", "all"].into_iter().enumerate() {
            data::create(&store, &clock, &format!("{name}-{change}"), None, "x").expect("the prompt can be written");
            let start = Instant::now();
            let heard = |listener: &mut crate::web::Listener| listener.hear("notifications/prompts/list_changed");
            listeners[which].iter_mut().for_each(heard);
            times[which].push(start.elapsed());
            // Both servers report each change, so also read the notification of the other server.
            listeners[1 - which].iter_mut().for_each(heard);
        }
    }
    table.push(Row {
        what: MEMORY.to_owned(),
        ours: Value::Memory(opened.max(all.resident())),
        off: None,
        reference: Some(Value::Memory(one.resident())),
        bar: Bar::Bytes(100 << 20),
    });
    let [one, all] = times.each_mut().map(|times| Value::Time(median(times)));
    table.push(Row { what: REACHED.to_owned(), ours: all, off: None, reference: Some(one), bar: Bar::Times(20.0) });
}
