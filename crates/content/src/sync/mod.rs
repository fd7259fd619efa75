//! `mcpkg sync`: a project and a folder are kept the same, both ways, so that a team shares a project by git.
//!
//! The folder is what `export` writes and `import` reads. [`unchanged`] tells by the disk's description of the files alone
//! that there is nothing to do; else [`folder`] reads them, and [`plan`] merges each item ([`crate::merge`]) into a
//! [`step`], with an eye on [`names`] that are taken, on
//! files that [`moves`] of prompts leave, on the [`files`] that result, on the MCP [`servers`] in them and on [`links`]. [`apply`] changes the project in one
//! transaction, [`write`] the folder.
//!
//! A sync can be killed at any moment. Before the first file is written, the transaction that changes the project
//! records all files with their old and new content, so that the next sync can continue. The common version of a file
//! is recorded only when the file is on disk.

mod apply;
mod approval;
mod files;
mod folder;
mod journal;
mod links;
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
