//! Checks the text of a workflow, and reports all problems at once, each with its position.
//!
//! The checks run one after the other. `shape` runs first, and removes or empties the parts that do not match the schema, so that
//! one mistake does not hide others.

mod book;
mod checked;
mod commands;
mod fixes;
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

pub use checked::{Checked, Sound, checked, plannable, shaped};
pub use fixes::scalar;
pub use sources::Sources;
pub use surveyed::{Surveyed, surveyed};
pub use templates::{Slot, Use};
