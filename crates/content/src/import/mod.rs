//! `mcpkg import`: turns files that agents read today into prompts, resources and other items.
//!
//! An import is a pipeline. Each stage is a function that depends only on the result of the stage before:
//!
//! | stage | function | result |
//! | --- | --- | --- |
//! | 1 files found | [`find::find`] | [`find::Inventory`]: the paths on disk, links, and the entries of manifests |
//! | 2 files recognized | [`recognise::recognise`] | [`recognise::Recognised`]: open files with their destinations |
//! | 3 items | [`read::read`] | [`read::Drafts`]: the content of each file on its own |
//! | 4 placed | [`place::place`] | [`place::Placed`]: items with names, without duplicates |
//! | 5 merged | [`merge::plan`] | a [`merge::Action`] for each item |
//! | 6 written | [`merge::write::Content::write`] | rows in the project, in one transaction |
//! | 7 reported | [`report`] | the reply |
//!
//! For example, this is what each stage of `mcpkg import .` does in a folder with these files:
//!
//! ```text
//! AGENTS.md
//! CLAUDE.md -> AGENTS.md
//! .claude/commands/fix.md
//! .gemini/commands/fix.toml     written by a deploy from .claude/commands/fix.md
//! .mcp.json                     with "env": { "TOKEN": "secret" }
//! .env
//! ```
//!
//! 1. The walk enters `.claude` and `.gemini`, because agents read these folders. It finds five files and a link.
//! 2. The path determines the type of each file: `AGENTS.md` is instructions, `fix.md` and `fix.toml` are prompts, and
//!    `.mcp.json` lists Claude Code's MCP servers. `.env` is skipped because it is hidden. `CLAUDE.md` is a duplicate
//!    of `AGENTS.md`.
//! 3. The front matter of `fix.md` gives the prompt's description and arguments. The entry in `.mcp.json` gives a
//!    server, with a reference to the variable TOKEN instead of the value.
//! 4. `fix.md` becomes the prompt `fix`. A deploy would write exactly `fix.toml` from it, so `fix.toml` is a duplicate
//!    as well.
//! 5. The project has no item with these names or URIs, so all are created. In a second import, all are unchanged.
//! 6. One transaction writes all rows. A large import stores contents and their words first, in transactions of their
//!    own, so that the last one stays short.
//! 7. The reply is "Imported 1 command, 1 rule, 1 agent's file, 1 MCP server". It also reports one skipped file and two
//!    duplicates.
//!
//! [`gathered::Gathered::audited`] runs stages 3 to 5 to find out which files the project does not have yet, and audits
//! these files. If files with critical findings are left out, it runs stages 3 and 4 again without them. In stage 6,
//! `crate::stored` writes the rows of prompts, resources and agents' files, and [`merge::servers`] those of MCP servers.
//!
//! In stage 2, the manifests of plugins take precedence over paths: [`plugins`] reads what they say about files.
//!
//! All stages report about single files to the [`account`]: duplicates, skipped files with the [`reason`], and notes.
//! The module [`crate::same`] explains when two files have the same content. [`mcpkg_agents::agents`] has the facts
//! about each agent, and [`paths`] applies them.
//!
//! Export, sync and sources use the same stages. Export runs 3 and 4 on the files that it is about to write, to check
//! that an import restores the same items. Sync finds files in its own way, and runs 3 and 4 on them. Sources run 1 to
//! 4 on a commit or a folder.

pub mod account;
pub mod find;
pub mod gathered;
pub mod merge;
pub mod open;
pub mod paths;
pub mod place;
pub mod plugins;
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
pub use report::{Group, groups};

use crate::item::{File, server::Server};
use mcpkg_agents::servers::secrets::Secrets;
use mcpkg_base::error::Result;
use paths::destination::Destination;
use place::Placed;

/// Runs the stages `read` and `place` on files, which must be sorted by path. `servers` contains the MCP servers of the manifest.
pub fn items<'f>(
    files: impl IntoIterator<Item = (&'f File, Option<&'f Destination>)>,
    servers: Vec<Server>,
) -> Result<Placed> {
    place::place(read::read(files, |_| true, Secrets::default())?, servers)
}
