//! Contract 004: commands and workflows.

mod catalogs;
mod faults;
mod index;
mod runs;
pub(crate) mod saved;
mod text;
