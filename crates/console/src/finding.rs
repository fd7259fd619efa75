//! Findings about a workflow's text, and the edits that fix them.

use serde_json::Value;

use crate::data::{count, rows, text, texts};
use crate::line::{Line, Tone};

/// The maximum number of findings to repeat above a question.
const REPEATED: usize = 20;

/// A mistake in a text, or advice about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub code: String,
    /// The JSON pointer of the value that the finding is about.
    pub pointer: String,
    /// The severity as the command that found it says: `error` or `warning` for a workflow; `critical`, `warning` or `note`
    /// for `mcpkg audit`.
    pub severity: &'static str,
    /// Whether the severity is `error` or `critical`.
    pub is_error: bool,
    pub message: String,
    pub hint: String,
    /// Explains a mismatch: the tags that the argument accepts and prefers, and the tags of the value. Otherwise empty.
    pub why: String,
    /// Lines and columns are counted from 1.
    pub line: usize,
    pub column: usize,
    pub end_line: usize,
    pub end_column: usize,
    pub fix: Option<Fix>,
}

/// An edit that resolves a finding. Lines and columns are counted from 1; columns count characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    pub line: usize,
    pub column: usize,
    pub end_line: usize,
    pub end_column: usize,
    pub text: String,
}

impl Finding {
    fn of(found: &Value) -> Self {
        let place = |name: &str| found[name].as_u64().and_then(|at| usize::try_from(at).ok()).unwrap_or(1);
        let (line, column) = (place("line"), place("column"));
        let end = |name, least| place(name).max(least);
        let fix = Fix::of(&found["fix"]);
        let is_error = text(found, "severity") == "error";
        let tags = |name| texts(&found["why"], name).join(", ");
        let why = match (tags("accepts"), text(&found["why"], "prefer"), tags("tags")) {
            (accepts, _, _) if accepts.is_empty() => String::new(),
            (accepts, "", tags) => format!("accepts {accepts}; this is {tags}"),
            (accepts, prefer, tags) => format!("accepts {accepts}; prefers {prefer}; this is {tags}"),
        };
        Self {
            code: text(found, "code").to_owned(),
            pointer: text(found, "path").to_owned(),
            severity: if is_error { "error" } else { "warning" },
            is_error,
            message: text(found, "message").to_owned(),
            hint: text(found, "hint").to_owned(),
            why,
            line,
            column,
            end_line: end("end_line", line),
            end_column: end("end_column", 1),
            fix,
        }
    }
}

impl Fix {
    /// Reads an edit from the fields `text` and `span` of an operation's data.
    pub fn of(data: &Value) -> Option<Self> {
        let place = |name: &str| data["span"][name].as_u64().and_then(|at| usize::try_from(at).ok());
        Some(Self {
            line: place("line")?,
            column: place("column")?,
            end_line: place("end_line")?,
            end_column: place("end_column")?,
            text: data["text"].as_str()?.to_owned(),
        })
    }

    /// Returns the text with the fix applied; `None` if the fix is for a position outside the text.
    pub fn apply(&self, text: &str) -> Option<String> {
        let (start, end) = (offset(text, self.line, self.column)?, offset(text, self.end_line, self.end_column)?);
        let (before, after) = (text.get(..start)?, text.get(end..)?);
        (start <= end).then(|| format!("{before}{}{after}", self.text))
    }
}

/// Returns the byte offset of a line and a column.
fn offset(text: &str, line: usize, column: usize) -> Option<usize> {
    let mut start = 0;
    for (at, found) in text.split_inclusive('\n').enumerate() {
        if at + 1 == line {
            let within = found.char_indices().map(|(offset, _)| offset).chain([found.len()]).nth(column - 1)?;
            return Some(start + within);
        }
        start += found.len();
    }
    (line == text.lines().count() + 1 && column == 1).then_some(start)
}

/// Returns the findings in an operation's data, errors first.
pub fn all(data: &Value) -> Vec<Finding> {
    let lists = ["errors", "findings", "warnings"].map(|name| rows(data, name));
    let mut found: Vec<Finding> =
        lists.into_iter().flatten().filter(|found| found.is_object()).map(Finding::of).collect();
    found.sort_by_key(|found| (!found.is_error, found.line, found.column));
    found
}

/// Returns a text such as `1 error, 4 warnings` or `no findings`.
pub fn counts(errors: u64, warnings: u64) -> String {
    match (errors, warnings) {
        (0, 0) => "no findings".to_owned(),
        (_, 0) => count(errors, "error"),
        (0, _) => count(warnings, "warning"),
        _ => format!("{}, {}", count(errors, "error"), count(warnings, "warning")),
    }
}

/// Counts findings by severity, the most serious first, such as `1 critical finding, 2 warnings`.
pub fn counted(findings: &[Finding]) -> String {
    let nouns = [("critical", "critical finding"), ("error", "error"), ("warning", "warning"), ("note", "note")];
    let numbers = nouns.map(|(severity, noun)| {
        let number = findings.iter().filter(|finding| finding.severity == severity).count();
        (number > 0).then(|| count(number as u64, noun))
    });
    match numbers.into_iter().flatten().collect::<Vec<_>>().join(", ") {
        none if none.is_empty() => "no findings".to_owned(),
        counted => counted,
    }
}

/// Returns the findings to repeat above the question whether to save a text, under a heading. Returns nothing if there
/// are none.
pub fn before_saving(findings: &[Finding]) -> Vec<Line> {
    if findings.is_empty() {
        return Vec::new();
    }
    let heading = Line::of(Tone::Warning, &format!("The text has {}:", counted(findings)));
    let line = |finding: &Finding| {
        let tone = if finding.is_error { Tone::Bad } else { Tone::Warning };
        Line::of(tone, finding.severity)
            .then(Tone::Dim, &format!(" line {}, column {}: ", finding.line, finding.column))
            .then(Tone::Plain, &finding.message)
            .stop()
    };
    let more = findings.len().saturating_sub(REPEATED);
    let more = (more > 0).then(|| Line::plain(&format!("and {more} more")));
    let lines = findings.iter().take(REPEATED).map(line);
    std::iter::once(heading).chain(lines).chain(more).chain([Line::blank()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fix_changes_only_its_span() {
        let fix = |column, end_column| Fix { line: 2, column, end_line: 2, end_column, text: "region".to_owned() };
        assert_eq!(fix(3, 9).apply("é\n  regoin: x\n").as_deref(), Some("é\n  region: x\n"));
        assert_eq!(fix(30, 40).apply("é\n  regoin: x\n"), None);
        assert_eq!(fix(9, 3).apply("é\n  regoin: x\n"), None);
    }
}
