//! A text and what it says: the one place where saved texts are read, named and checked.

use serde_json::{Value, json};

use crate::canonical;
use crate::check::{Checked, checked, shaped};
use crate::commands::reachable;
use crate::definition::{Definition, is_identifier};
use crate::finding::{Finding, Kind, Severity, has_errors};
use crate::plan::{Given, planned};
use crate::render::rendered;
use crate::yaml;
use crate::yaml::places::Places;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::plural;
use mcpkg_core::op::Context;
use mcpkg_store::workflows::{New, Summary};
use mcpkg_store::{Db, blobs, projects};

/// The most bytes of a message.
const MAX_MESSAGE: usize = 4 << 10;

/// What a text says, and where.
#[derive(Debug)]
pub struct Model {
    pub name: String,
    pub definition: Definition,
    /// The same as JSON, without what is null, empty or usual.
    pub value: Value,
    /// Where each value stands in the text.
    pub places: Places,
    summary: Summary,
}

impl Model {
    /// Reads a text.
    ///
    /// # Errors
    /// `E_WORKFLOW_INVALID` with the findings, if it is not a workflow.
    pub fn of(text: &str) -> Result<Self> {
        let (definition, findings) = shaped(text)?;
        let Some(definition) = definition.filter(|_| !has_errors(&findings)) else { return Err(unreadable(&findings)) };
        check_name(&definition.workflow)?;
        Self::with(definition, yaml::read(text).places)
    }

    /// Reads a text, and returns with it what is found in it, commands and all.
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

    /// Returns what is stored of it with its text.
    pub fn stored<'a>(&'a self, text: &'a str) -> New<'a> {
        New { name: &self.name, text, summary: &self.summary }
    }
}

/// Returns the SHA-256 of what a workflow says: of its JSON with sorted keys, without the version of the form.
fn hash(definition: &Definition) -> Result<[u8; 32]> {
    let unversioned = Definition { schema_version: None, ..definition.clone() };
    canonical::digest(&unversioned)
}

/// Returns the failure of a text that is not a workflow.
fn unreadable(findings: &[Finding]) -> Error {
    let error = Error::new(Code::WorkflowInvalid, "The text cannot be read as a workflow; nothing was changed");
    with_findings(error, findings)
}

/// Returns the failure of what has errors in it and may have none. `what` begins the sentence.
pub fn faulty(what: &str, findings: &[Finding]) -> Error {
    let errors = findings.iter().filter(|finding| finding.severity == Severity::Error).count();
    let message = format!("{what} has {}; nothing was changed", plural::count(errors, "error"));
    with_findings(Error::new(Code::WorkflowInvalid, message), findings)
}

/// The most findings that stand among the hints of a failure.
const HINTED: usize = 10;

fn with_findings(error: Error, findings: &[Finding]) -> Error {
    let errors: Vec<Finding> = findings.iter().filter(|found| found.severity == Severity::Error).cloned().collect();
    let error = lines(&errors).into_iter().take(HINTED).fold(error, Error::hint);
    error.with_details(split(findings))
}

/// Returns findings as the contract has them: errors and warnings.
pub fn split(findings: &[Finding]) -> Value {
    let of = |severity| findings.iter().filter(|found| found.severity == severity).collect::<Vec<_>>();
    json!({ "errors": of(Severity::Error), "warnings": of(Severity::Warning) })
}

/// Refuses to store a text that holds a secret.
pub fn without_secrets(findings: &[Finding]) -> Result<()> {
    let secrets: Vec<Finding> = findings.iter().filter(|found| found.code == Kind::SecretLiteral).cloned().collect();
    if secrets.is_empty() {
        return Ok(());
    }
    Err(with_findings(Error::new(Code::WorkflowInvalid, "The text contains a secret; nothing was stored"), &secrets))
}

/// Returns a line for each finding, as compilers write them.
pub fn lines(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(|found| line(found, "warning: ")).collect()
}

/// As [`lines`], for a reply that says of each that it is a warning.
pub fn warnings(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(|found| line(found, "")).collect()
}

fn line(found: &Finding, warning: &str) -> String {
    let word = if found.severity == Severity::Error { "error: " } else { warning };
    let hint = found.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
    let (line, column) = (found.span.line, found.span.column);
    format!("{line}:{column}: {word}{} [{}]{hint}", found.message, found.code.name())
}

/// Returns the text of a workflow, written in the one form that it has, as a file.
pub fn written(definition: &Definition) -> Result<String> {
    Ok(rendered(definition)? + "\n")
}

/// Returns the stored text of a key.
pub fn stored(db: &Db<'_>, blob: i64) -> Result<String> {
    text(blobs::get(db, blob)?)
}

/// Returns stored bytes as the text that they are.
pub fn text(bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).map_err(|error| blobs::damaged_value("a workflow's text is not UTF-8").with_source(error))
}

/// Returns the plan of a text that was checked, with nothing given, as JSON.
///
/// # Errors
/// `E_WORKFLOW_INVALID` where it has errors.
pub fn plan(context: &Context, checked: &Checked) -> Result<Value> {
    let project = context.store.read(|db| projects::resolve(db, &context.selection))?;
    let given = Given { project: project.map(|project| project.name), ..Given::default() };
    let plan = planned(checked, &reachable(context), &given)?;
    serde_json::to_value(plan).map_err(|error| Error::internal("a plan cannot be written as JSON").with_source(error))
}

/// Returns bytes that a person wrote as a text.
///
/// # Errors
/// `E_INVALID_ARGUMENT` where they are not UTF-8.
pub fn given(bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes)
        .map_err(|error| Error::new(Code::InvalidArgument, "The text is not UTF-8").with_source(error))
}

/// Checks the name that a workflow shall have.
pub fn check_name(name: &str) -> Result<()> {
    if is_identifier(name) {
        return Ok(());
    }
    Err(Error::new(Code::InvalidArgument, format!("'{}' is not a valid workflow name", name.escape_debug()))
        .hint("use letters, digits, - and _, beginning with a letter or _, up to 64 characters"))
}

/// Checks the message of a change or of a draft.
///
/// # Errors
/// `E_INVALID_ARGUMENT` for U+0000, and from 4 KiB on.
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

/// Returns a text with another name of the workflow in it, and all else as it was.
///
/// # Errors
/// `E_WORKFLOW_INVALID` where the text has no name.
pub fn renamed(text: &str, to: &str) -> Result<String> {
    let read = yaml::read(text);
    let Some(place) = read.places.get("/workflow") else { return Err(unreadable(&read.findings)) };
    let bytes = place.value.bytes();
    let is_quoted = text[bytes.clone()].starts_with(['"', '\'']);
    let mut renamed = text.to_owned();
    renamed.replace_range(bytes, &if is_quoted || !is_plain(to) { format!("\"{to}\"") } else { to.to_owned() });
    Ok(renamed)
}

/// Whether a name is the same text where it stands in YAML without quotes.
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
    fn the_hash_is_of_what_is_said_and_never_changes() {
        let of = |text: &str| mcpkg_base::hex::encode(&Model::of(text).unwrap().summary.model_hash);
        let plain = of("workflow: a\nsteps:\n  - id: one\n    run: apps:list\n    with: {x: 1, y: two}\n");
        // It stands in databases: neither a compiler nor a layout changes it.
        assert_eq!(plain, "7bbddfbd12e481254004157f90440a5f1d96efa4a47dda5c3139f29b8b4c7e3a");
        let other = "# A comment\nsteps:\n- run: \"apps:list\"\n  id: one\n  with:\n    y: two\n    x: 1\n  depends_on: []\nworkflow: a\n";
        assert_eq!(of(other), plain);
        assert_ne!(of(&other.replace("two", "three")), plain);
    }
}
