//! Access keys. Only the SHA-256 of a key's secret is kept.

use rusqlite::{OptionalExtension, params};
use uuid::Uuid;

use super::page::{Page, Slice};
use super::{Db, sqlite};
use crate::clock::Millis;
use crate::error::{Code, Error, Result};

/// A key's row, without the hash of its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The part of the key that is no secret.
    pub key_id: String,
    /// Unique in the database, among the revoked ones too.
    pub name: String,
    /// The project it is for; `None` for all of them.
    pub project: Option<Uuid>,
    /// Whether it may only read.
    pub read_only: bool,
    /// When it was made.
    pub created_at: Millis,
    /// From when on it is refused.
    pub expires_at: Option<Millis>,
    /// When it was revoked.
    pub revoked_at: Option<Millis>,
}

const KEY: &str = "key_id, name, project_uuid, read_only, created_at, expires_at, revoked_at";

/// Adds a key.
///
/// # Errors
/// `E_ALREADY_EXISTS` where the name is taken.
pub fn insert(db: &Db<'_>, key: &Key, hash: &[u8; 32]) -> Result<()> {
    db.connection
        .prepare_cached(
            "INSERT INTO access_key (key_id, name, project_uuid, read_only, created_at, expires_at, revoked_at, hash)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?
        .execute(params![
            key.key_id,
            key.name,
            key.project.as_ref().map(Uuid::as_bytes),
            key.read_only,
            key.created_at,
            key.expires_at,
            key.revoked_at,
            &hash[..]
        ])
        .map_err(|error| taken(error, &key.name))?;
    Ok(())
}

/// Returns a page of keys by name.
///
/// # Errors
/// How the disk failed.
pub fn list(db: &Db<'_>, page: &Page) -> Result<Slice<Key>> {
    let sql = format!("SELECT {KEY} FROM access_key WHERE name > ?1 ORDER BY name LIMIT ?2");
    let mut statement = db.connection.prepare_cached(&sql)?;
    let rows = statement.query_map(params![page.after, page.fetch()], from_row)?;
    Ok(page.slice(rows.collect::<rusqlite::Result<_>>()?))
}

/// Returns the key called `name`.
///
/// # Errors
/// `E_NOT_FOUND`.
pub fn get(db: &Db<'_>, name: &str) -> Result<Key> {
    let sql = format!("SELECT {KEY} FROM access_key WHERE name = ?1");
    let found = db.connection.prepare_cached(&sql)?.query_row([name], from_row).optional()?;
    match found {
        Some(key) => Ok(key),
        None => Err(missing(db, name)?),
    }
}

/// Returns the key with this id, and the SHA-256 of its secret.
///
/// # Errors
/// How the disk failed.
pub fn find(db: &Db<'_>, key_id: &str) -> Result<Option<(Key, [u8; 32])>> {
    let sql = format!("SELECT {KEY}, hash FROM access_key WHERE key_id = ?1");
    let mut statement = db.connection.prepare_cached(&sql)?;
    Ok(statement.query_row([key_id], |row| Ok((from_row(row)?, row.get(7)?))).optional()?)
}

/// Revokes a key; one that was revoked before keeps its time.
///
/// # Errors
/// How the disk failed.
pub fn revoke(db: &Db<'_>, key_id: &str, now: Millis) -> Result<()> {
    db.connection
        .prepare_cached("UPDATE access_key SET revoked_at = ?2 WHERE key_id = ?1 AND revoked_at IS NULL")?
        .execute(params![key_id, now])?;
    Ok(())
}

/// What a restore does not loosen.
#[derive(Clone, Debug)]
pub struct Standing {
    /// The ids of the keys that were revoked.
    revoked: Vec<String>,
    /// Whether servers ask for a key.
    required: bool,
}

impl Standing {
    /// What is taken to stand in a database that cannot be read: servers ask for a key.
    pub fn unknown() -> Self {
        Self { revoked: Vec::new(), required: true }
    }
}

/// Returns what a restore does not loosen.
///
/// # Errors
/// How the disk failed.
pub fn standing(db: &Db<'_>) -> Result<Standing> {
    let sql = "SELECT key_id FROM access_key WHERE revoked_at IS NOT NULL ORDER BY id";
    Ok(Standing { revoked: db.all(sql, [], |row| Ok(row.get(0)?))?, required: required(db)? })
}

/// Makes what stood in another database stand in this one: what was revoked is, and servers go on asking for a key.
///
/// # Errors
/// How the disk failed.
pub fn keep(db: &Db<'_>, standing: &Standing, now: Millis) -> Result<()> {
    for key_id in &standing.revoked {
        revoke(db, key_id, now)?;
    }
    if standing.required {
        db.connection.execute("INSERT OR REPLACE INTO setting (key, value) VALUES ('keys_required', 1)", [])?;
    }
    Ok(())
}

/// Returns whether there is any key, a revoked one too.
///
/// # Errors
/// How the disk failed.
pub fn any(db: &Db<'_>) -> Result<bool> {
    let mut statement = db.connection.prepare_cached("SELECT EXISTS (SELECT 1 FROM access_key)")?;
    Ok(statement.query_row([], |row| row.get(0))?)
}

/// Returns whether servers ask for a key: there is one, or there was one in what a restore replaced.
///
/// # Errors
/// How the disk failed.
pub fn required(db: &Db<'_>) -> Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM access_key) OR EXISTS (SELECT 1 FROM setting WHERE key = 'keys_required')";
    Ok(db.connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
}

fn from_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<Key> {
    Ok(Key {
        key_id: row.get(0)?,
        name: row.get(1)?,
        project: row.get::<_, Option<[u8; 16]>>(2)?.map(Uuid::from_bytes),
        read_only: row.get(3)?,
        created_at: row.get(4)?,
        expires_at: row.get(5)?,
        revoked_at: row.get(6)?,
    })
}

fn taken(error: rusqlite::Error, name: &str) -> Error {
    if sqlite::violates(&error, "access_key.name") {
        Error::new(Code::AlreadyExists, format!("Access key '{name}' already exists"))
            .with_details(serde_json::json!({ "name": name }))
    } else {
        error.into()
    }
}

fn missing(db: &Db<'_>, name: &str) -> Result<Error> {
    let mut statement = db.connection.prepare_cached("SELECT name FROM access_key ORDER BY name LIMIT 1000")?;
    let names: Vec<String> = statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let error = Error::new(Code::NotFound, format!("Access key '{name}' does not exist"))
        .with_details(serde_json::json!({ "name": name }));
    Ok(error.suggest(name, names.iter().map(String::as_str), "`mcpkg access list` shows the keys there are"))
}
