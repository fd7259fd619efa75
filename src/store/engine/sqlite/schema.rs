//! The schema of the file: that it is exactly the one of its version.
//!
//! A trigger, a view or a table of somebody else's could change what a statement does, or show something else than what
//! was stored. So all objects are compared before any statement runs on them. Besides, connections run no triggers and
//! no views at all and let nobody write the schema ([`super::connect::set_up`]), which covers what another process adds
//! while the file is open.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::Connection;
use sha2::{Digest, Sha256};

use super::functions;
use crate::error::{Code, Error, Result};

/// The newest schema this program knows, kept in `user_version`.
pub const SCHEMA_VERSION: u32 = 18;

/// The SHA-256 of [`fingerprint`] for each version from 1 on; a test makes them anew from the migrations.
const KNOWN: [&str; SCHEMA_VERSION as usize] = [
    "6d3a2e893c0ac088564add08edd11f24708ea091c5090ffc2c7230d3749bd8a8",
    "5461aeef597a84c660843e807d456a2b520d4bb6fd84afbe38f0b59f968b2b2b",
    "e9e9ddba6bf53802eeebc8bdf3fa624dffe0676d8c2df33be04ba25ce943a31d",
    "d4cced901456146fc9a3a75a0a182766f80a90531bb1ef14d886decc4f059451",
    "8f7576fb2779e55a393f76f2ee4827cf45656003b16cfda04cfd65bb8e52e9e1",
    "1c864dec995fbf7f334e6ea91fe3080185a8f19f732a9cbc13b299598b586a3f",
    "505d2b0527ffc0b5fd3c27bd8a9f0784403a58b7538231597d7e6fe4f4adea35",
    "0cce08a449944574ea71565663bef8c2dc95acfe3ea4e7350d7a612d6a5e425d",
    "39f71503c2b7b75eb65b80a399b2e5c4328bf8a8bfdb580315f2f3dc420cb8c0",
    "68f1cca1979962acc966b0834be30c1aa802cb9836ddd23a1d06e7640026c606",
    "e5bf36f10b7ea0fedbd87d1f29128eb0fa9ad133a707a10b5ff034b4747480c8",
    "54ae03276a1fafae97a67d19f7616c1f2659dfec5225991a44c37ebe36438263",
    "5348f1f2576743c6f05c6bbb4f963c95ed776c92a5d32f5f7e39c126cea508fe",
    "e1ef065634483e1bca7a7ab117a288a66c558fcf13a4b3f39a25e69b0bae4955",
    "545f429b39c105a7144ca59f3689a9658aeeeaaf8edb6c8905ce8a9942cade89",
    "c91a23671c5c992b3ad4bd078b7c9794402af2182228f10509324db04c0dd879",
    "38a7cefaa3f62d4118f643b868d458c6ca47e950dd5122d8769fc5a38d1af1d5",
    "38a7cefaa3f62d4118f643b868d458c6ca47e950dd5122d8769fc5a38d1af1d5",
];

/// The migrations in their order, each with its name: a history tells by both what was done.
const MIGRATIONS: [(&str, &str); SCHEMA_VERSION as usize] = [
    ("V001__content", include_str!("../../../../migrations/sqlite/V001__content.sql")),
    ("V002__deploy", include_str!("../../../../migrations/sqlite/V002__deploy.sql")),
    ("V003__access", include_str!("../../../../migrations/sqlite/V003__access.sql")),
    ("V004__checksums", include_str!("../../../../migrations/sqlite/V004__checksums.sql")),
    ("V005__dialect", include_str!("../../../../migrations/sqlite/V005__dialect.sql")),
    ("V006__consent_and_checksums", include_str!("../../../../migrations/sqlite/V006__consent_and_checksums.sql")),
    ("V007__tasks", include_str!("../../../../migrations/sqlite/V007__tasks.sql")),
    ("V008__applies", include_str!("../../../../migrations/sqlite/V008__applies.sql")),
    ("V009__sources_sync_servers", include_str!("../../../../migrations/sqlite/V009__sources_sync_servers.sql")),
    ("V010__tools", include_str!("../../../../migrations/sqlite/V010__tools.sql")),
    (
        "V011__tool_keys_builds_aliases",
        include_str!("../../../../migrations/sqlite/V011__tool_keys_builds_aliases.sql"),
    ),
    ("V012__workspace", include_str!("../../../../migrations/sqlite/V012__workspace.sql")),
    ("V013__catalogs", include_str!("../../../../migrations/sqlite/V013__catalogs.sql")),
    ("V014__workflows", include_str!("../../../../migrations/sqlite/V014__workflows.sql")),
    ("V015__runs", include_str!("../../../../migrations/sqlite/V015__runs.sql")),
    ("V016__plugins", include_str!("../../../../migrations/sqlite/V016__plugins.sql")),
    ("V017__phase_two", include_str!("../../../../migrations/sqlite/V017__phase_two.sql")),
    ("V018__spaceless", include_str!("../../../../migrations/sqlite/V018__spaceless.sql")),
];

/// A row of `sqlite_schema`, without the page it begins at.
#[derive(Debug, PartialEq, Eq)]
struct Object {
    table: String,
    sql: Option<String>,
}

/// Objects by type and name.
type Objects = BTreeMap<(String, String), Object>;

/// Brings the schema up to `version`, in one transaction.
///
/// # Errors
/// `E_MIGRATION_DIVERGED`, `E_STORAGE`, `E_DB_FOREIGN`.
pub(super) fn migrate(connection: &mut Connection, version: u32, path: &Path) -> Result<()> {
    functions::register(connection)?;
    apply(connection, version).map_err(|error| {
        match error.kind() {
            refinery_core::error::Kind::DivergentVersion(..) | refinery_core::error::Kind::MissingVersion(..) => {
                Error::new(
                    Code::MigrationDiverged,
                    format!("The database's migration history is not this program's: {error}"),
                )
                .hint("restore a backup, or use the mcpkg that wrote this file")
            }
            _ => Error::new(Code::Storage, format!("The database could not be brought up to date: {error}"))
                .hint("nothing was changed"),
        }
        .with_source(error)
    })?;
    // A history that says more was done than was done.
    check(connection, version, path)
}

fn apply(connection: &mut Connection, version: u32) -> std::result::Result<(), refinery_core::Error> {
    let target = refinery_core::Target::Version(version.try_into().unwrap_or(i32::MAX));
    let migrations: Vec<_> = MIGRATIONS
        .iter()
        .map(|(name, sql)| refinery_core::Migration::unapplied(name, sql))
        .collect::<std::result::Result<_, _>>()?;
    refinery_core::Runner::new(&migrations).set_grouped(true).set_target(target).run(connection).map(drop)
}

/// Refuses a file whose objects are not those of schema `version`.
///
/// A newer schema than the file's header says passes where it is a known one: an upgrade was interrupted.
///
/// # Errors
/// `E_DB_FOREIGN` that names the object.
pub(super) fn check(connection: &Connection, version: u32, path: &Path) -> Result<()> {
    let found = objects(connection)?;
    let fingerprint = fingerprint(&found);
    // A version may have changed no object.
    let known = KNOWN.iter().zip(1..).filter(|(known, _)| **known == fingerprint).last();
    if known.is_some_and(|(_, known)| known >= version) {
        return Ok(());
    }
    let what = match expected(version.max(1)) {
        Ok(expected) => difference(&expected, &found),
        Err(_) => "has a schema that is not mcpkg's".to_owned(),
    };
    Err(Error::new(Code::ForeignDatabase, format!("The database `{}` {what}", path.display()))
        .hint("nothing of it was run and the file was left untouched; restore a backup, or name another with --db"))
}

/// Says in what the schema differs from schema `version`.
fn difference(expected: &Objects, found: &Objects) -> String {
    for ((kind, name), object) in found {
        match expected.get(&(kind.clone(), name.clone())) {
            None => return format!("holds the {kind} `{}`, which is not mcpkg's", name.escape_debug()),
            Some(expected) if expected != object => {
                return format!("holds a {kind} `{}` that is not the one mcpkg makes", name.escape_debug());
            }
            Some(_) => {}
        }
    }
    match expected.keys().find(|key| !found.contains_key(key)) {
        Some((kind, name)) => format!("lacks the {kind} `{name}`"),
        None => "has a schema that is not mcpkg's".to_owned(),
    }
}

/// Returns the objects that the migrations up to `version` make.
fn expected(version: u32) -> Result<Objects> {
    let mut connection = Connection::open_in_memory()?;
    functions::register(&connection)?;
    apply(&mut connection, version)
        .map_err(|error| Error::internal("the schema cannot be made in memory").with_source(error))?;
    objects(&connection)
}

fn objects(connection: &Connection) -> Result<Objects> {
    let mut statement = connection.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema")?;
    let mut rows = statement.query([])?;
    let mut objects = Objects::new();
    while let Some(row) = rows.next()? {
        let (kind, name): (String, String) = (row.get(0)?, row.get(1)?);
        let object = Object { table: row.get(2)?, sql: row.get(3)? };
        if !is_let_be(&kind, &name, &object) {
            objects.insert((kind, name), object);
        }
    }
    Ok(objects)
}

/// Whether an object is one of the tables, with their indexes, that Litestream and ANALYZE keep in any database.
fn is_let_be(kind: &str, name: &str, object: &Object) -> bool {
    let table = &object.table;
    let known = table.starts_with("_litestream_") || matches!(table.as_str(), "sqlite_stat1" | "sqlite_stat4");
    match kind {
        // A virtual table runs code.
        "table" => known && name == table && object.sql.as_ref().is_some_and(|sql| sql.starts_with("CREATE TABLE")),
        "index" => known,
        _ => false,
    }
}

fn fingerprint(objects: &Objects) -> String {
    let mut hash = Sha256::new();
    let mut field = |text: &str| {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    };
    for ((kind, name), Object { table, sql }) in objects {
        [kind, name, table].into_iter().for_each(|text| field(text));
        field(sql.as_deref().unwrap_or("-"));
    }
    crate::hex::encode(&hash.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_known_schemas_are_those_of_the_migrations() {
        let made: Vec<_> = (1..=SCHEMA_VERSION).map(|version| fingerprint(&expected(version).unwrap())).collect();
        assert_eq!(made, KNOWN);
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, SCHEMA_VERSION, Path::new("x")).unwrap();
        let version: u32 = connection.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
        assert_eq!(version, SCHEMA_VERSION, "the last migration sets it");
    }

    #[test]
    fn what_is_more_missing_or_other_is_named() {
        for (change, says) in [
            ("CREATE TRIGGER evil AFTER INSERT ON event BEGIN DELETE FROM prompt; END", "the trigger `evil`"),
            (
                "CREATE VIEW endless AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT i FROM n",
                "the view `endless`",
            ),
            ("CREATE TABLE more (a)", "the table `more`"),
            ("CREATE INDEX more ON prompt (name)", "the index `more`"),
            ("DROP INDEX prompt_blob", "lacks the index `prompt_blob`"),
            ("DROP TABLE proposal; CREATE TABLE proposal (id INTEGER PRIMARY KEY)", "`proposal`"),
            ("ALTER TABLE event ADD COLUMN more TEXT", "a table `event` that is not the one"),
            (
                "CREATE TABLE _litestream_seq (a); CREATE TRIGGER t AFTER INSERT ON _litestream_seq BEGIN SELECT 1; END",
                "the trigger `t`",
            ),
            ("CREATE VIEW _litestream_seq AS SELECT 1", "the view `_litestream_seq`"),
            ("CREATE VIRTUAL TABLE _litestream_seq USING fts5 (a)", "`_litestream_seq"),
        ] {
            let mut connection = Connection::open_in_memory().unwrap();
            migrate(&mut connection, SCHEMA_VERSION, Path::new("x")).unwrap();
            connection.execute_batch(change).unwrap();
            let error = check(&connection, SCHEMA_VERSION, Path::new("x")).unwrap_err();
            assert_eq!(error.code(), Code::ForeignDatabase);
            assert!(error.message().contains(says), "{change}: {error}");
        }
    }

    #[test]
    fn tables_of_litestream_and_analyze_are_let_be() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, SCHEMA_VERSION, Path::new("x")).unwrap();
        connection
            .execute_batch("CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER UNIQUE); ANALYZE;")
            .unwrap();
        check(&connection, SCHEMA_VERSION, Path::new("x")).unwrap();
    }
}
