//! A workflow or draft in the editor: its text, findings, fixes and suggested values, and how to save it.

use serde_json::{Value, json};

use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Context, Reply};

use crate::action::{self, Invocation};
use crate::data::{rows, text, texts};
use crate::place::Text;

/// The text that a new workflow begins with.
const NEW: &str = "workflow: new_workflow\ninputs: {}\nsteps:\n  - id: first\n    run: \n    with: {}\n";

/// A text that an editor opens.
#[derive(Clone, Debug)]
pub struct Document {
    pub origin: Text,
    pub name: String,
    /// The agent that proposed it; empty if the text is the user's own.
    pub by: String,
    pub text: String,
    /// The text of the saved workflow that the edited one will replace.
    pub saved: String,
    pub findings: Vec<Finding>,
}

/// A mistake in a text, or advice about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub code: String,
    pub is_error: bool,
    pub message: String,
    pub hint: String,
    /// Explains a mismatch: the tags that the argument accepts and prefers, and the tags of the value.
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
        let place = |data: &Value, name: &str| data[name].as_u64().and_then(|at| usize::try_from(at).ok()).unwrap_or(1);
        let (line, column) = (place(found, "line"), place(found, "column"));
        let end = |name, least| place(found, name).max(least);
        let fix = found.get("fix").filter(|fix| fix.is_object()).map(|fix| Fix {
            line: place(&fix["span"], "line"),
            column: place(&fix["span"], "column"),
            end_line: place(&fix["span"], "end_line"),
            end_column: place(&fix["span"], "end_column"),
            text: text(fix, "text").to_owned(),
        });
        let tags = |name| texts(&found["why"], name).join(", ");
        let why = match (tags("accepts"), text(&found["why"], "prefer"), tags("tags")) {
            (accepts, _, _) if accepts.is_empty() => String::new(),
            (accepts, "", tags) => format!("accepts {accepts}; this is {tags}"),
            (accepts, prefer, tags) => format!("accepts {accepts}; prefers {prefer}; this is {tags}"),
        };
        Self {
            code: text(found, "code").to_owned(),
            is_error: text(found, "severity") == "error",
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
    /// Returns the text with the fix applied; `None` if the text no longer has that position.
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
pub fn findings_of(data: &Value) -> Vec<Finding> {
    let lists = ["errors", "findings", "warnings"].map(|name| rows(data, name));
    let mut found: Vec<Finding> =
        lists.into_iter().flatten().filter(|found| found.is_object()).map(Finding::of).collect();
    found.sort_by_key(|found| (!found.is_error, found.line, found.column));
    found
}

/// Validates a text with `workflow validate`.
pub fn validated(context: &Context, written: &str) -> Result<Vec<Finding>> {
    match action::read(context, "workflow validate", json!({ "yaml": written })) {
        Ok(data) => Ok(findings_of(&data)),
        Err(error) => {
            let found = error.details().map(findings_of).unwrap_or_default();
            if found.is_empty() { Err(error) } else { Ok(found) }
        }
    }
}

/// Returns the values that fit at a position in the text: outputs of earlier steps, inputs, and providers.
pub fn picks(context: &Context, written: &str, line: usize, column: usize) -> Result<Vec<Pick>> {
    let data = action::read(context, "workflow suggest", json!({ "yaml": written, "line": line, "column": column }))?;
    let prefer = text(&data, "prefer");
    let argument = text(&data, "argument");
    let pick = |found: &Value| {
        let tags = texts(found, "tags");
        Pick {
            value: match text(found, "value") {
                "" => text(found, "id").to_owned(),
                value => value.to_owned(),
            },
            tags: tags.iter().map(|tag| format!("[{tag}]")).collect::<Vec<_>>().join(" "),
            why: text(found, "why").to_owned(),
            is_preferred: !prefer.is_empty() && tags.contains(&prefer),
            argument: argument.to_owned(),
        }
    };
    Ok(rows(&data, "values").iter().chain(rows(&data, "providers")).map(pick).collect())
}

/// A value that the field picker offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pick {
    pub value: String,
    pub tags: String,
    pub why: String,
    pub is_preferred: bool,
    /// The argument that takes it.
    pub argument: String,
}

impl Document {
    pub fn open(context: &Context, origin: &Text) -> Result<Self> {
        let (name, by, text) = match origin {
            Text::Draft(id) => {
                let data = Invocation::new("draft show").with(id).read(context)?;
                let field = |name| self::text(&data, name).to_owned();
                (field("workflow"), field("proposed_by"), field("yaml"))
            }
            Text::Workflow(name) => {
                let data = Invocation::new("workflow show").with(name).read(context)?;
                (name.clone(), String::new(), self::text(&data, "yaml").to_owned())
            }
            Text::Empty => ("new_workflow".to_owned(), String::new(), NEW.to_owned()),
        };
        let saved = Invocation::new("workflow show").with(&name).read(context);
        let saved = saved.map(|data| self::text(&data, "yaml").to_owned()).unwrap_or_default();
        let findings = validated(context, &text)?;
        Ok(Self { origin: origin.clone(), name, by, text, saved, findings })
    }

    /// Saves a text. A workflow gets a new revision; a draft gets the text and is approved.
    pub fn save(&self, context: &Context, written: &str) -> Result<Reply> {
        let failed = |error| Error::new(Code::FileFailed, format!("Cannot store the text for saving: {error}"));
        let folder = tempfile::Builder::new().prefix("mcpkg-").tempdir().map_err(failed)?;
        let file = folder.path().join("workflow.yaml");
        std::fs::write(&file, written).map_err(failed)?;
        let path = file.to_string_lossy();
        match &self.origin {
            Text::Draft(id) => {
                if written != self.text {
                    Invocation::new("draft edit").option("--from", &path).with(id).run(context)?;
                }
                Invocation::new("draft approve").with(id).run(context)
            }
            Text::Workflow(_) | Text::Empty => {
                Invocation::new("workflow import").flag("--update").with(path).run(context)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fix_changes_only_its_place() {
        let fix = |column, end_column| Fix { line: 2, column, end_line: 2, end_column, text: "region".to_owned() };
        assert_eq!(fix(3, 9).apply("é\n  regoin: x\n").as_deref(), Some("é\n  region: x\n"));
        assert_eq!(fix(30, 40).apply("é\n  regoin: x\n"), None);
        assert_eq!(fix(9, 3).apply("é\n  regoin: x\n"), None);
    }
}
