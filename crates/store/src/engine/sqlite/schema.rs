//! Creates and migrates the schema, and checks that a file has exactly the schema of its version.
//!
//! A foreign trigger, view or table could change what a statement does, or show something that was not stored. So all objects
//! are compared before any statement runs. In addition, connections run no triggers and no views, and cannot write the schema
//! ([`super::connect::set_up`]). That covers objects that another process adds while the file is open.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::Connection;

use super::errors::failed;
use super::functions;
use crate::engine::full;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::sha256;

/// A migration, and the fingerprint of the schema after it.
struct Migration {
    /// The name of the migration's file. The history records it together with the statements.
    name: &'static str,
    sql: &'static str,
    /// The SHA-256 of [`fingerprint`] after this migration. A test compares it with the fingerprint that the migrations
    /// give.
    schema: &'static str,
}

/// Lists migrations by the names of their files in `migrations/sqlite`.
macro_rules! migrations {
    ($($name:literal => $schema:literal),* $(,)?) => {
        &[$(Migration {
            name: $name,
            sql: include_str!(concat!("../../../../../migrations/sqlite/", $name, ".sql")),
            schema: $schema,
        }),*]
    };
}

/// The migrations from version 1 on.
const MIGRATIONS: &[Migration] = migrations![
    "V001__content" => "6d3a2e893c0ac088564add08edd11f24708ea091c5090ffc2c7230d3749bd8a8",
    "V002__deploy" => "5461aeef597a84c660843e807d456a2b520d4bb6fd84afbe38f0b59f968b2b2b",
    "V003__access" => "e9e9ddba6bf53802eeebc8bdf3fa624dffe0676d8c2df33be04ba25ce943a31d",
    "V004__checksums" => "d4cced901456146fc9a3a75a0a182766f80a90531bb1ef14d886decc4f059451",
    "V005__dialect" => "8f7576fb2779e55a393f76f2ee4827cf45656003b16cfda04cfd65bb8e52e9e1",
    "V006__consent_and_checksums" => "1c864dec995fbf7f334e6ea91fe3080185a8f19f732a9cbc13b299598b586a3f",
    "V007__tasks" => "505d2b0527ffc0b5fd3c27bd8a9f0784403a58b7538231597d7e6fe4f4adea35",
    "V008__applies" => "0cce08a449944574ea71565663bef8c2dc95acfe3ea4e7350d7a612d6a5e425d",
    "V009__sources_sync_servers" => "39f71503c2b7b75eb65b80a399b2e5c4328bf8a8bfdb580315f2f3dc420cb8c0",
    "V010__tools" => "68f1cca1979962acc966b0834be30c1aa802cb9836ddd23a1d06e7640026c606",
    "V011__tool_keys_builds_aliases" => "e5bf36f10b7ea0fedbd87d1f29128eb0fa9ad133a707a10b5ff034b4747480c8",
    "V012__workspace" => "54ae03276a1fafae97a67d19f7616c1f2659dfec5225991a44c37ebe36438263",
    "V013__catalogs" => "5348f1f2576743c6f05c6bbb4f963c95ed776c92a5d32f5f7e39c126cea508fe",
    "V014__workflows" => "e1ef065634483e1bca7a7ab117a288a66c558fcf13a4b3f39a25e69b0bae4955",
    "V015__runs" => "545f429b39c105a7144ca59f3689a9658aeeeaaf8edb6c8905ce8a9942cade89",
    "V016__plugins" => "c91a23671c5c992b3ad4bd078b7c9794402af2182228f10509324db04c0dd879",
    "V017__phase_two" => "38a7cefaa3f62d4118f643b868d458c6ca47e950dd5122d8769fc5a38d1af1d5",
    "V018__spaceless" => "38a7cefaa3f62d4118f643b868d458c6ca47e950dd5122d8769fc5a38d1af1d5",
    "V019__forms" => "bc73a6f4f19d0fdf63bda46a2e98c7e5d53157236da1dc59874c4913b8bfd703",
    "V020__undo" => "80a872b1fa1eb24c2802bae9969d6e2f913ab11f7ac366f5c54e94ffc3f8e703",
    "V021__notes" => "452f7264f1efeb7d6904aa9d174b0ab2e9141b26f674909db807b78aacb37ad3",
    "V022__sources" => "46f8b05401007e8ad84d1e56722f74550a8c22bee67ea3c6d32b37b9f44a059c",
    "V023__rules" => "a0e2495b9a10859339fa9a82b5b06381f3d844714c3bdcbb3326ae7af4a32677",
];

/// The schema after all migrations and their history, with which a new database starts. Replaying the migrations would be
/// slow, because SQLite reads the whole schema again after each change of a table. A test compares the two, and writes
/// this file if `UPDATE_DOCS` is set.
const SCHEMA: &str = include_str!("../../../../../migrations/sqlite/schema.sql");

/// The newest schema version that this program knows. A file stores its version in `user_version`.
pub const SCHEMA_VERSION: u32 = MIGRATIONS.len() as u32;

/// The setting that names the version of mcpkg that last changed the schema.
const UPGRADED_BY: &str = "upgraded_by";

/// A row of `sqlite_schema`, without the number of its first page.
#[derive(Debug, PartialEq, Eq)]
struct Object {
    table: String,
    sql: Option<String>,
}

/// Objects by type and name.
type Objects = BTreeMap<(String, String), Object>;

/// Creates the newest schema in an empty database, in one transaction.
pub(super) fn create(connection: &mut Connection, path: &Path) -> Result<()> {
    let transaction = connection.transaction().map_err(failed)?;
    transaction.execute_batch(SCHEMA).map_err(failed)?;
    record_program_version(&transaction)?;
    transaction.commit().map_err(failed)?;
    check(connection, SCHEMA_VERSION, path)
}

/// Migrates the schema to `version`, in one transaction.
pub(super) fn migrate(connection: &mut Connection, version: u32, path: &Path) -> Result<()> {
    functions::register(connection).map_err(failed)?;
    if apply(connection, version).map_err(upgrade_error)? {
        record_program_version(connection)?;
    }
    // Check again: the history may claim migrations that were never applied.
    check(connection, version, path)
}

/// Stores the version of this mcpkg as the one that last changed the schema.
fn record_program_version(connection: &Connection) -> Result<()> {
    let sql = "INSERT INTO setting (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = excluded.value";
    connection.execute(sql, [UPGRADED_BY, env!("CARGO_PKG_VERSION")]).map_err(failed)?;
    Ok(())
}

fn upgrade_error(error: refinery_core::Error) -> Error {
    match error.kind() {
        refinery_core::error::Kind::DivergentVersion(..) | refinery_core::error::Kind::MissingVersion(..) => {
            Error::new(
                Code::MigrationDiverged,
                format!("The database's migration history does not match this version of mcpkg: {error}"),
            )
            .hint("restore a backup, or use the version of mcpkg that wrote this file")
        }
        _ if is_full(&error) => full(),
        _ => Error::new(Code::Storage, format!("Cannot upgrade the database: {error}")).hint("nothing was changed"),
    }
    .with_source(error)
}

/// Whether a migration failed because the disk is full.
fn is_full(error: &refinery_core::Error) -> bool {
    let causes = std::iter::successors(std::error::Error::source(error), |cause| cause.source());
    let mut causes = causes.filter_map(|cause| cause.downcast_ref::<rusqlite::Error>());
    causes.any(|cause| cause.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull))
}

/// Applies the missing migrations up to `version`. Returns whether there were any.
fn apply(connection: &mut Connection, version: u32) -> std::result::Result<bool, refinery_core::Error> {
    let target = refinery_core::Target::Version(version.try_into().unwrap_or(i32::MAX));
    let migrations: Vec<_> = MIGRATIONS
        .iter()
        .map(|migration| refinery_core::Migration::unapplied(migration.name, migration.sql))
        .collect::<std::result::Result<_, _>>()?;
    let report = refinery_core::Runner::new(&migrations).set_grouped(true).set_target(target).run(connection)?;
    Ok(!report.applied_migrations().is_empty())
}

/// Returns the version of mcpkg that wrote the schema of a file, if that version is newer than this one.
pub(super) fn newer_version(connection: &Connection) -> Option<String> {
    let sql = "SELECT value FROM setting WHERE key = ?1";
    let found: String = connection.query_row(sql, [UPGRADED_BY], |row| row.get(0)).ok()?;
    // The file may come from anybody, and the text becomes part of a hint. So accept nothing but a version number.
    let numbers = |text: &str| {
        let numbers: Vec<u32> = text.split('.').map(|part| part.parse().ok()).collect::<Option<_>>()?;
        <[u32; 3]>::try_from(numbers).ok()
    };
    let newer = numbers(&found)?;
    (newer > numbers(env!("CARGO_PKG_VERSION"))?).then(|| newer.map(|number| number.to_string()).join("."))
}

/// Refuses a file whose objects are not those of schema `version`.
///
/// A newer known schema is accepted, because an upgrade may have been interrupted before it changed the header.
///
/// # Errors
/// `E_DB_FOREIGN` that names the object.
pub(super) fn check(connection: &Connection, version: u32, path: &Path) -> Result<()> {
    let found = objects(connection)?;
    let fingerprint = fingerprint(&found);
    // Take the last match: a migration may leave all objects unchanged, so several versions can have the same
    // fingerprint.
    let known = (1..).zip(MIGRATIONS).filter(|(_, migration)| migration.schema == fingerprint).last();
    if known.is_some_and(|(known, _)| known >= version) {
        return Ok(());
    }
    let what = match expected(version.max(1)) {
        Ok(expected) => difference(&expected, &found),
        Err(_) => "has a schema that does not belong to mcpkg".to_owned(),
    };
    Err(Error::new(Code::ForeignDatabase, format!("The database `{}` {what}", path.display())).hint(
        "the file was left untouched, and nothing in the file was run; restore a backup, or name another database with --db",
    ))
}

/// Describes how the objects in `found` differ from those in `expected`.
fn difference(expected: &Objects, found: &Objects) -> String {
    for ((kind, name), object) in found {
        match expected.get(&(kind.clone(), name.clone())) {
            None => return format!("contains the {kind} `{}`, which mcpkg did not create", name.escape_debug()),
            Some(expected) if expected != object => {
                return format!("contains a {kind} `{}` that differs from mcpkg's own", name.escape_debug());
            }
            Some(_) => {}
        }
    }
    match expected.keys().find(|key| !found.contains_key(key)) {
        Some((kind, name)) => format!("lacks the {kind} `{name}`"),
        None => "has a schema that does not belong to mcpkg".to_owned(),
    }
}

/// Returns the objects that the migrations up to `version` create.
fn expected(version: u32) -> Result<Objects> {
    let mut connection = Connection::open_in_memory().map_err(failed)?;
    functions::register(&connection).map_err(failed)?;
    apply(&mut connection, version)
        .map_err(|error| Error::internal("cannot create the schema in memory").with_source(error))?;
    objects(&connection)
}

fn objects(connection: &Connection) -> Result<Objects> {
    let mut statement = connection.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema").map_err(failed)?;
    let mut rows = statement.query([]).map_err(failed)?;
    let mut objects = Objects::new();
    while let Some(row) = rows.next().map_err(failed)? {
        let (kind, name): (String, String) = (row.get(0).map_err(failed)?, row.get(1).map_err(failed)?);
        let object = Object { table: row.get(2).map_err(failed)?, sql: row.get(3).map_err(failed)? };
        if !is_let_be(&kind, &name, &object) {
            objects.insert((kind, name), object);
        }
    }
    Ok(objects)
}

/// Whether an object is a table, or an index of a table, that Litestream or ANALYZE may create in any database.
fn is_let_be(kind: &str, name: &str, object: &Object) -> bool {
    let table = &object.table;
    let known = table.starts_with("_litestream_") || matches!(table.as_str(), "sqlite_stat1" | "sqlite_stat4");
    match kind {
        // Accept only plain tables: a virtual table runs code.
        "table" => known && name == table && object.sql.as_ref().is_some_and(|sql| sql.starts_with("CREATE TABLE")),
        "index" => known,
        _ => false,
    }
}

fn fingerprint(objects: &Objects) -> String {
    let mut all = Vec::new();
    let mut field = |text: &str| {
        all.extend_from_slice(&(text.len() as u64).to_le_bytes());
        all.extend_from_slice(text.as_bytes());
    };
    for ((kind, name), Object { table, sql }) in objects {
        [kind, name, table].into_iter().for_each(|text| field(text));
        field(sql.as_deref().unwrap_or("-"));
    }
    sha256::hex(&all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_known_schemas_are_those_of_the_migrations() {
        let made: Vec<_> = (1..=SCHEMA_VERSION).map(|version| fingerprint(&expected(version).unwrap())).collect();
        assert_eq!(made, MIGRATIONS.iter().map(|migration| migration.schema).collect::<Vec<_>>());
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, SCHEMA_VERSION, Path::new("x")).unwrap();
        let version: u32 = connection.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
        assert_eq!(version, SCHEMA_VERSION, "the last migration sets it");
    }

    /// Returns the text of `schema.sql`.
    fn text() -> String {
        let mut connection = Connection::open_in_memory().unwrap();
        functions::register(&connection).unwrap();
        apply(&mut connection, SCHEMA_VERSION).unwrap();
        let all = |sql: &str| -> Vec<String> {
            let mut statement = connection.prepare(sql).unwrap();
            statement.query_map([], |row| row.get(0)).unwrap().map(|text| text.unwrap()).collect()
        };
        // SQLite creates `sqlite_sequence`, and a virtual table creates what it needs.
        let statements = all(r"
            SELECT trim(sql) || ';' FROM sqlite_schema AS object
            WHERE sql IS NOT NULL AND name <> 'sqlite_sequence' AND NOT EXISTS (
              SELECT 1 FROM sqlite_schema AS virtual
              WHERE virtual.sql LIKE 'CREATE VIRTUAL TABLE%' AND object.name LIKE virtual.name || '\_%' ESCAPE '\'
            )
            ORDER BY rowid");
        // The times are constants: SQL reads no clock, and nobody reads the times.
        let history = all("
            SELECT format('  (%d, %Q, ''1970-01-01T00:00:00Z'', %Q)', version, name, checksum)
            FROM refinery_schema_history ORDER BY version");
        format!(
            "-- The schema after all migrations, with which a new database starts. Generated from them.\n\n{}\n\n\
             INSERT INTO setting (key, value) VALUES ('generation', lower(hex(randomblob(16))));\n\n\
             INSERT INTO refinery_schema_history (version, name, applied_on, checksum) VALUES\n{};\n\n\
             PRAGMA user_version = {SCHEMA_VERSION};\n",
            statements.join("\n\n"),
            history.join(",\n")
        )
    }

    #[test]
    fn a_new_database_is_what_the_migrations_give() {
        let text = text();
        if std::env::var_os("UPDATE_DOCS").is_some() {
            let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../migrations/sqlite/schema.sql");
            return std::fs::write(file, text).unwrap();
        }
        assert_eq!(SCHEMA, text, "UPDATE_DOCS=1 writes it");
        let [mut created, mut migrated] = [(); 2].map(|()| Connection::open_in_memory().unwrap());
        create(&mut created, Path::new("x")).unwrap();
        migrate(&mut migrated, SCHEMA_VERSION, Path::new("x")).unwrap();
        assert_eq!(objects(&created).unwrap(), objects(&migrated).unwrap());
        let rest = |connection: &Connection| -> Vec<String> {
            let text = |sql: &str| connection.query_row(sql, [], |row| row.get(0)).unwrap();
            let tables = objects(connection).unwrap().into_keys().filter(|(kind, _)| kind == "table");
            let rows = tables.map(|(_, name)| text(&format!("SELECT '{name}: ' || count(*) FROM {name}")));
            rows.chain([
                text("SELECT group_concat(version || name || checksum) FROM refinery_schema_history"),
                text("SELECT group_concat(key) FROM (SELECT key FROM setting ORDER BY key)"),
                text("SELECT 'version ' || user_version FROM pragma_user_version"),
            ])
            .collect()
        };
        assert_eq!(rest(&created), rest(&migrated));
        assert!(!apply(&mut created, SCHEMA_VERSION).unwrap(), "no migration is missing");
    }

    #[test]
    fn extra_missing_and_different_objects_are_named() {
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
            ("ALTER TABLE event ADD COLUMN more TEXT", "a table `event` that differs from mcpkg's own"),
            (
                "CREATE TABLE _litestream_seq (a); CREATE TRIGGER t AFTER INSERT ON _litestream_seq BEGIN SELECT 1; END",
                "the trigger `t`",
            ),
            ("CREATE VIEW _litestream_seq AS SELECT 1", "the view `_litestream_seq`"),
            ("CREATE VIRTUAL TABLE _litestream_seq USING fts5 (a)", "`_litestream_seq"),
        ] {
            let mut connection = Connection::open_in_memory().unwrap();
            create(&mut connection, Path::new("x")).unwrap();
            connection.execute_batch(change).unwrap();
            let error = check(&connection, SCHEMA_VERSION, Path::new("x")).unwrap_err();
            assert_eq!(error.code(), Code::ForeignDatabase);
            assert!(error.message().contains(says), "{change}: {error}");
        }
    }

    #[test]
    fn tables_of_litestream_and_analyze_are_accepted() {
        let mut connection = Connection::open_in_memory().unwrap();
        create(&mut connection, Path::new("x")).unwrap();
        connection
            .execute_batch("CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER UNIQUE); ANALYZE;")
            .unwrap();
        check(&connection, SCHEMA_VERSION, Path::new("x")).unwrap();
    }
}
