//! Upgrades a database from an older schema to the newest one, including its content.

use std::path::Path;

use rusqlite::Connection;

use super::schema::{self, SCHEMA_VERSION};
use crate::engine::{Intent, Link, index};
use crate::{Db, blobs};
use mcpkg_base::error::Result;

/// The first version in which content has a checksum.
const WITH_CHECKSUMS: u32 = 6;

/// The last version whose search index treated a whole run of letters in a script without spaces as one word.
const WITH_RUNS: u32 = 17;

/// Upgrades a database of schema `version`, including its content. If it is interrupted, the next call continues.
pub(super) fn to_newest(connection: &mut Connection, version: u32, path: &Path) -> Result<()> {
    if version <= WITH_CHECKSUMS {
        // The database stays at this version until all content has a checksum.
        schema::migrate(connection, WITH_CHECKSUMS, path)?;
        blobs::fill_checksums(Link::Sqlite(connection))?;
    }
    if version <= WITH_RUNS {
        // The database stays at this version until its index is renewed.
        schema::migrate(connection, WITH_RUNS, path)?;
        Db::in_transaction(Link::Sqlite(connection), None, Intent::Write, index::renew)?;
    }
    schema::migrate(connection, SCHEMA_VERSION, path)
}
