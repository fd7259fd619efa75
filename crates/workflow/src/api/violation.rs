//! Rules that a document can violate, and the violations with their places.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::{Value, json};

use super::places::{self, KEY, Parsed, Part};
use mcpkg_base::error::{Code, Error};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// The text is not valid JSON or YAML.
    Syntax,
    /// The version is not OpenAPI 3.0, 3.1 or 3.2, or Swagger 2.0.
    OpenapiVersion,
    /// The document has no `paths` object.
    PathsMissing,
    /// No path has an operation.
    NoOperations,
    /// The document exceeds a size limit.
    LimitExceeded,
    /// A `$ref` points to nothing.
    RefUnknown,
    /// A `$ref` points neither into the document nor into a file that mcpkg has read with it.
    RefExternal,
    /// References form a cycle.
    RefCycle,
    /// Two parameters in a list have the same name and place.
    DuplicateParameter,
    /// A placeholder of a path has no parameter.
    PathParameterUndeclared,
}

impl Rule {
    /// Returns the rule's name in JSON.
    pub fn word(self) -> String {
        serde_json::to_value(self).ok().and_then(|word| word.as_str().map(str::to_owned)).unwrap_or_default()
    }
}

/// A violation that refers to the value in memory. Its line is determined later.
#[derive(Clone, Debug)]
pub struct Fault<'d> {
    pub rule: Rule,
    pub message: String,
    /// The invalid value.
    pub at: &'d Value,
}

/// A violation with its line and column.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    /// The file relative to the document's folder; `None` for the document itself.
    pub file: Option<String>,
    /// The line, from 1; 0 if unknown.
    pub line: usize,
    /// The column in code points, from 1.
    pub column: usize,
    pub rule: Rule,
    pub message: String,
    /// JSON pointer of the invalid value.
    pub path: String,
    /// The operation that was skipped because of the violation, such as `GET /apps`.
    pub operation: Option<String>,
}

impl Violation {
    /// Returns a violation for a document without a parsed value: the text is invalid or too large.
    pub fn of_text(rule: Rule, message: impl Into<String>, line: usize, column: usize) -> Self {
        Self { file: None, line, column, rule, message: message.into(), path: String::new(), operation: None }
    }

    pub fn data(&self) -> Value {
        let mut data = json!({ "code": self.rule, "message": self.message, "path": self.path });
        if self.line > 0 {
            data["line"] = json!(self.line);
            data["column"] = json!(self.column);
        }
        if let Some(file) = &self.file {
            data["file"] = json!(file);
        }
        if let Some(operation) = &self.operation {
            data["operation"] = json!(operation);
        }
        data
    }

    pub fn line(&self) -> String {
        let file = self.file.as_ref().map(|file| format!("{file}:")).unwrap_or_default();
        let place = if self.line > 0 { format!("{file}{}:{}: ", self.line, self.column) } else { String::new() };
        let left_out = self.operation.as_ref().map(|operation| format!("; skipped {operation}"));
        format!("{place}{}: {}{}", self.rule.word(), self.message, left_out.unwrap_or_default())
    }
}

/// Adds lines and columns to faults. Each fault may name the operation that is skipped because of it.
pub fn placed(parsed: Parsed<'_>, files: &[Part], faults: &[(Fault<'_>, Option<String>)]) -> Vec<Violation> {
    let at = |fault: &Fault<'_>| in_file(places::pointer(parsed.value, fault.at).unwrap_or_default(), files);
    let at: Vec<(Option<usize>, String)> = faults.iter().map(|(fault, _)| at(fault)).collect();
    let of_file = |file: Option<usize>| {
        let pointers: Vec<String> = at.iter().filter(|(of, _)| *of == file).map(|(_, path)| path.clone()).collect();
        let text = file.and_then(|n| files.get(n)).map_or(parsed, |part| Parsed {
            text: &part.text,
            format: part.format,
            value: parsed.value,
        });
        places::find(text, &pointers)
    };
    let named: BTreeSet<Option<usize>> = at.iter().map(|(file, _)| *file).collect();
    let found: BTreeMap<Option<usize>, _> = named.into_iter().map(|file| (file, of_file(file))).collect();
    let mut violations: Vec<Violation> = faults
        .iter()
        .zip(&at)
        .map(|((fault, operation), (of, path))| {
            let (line, column) = found.get(of).and_then(|found| found.get(path)).copied().unwrap_or_default();
            let (rule, message, operation) = (fault.rule, fault.message.clone(), operation.clone());
            let file = of.and_then(|n| files.get(n)).map(|part| part.name.clone());
            Violation { file, line, column, rule, message, path: path.clone(), operation }
        })
        .collect();
    violations.sort();
    violations.dedup();
    violations
}

/// Returns which embedded file a JSON pointer leads into, and the pointer within that file.
fn in_file(pointer: String, files: &[Part]) -> (Option<usize>, String) {
    let inside = pointer.strip_prefix(&format!("/{KEY}/")).filter(|_| !files.is_empty());
    let Some(inside) = inside else { return (None, pointer) };
    let (number, rest) = inside.split_once('/').map_or((inside, String::new()), |(n, rest)| (n, format!("/{rest}")));
    match number.parse::<usize>() {
        Ok(number) => (Some(number), rest),
        Err(_) => (None, pointer),
    }
}

/// Maximum number of violations in one error.
const NAMED: usize = 100;

/// Returns the error for a document that cannot be imported.
pub fn invalid(from: &str, violations: &[Violation]) -> Error {
    let what = match violations {
        [] => format!("`{from}` is not an OpenAPI description"),
        [only] => format!("Cannot import `{from}`: {}", only.line()),
        [first, rest @ ..] => format!("Cannot import `{from}`: {}; and {} more", first.line(), rest.len()),
    };
    let list: Vec<Value> = violations.iter().take(NAMED).map(Violation::data).collect();
    let error = Error::new(Code::CatalogInvalid, what).with_details(json!({ "violations": list }));
    match violations.iter().any(|violation| violation.rule == Rule::OpenapiVersion) {
        true => error.hint("mcpkg reads OpenAPI 3.0, 3.1 and 3.2 and Swagger 2.0"),
        false => error,
    }
}
