//! Checks the text of a workflow: everything that is wrong with it at once, each with its place.
//!
//! The families of findings follow each other. Each looks at what the ones before left: what a finding made unusable is left out
//! or empty, so that one mistake hides no other.

mod book;
mod checked;
mod commands;
mod known;
mod names;
mod outputs;
mod providers;
mod references;
mod safety;
mod shape;
mod sources;
mod surveyed;
mod templates;

pub use checked::{Checked, Sound, checked, shaped};
pub use sources::Sources;
pub use surveyed::{Surveyed, surveyed};
pub use templates::{Slot, Use};
