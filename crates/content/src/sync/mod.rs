//! `mcpkg sync`: keeps a project and a folder in sync, in both directions, so that a team can share a project through git.
//!
//! The folder has the format that `export` writes and `import` reads. The stages:
//!
//! 1. [`unchanged`] checks whether there is anything to do, using only the files' metadata.
//! 2. [`disk`] finds the files, [`listed`] reads the manifest, and [`contents`] reads the items with the stages of
//!    [`crate::import`]. [`servers`] adds the MCP servers.
//! 3. [`plan`] follows files that were moved ([`moves`]). For each item, [`decide`] chooses a [`step`], and merges the
//!    two sides if needed ([`crate::merge`]). A step may still change: because a name is taken ([`names`]), because of
//!    [`links`], or because of the [`files`] to write.
//! 4. [`apply`] changes the project in one transaction. Then [`write`] changes the folder.
//! 5. [`report`] describes the result.
//!
//! A sync can be killed at any moment. Before the first file is written, the transaction that changes the project
//! records all files with their old and new content, so that the next sync can continue. A file's content is recorded
//! as the version that both sides share only when the file is on disk.

mod apply;
mod approval;
mod base;
mod contents;
mod decide;
mod disk;
mod files;
mod journal;
mod links;
mod listed;
mod listing;
mod moves;
mod names;
mod operation;
mod plan;
mod report;
mod servers;
mod step;
mod unchanged;
mod write;

pub use operation::Sync;
