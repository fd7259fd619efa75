//! The panel in which you ask your agent for a workflow: a form for `mcpkg ask`, and rows for what the agent does.

use serde_json::Value;

use mcpkg_base::clock::Millis;
use mcpkg_base::error::Result;
use mcpkg_core::op::{Context, Reply};

use crate::action::Invocation;
use crate::data::{rows, text, time};
use crate::form::Form;
use crate::place::{Place, Text};
use crate::screen::{Body, Row, Screen, Span, Tone};
use crate::time::exact;

/// The words of the command that the panel runs.
pub const WORDS: &str = "ask";

/// Returns the form. `about` is the workflow or draft to change; without it, the agent makes a new workflow.
pub fn screen(context: &Context, about: Option<&Text>) -> Result<Screen> {
    let mut form = Form::of(context, WORDS)?;
    let installed = installed(context);
    for field in &mut form.fields {
        match (field.name.as_str(), about) {
            ("--agent", _) => {
                field.value = installed.first().cloned().unwrap_or_default();
                field.values.retain(|name| installed.contains(name));
            }
            ("--timeout", _) => "10m".clone_into(&mut field.value),
            ("--workflow", Some(Text::Workflow(name))) => name.clone_into(&mut field.value),
            ("--draft", Some(Text::Draft(id))) => id.clone_into(&mut field.value),
            _ => {}
        }
    }
    // Without a workflow or draft to change, hide the options that name one.
    form.fields.retain(|field| !matches!(field.name.as_str(), "--workflow" | "--draft") || !field.value.is_empty());
    let of = match about {
        Some(Text::Workflow(name)) => format!(" {name} >"),
        Some(Text::Draft(_)) => " draft >".to_owned(),
        Some(Text::Empty) | None => String::new(),
    };
    let title = format!("Workflows >{of} Ask your agent");
    Ok(Screen::of(title, Body::Form(form)))
}

/// Returns the names of the agents that can be asked.
fn installed(context: &Context) -> Vec<String> {
    let Ok(data) = Invocation::new("client list").read(context) else { return Vec::new() };
    let can = rows(&data, "clients").iter().filter(|agent| agent["can_be_asked"] == true);
    can.map(|agent| text(agent, "agent").to_owned()).collect()
}

/// Returns a row for each line that the agent reported, such as `12:48:03  search_commands: 665 bytes`. The ids of the
/// rows are numbers that start at `first`.
pub fn reported(reply: &Reply, first: usize, now: Millis) -> Vec<Row> {
    let lines = rows(&reply.data, "progress").iter().flat_map(|item| lines(item, now));
    lines.enumerate().map(|(at, row)| Row { id: (first + at).to_string(), ..row }).collect()
}

fn lines(item: &Value, now: Millis) -> Vec<Row> {
    let at = time(item, "at").map(|at| exact(at, now)).unwrap_or_default();
    let draft = text(&item["draft"], "id");
    let look = (!draft.is_empty()).then(|| Place::DraftDiff(draft.to_owned(), Vec::new()));
    let tone = match (text(item, "kind"), text(item, "outcome")) {
        ("call", "ok") => Tone::Plain,
        ("call", _) => Tone::Bad,
        _ => Tone::Strong,
    };
    let row = |(line, text): (usize, &str)| {
        let at = if line == 0 { at.as_str() } else { "" };
        let cells = vec![Span::new(Tone::Dim, &format!("{at:8}")), Span::new(tone, text)];
        Row { cells, look: look.clone().filter(|_| line == 0), ..Row::default() }
    };
    text(item, "shown").lines().enumerate().map(row).collect()
}

/// Returns the screens of the drafts that a run has proposed so far.
pub fn drafts(rows: &[Row]) -> Vec<Place> {
    rows.iter().filter_map(|row| row.look.clone()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn calls_and_texts_become_rows_and_a_draft_opens() {
        let items = json!([
            { "kind": "call", "tool": "propose_workflow", "outcome": "ok", "shown": "propose_workflow: draft 1 of app",
              "draft": { "id": "d1", "workflow": "app" }, "at": "2026-11-28T12:48:09Z" },
            { "kind": "text", "shown": "I made it.\n\u{1b}[2JApproved", "at": "2026-11-28T12:48:10Z" },
        ]);
        let found = reported(&Reply::sentence("", json!({ "progress": items })), 3, 1_795_870_000_000);
        let shown: Vec<String> =
            found.iter().map(|row| row.cells.iter().map(Span::text).collect::<Vec<_>>().join(" ")).collect();
        assert!(shown[0].ends_with("propose_workflow: draft 1 of app"), "{shown:?}");
        assert_eq!(shown[2].trim_start(), "^[[2JApproved");
        assert_eq!((found.len(), found[2].id.as_str()), (3, "5"));
        assert_eq!(drafts(&found), [Place::DraftDiff("d1".to_owned(), Vec::new())]);
    }
}
