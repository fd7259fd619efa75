//! Contract 004: commands and workflows.

mod catalogs;
mod index;
mod runs;
mod text;
