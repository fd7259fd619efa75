//! The schema `mcpkg` of a database on a PostgreSQL server: finds its version, and migrates it to the newest one.

use std::time::{Duration, Instant};

use postgres::{Client, NoTls};
use refinery_core::Migration;
use refinery_core::error::Kind;
use refinery_core::traits::sync::{Migrate, Query, Transaction};

use super::address::SCHEMA;
use super::client::LONG;
use super::connect::Connector;
use super::connection::Connection;
use super::errors::{failed, is_contention, no_answer, unreachable};
use super::lock::{MIGRATION, WRITERS};
use super::rows::single;
use super::sql::postgres_sql;
use crate::Db;
use crate::engine::{Intent, Link, index, params};
use mcpkg_base::error::{Code, Error, Result};

/// Lists migrations by the names of their files in `migrations/postgres`.
macro_rules! migrations {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../../../migrations/postgres/", $name, ".sql")))),*]
    };
}

/// The migrations in order of their versions, which begin with 1. Each has a name and its SQL.
const MIGRATIONS: &[(&str, &str)] = migrations![
    "V001__schema",
    "V002__spaceless",
    "V003__forms",
    "V004__undo",
    "V005__notes",
    "V006__sources",
    "V007__rules"
];

/// The newest schema version that this program knows.
pub(super) const NEWEST: i64 = MIGRATIONS.len() as i64;

/// The last schema version whose search index treated a whole run of letters in a script without spaces as one word.
const WITH_RUNS: i64 = 1;

/// How long a migration waits for running writes to end, and then for the locks of all tables that it changes. Other
/// transactions queue behind it. After a second, PostgreSQL would look for deadlocks, and abort the migration or another
/// transaction. So the migration gives up earlier, lets the others go on, and tries again.
const WAIT: Duration = Duration::from_millis(500);

/// How often a migration tries to get all its locks, and how long it waits in between.
const ATTEMPTS: usize = 100;
const AGAIN: Duration = Duration::from_millis(100);

/// The content of the schema `mcpkg` in a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SchemaState {
    /// The schema is missing or empty.
    Nothing,
    /// The schema contains something that mcpkg did not create, with its name if it is known.
    Foreign(Option<String>),
    /// mcpkg's tables of this version.
    Version(i64),
}

/// Returns what the schema contains.
pub(super) fn state(connection: &Connection) -> Result<SchemaState> {
    let sql = postgres_sql!(
        "SELECT to_regclass('mcpkg.refinery_schema_history') IS NOT NULL,
                EXISTS (SELECT 1 FROM pg_class WHERE relnamespace = to_regnamespace('mcpkg')),
                (SELECT string_agg(relname, ' ' ORDER BY relname) FROM pg_class
                  WHERE relnamespace = to_regnamespace('mcpkg') AND relkind IN ('r', 'p', 'v', 'm', 'f')),
                (SELECT string_agg(what, ', ' ORDER BY what) FROM (
                   SELECT 'the trigger `' || tgname || '` of `' || relname || '`' AS what
                     FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
                    WHERE NOT tgisinternal AND relnamespace = to_regnamespace('mcpkg')
                   UNION ALL SELECT 'the rule `' || rulename || '` of `' || relname || '`'
                     FROM pg_rewrite JOIN pg_class ON pg_class.oid = ev_class
                    WHERE rulename <> '_RETURN' AND relnamespace = to_regnamespace('mcpkg')
                   UNION ALL SELECT 'the policy `' || polname || '` of `' || relname || '`'
                     FROM pg_policy JOIN pg_class ON pg_class.oid = polrelid WHERE relnamespace = to_regnamespace('mcpkg')
                   UNION ALL SELECT 'the function `' || proname || '`' FROM pg_proc WHERE pronamespace = to_regnamespace('mcpkg')
                 ) AS others)"
    );
    let (has_history, has_any, tables, others) = single(connection, sql, params![], |row| {
        Ok((row.get(0)?, row.get(1)?, row.get::<Option<String>>(2)?, row.get::<Option<String>>(3)?))
    })?;
    match (has_history, has_any) {
        (false, false) => Ok(SchemaState::Nothing),
        (false, true) => Ok(SchemaState::Foreign(None)),
        (true, _) => {
            // The history's table is created first. If it has no row, another process is about to create the other
            // tables.
            let sql = postgres_sql!("SELECT max(version)::bigint FROM mcpkg.refinery_schema_history");
            let version: Option<i64> = single(connection, sql, params![], |row| row.get(0))?;
            let strangers = strangers(&tables.unwrap_or_default(), others);
            Ok(match (version, strangers) {
                (None, _) => SchemaState::Nothing,
                // A newer version of mcpkg may have created more objects.
                (Some(version), strangers) if version > NEWEST || strangers.is_none() => SchemaState::Version(version),
                (Some(_), strangers) => SchemaState::Foreign(strangers),
            })
        }
    }
}

/// Returns the names of everything that the migrations did not create: tables in `tables`, and `others`.
fn strangers(tables: &str, others: Option<String>) -> Option<String> {
    let made = |name: &str| {
        name == "refinery_schema_history"
            || MIGRATIONS.iter().any(|(_, sql)| sql.contains(&format!("CREATE TABLE {name} (")))
    };
    let tables = tables.split_whitespace().filter(|name| !made(name)).map(|name| format!("the table `{name}`"));
    let all: Vec<String> = tables.chain(others).collect();
    (!all.is_empty()).then(|| all.join(", "))
}

/// Updates the content of the tables of an older version. Runs before the tables themselves are migrated.
pub(super) fn renew(connection: &Connection, version: i64) -> Result<()> {
    match version {
        ..=WITH_RUNS => Db::in_transaction(Link::Postgres(connection), None, Intent::Write, index::renew),
        _ => Ok(()),
    }
}

/// Creates or migrates the schema. Waits for any other process that is doing so.
///
/// # Errors
/// `E_MIGRATION_DIVERGED`, `E_STORAGE`; `E_DB_UNAVAILABLE` if the user lacks the rights.
pub(super) fn migrate(connector: &Connector) -> Result<()> {
    // refinery needs a client without time limits. It runs on its own thread, which is abandoned if the server does not answer.
    let (done, is_done) = std::sync::mpsc::channel();
    // The host has just answered and accepted this password.
    let config = postgres::Config::from(connector.answering_host()?);
    let (tls, shown, settings) =
        (connector.tls()?, connector.address.shown.clone(), connector.address.settings.clone());
    let migrating = std::thread::Builder::new().name("migrate".to_owned()).spawn(move || {
        let connected = match tls {
            Some(tls) => config.connect(tls),
            None => config.connect(NoTls),
        };
        let migrated = connected.map_err(|error| unreachable(&shown, error)).and_then(|mut client| {
            client.batch_execute(&settings).map_err(failed)?;
            migrate_on(&mut client)
        });
        let _ = done.send(migrated);
    });
    migrating.map_err(|error| Error::internal("cannot start a thread for a migration").with_source(error))?;
    is_done.recv_timeout(LONG).unwrap_or_else(|_| Err(no_answer()))
}

fn migrate_on(client: &mut Client) -> Result<()> {
    // Without a limit: another process may be migrating for a long time.
    client.batch_execute(&format!("SET lock_timeout = 0; SELECT pg_advisory_lock({MIGRATION})")).map_err(failed)?;
    client.batch_execute(&format!("CREATE SCHEMA IF NOT EXISTS {SCHEMA}")).map_err(failed)?;
    client.batch_execute(&format!("SET lock_timeout = {}", WAIT.as_millis())).map_err(failed)?;
    // Each attempt is one transaction, so an attempt that gives up has changed nothing.
    let mut attempts = 1;
    let applied = loop {
        match apply(client) {
            Err(error) if attempts < ATTEMPTS && is_locked(&error) => attempts += 1,
            applied => break applied,
        }
        std::thread::sleep(AGAIN);
    };
    let applied = applied.map_err(|error| {
        match error.kind() {
            Kind::DivergentVersion(..) | Kind::MissingVersion(..) => Error::new(
                Code::MigrationDiverged,
                format!("The database's migration history does not match this version of mcpkg: {error}"),
            )
            .hint("use the version of mcpkg that wrote the database"),
            _ => Error::new(Code::Storage, format!("Cannot upgrade the database: {error}")).hint("nothing was changed"),
        }
        .with_source(error)
    });
    client.batch_execute(&format!("SELECT pg_advisory_unlock({MIGRATION})")).map_err(failed)?;
    applied
}

/// Returns whether a migration failed only because others used the tables at the same time.
fn is_locked(error: &refinery_core::Error) -> bool {
    let Kind::Connection(_, source) = error.kind() else { return false };
    source.downcast_ref::<postgres::Error>().and_then(postgres::Error::code).is_some_and(is_contention)
}

fn apply(client: &mut Client) -> std::result::Result<(), refinery_core::Error> {
    let migrations: Vec<_> = MIGRATIONS
        .iter()
        .map(|(name, sql)| refinery_core::Migration::unapplied(name, sql))
        .collect::<std::result::Result<_, _>>()?;
    refinery_core::Runner::new(&migrations).set_grouped(true).run(&mut Locking(client)).map(drop)
}

/// A client that runs migrations while nobody writes. Writes that begin in the meantime wait before they use any table, so
/// they cannot cause a deadlock.
struct Locking<'c>(&'c mut Client);

impl Transaction for Locking<'_> {
    type Error = postgres::Error;

    fn execute<'a, T: Iterator<Item = &'a str>>(&mut self, queries: T) -> std::result::Result<usize, postgres::Error> {
        let queries: Vec<&str> = queries.collect();
        let mut transaction = self.0.transaction()?;
        transaction.batch_execute(&format!("SELECT pg_advisory_xact_lock({WRITERS})"))?;
        // Reads could delay the migration at each table. So lock all tables at once, in the time that is left.
        let until = Instant::now() + WAIT;
        for table in altered(&queries) {
            let exists = transaction.query_one("SELECT to_regclass($1) IS NOT NULL", &[&table])?.get(0);
            let left = until.saturating_duration_since(Instant::now()).as_millis().max(1);
            if exists {
                let lock = format!("SET LOCAL lock_timeout = {left}; LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE");
                transaction.batch_execute(&lock)?;
            }
        }
        for query in &queries {
            transaction.batch_execute(query)?;
        }
        transaction.commit()?;
        Ok(queries.len())
    }
}

impl Query<Vec<Migration>> for Locking<'_> {
    fn query(&mut self, query: &str) -> std::result::Result<Vec<Migration>, postgres::Error> {
        Query::query(self.0, query)
    }
}

impl Migrate for Locking<'_> {
    fn assert_migrations_table(&mut self, name: &str) -> std::result::Result<usize, refinery_core::Error> {
        self.0.assert_migrations_table(name)
    }
}

/// Returns the tables that the statements alter, without duplicates.
fn altered<'a>(queries: &[&'a str]) -> Vec<&'a str> {
    let lines = queries.iter().flat_map(|query| query.lines());
    let altering =
        lines.filter_map(|line| line.strip_prefix("ALTER TABLE ").or_else(|| line.strip_prefix("DROP TABLE ")));
    let mut tables: Vec<&str> = altering.filter_map(|rest| rest.split([' ', ';']).next()).collect();
    tables.sort_unstable();
    tables.dedup();
    tables
}
