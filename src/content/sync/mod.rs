//! `mcpkg sync`: a project and a folder are kept the same, both ways, so that a team shares a project by git.
//!
//! The folder is what `export` writes and `import` reads. [`folder`] looks at it, [`plan`] merges it with the project
//! ([`crate::content::merge`]), [`apply`] changes the project in one transaction, and [`write`] the folder. `unchanged` tells
//! by the disk's description of the files alone that there is nothing to do.
//!
//! What makes it safe to be killed at any moment: before the first file is written, the transaction that changes the project
//! notes all of them with what stands there and what will, so that the next sync goes on; and what both sides have the same is
//! noted for a file only when it is on the disk.

mod apply;
mod approval;
mod folder;
mod operation;
mod plan;
mod report;
mod unchanged;
mod write;

pub use operation::Sync;
