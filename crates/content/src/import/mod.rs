//! `mcpkg import`: turns files that agents read today into prompts, resources and other items.
//!
//! An import is a pipeline. Each stage is a function from one value to the next, and looks at nothing but that value:
//!
//! | stage | function | result |
//! | --- | --- | --- |
//! | 1 files found | [`find::find`] | [`find::Found`]: the paths on disk, links, and what manifests list |
//! | 2 files recognized | [`recognise::recognise`] | [`recognise::Recognised`]: open files with their destinations |
//! | 3 items | [`read::read`] | [`read::Drafts`]: what each file says on its own |
//! | 4 placed | [`place::place`] | [`place::Placed`]: items with names, each content once |
//! | 5 merged | [`merge::plan`] | a [`merge::Action`] for each item |
//! | 6 written | [`merge::write`] | rows in the project, in one transaction |
//! | 7 reported | [`report`] | the reply |
//!
//! The stages of `mcpkg import .` in a folder with these files, step by step:
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
//! 1. The walk enters `.claude` and `.gemini`, since agents read there. It finds five files and a link.
//! 2. Paths decide: `AGENTS.md` is instructions, `fix.md` and `fix.toml` are prompts, `.mcp.json` is Claude Code's file of MCP
//!    servers. `.env` is skipped because it is hidden. `CLAUDE.md` is a duplicate of `AGENTS.md`.
//! 3. The front matter of `fix.md` gives the prompt's description and arguments. The entry in `.mcp.json` gives a server, with a
//!    reference to the variable TOKEN instead of the value.
//! 4. `fix.md` becomes the prompt `fix`. A deploy would write exactly `fix.toml` from it, so `fix.toml` is a duplicate as well.
//! 5. The project has no item with these names or URIs, so all are created. In a second import, all are unchanged.
//! 6. Contents and their words are stored first, outside any transaction. Then one transaction writes all rows.
//! 7. "Imported 1 command, 1 rule, 1 agent's file, 1 MCP server", one file skipped, two the same as others.
//!
//! What all stages have to say about single files goes to the [`account`]: duplicates, skipped files with the [`reason`], and notes.
//! The module [`crate::same`] explains when two files have the same content. The facts about agents are in
//! [`mcpkg_agents::agents`]; [`paths`] only applies them.
//!
//! Export, sync and sources use the same stages. Export runs 3 and 4 on the files that it is about to write, to make sure that
//! they import back. Sync finds files in its own way, and runs 3 and 4 on them. Sources run 1 to 4 on a commit.

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

use crate::item::{File, server::Server};
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
