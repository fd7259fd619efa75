//! Parses and checks the texts of workflows. Every text that is saved is parsed here first.

use serde_json::{Value, json};

use crate::canonical;
use crate::check::{Checked, checked, shaped};
use crate::commands::reachable;
use crate::definition::{Definition, is_identifier};
use crate::finding::{Finding, Kind, Severity, has_errors};
use crate::plan::{KnownValues, planned};
use crate::yaml;
use crate::yaml::places::Places;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::plural;
use mcpkg_core::op::Context;
use mcpkg_store::workflows::{New, Summary};
use mcpkg_store::{Db, blobs, projects};

/// Maximum size of the message that describes a change, in bytes.
const MAX_MESSAGE: usize = 4 << 10;

/// A parsed workflow.
#[derive(Debug)]
pub struct Model {
    pub name: String,
    pub definition: Definition,
    /// The workflow as JSON, without null, empty and default values.
    pub value: Value,
    /// The position of each value in the text.
    pub places: Places,
    summary: Summary,
}

impl Model {
    /// Parses a text. If it is not a workflow, the error contains the findings.
    pub fn of(text: &str) -> Result<Self> {
        let (definition, findings) = shaped(text)?;
        let Some(definition) = definition.filter(|_| !has_errors(&findings)) else { return Err(unreadable(&findings)) };
        check_name(&definition.workflow)?;
        Self::with(definition, yaml::read(text).places)
    }

    /// Parses a text and runs all checks, including those that look up commands.
    pub fn checked(context: &Context, text: &str) -> Result<(Self, Checked)> {
        let model = Self::of(text)?;
        Ok((model, checked(text, &reachable(context))?))
    }

    fn with(definition: Definition, places: Places) -> Result<Self> {
        let value = serde_json::to_value(&definition)
            .map_err(|error| Error::internal("a workflow cannot be written as JSON").with_source(error))?;
        let summary = Summary {
            title: definition.title.clone(),
            description: definition.description.clone(),
            model_hash: hash(&definition)?,
        };
        Ok(Self { name: definition.workflow.clone(), definition, value, places, summary })
    }

    /// Returns the name, the text and the summary of the workflow, to store in the database.
    pub fn stored<'a>(&'a self, text: &'a str) -> New<'a> {
        New { name: &self.name, text, summary: &self.summary }
    }
}

/// Returns a SHA-256 of the meaning of a workflow: of its canonical JSON without the format version. Comments and formatting do
/// not matter.
fn hash(definition: &Definition) -> Result<[u8; 32]> {
    let unversioned = Definition { schema_version: None, ..definition.clone() };
    canonical::digest(&unversioned)
}

/// Returns the error for a text that is not a workflow.
fn unreadable(findings: &[Finding]) -> Error {
    let error = Error::new(Code::WorkflowInvalid, "The text cannot be read as a workflow; nothing was changed");
    with_findings(error, findings)
}

/// Returns the error for a workflow with errors. `what` begins the sentence.
pub fn faulty(what: &str, findings: &[Finding]) -> Error {
    let errors = findings.iter().filter(|finding| finding.severity == Severity::Error).count();
    let message = format!("{what} has {}; nothing was changed", plural::count(errors, "error"));
    with_findings(Error::new(Code::WorkflowInvalid, message), findings)
}

/// Maximum number of findings in the hints of an error.
const HINTED: usize = 10;

fn with_findings(error: Error, findings: &[Finding]) -> Error {
    let errors: Vec<Finding> = findings.iter().filter(|found| found.severity == Severity::Error).cloned().collect();
    let error = lines(&errors).into_iter().take(HINTED).fold(error, Error::hint);
    error.with_details(split(findings))
}

/// Returns the findings as the tools of contract 004 report them: errors and warnings separately.
pub fn split(findings: &[Finding]) -> Value {
    let of = |severity| findings.iter().filter(|found| found.severity == severity).collect::<Vec<_>>();
    json!({ "errors": of(Severity::Error), "warnings": of(Severity::Warning) })
}

/// Refuses to store a text that contains a secret.
pub fn without_secrets(findings: &[Finding]) -> Result<()> {
    let secrets: Vec<Finding> = findings.iter().filter(|found| found.code == Kind::SecretLiteral).cloned().collect();
    if secrets.is_empty() {
        return Ok(());
    }
    Err(with_findings(Error::new(Code::WorkflowInvalid, "The text contains a secret; nothing was stored"), &secrets))
}

/// Formats findings like compiler messages, one line each.
pub fn lines(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(|found| line(found, "warning: ")).collect()
}

/// Like [`lines`], but without the prefix `warning:`, for replies that add it themselves.
pub fn warnings(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(|found| line(found, "")).collect()
}

fn line(found: &Finding, warning: &str) -> String {
    let word = if found.severity == Severity::Error { "error: " } else { warning };
    let hint = found.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
    let (line, column) = (found.span.line, found.span.column);
    format!("{line}:{column}: {word}{} [{}]{hint}", found.message, found.code.name())
}

/// Renders a workflow as a file in canonical form.
pub fn written(definition: &Definition) -> Result<String> {
    Ok(definition.to_yaml()? + "\n")
}

pub fn stored(db: &Db<'_>, blob: i64) -> Result<String> {
    text(blobs::get(db, blob)?)
}

pub fn text(bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).map_err(|error| blobs::damaged_value("a workflow's text is not UTF-8").with_source(error))
}

/// Returns the plan of a checked text as JSON, planned without input values. Fails if the text has errors.
pub fn plan(context: &Context, checked: &Checked) -> Result<Value> {
    let project = context.store.read(|db| projects::resolve(db, &context.selection))?;
    let given = KnownValues { project: project.map(|project| project.name), ..KnownValues::default() };
    let plan = planned(checked, &reachable(context), &given)?;
    serde_json::to_value(plan).map_err(|error| Error::internal("a plan cannot be written as JSON").with_source(error))
}

/// Converts bytes that a person entered to text. Refuses invalid UTF-8.
pub fn given(bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes)
        .map_err(|error| Error::new(Code::InvalidArgument, "The text is not UTF-8").with_source(error))
}

pub fn check_name(name: &str) -> Result<()> {
    if is_identifier(name) {
        return Ok(());
    }
    Err(Error::new(Code::InvalidArgument, format!("'{}' is not a valid workflow name", name.escape_debug()))
        .hint("use letters, digits, - and _, beginning with a letter or _, up to 64 characters"))
}

/// Refuses a message that contains U+0000 or is longer than 4 KiB.
pub fn check_message(message: Option<&str>) -> Result<()> {
    let Some(message) = message else { return Ok(()) };
    if message.len() > MAX_MESSAGE {
        let why = format!("The message has {} bytes; the limit is {MAX_MESSAGE}", message.len());
        return Err(Error::new(Code::InvalidArgument, why));
    }
    if message.contains('\0') {
        return Err(Error::new(Code::InvalidArgument, "The message contains the character U+0000"));
    }
    Ok(())
}

/// Replaces the workflow's name in a text. Everything else stays unchanged.
pub fn renamed(text: &str, to: &str) -> Result<String> {
    let read = yaml::read(text);
    let Some(place) = read.places.get("/workflow") else { return Err(unreadable(&read.findings)) };
    let bytes = place.value.bytes();
    let is_quoted = text[bytes.clone()].starts_with(['"', '\'']);
    let mut renamed = text.to_owned();
    renamed.replace_range(bytes, &if is_quoted || !is_plain(to) { format!("\"{to}\"") } else { to.to_owned() });
    Ok(renamed)
}

/// Returns whether a name can be written in YAML without quotes.
fn is_plain(name: &str) -> bool {
    let read = yaml::read(name);
    read.findings.is_empty() && read.value.is_some_and(|value| value == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rename_touches_the_name_alone() {
        for (text, to, expected) in [
            ("# First\nworkflow:  a   # mine\nsteps: []\n", "b-2", "# First\nworkflow:  b-2   # mine\nsteps: []\n"),
            ("workflow: 'a'\n", "b", "workflow: \"b\"\n"),
            ("{\"workflow\": \"a\", \"steps\": []}", "b", "{\"workflow\": \"b\", \"steps\": []}"),
            ("workflow: a\n", "no", "workflow: \"no\"\n"),
            ("workflow: a\n", "null", "workflow: \"null\"\n"),
        ] {
            assert_eq!(renamed(text, to).unwrap(), expected);
        }
        assert_eq!(renamed("steps: []\n", "b").unwrap_err().code(), Code::WorkflowInvalid);
    }

    #[test]
    fn the_hash_ignores_formatting_and_is_stable() {
        let of = |text: &str| mcpkg_base::hex::encode(&Model::of(text).unwrap().summary.model_hash);
        let plain = of("workflow: a\nsteps:\n  - id: one\n    run: apps:list\n    with: {x: 1, y: two}\n");
        // The hash is stored in databases. It must never change, whatever the compiler or the order of the fields.
        assert_eq!(plain, "7bbddfbd12e481254004157f90440a5f1d96efa4a47dda5c3139f29b8b4c7e3a");
        let other = "# A comment\nsteps:\n- run: \"apps:list\"\n  id: one\n  with:\n    y: two\n    x: 1\n  depends_on: []\nworkflow: a\n";
        assert_eq!(of(other), plain);
        assert_ne!(of(&other.replace("two", "three")), plain);
    }
}
