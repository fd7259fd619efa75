//! The schema `mcpkg` of a database: its version, and bringing it to the newest one.

use postgres::Client;

use super::address::SCHEMA;
use super::connection::Connection;
use super::lock::MIGRATION;
use super::rows::single;
use super::sql::postgres_sql;
use crate::error::{Code, Error, Result};
use crate::store::Db;
use crate::store::engine::{Intent, Link, index, params};

/// Lists migrations by the names of their files in `migrations/postgres`.
macro_rules! migrations {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../../migrations/postgres/", $name, ".sql")))),*]
    };
}

/// The migrations from version 1 on, each with its name: a history tells by both what was done.
const MIGRATIONS: &[(&str, &str)] = migrations!["V001__schema", "V002__spaceless", "V003__forms"];

/// The newest version this program knows.
pub(super) const NEWEST: i64 = MIGRATIONS.len() as i64;

/// The last version whose search index has runs of letters of scripts without spaces as words.
const WITH_RUNS: i64 = 1;

/// What stands in a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Nothing of this name, or nothing in it.
    Nothing,
    /// Tables that mcpkg did not make.
    Foreign,
    /// mcpkg's tables, of this version.
    Version(i64),
}

/// Returns what stands in the schema.
pub(super) fn found(connection: &Connection) -> Result<Found> {
    let tables = postgres_sql!(
        "SELECT to_regclass('mcpkg.refinery_schema_history') IS NOT NULL,
                EXISTS (SELECT 1 FROM pg_class WHERE relnamespace = to_regnamespace('mcpkg'))"
    );
    let (has_history, has_any): (bool, bool) =
        single(connection, tables, params![], |row| Ok((row.get(0)?, row.get(1)?)))?;
    match (has_history, has_any) {
        (false, false) => Ok(Found::Nothing),
        (false, true) => Ok(Found::Foreign),
        (true, _) => {
            // The history is there before what it tells of: without a row somebody is about to make the tables.
            let sql = postgres_sql!("SELECT max(version)::bigint FROM mcpkg.refinery_schema_history");
            let version: Option<i64> = single(connection, sql, params![], |row| row.get(0))?;
            Ok(version.map_or(Found::Nothing, Found::Version))
        }
    }
}

/// Brings what stands in the tables of an older version up to date, before the tables.
///
/// # Errors
/// As [`migrate`].
pub(super) fn renew(connection: &Connection, version: i64) -> Result<()> {
    match version {
        ..=WITH_RUNS => Db::in_transaction(Link::Postgres(connection), None, Intent::Write, index::renew),
        _ => Ok(()),
    }
}

/// Makes the schema, or brings it up to date, while nobody else does.
///
/// # Errors
/// `E_MIGRATION_DIVERGED`, `E_STORAGE`, `E_DB_UNAVAILABLE` where the user may not.
pub(super) fn migrate(client: &mut Client) -> Result<()> {
    // The lock is waited for as long as another one migrates.
    client.batch_execute(&format!("SET lock_timeout = 0; SELECT pg_advisory_lock({MIGRATION})"))?;
    client.batch_execute(&format!("CREATE SCHEMA IF NOT EXISTS {SCHEMA}"))?;
    let applied = apply(client).map_err(|error| {
        use refinery_core::error::Kind::{DivergentVersion, MissingVersion};
        match error.kind() {
            DivergentVersion(..) | MissingVersion(..) => Error::new(
                Code::MigrationDiverged,
                format!("The database's migration history is not this program's: {error}"),
            )
            .hint("use the mcpkg that wrote it"),
            _ => Error::new(Code::Storage, format!("The database could not be brought up to date: {error}"))
                .hint("nothing was changed"),
        }
        .with_source(error)
    });
    client.batch_execute(&format!("SELECT pg_advisory_unlock({MIGRATION})"))?;
    applied
}

fn apply(client: &mut Client) -> std::result::Result<(), refinery_core::Error> {
    let migrations: Vec<_> = MIGRATIONS
        .iter()
        .map(|(name, sql)| refinery_core::Migration::unapplied(name, sql))
        .collect::<std::result::Result<_, _>>()?;
    refinery_core::Runner::new(&migrations).set_grouped(true).run(client).map(drop)
}
