//! The screens of workflow drafts, which agents propose.

use serde_json::Value;

use mcpkg_base::error::Result;
use mcpkg_core::op::Context;

use crate::action::{Action, Invocation};
use crate::data::{number, rows, text, texts};
use crate::diff as diffs;
use crate::editor;
use crate::finding;
use crate::place::{Place, Text};
use crate::screen::{Line, Screen, Tone, quoted};

pub fn screen(context: &Context, id: &str) -> Result<Screen> {
    let data = Invocation::new("draft show").with(id).read(context)?;
    let found = finding::all(&data);
    let mut lines = vec![
        Line::of(Tone::Name, text(&data, "proposed_by"))
            .then(Tone::Plain, " proposes ")
            .then(Tone::Strong, text(&data, "workflow"))
            .then(Tone::Plain, &format!("  {}", text(&data, "state"))),
        Line::blank(),
    ];
    lines.extend(found.iter().map(editor::line));
    if !found.is_empty() {
        lines.push(Line::blank());
    }
    lines.extend(quoted(text(&data, "yaml")));
    let title = format!(
        "Inbox > draft {}    {}",
        text(&data, "workflow"),
        finding::counts(number(&data, "errors"), number(&data, "warnings_found"))
    );
    Ok(Screen::text(title, lines).with(actions(&data)))
}

/// Returns the actions for a draft that is not decided yet.
pub fn actions(data: &Value) -> Vec<Action> {
    let (id, name) = (text(data, "id"), text(data, "workflow"));
    if !matches!(text(data, "state"), "open" | "stale") {
        return Vec::new();
    }
    vec![
        Action::open('e', "edit", Place::Editor(Text::Draft(id.to_owned()))),
        Action::open('t', "what changes", Place::DraftDiff(id.to_owned())),
        Action::call(
            'a',
            "approve",
            Invocation::new("draft approve").with(id).asking(format!("Save draft {name} as a workflow?")),
        ),
        Action::call('d', "reject", Invocation::new("draft reject").with(id)),
        Action::note(),
    ]
}

/// Shows what a draft would change in the saved workflow.
pub fn diff(context: &Context, id: &str) -> Result<Screen> {
    let data = Invocation::new("draft diff").with(id).read(context)?;
    let mut lines: Vec<Line> = texts(&data, "changes").into_iter().map(Line::quoted).collect();
    lines.extend(
        rows(&data, "changes")
            .iter()
            .filter(|change| change.is_object())
            .map(|change| Line::quoted(&change["message"].as_str().map_or_else(|| change.to_string(), str::to_owned))),
    );
    if !lines.is_empty() {
        lines.push(Line::blank());
    }
    lines.extend(diffs::lines(text(&data, "diff")));
    let title = format!("Workflows > draft {}: what changes", text(&data, "workflow"));
    let actions = actions(&data).into_iter().filter(|action| action.key != 't');
    Ok(Screen::text(title, lines).with(actions))
}
