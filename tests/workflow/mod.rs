//! Tests of contract 004: commands and workflows.

pub(crate) mod ask;
mod catalogs;
pub(crate) mod faults;
mod index;
mod phase2;
pub(crate) mod plugins;
pub(crate) mod runs;
pub(crate) mod saved;
mod text;
