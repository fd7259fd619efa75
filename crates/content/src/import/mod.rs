//! `mcpkg import`: turns files that agents read today into prompts, resources and other items.
//!
//! STAGES

pub mod account;
pub mod find;
pub mod merge;
pub mod open;
pub mod paths;
pub mod place;
pub mod read;
pub mod reason;
pub mod recognise;
pub mod skill_folder;

mod operation;
mod project;
mod report;

#[cfg(test)]
mod tests;

pub use operation::Import;

use crate::item::File;
use crate::item::server::Server;
use mcpkg_agents::servers::secrets::Secrets;
use mcpkg_base::error::Result;
use paths::destination::Destination;
use place::Placed;

/// Runs the stages `read` and `place` on files that are sorted by path. `servers` are those that a manifest lists.
pub fn items<'f>(
    files: impl IntoIterator<Item = (&'f File, Option<&'f Destination>)>,
    servers: Vec<Server>,
) -> Result<Placed> {
    place::place(read::read(files, |_| true, Secrets::default())?, servers)
}
