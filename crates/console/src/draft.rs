//! The screens of workflow drafts, which agents propose.

use serde_json::Value;

use mcpkg_base::error::Result;
use mcpkg_core::op::Context;

use crate::action::{Action, EDIT_OUTSIDE, Invocation};
use crate::data::{number, text, texts};
use crate::diff::{self as diffs, three};
use crate::editor;
use crate::figure::Figure;
use crate::finding;
use crate::graph;
use crate::place::{Place, Text};
use crate::proposal;
use crate::reviewed::is_reviewed;
use crate::screen::{Line, Screen, Tone, quoted};

pub fn screen(context: &Context, id: &str) -> Result<Screen> {
    let data = Invocation::new("draft show").with(id).read(context)?;
    let found = finding::all(&data);
    let mut lines = vec![
        Line::of(Tone::Name, text(&data, "proposed_by"))
            .then(Tone::Plain, " proposes ")
            .then(Tone::Strong, text(&data, "workflow"))
            .then(Tone::Plain, &format!("  {}", text(&data, "state"))),
    ];
    lines.extend(quoted(text(&data, "message")));
    lines.push(Line::blank());
    lines.extend(found.iter().map(editor::line));
    if !found.is_empty() {
        lines.push(Line::blank());
    }
    lines.extend(quoted(text(&data, "yaml")));
    let graph = graph::read(context, text(&data, "yaml"), None);
    if !graph.steps.is_empty() {
        lines.push(Line::blank());
    }
    let at = lines.len();
    lines.extend(graph.lines());
    let title = format!(
        "Inbox > draft {}    {}",
        text(&data, "workflow"),
        finding::counts(number(&data, "errors"), number(&data, "warnings_found"))
    );
    Ok(Screen::text(title, lines).with(actions(&data)).figures(Figure::of_graph(graph, at)))
}

/// Returns the actions for a draft that is open or stale. Other drafts have none.
pub fn actions(data: &Value) -> Vec<Action> {
    let (id, name) = (text(data, "id"), text(data, "workflow"));
    if !matches!(text(data, "state"), "open" | "stale") {
        return Vec::new();
    }
    vec![
        Action::open('e', "edit", Place::Editor(Text::Draft(id.to_owned()))),
        // `draft approve` shows the draft and asks by itself.
        Action::call('a', "approve", Invocation::new("draft approve").with(id)),
        Action::call('d', "reject", Invocation::new("draft reject").with(id).asking(format!("Reject draft {name}?"))),
        Action::open('t', "what changes", Place::DraftDiff(id.to_owned(), Vec::new())),
        Action::note(),
        Action::call('E', EDIT_OUTSIDE, Invocation::new("draft edit").with(id)),
    ]
}

/// Shows what a draft would change in the saved workflow. If the draft is stale, because the workflow changed after the
/// draft was made, shows three texts: the revision that the draft is based on, the workflow now, and the draft.
pub fn diff(context: &Context, id: &str, out: &[usize]) -> Result<Screen> {
    let draft = Invocation::new("draft show").with(id).read(context)?;
    let (name, written) = (text(&draft, "workflow"), text(&draft, "yaml"));
    let title = format!("Workflows > draft {name}: what changes");
    let base = draft["base_revision"].as_u64();
    if text(&draft, "state") == "stale" {
        let revision = |number: Option<u64>| {
            let show = Invocation::new("workflow show").with(name);
            let show = number.map_or(show.clone(), |number| show.option("--revision", &number.to_string()));
            show.read(context).map(|data| (text(&data, "yaml").to_owned(), number_of(&data))).unwrap_or_default()
        };
        let (old, now) = (base.map(|base| revision(Some(base)).0).unwrap_or_default(), revision(None));
        let line = "The workflow changed since the draft was made, so the draft cannot be approved. Edit it to go on";
        let head = vec![Line::of(Tone::Warning, "WARNING ").then(Tone::Plain, line), Line::blank()];
        let sides = [base.map_or("(nothing)".to_owned(), |base| format!("revision {base}")), now.1, "draft".to_owned()];
        let screen = Screen::diff(title, three(&old, &now.0, written, sides).under(head));
        return Ok(screen.with(actions(&draft).into_iter().filter(|action| !matches!(action.key, 'a' | 't'))));
    }
    let data = Invocation::new("draft diff").with(id).read(context)?;
    let mut head: Vec<Line> = texts(&data, "summary").into_iter().map(Line::quoted).collect();
    if !head.is_empty() {
        head.push(Line::blank());
    }
    let unified = text(&data, "diff");
    let mut diff = diffs::parse(unified).with_text(written, 1).named(["saved", "draft"]).under(head);
    let mut found = actions(&draft);
    found.retain(|action| action.key != 't');
    // A new workflow can only be approved as a whole.
    if base.is_some() && !found.is_empty() && diff.hunks() > 1 {
        let chosen = diff.chosen(out);
        let approve = Invocation::new("draft approve").with(id);
        let approve = proposal::in_part(approve, &proposal::hunks(&diff, &chosen));
        found.retain(|action| action.key != 'a');
        if !chosen.is_empty() {
            found.insert(0, Action::call('a', "approve", approve));
        }
        diff = diff.choosing(out, |out| Place::DraftDiff(id.to_owned(), out));
    }
    let title = diffs::titled(title, is_reviewed(context, unified));
    Ok(Screen::diff(title, diff).with(found).with(diffs::review(unified)))
}

fn number_of(data: &Value) -> String {
    format!("revision {} (now)", number(data, "revision"))
}
