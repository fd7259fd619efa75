//! The PostgreSQL engine. It is the only module that uses a PostgreSQL client.

pub(crate) mod search;
pub(super) mod tables;
pub(crate) mod tool_search;

mod address;
mod backup;
mod client;
mod connect;
mod connection;
mod cursor;
mod database;
mod deadline;
mod errors;
mod lock;
mod open;
mod passwords;
mod pool;
mod pooler;
mod rows;
mod schema;
mod snapshot;
mod sql;
mod statement;
mod tls;
mod transaction;

pub(crate) use address::is_address;
pub(super) use connection::Connection;
pub(super) use cursor::each;
pub(super) use database::Database;
pub(super) use errors::is_violated;
pub(super) use lock::{SessionLock, Stamp, lock_events, lock_project};
pub(super) use passwords::read_with as read_passwords_with;
pub(super) use pool::Pooled;
pub(super) use rows::{Row, one, run, run_for_each, stream};
pub(super) use transaction::{allow_long, in_transaction, version};
