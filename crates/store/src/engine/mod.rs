//! The engines behind [`Db`](super::Db): statements, parameters, values and rows, in types that hide which engine is in use.
//!
//! Each statement is written once, with [`sql!`], in the SQL that SQLite and PostgreSQL share; see docs/adr/0012-engines.md.
//! Opening, transactions, locks, full-text search, backup and the meaning of errors differ. They are in [`sqlite`], the
//! only module that uses rusqlite, and in [`postgres`].

pub(super) mod index;
pub(super) mod postgres;
pub(super) mod search;
pub(super) mod sqlite;
pub(super) mod tool_search;

mod connection;
mod database;
mod errors;
mod held_lock;
mod hits;
mod lock;
mod pool;
mod progress;
mod row;
mod sql;
mod transfer;
mod unique;
mod value;

pub use connection::Version;
pub(super) use connection::{Connection, Link, Pooled};
pub(super) use database::Engine;
pub use errors::BUSY_TIMEOUT;
pub(super) use errors::{BETWEEN_WRITES, busy, damaged, full, timeout};
pub(super) use held_lock::HeldLock;
pub use hits::Hit;
pub use lock::Holding;
pub(super) use lock::{Intent, Mode, Subject};
pub use progress::Progress;
pub(super) use row::Row;
pub(super) use sql::{Sql, sql};
pub(super) use unique::Unique;
pub(super) use value::{ToValue, Value, params};
