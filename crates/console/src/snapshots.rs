//! Builds the screens of earlier deploys, and of what each of them changed.

use serde_json::Value;

use mcpkg_base::error::Result;
use mcpkg_core::op::Context;

use crate::action::{Action, Invocation};
use crate::data::{count, rows, text, time};
use crate::diff;
use crate::place::Place;
use crate::screen::{Line, List, Row, Screen, Span, Tone};
use crate::time::until;

/// Lists the deploys that a rollback can restore and, as the last row, the state before the first deploy.
pub fn screen(context: &Context) -> Result<Screen> {
    let data = Invocation::new("snapshot list").read(context)?;
    let now = context.clock.now();
    let row = |found: &Value| {
        let id = text(found, "id");
        Row {
            id: id.to_owned(),
            cells: vec![
                Span::new(Tone::Dim, &time(found, "created_at").map(|at| until(at, now)).unwrap_or_default()),
                Span::plain(text(found, "kind")),
                Span::plain(&count(found["files"].as_u64().unwrap_or_default(), "file")),
                Span::plain(text(found, "state")),
                Span::new(Tone::Name, text(found, "actor")),
            ],
            look: Some(Place::Snapshot(id.to_owned())),
            actions: vec![back(id)],
            is_heading: false,
        }
    };
    let mut list: Vec<Row> = rows(&data, "snapshots").iter().map(row).collect();
    if !list.is_empty() {
        let pristine = Invocation::new("rollback").option("--to", "pristine").destroying("pristine");
        list.push(Row {
            id: "pristine".to_owned(),
            cells: vec![Span::plain(""), Span::new(Tone::Bad, "pristine"), Span::plain("before the first deploy")],
            actions: vec![Action::call('b', "bring back", pristine)],
            ..Row::default()
        });
    }
    let list = List {
        columns: &["AT", "KIND", "FILES", "STATE", "BY"],
        rows: list,
        empty: "No deploys yet. The deploy screen makes the first one.",
        is_narrow: true,
        ..List::default()
    };
    Ok(Screen::list("Deploy > earlier deploys", list))
}

fn back(id: &str) -> Action {
    Action::call('b', "bring back", Invocation::new("rollback").option("--to", id))
}

pub fn snapshot(context: &Context, id: &str) -> Result<Screen> {
    let data = Invocation::new("snapshot diff").with(id).read(context)?;
    let files: String = rows(&data, "files").iter().map(|file| text(file, "unified")).collect();
    let diff = diff::parse(&files).named(["before the deploy", "after it"]);
    let head = if files.is_empty() { vec![Line::plain("It changed no file's text.")] } else { Vec::new() };
    Ok(Screen::diff(format!("Deploy > deploy {id}"), diff.under(head)).with([back(id)]))
}
