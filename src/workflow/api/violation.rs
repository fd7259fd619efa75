//! What is wrong in a document: every rule that it breaks, each with its place.

use serde::Serialize;
use serde_json::{Value, json};

use super::document::Document;
use super::places;
use crate::error::{Code, Error};

/// A rule that a document can break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// It is no text of the form that it seems to have.
    Syntax,
    /// It is of another version than 3.0, 3.1 and 3.2.
    OpenapiVersion,
    /// It has no object `paths`.
    PathsMissing,
    /// Its paths have no operation.
    NoOperations,
    /// It is larger than what is read.
    LimitExceeded,
    /// A `$ref` names nothing in the document.
    RefUnknown,
    /// A `$ref` names another document.
    RefExternal,
    /// References lead back to themselves.
    RefCycle,
    /// Two parameters of one list have one name and one place.
    DuplicateParameter,
    /// A placeholder of a path is no parameter.
    PathParameterUndeclared,
}

impl Rule {
    /// The word that stands for it in answers.
    pub fn word(self) -> String {
        serde_json::to_value(self).ok().and_then(|word| word.as_str().map(str::to_owned)).unwrap_or_default()
    }
}

/// Something wrong, at a value of the document.
#[derive(Clone, Debug)]
pub struct Fault<'d> {
    /// The rule.
    pub rule: Rule,
    /// What it is about.
    pub message: String,
    /// The value that breaks it.
    pub at: &'d Value,
}

/// Something wrong, with its place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    /// The line, from 1; 0 where there is no such thing.
    pub line: usize,
    /// The column in code points, from 1.
    pub column: usize,
    /// The rule.
    pub rule: Rule,
    /// What it is about.
    pub message: String,
    /// The JSON pointer of the value that breaks it.
    pub path: String,
    /// The operation that was left out for it, as `GET /apps`.
    pub operation: Option<String>,
}

impl Violation {
    /// Returns a violation at a place of a text that could not be read.
    pub fn of_text(rule: Rule, message: impl Into<String>, line: usize, column: usize) -> Self {
        Self { line, column, rule, message: message.into(), path: String::new(), operation: None }
    }

    /// Returns it as data.
    pub fn data(&self) -> Value {
        let mut data = json!({ "code": self.rule, "message": self.message, "path": self.path });
        if self.line > 0 {
            data["line"] = json!(self.line);
            data["column"] = json!(self.column);
        }
        if let Some(operation) = &self.operation {
            data["operation"] = json!(operation);
        }
        data
    }

    /// Returns it as a line for people.
    pub fn line(&self) -> String {
        let place = if self.line > 0 { format!("{}:{}: ", self.line, self.column) } else { String::new() };
        let left_out = self.operation.as_ref().map(|operation| format!("; {operation} is left out"));
        format!("{place}{}: {}{}", self.rule.word(), self.message, left_out.unwrap_or_default())
    }
}

/// Returns faults with their places, by these; `operation` says for each what was left out for it.
pub fn placed(document: &Document, faults: &[(Fault<'_>, Option<String>)]) -> Vec<Violation> {
    let pointers: Vec<String> =
        faults.iter().map(|(fault, _)| places::pointer(document.value(), fault.at).unwrap_or_default()).collect();
    let found = places::find(document, &pointers);
    let mut violations: Vec<Violation> = faults
        .iter()
        .zip(pointers)
        .map(|((fault, operation), path)| {
            let (line, column) = found.get(&path).copied().unwrap_or_default();
            let (rule, message, operation) = (fault.rule, fault.message.clone(), operation.clone());
            Violation { line, column, rule, message, path, operation }
        })
        .collect();
    violations.sort();
    violations.dedup();
    violations
}

/// The violations that one error names, at most.
const NAMED: usize = 100;

/// Returns the failure of a document that no command can be made of.
pub fn invalid(from: &str, violations: &[Violation]) -> Error {
    let what = match violations {
        [] => format!("`{from}` is no OpenAPI description"),
        [only] => format!("`{from}` cannot be imported: {}", only.line()),
        [first, rest @ ..] => format!("`{from}` cannot be imported: {}; and {} more", first.line(), rest.len()),
    };
    let list: Vec<Value> = violations.iter().take(NAMED).map(Violation::data).collect();
    let error = Error::new(Code::CatalogInvalid, what).with_details(json!({ "violations": list }));
    match violations.iter().any(|violation| violation.rule == Rule::OpenapiVersion) {
        true => error
            .hint("OpenAPI 3.0, 3.1 and 3.2 are read; a converter such as swagger2openapi makes one of Swagger 2.0"),
        false => error,
    }
}
