//! The screens of saved workflows, and the list of workflows, runs and drafts.

use serde_json::Value;

use mcpkg_base::error::Result;
use mcpkg_core::op::Context;

use crate::action::{Action, EDIT_OUTSIDE, Invocation};
use crate::data::{number, text, time};
use crate::figure::Figure;
use crate::pages;
use crate::place::{Part, Place, Text};
use crate::screen::{Line, List, Row, Screen, Span, Tone, quoted};
use crate::time::until;
use crate::{document, draft, editor, finding, graph, run, words};

/// The list loads one run for every ten workflows that it loads, because reading a run takes longer.
const RUNS: usize = 10;

/// The maximum number of rows that `workflow runs` returns in one call.
const PAGE_OF_RUNS: usize = 100;

pub fn screen(context: &Context, part: &Part) -> Result<Screen> {
    let listed = |words: &str, field, rows, page| pages::first(context, &Invocation::new(words), field, rows, page);
    let saved = listed("workflow list", "workflows", part.rows, part.rows)?;
    let runs = listed("workflow runs", "runs", part.rows / RUNS, PAGE_OF_RUNS)?;
    let drafts = listed("draft list", "drafts", part.rows, part.rows)?;
    let mut list = Vec::new();
    let mut section = |heading: &str, rows: Vec<Row>, has_more: bool, of: &str| {
        if !rows.is_empty() || has_more {
            list.push(Row::heading(heading));
            list.extend(rows);
            list.extend(has_more.then(|| pages::more(of)));
        }
    };
    let row = |id: String, sign: (&str, Tone), name: &str, more: Vec<Span>, look, actions| Row {
        id,
        cells: [Span::new(sign.1, sign.0), Span::new(Tone::Name, name)].into_iter().chain(more).collect(),
        look: Some(look),
        actions,
        is_heading: false,
    };
    let now = context.clock.now();
    section(
        "WORKFLOWS",
        saved
            .rows
            .iter()
            .map(|found| {
                let name = text(found, "name");
                let look = Place::Workflow(name.to_owned());
                row(format!("workflow {name}"), ("", Tone::Plain), name, Vec::new(), look, actions(name))
            })
            .collect(),
        saved.has_more,
        "workflows",
    );
    section(
        "RUNS",
        runs.rows
            .iter()
            .map(|found| {
                let (id, state) = (text(found, "run"), text(found, "state"));
                let at = time(found, "began_at").map(|at| until(at, now)).unwrap_or_default();
                let more = vec![Span::plain(state), Span::new(Tone::Dim, &at), Span::new(Tone::Dim, text(found, "by"))];
                let look = Place::Run(id.to_owned());
                let name = text(found, "name");
                row(format!("run {id}"), words::sign(state), name, more, look, run::actions(id, state))
            })
            .collect(),
        runs.has_more,
        "runs",
    );
    section(
        "DRAFTS",
        drafts
            .rows
            .iter()
            .map(|found: &Value| {
                let id = text(found, "id");
                let findings = finding::counts(number(found, "errors"), number(found, "warnings_found"));
                let more = vec![Span::plain(&format!("{}, {findings}", text(found, "state")))];
                let look = Place::Draft(id.to_owned());
                let name = text(found, "workflow");
                row(format!("draft {id}"), ("", Tone::Plain), name, more, look, draft::actions(found))
            })
            .collect(),
        drafts.has_more,
        "drafts",
    );
    let title = pages::titled("Workflows", &list);
    let list = List {
        columns: &[],
        rows: list,
        empty: "No workflows yet. {+} writes one, {@} asks your agent for one.",
        is_narrow: true,
        ..List::default()
    };
    let new = Action::open('+', "new", Place::Editor(Text::Empty));
    let ask = Action::open('@', "ask your agent", Place::Ask(None));
    Ok(Screen::list(title, list).with([new, ask]))
}

fn actions(name: &str) -> Vec<Action> {
    vec![
        Action::open('e', "edit", Place::Editor(Text::Workflow(name.to_owned()))),
        Action::call('r', "run", Invocation::new("workflow run").with(name)),
        Action::open('p', "plan", Place::Plan(name.to_owned())),
        Action::open('t', "history", Place::History("workflow".to_owned(), name.to_owned())),
        Action::call(
            'D',
            "delete",
            Invocation::new("workflow delete").with(name).destroying(name).asking(format!("Delete workflow {name}?")),
        ),
        Action::call('E', EDIT_OUTSIDE, Invocation::new("workflow edit").with(name)),
    ]
}

pub fn workflow(context: &Context, name: &str) -> Result<Screen> {
    let data = Invocation::new("workflow show").with(name).read(context)?;
    let graph = graph::read(context, text(&data, "yaml"), Some(name));
    let mut lines = graph.lines();
    if !lines.is_empty() {
        lines.push(Line::blank());
    }
    lines.extend(quoted(text(&data, "yaml")));
    let found = document::validated(context, text(&data, "yaml"))?;
    if !found.is_empty() {
        lines.push(Line::blank());
        lines.extend(found.iter().map(editor::line));
    }
    let title = format!("Workflows > {name}, revision {}", number(&data, "revision"));
    let ask = Action::open('@', "ask your agent", Place::Ask(Some(Text::Workflow(name.to_owned()))));
    Ok(Screen::text(title, lines).with(actions(name)).with([ask]).figures(Figure::of_graph(graph, 0)))
}

/// Shows the plan of a saved workflow.
pub fn plan(context: &Context, name: &str) -> Result<Screen> {
    let data = Invocation::new("workflow show").with(name).read(context)?;
    let lines = editor::plan(context, text(&data, "yaml"));
    Ok(Screen::text(format!("Workflows > {name}: what it would do"), lines).with(actions(name)))
}
