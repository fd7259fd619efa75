//! `mcpkg sync`: keeps a project and a folder the same in both directions, so that a team can share a project through git.
//!
//! The folder has the format that `export` writes and `import` reads. First [`unchanged`] checks by file metadata alone whether
//! there is anything to do. If so, [`folder`] reads the files, and [`plan`] merges each item ([`crate::merge`]) into a
//! [`step`]. The plan considers [`names`] that are taken, files that [`moves`] affect, the [`files`] to write, the MCP
//! [`servers`] in them, and [`links`]. Then [`apply`] changes the project in one transaction, and [`write`] the folder.
//!
//! A sync can be killed at any moment. Before the first file is written, the transaction that changes the project
//! records all files with their old and new content, so that the next sync can continue. The common version of a file
//! is recorded only when the file is on disk.

mod apply;
mod approval;
mod base;
mod contents;
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
