//! Reads as much as possible of a workflow text that may have errors.

use std::borrow::Cow;
use std::sync::Arc;

use super::book::Book;
use super::known::Known;
use super::templates::{self, Use};
use super::{checked::shape, references};
use crate::definition::Definition;
use crate::graph::Graph;
use crate::output;
use crate::source::Commands;
use crate::spec::{CommandSpec, OutputContract};
use crate::yaml;
use crate::yaml::places::Places;
use mcpkg_base::error::Result;

/// The readable parts of a text.
#[derive(Debug)]
pub struct Surveyed {
    /// The readable parts of the definition.
    pub definition: Definition,
    /// The position of each value in the text.
    pub places: Places,
    /// The command of each step, if known.
    pub specs: Vec<Option<Arc<CommandSpec>>>,
    /// The templates, and where each is used.
    pub uses: Vec<Use>,
    /// Which steps each step depends on.
    pub graph: Graph,
    /// The steps in execution order, without those that are in a cycle or depend on one.
    pub order: Vec<usize>,
}

/// Surveys a text; returns `None` if it is not a mapping.
pub fn surveyed(text: &str, commands: &dyn Commands) -> Result<Option<Surveyed>> {
    let read = yaml::read(text);
    let places = read.places;
    // Discard these findings, because the check reports them.
    let mut book = Book::new(text, &places, Vec::new());
    let Some(value) = read.value else { return Ok(None) };
    let Some(definition) = shape(&mut book, value)? else { return Ok(None) };
    let known = Known::new(&definition, commands)?;
    let uses = templates::check(&mut book, &definition);
    let graph = references::check(&mut book, &known, &uses)?;
    let specs = (0..definition.steps.len()).map(|step| known.spec(step).cloned()).collect();
    drop(known);
    Ok(Some(Surveyed { specs, uses, order: graph.order(), graph, definition, places }))
}

impl Surveyed {
    /// Returns the output contract of each step whose command is known.
    pub fn contracts(&self) -> Vec<Option<Cow<'_, OutputContract>>> {
        let steps = self.specs.iter().zip(&self.definition.steps);
        steps.map(|(spec, step)| spec.as_deref().map(|spec| output::contract(spec, step))).collect()
    }
}
