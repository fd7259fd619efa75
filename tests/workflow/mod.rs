//! Contract 004: commands and workflows.

mod catalogs;
mod index;
mod runs;
pub(crate) mod saved;
mod text;
