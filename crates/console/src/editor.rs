//! The panes of the editor: findings, the plan, and the diff that saving would make.

use serde_json::json;

use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::Context;

use crate::action;
use crate::diff;
use crate::document::{Document, Finding};
use crate::place::Text;
use crate::reply;
use crate::screen::{Body, Line, Screen, Tone};

/// Returns the line that shows a finding, such as `E 13:26 there is no input regoin (did you mean region?)`.
pub fn line(finding: &Finding) -> Line {
    let (sign, tone) = if finding.is_error { ("E", Tone::Bad) } else { ("w", Tone::Warning) };
    let line = Line::of(tone, sign)
        .then(Tone::Dim, &format!(" {}:{} ", finding.line, finding.column))
        .then(Tone::Plain, &finding.message);
    let line = match (&finding.fix, finding.hint.as_str()) {
        (Some(fix), _) => line.then(Tone::Good, &format!("  f fixes it: {}", fix.text)),
        (None, "") => line,
        (None, hint) => line.then(Tone::Dim, &format!("  ({hint})")),
    };
    line.stop()
}

/// Plans a text with `workflow plan`.
pub fn plan(context: &Context, written: &str) -> Vec<Line> {
    let found = action::entry(context.domains, "workflow plan")
        .ok_or_else(|| Error::new(Code::NotFound, "This build cannot plan workflows"))
        .and_then(|entry| entry.from_agent(json!({ "yaml": written })))
        .and_then(|call| call.run(context));
    match found {
        Ok(found) => reply::lines(&found),
        Err(error) => reply::error(&error),
    }
}

/// Returns the diff between the saved text and `written`.
pub fn difference(document: &Document, written: &str) -> Vec<Line> {
    let unified = similar::TextDiff::from_lines(document.saved.as_str(), written)
        .unified_diff()
        .context_radius(3)
        .header(&format!("{} (saved)", document.name), &format!("{} (edited)", document.name))
        .to_string();
    match unified.is_empty() {
        true => vec![Line::plain("Nothing changed.")],
        false => diff::lines(&unified),
    }
}

pub fn screen(context: &Context, origin: &Text) -> Result<Screen> {
    let document = Document::open(context, origin)?;
    let title = match document.by.as_str() {
        "" => format!("Workflows > {}", document.name),
        by => format!("Workflows > {} (draft of {by})", document.name),
    };
    Ok(Screen { title, body: Body::Editor(Box::new(document)), actions: Vec::new(), views: &[] })
}
