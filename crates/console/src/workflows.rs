//! The screens of saved workflows, and the list of workflows, runs and drafts.

use serde_json::Value;

use mcpkg_base::error::Result;
use mcpkg_core::op::Context;

use crate::action::{Action, Invocation};
use crate::data::{number, rows, text};
use crate::place::{Place, Text};
use crate::screen::{Line, List, Row, Screen, Span, Tone, quoted};
use crate::{document, draft, editor, finding, run};

pub fn screen(context: &Context) -> Result<Screen> {
    let saved = Invocation::new("workflow list").read(context)?;
    let runs = Invocation::new("workflow runs").read(context)?;
    let drafts = Invocation::new("draft list").read(context)?;
    let mut list = Vec::new();
    let mut section = |heading: &str, rows: Vec<Row>| {
        if !rows.is_empty() {
            list.push(Row::heading(heading));
            list.extend(rows);
        }
    };
    let row = |id: String, sign: (&str, Tone), name: &str, look, actions| Row {
        id,
        cells: vec![Span::new(sign.1, sign.0), Span::plain(name)],
        look: Some(look),
        actions,
        is_heading: false,
    };
    section(
        "WORKFLOWS",
        rows(&saved, "workflows")
            .iter()
            .map(|found| {
                let name = text(found, "name");
                let look = Place::Workflow(name.to_owned());
                row(format!("workflow {name}"), ("", Tone::Plain), name, look, actions(name))
            })
            .collect(),
    );
    section(
        "RUNS",
        rows(&runs, "runs")
            .iter()
            .map(|found| {
                let (id, state) = (text(found, "run"), text(found, "state"));
                let name = format!("{}  {state}", text(found, "name"));
                let look = Place::Run(id.to_owned());
                row(format!("run {id}"), run::sign(state), &name, look, run::actions(id, state))
            })
            .collect(),
    );
    section(
        "DRAFTS",
        rows(&drafts, "drafts")
            .iter()
            .map(|found: &Value| {
                let id = text(found, "id");
                let findings = finding::counts(number(found, "errors"), number(found, "warnings_found"));
                let name = format!("{}  {}, {findings}", text(found, "workflow"), text(found, "state"));
                let look = Place::Draft(id.to_owned());
                row(format!("draft {id}"), ("", Tone::Plain), &name, look, draft::actions(found))
            })
            .collect(),
    );
    let list = List {
        columns: &[],
        rows: list,
        empty: "No workflows yet. + writes one, @ asks your agent for one.",
        is_narrow: true,
    };
    let new = Action::open('+', "new", Place::Editor(Text::Empty));
    let ask = Action::open('@', "ask your agent", Place::Ask(None));
    Ok(Screen::list("Workflows", list).with([new, ask]))
}

fn actions(name: &str) -> Vec<Action> {
    vec![
        Action::open('e', "edit", Place::Editor(Text::Workflow(name.to_owned()))),
        Action::call('E', "edit", Invocation::new("workflow edit").with(name)),
        Action::call('r', "run", Invocation::new("workflow run").with(name)),
        Action::open('t', "trail", Place::History("workflow".to_owned(), name.to_owned())),
        Action::call(
            'D',
            "delete",
            Invocation::new("workflow delete").with(name).destroying(name).asking(format!("Delete workflow {name}?")),
        ),
    ]
}

pub fn workflow(context: &Context, name: &str) -> Result<Screen> {
    let data = Invocation::new("workflow show").with(name).read(context)?;
    let mut lines: Vec<Line> = quoted(text(&data, "yaml")).collect();
    let found = document::validated(context, text(&data, "yaml"))?;
    if !found.is_empty() {
        lines.push(Line::blank());
        lines.extend(found.iter().map(editor::line));
    }
    let title = format!("Workflows > {name}, revision {}", number(&data, "revision"));
    let ask = Action::open('@', "ask your agent", Place::Ask(Some(Text::Workflow(name.to_owned()))));
    Ok(Screen::text(title, lines).with(actions(name)).with([ask]))
}
