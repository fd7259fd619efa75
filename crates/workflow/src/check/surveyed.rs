//! What is known of a text that may have mistakes: as much as can be read of it.

use std::sync::Arc;

use super::book::Book;
use super::known::Known;
use super::templates::{self, Use};
use super::{checked::shape, references};
use crate::definition::Definition;
use crate::source::Commands;
use crate::spec::CommandSpec;
use crate::yaml;
use crate::yaml::places::Places;
use mcpkg_base::error::Result;

/// What is known of a text.
#[derive(Debug)]
pub struct Surveyed {
    /// What could be read of it.
    pub definition: Definition,
    /// Where each value stands.
    pub places: Places,
    /// The command of each step, where it is known.
    pub specs: Vec<Option<Arc<CommandSpec>>>,
    /// The templates, and where each is used.
    pub uses: Vec<Use>,
    /// The steps in the order in which they would run; those that wait for each other are left out.
    pub order: Vec<usize>,
}

/// Reads as much of a text as can be read; `None` where it is not a mapping.
pub fn surveyed(text: &str, commands: &dyn Commands) -> Result<Option<Surveyed>> {
    let read = yaml::read(text);
    let places = read.places;
    // A check reports what is found, not this function.
    let mut book = Book::new(text, &places, Vec::new());
    let Some(value) = read.value else { return Ok(None) };
    let Some(definition) = shape(&mut book, value)? else { return Ok(None) };
    let known = Known::new(&definition, commands)?;
    let uses = templates::check(&mut book, &definition);
    let order = references::check(&mut book, &known, &uses)?.order();
    let specs = (0..definition.steps.len()).map(|step| known.spec(step).cloned()).collect();
    drop(known);
    Ok(Some(Surveyed { specs, uses, order, definition, places }))
}
