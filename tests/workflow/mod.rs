//! Contract 004: commands and workflows.

mod catalogs;
mod index;
mod phase2;
mod runs;
pub(crate) mod saved;
mod text;
