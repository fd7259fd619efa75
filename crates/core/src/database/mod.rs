//! Operations on the database itself, such as init, backup, restore, check and the audit trail. Only the shell offers
//! these operations.

pub mod address;

mod audit_log;
mod backup;
mod check;
mod compact;
mod events;
mod filter;
mod health;
mod init;
mod limit;
mod prune;
mod resource;
mod transfer;
pub mod undo;

use std::path::PathBuf;

use etcetera::BaseStrategy;

use crate::op::{Domain, Entry, Undo};
use mcpkg_store::{events as events_table, holders, tasks};

/// The group of the operations on the database, which are not offered to agents.
pub const GROUP: &str = "database";

pub static DOMAIN: Domain = Domain {
    name: "database",
    operations: &[OPS],
    commands: &[("limit", "Show and set how many rows tables keep, and for how long")],
    resources: &[resource::RESOURCES],
    undo: Undo { lasting: &[("undo", "it changed nothing")], ..Undo::NOTHING },
    growing: &[events_table::GROWING, tasks::GROWING, holders::GROWING],
    health: health::health,
    ..Domain::EMPTY
};

pub const OPS: &[Entry] = &[
    Entry::of::<init::Init>(),
    Entry::of::<backup::Backup>(),
    Entry::of::<backup::Restore>(),
    Entry::of::<transfer::Move>(),
    Entry::of::<check::Check>(),
    Entry::of::<compact::Compact>(),
    Entry::of::<events::Events>(),
    Entry::of::<undo::operation::Undo>(),
    Entry::of::<limit::List>(),
    Entry::of::<limit::Set>(),
    Entry::of::<prune::Prune>(),
];

/// Returns the path of the default database: `mcpkg/mcpkg.db` in the user's data directory, or in the cache directory
/// on Windows. `None` if the user has no home directory.
pub fn default_path() -> Option<PathBuf> {
    let strategy = etcetera::base_strategy::choose_native_strategy().ok()?;
    let folder = if mcpkg_base::platform::IS_WINDOWS { strategy.cache_dir() } else { strategy.data_dir() };
    Some(folder.join("mcpkg").join("mcpkg.db"))
}
