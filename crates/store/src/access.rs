//! Access keys. The database stores the SHA-256 of a key's secret, never the secret itself.

use uuid::Uuid;

use super::Db;
use super::access_rules::{self, Kept};
use super::blobs::damaged_value;
use super::engine::{Row, Unique, params, sql};
use super::items::json;
use super::page::{Page, Slice};
use super::tools::installs::{self, Scope};
use mcpkg_base::clock::Millis;
use mcpkg_base::error::{Code, Error, Result};

/// A key's row, without the hash of its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The part of the key that is not secret.
    pub key_id: String,
    /// Unique in the database, including revoked keys.
    pub name: String,
    /// The project that the key is limited to; `None` if it reaches all projects.
    pub project: Option<Uuid>,
    /// Whether the key only allows reading.
    pub read_only: bool,
    /// Whether the key holder's answers to an elicitation count as the user's consent.
    pub consent: bool,
    /// The namespaces of tools that the key's holder may publish in on a server's registry.
    pub publish: Vec<String>,
    /// Whether the key's holder may post attestations to a server's registry.
    pub attest: bool,
    /// Whether the key's holder may run commands, if a person consents.
    pub execute: bool,
    pub created_at: Millis,
    /// `None` if the key never expires.
    pub expires_at: Option<Millis>,
    pub revoked_at: Option<Millis>,
}

/// The columns that [`from_row`] reads.
macro_rules! columns {
    () => {
        "key_id, name, project_uuid, read_only, consent, publish, attest, execute, created_at, expires_at, revoked_at"
    };
}

const NAME: Unique = Unique::new("access_key", &["name"]);

/// Adds a key.
///
/// # Errors
/// `E_ALREADY_EXISTS` if the name is taken.
pub fn insert(db: &Db<'_>, key: &Key, hash: &[u8; 32]) -> Result<()> {
    let publish = if key.publish.is_empty() { None } else { Some(json(&key.publish)?) };
    db.run(
        sql!(
            "INSERT INTO access_key
                 (key_id, name, project_uuid, read_only, consent, publish, attest, execute, created_at, expires_at,
                  revoked_at, hash)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)"
        ),
        params![
            key.key_id,
            key.name,
            key.project,
            key.read_only,
            key.consent,
            publish,
            key.attest,
            key.execute,
            key.created_at,
            key.expires_at,
            key.revoked_at,
            hash
        ],
    )
    .map_err(|error| name_taken(error, &key.name))?;
    Ok(())
}

/// Returns a page of keys, ordered by name.
pub fn list(db: &Db<'_>, page: &Page) -> Result<Slice<Key>> {
    let sql = sql!("SELECT ", columns!(), " FROM access_key WHERE name > ?1 ORDER BY name LIMIT ?2");
    Ok(page.slice(db.all(sql, params![page.after, page.fetch()], from_row)?))
}

pub fn get(db: &Db<'_>, name: &str) -> Result<Key> {
    let sql = sql!("SELECT ", columns!(), " FROM access_key WHERE name = ?1");
    match db.one(sql, params![name], from_row)? {
        Some(key) => Ok(key),
        None => Err(missing(db, name)?),
    }
}

/// Returns the key with this id, and the SHA-256 of its secret.
pub fn find(db: &Db<'_>, key_id: &str) -> Result<Option<(Key, [u8; 32])>> {
    let sql = sql!("SELECT ", columns!(), ", hash FROM access_key WHERE key_id = ?1");
    db.one(sql, params![key_id], |row| Ok((from_row(row)?, row.get(11)?)))
}

/// Revokes a key, and removes the tool packages that its clients installed. A key that was already revoked keeps its
/// first revocation time.
pub fn revoke(db: &Db<'_>, key_id: &str, now: Millis) -> Result<()> {
    let sql = sql!("UPDATE access_key SET revoked_at = ?2 WHERE key_id = ?1 AND revoked_at IS NULL");
    db.run(sql, params![key_id, now])?;
    match find(db, key_id)? {
        Some((key, _)) => installs::remove_all(db, &Scope::Key(key.name)),
        None => Ok(()),
    }
}

/// The restrictions that survive a restore.
#[derive(Clone, Debug)]
pub struct Standing {
    /// The ids of the revoked keys.
    revoked: Vec<String>,
    /// Whether servers require a key.
    required: bool,
    /// The access rules, including the removed ones.
    rules: Vec<Kept>,
}

impl Standing {
    /// Returns the restrictions to assume if the database cannot be read: servers require a key.
    pub fn unknown() -> Self {
        Self { revoked: Vec::new(), required: true, rules: Vec::new() }
    }
}

/// Returns the restrictions that a restore must not loosen.
pub fn standing(db: &Db<'_>) -> Result<Standing> {
    let sql = sql!("SELECT key_id FROM access_key WHERE revoked_at IS NOT NULL ORDER BY id");
    let revoked = db.all(sql, params![], |row| row.get(0))?;
    Ok(Standing { revoked, required: required(db)?, rules: access_rules::all(db)? })
}

/// Carries the restrictions of the replaced database over to the restored one. Keys that were revoked are revoked
/// again, access rules replace rules with the same claim and reach, and servers still require a key if they did before.
pub fn keep(db: &Db<'_>, standing: &Standing, now: Millis) -> Result<()> {
    for key_id in &standing.revoked {
        revoke(db, key_id, now)?;
    }
    access_rules::keep(db, &standing.rules)?;
    if standing.required {
        let sql = sql!("INSERT INTO setting (key, value) VALUES ('keys_required', '1') ON CONFLICT (key) DO NOTHING");
        db.run(sql, params![])?;
    }
    Ok(())
}

/// Whether there is any key, including revoked ones.
pub fn any(db: &Db<'_>) -> Result<bool> {
    db.single(sql!("SELECT EXISTS (SELECT 1 FROM access_key)"), params![], |row| row.get(0))
}

/// Whether servers require a key. They do if any key exists, or if a restore replaced a database that required one or
/// could not be read.
pub fn required(db: &Db<'_>) -> Result<bool> {
    let sql =
        sql!("SELECT EXISTS (SELECT 1 FROM access_key) OR EXISTS (SELECT 1 FROM setting WHERE key = 'keys_required')");
    db.single(sql, params![], |row| row.get(0))
}

fn from_row(row: &Row<'_>) -> Result<Key> {
    let publish = row.get::<Option<&str>>(5)?.map(serde_json::from_str);
    Ok(Key {
        key_id: row.get(0)?,
        name: row.get(1)?,
        project: row.get(2)?,
        read_only: row.get(3)?,
        consent: row.get(4)?,
        publish: publish
            .transpose()
            .map_err(|error| damaged_value("an access key's namespaces are malformed").with_source(error))?
            .unwrap_or_default(),
        attest: row.get(6)?,
        execute: row.get(7)?,
        created_at: row.get(8)?,
        expires_at: row.get(9)?,
        revoked_at: row.get(10)?,
    })
}

fn name_taken(error: Error, name: &str) -> Error {
    if !NAME.is_violated_by(&error) {
        return error;
    }
    Error::new(Code::AlreadyExists, format!("Access key '{name}' already exists"))
        .with_details(serde_json::json!({ "name": name }))
}

fn missing(db: &Db<'_>, name: &str) -> Result<Error> {
    let sql = sql!("SELECT name FROM access_key ORDER BY name LIMIT 1000");
    let names: Vec<String> = db.all(sql, params![], |row| row.get(0))?;
    let error = Error::new(Code::NotFound, format!("Access key '{name}' does not exist"))
        .with_details(serde_json::json!({ "name": name }));
    Ok(error.suggest(name, names.iter().map(String::as_str), "`mcpkg access list` shows the existing keys"))
}
