//! Runs all checks of a workflow text, one after the other.

use std::sync::Arc;

use serde_json::Value;

use super::book::Book;
use super::known::Known;
use super::sources::Sources;
use super::templates::Use;
use super::{commands, names, outputs, providers, references, safety, shape, templates};
use crate::definition;
use crate::definition::Definition;
use crate::finding::{Finding, Severity};
use crate::graph::Graph;
use crate::source::{Commands, Resolved};
use crate::spec::CommandSpec;
use crate::yaml;
use crate::yaml::places::Places;
use mcpkg_base::error::{Code, Error, Result};

/// The result of a check.
#[derive(Debug)]
pub struct Checked {
    /// The findings, sorted by line, column and code.
    pub findings: Vec<Finding>,
    /// The workflow, if there are no errors.
    pub sound: Option<Sound>,
    /// The definition without its invalid parts, if the text is a mapping. Required parts that are invalid are empty.
    pub readable: Option<Definition>,
    /// The position of each value in the text.
    pub places: Places,
}

/// A workflow without errors, ready to run.
#[derive(Clone, Debug)]
pub struct Sound {
    pub definition: Definition,
    /// The command of each step.
    pub specs: Vec<Arc<CommandSpec>>,
    /// The dependencies between steps, both stated and implied by references.
    pub graph: Graph,
    /// The steps in execution order.
    pub order: Vec<usize>,
    /// The templates, and where each is used.
    pub uses: Vec<Use>,
    /// The inputs, variables and outputs that contain passwords.
    pub passwords: Sources,
}

impl Checked {
    /// Returns the definition, if there are no errors.
    pub fn definition(&self) -> Option<&Definition> {
        self.sound.as_ref().map(|sound| &sound.definition)
    }

    pub fn errors(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|found| found.severity == Severity::Error)
    }

    pub fn warnings(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|found| found.severity == Severity::Warning)
    }
}

/// Checks a YAML or JSON text against the schema, and against the commands that the caller may use.
///
/// # Errors
/// `E_SCHEMA_VERSION` if the text declares an unknown version.
pub fn checked(text: &str, commands: &dyn Commands) -> Result<Checked> {
    let read = yaml::read(text);
    let places = read.places;
    let mut book = Book::new(text, &places, read.findings);
    let readable = match read.value {
        Some(value) => shape(&mut book, value)?,
        None => None,
    };
    let mut sound = None;
    if let Some(definition) = &readable {
        sound = semantics(&mut book, definition, commands)?.filter(|_| !book.has_errors());
    }
    let findings = book.close();
    Ok(Checked { findings, sound, readable, places })
}

/// For a workflow with errors, returns the part that can be planned: the steps with known commands. Also returns the indices of
/// these steps in the text.
pub fn plannable(checked: &Checked, commands: &dyn Commands) -> Result<Option<(Sound, Vec<usize>)>> {
    let Some(readable) = &checked.readable else { return Ok(None) };
    let (mut steps, mut places) = (Vec::new(), Vec::new());
    for (place, step) in readable.steps.iter().enumerate().filter(|(_, step)| !step.run.is_empty()) {
        if let Resolved::One(_) = commands.resolve(&step.run)? {
            steps.push(step.clone());
            places.push(place);
        }
    }
    let definition = Definition { steps, ..readable.clone() };
    // Discard these findings: the whole text was already checked.
    let mut book = Book::new("", &checked.places, Vec::new());
    Ok(semantics(&mut book, &definition, commands)?.map(|sound| (sound, places)))
}

/// Checks only the shape of a text, without looking up commands. Returns the definition if the text is a mapping, and the
/// findings.
pub fn shaped(text: &str) -> Result<(Option<Definition>, Vec<Finding>)> {
    let read = yaml::read(text);
    let mut book = Book::new(text, &read.places, read.findings);
    let definition = match read.value {
        Some(value) => shape(&mut book, value)?,
        None => None,
    };
    Ok((definition, book.close()))
}

/// Checks a value against the schema. Returns the definition without its invalid parts if the value is a mapping.
pub(super) fn shape(book: &mut Book<'_>, mut value: Value) -> Result<Option<Definition>> {
    version(&value)?;
    let is_mapping = value.is_object();
    shape::check(book, definition::schema(), &mut value);
    let definition = is_mapping.then(|| serde_json::from_value(value)).transpose();
    definition.map_err(|error| {
        Error::internal("a workflow that matches the schema cannot be read as a definition").with_source(error)
    })
}

/// Checks the meaning of a definition. Returns the workflow if all its commands are known.
fn semantics(book: &mut Book<'_>, definition: &Definition, commands: &dyn Commands) -> Result<Option<Sound>> {
    let known = Known::new(definition, commands)?;
    let answers = known.contracts();
    let contracts = answers.borrowed();
    names::check(book, &known)?;
    let uses = templates::check(book, definition);
    let graph = references::check(book, &known, &uses)?;
    commands::check(book, &known, &uses, &contracts);
    providers::check(book, &known, &uses, &contracts, &graph)?;
    outputs::check(book, &known, &uses, &contracts);
    let passwords = Sources::of(definition, &uses, |step| known.spec(step).map(|spec| &**spec));
    safety::check(book, &known, &uses, &passwords, &graph);
    let specs = known.resolved.iter().map(|resolved| match resolved {
        Resolved::One(spec) => Some(Arc::clone(spec)),
        _ => None,
    });
    let specs: Option<Vec<_>> = specs.collect();
    let order = graph.order();
    Ok(specs.map(|specs| Sound { definition: definition.clone(), specs, graph, order, uses, passwords }))
}

/// Refuses a text that declares an unknown version.
fn version(value: &Value) -> Result<()> {
    let Some(version) = value.get("schema_version").and_then(Value::as_str) else { return Ok(()) };
    let is_known = version == "1"
        || version
            .strip_prefix("1.")
            .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()));
    match is_known {
        true => Ok(()),
        false => Err(Error::new(Code::SchemaVersion, format!("Unsupported workflow version '{version}'"))
            .hint("this mcpkg reads 1.x")),
    }
}
