//! The store: mcpkg's database, with all of its SQL.
//!
//! [`Store`] is the open database. [`Store::read`] and [`Store::write`] run a closure inside one transaction and pass a [`Db`]
//! to it. The functions of this crate's modules take that `Db`, so they can be combined in one transaction. They return rows as
//! plain structs.
//!
//! The modules form layers, and each imports only from the layers below it. From the top: backups, locks and the watch;
//! `Store`; the engines and the check; the modules of tables; `Db`; and connections, values and errors, which do not use `Db`.

pub mod access;
pub mod access_rules;
pub mod agent_files;
pub mod amounts;
pub mod audit_logs;
pub mod backup;
pub mod blobs;
pub mod builds;
pub mod catalogs;
mod changes;
pub mod check;
pub mod consents;
pub mod deploys;
pub mod drafts;
pub mod events;
pub mod flow_runs;
pub mod gate;
pub mod holders;
pub mod ignored;
pub mod items;
pub mod limits;
pub mod links;
pub mod lists;
pub mod modules;
pub mod page;
pub mod pieces;
pub mod plugins;
pub mod projects;
pub mod prompts;
pub mod proposals;
pub mod resources;
pub mod revisions;
pub mod runs;
pub mod search;
pub mod servers;
pub mod skills;
pub mod snapshots;
pub mod sources;
pub mod syncs;
pub mod targets;
pub mod tasks;
pub mod tools;
pub mod validators;
pub mod watch;
pub mod workflows;
pub mod workspaces;

mod ahead;
mod compact;
mod db;
mod deadline;
mod engine;
mod location;
mod locks;
mod names;
mod patience;
mod reader;
#[cfg(test)]
#[path = "../../../tests/support/seed.rs"]
#[allow(clippy::print_stderr, reason = "a test prints the seed that it began with")]
mod seed;
mod store;
mod sums;
mod writing;

pub use ahead::Ahead;
pub use changes::Change;
pub use db::Db;
pub use engine::sqlite::{Access, SCHEMA_VERSION};
pub use engine::{BUSY_TIMEOUT, Holding, Version};
pub use location::Location;
pub use locks::{Applying, RunHolder, Serving, TaskRunner};
pub use reader::Reader;
pub use store::Store;
pub use sums::DAMAGED;
