//! The errors and warnings about a manifest, with their positions.

use serde::Serialize;
use serde_json::json;

use super::node::Place;
use mcpkg_base::error::{Code, Error};

/// An error or a warning about a manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The JSON Pointer of the field; empty for the whole manifest.
    pub path: String,
    /// The message, without a final period.
    pub message: String,
    pub code: Kind,
    pub file: String,
    /// The line, from 1; 0 if the manifest came as JSON.
    pub line: u64,
    /// The column, from 1; 0 if the manifest came as JSON.
    pub column: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The file cannot be read as a manifest: it is too large, empty, not UTF-8, not valid YAML, not a mapping, or
    /// Markdown without complete front matter.
    Malformed,
    Missing,
    /// A field has the wrong type.
    Type,
    /// A field's value breaks a rule.
    Value,
    /// A command is malformed, or uses a parameter that its schema lacks.
    Command,
    /// A JSON Schema is malformed.
    Schema,
    /// A field that mcpkg does not know.
    Unknown,
    /// Valid, but probably not what the author wants.
    Advice,
}

#[derive(Debug, Default)]
pub(super) struct Problems {
    pub(super) errors: Vec<Problem>,
    pub(super) warnings: Vec<Problem>,
}

impl Problems {
    pub(super) fn error(&mut self, path: &str, at: Place, code: Kind, message: impl Into<String>) {
        self.errors.push(Problem::new(path, at, code, message.into()));
    }

    pub(super) fn warn(&mut self, path: &str, at: Place, code: Kind, message: impl Into<String>) {
        self.warnings.push(Problem::new(path, at, code, message.into()));
    }
}

impl Problem {
    fn new(path: &str, at: Place, code: Kind, message: String) -> Self {
        Self { path: path.to_owned(), message, code, file: at.file.to_owned(), line: at.line, column: at.column }
    }

    /// Returns the problem as one line: position, field, and message.
    pub fn shown(&self) -> String {
        let field = self.path.trim_start_matches('/').replace('/', ".");
        let field = if field.is_empty() { field } else { format!("`{}`: ", field.escape_debug()) };
        match self.line {
            0 => format!("{}: {field}{}", self.file, self.message),
            line => format!("{}:{line}:{}: {field}{}", self.file, self.column, self.message),
        }
    }
}

/// How many unknown fields the error for an invalid manifest lists.
const NAMED: usize = 5;

/// Returns the error for an invalid manifest. It also lists unknown fields, since a missing field is often just
/// misspelled.
pub(super) fn refusal(errors: &[Problem], warnings: &[Problem]) -> Error {
    let message = match errors {
        [only] => format!("The manifest is invalid: {}", only.shown()),
        _ => {
            let lines: Vec<String> = errors.iter().map(Problem::shown).collect();
            format!("The manifest has {} errors:\n  {}", errors.len(), lines.join("\n  "))
        }
    };
    let details = match warnings {
        [] => json!({ "errors": errors }),
        _ => json!({ "errors": errors, "advice": warnings }),
    };
    let unknown = warnings.iter().filter(|warning| warning.code == Kind::Unknown).take(NAMED);
    unknown.fold(Error::new(Code::ManifestInvalid, message).with_details(details), |error, one| error.hint(one.shown()))
}
