//! From an older schema to the newest.

use std::path::Path;

use rusqlite::Connection;

use super::schema::{self, SCHEMA_VERSION};
use crate::error::Result;
use crate::store::blobs;
use crate::store::engine::Link;

/// The version from which on content has a checksum.
const WITH_CHECKSUMS: u32 = 6;

/// Brings a database of schema `version` up to date, its content too. Where it is cut short, the next call goes on.
///
/// # Errors
/// `E_MIGRATION_DIVERGED`, `E_DB_FOREIGN`, `E_DB_BUSY`, `E_DISK_FULL`, `E_STORAGE`.
pub(super) fn to_newest(connection: &mut Connection, version: u32, path: &Path) -> Result<()> {
    if version <= WITH_CHECKSUMS {
        // It stays at this version until all content has a checksum.
        schema::migrate(connection, WITH_CHECKSUMS, path)?;
        blobs::fill_checksums(Link::Sqlite(connection))?;
    }
    schema::migrate(connection, SCHEMA_VERSION, path)
}
