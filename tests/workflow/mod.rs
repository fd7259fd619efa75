//! Contract 004: commands and workflows.

mod catalogs;
mod faults;
mod index;
pub(crate) mod plugins;
mod phase2;
mod runs;
pub(crate) mod saved;
mod text;
