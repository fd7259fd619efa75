//! Registries: where tools are found, fetched from and published to.
//!
//! This database is one ([`local`]); folders and other hosts are added by their users.

pub mod facts;
pub mod latest;
pub mod local;

pub mod query;
pub mod registry;
pub mod tool;

mod unknown;

pub use query::{Found, Hit, Query};
pub use registry::Registry;
pub use tool::{Listed, Publication, ToolInfo, VersionInfo};
