//! The SQLite engine. It is the only module that uses rusqlite, r2d2's SQLite manager and refinery's SQLite driver.

pub(super) mod backup;
pub(crate) mod index;
pub(crate) mod search;
pub(super) mod tables;
pub(crate) mod tool_search;

mod access;
mod compact;
mod connect;
mod database;
mod errors;
mod files;
mod functions;
mod identity;
mod integrity;
mod lock_file;
mod open;
mod rows;
mod schema;
mod scratch;
mod transaction;
mod upgrade;

pub use access::Access;
pub(super) use connect::Pooled;
pub(super) use database::Database;
pub(super) use errors::{failed, is_violated};
pub(super) use files::is_taken;
pub(super) use integrity::faults;
pub(crate) use lock_file::FileLock;
pub(super) use lock_file::{is_held, take};
pub(super) use rows::{Row, each, one, run};
pub(super) use rusqlite::Connection;
pub use schema::SCHEMA_VERSION;
pub(super) use transaction::{data_version, in_transaction};
