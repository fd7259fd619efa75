//! Registries: the places where tools are found, fetched from and published to.
//!
//! The database itself is a registry ([`local`]); users add [folders](directory) and [other hosts](http).
//! [`resolve`] finds the version that a reference names, [`download`] fetches its archive, and [`search`] asks all
//! registries.

pub mod approval;
pub mod directory;
pub mod download;
pub mod facts;
pub mod http;
pub mod known;
pub mod latest;
pub mod local;
pub mod operations;
pub mod query;
pub mod registry;
pub mod resolve;
pub mod search;
pub mod tool;
pub mod unknown;
pub mod wire;

pub use download::download;
pub use known::Known;
pub use operations::OPS;
pub use query::{Hit, Query};
pub use resolve::{Choice, Resolved, release, resolve};
pub use tool::{Listed, Publication, ToolInfo, VersionInfo};
pub use wire::sha256;

#[cfg(test)]
mod tests;
