//! Which versions of tools are installed, and for whom.

use uuid::Uuid;

use crate::clock::Millis;
use crate::error::Result;
use crate::store::Db;
use crate::store::engine::{Row, params, sql};

/// Whom an install is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Everybody who uses this database.
    Global,
    /// Those who work in this project.
    Project(Uuid),
    /// The clients of the access key of this name.
    Key(String),
}

impl Scope {
    /// Returns the scope as rows have it.
    pub fn key(&self) -> String {
        match self {
            Scope::Global => "global".to_owned(),
            Scope::Project(uuid) => format!("project:{uuid}"),
            Scope::Key(name) => format!("key:{name}"),
        }
    }

    /// The word for people and programs: `global`, `project` or `key`.
    pub fn word(text: &str) -> &str {
        text.split(':').next().unwrap_or(text)
    }
}

/// An install.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Install {
    /// Its key.
    pub id: i64,
    /// Whom it is for, as [`Scope::key`] writes it.
    pub scope: String,
    /// The key of the package.
    pub package: i64,
    /// The tool's name.
    pub name: String,
    /// The version.
    pub version: String,
    /// Whether it is the version of its scope that agents see.
    pub active: bool,
    /// Who published it, by its attestations, where somebody trusted did.
    pub publisher: Option<String>,
    /// When it was installed.
    pub installed_at: Millis,
    /// The registry that it came from.
    pub registry: String,
    /// The SHA-256 of its archive.
    pub sha256: [u8; 32],
    /// The manifest in its archive, as JSON.
    pub manifest: String,
    /// When its registry took it back.
    pub yanked_at: Option<Millis>,
}

/// The columns that [`from_row`] reads.
macro_rules! select {
    () => {
        "SELECT i.id, i.scope, i.package_id, i.name, i.version, i.active, i.publisher, i.installed_at, p.registry,
                p.sha256, coalesce(p.manifest, '{}'), p.yanked_at
           FROM tool_install AS i JOIN tool_package AS p ON p.id = i.package_id "
    };
}

/// Installs a package for a scope, as the version that agents see there; returns whether it was not installed before.
///
/// # Errors
/// `E_DB_BUSY`, `E_DISK_FULL`, `E_STORAGE`.
pub fn install(
    db: &Db<'_>,
    scope: &Scope,
    (package, name, version): (i64, &str, &str),
    publisher: Option<&str>,
    (actor, now): (&str, Millis),
) -> Result<bool> {
    let key = scope.key();
    let deactivate = sql!("UPDATE tool_install SET active = 0 WHERE scope = ?1 AND name = ?2 AND active = 1");
    db.run(deactivate, params![key, name])?;
    let again = sql!(
        "UPDATE tool_install SET active = 1, package_id = ?4, publisher = ?5
          WHERE scope = ?1 AND name = ?2 AND version = ?3"
    );
    if db.run(again, params![key, name, version, package, publisher])? > 0 {
        return Ok(false);
    }
    let insert = sql!(
        "INSERT INTO tool_install (scope, package_id, name, version, active, publisher, actor, installed_at)
         VALUES (?1, ?2, ?3, ?4, 1, ?5, ?6, ?7)"
    );
    db.run(insert, params![key, package, name, version, publisher, actor, now])?;
    Ok(true)
}

/// Makes a version the one of its scope that agents see; returns whether it is installed there.
///
/// # Errors
/// `E_DB_BUSY`, `E_DISK_FULL`, `E_STORAGE`.
pub fn activate(db: &Db<'_>, scope: &Scope, name: &str, version: &str) -> Result<bool> {
    let key = scope.key();
    let there = sql!("SELECT 1 FROM tool_install WHERE scope = ?1 AND name = ?2 AND version = ?3");
    if db.one(there, params![key, name, version], |_| Ok(()))?.is_none() {
        return Ok(false);
    }
    let update = sql!(
        "UPDATE tool_install SET active = CASE WHEN version = ?3 THEN 1 ELSE 0 END
          WHERE scope = ?1 AND name = ?2 AND active <> CASE WHEN version = ?3 THEN 1 ELSE 0 END"
    );
    db.run(update, params![key, name, version])?;
    Ok(true)
}

/// Takes an install away.
///
/// # Errors
/// `E_DB_BUSY`, `E_STORAGE`.
pub fn remove(db: &Db<'_>, id: i64) -> Result<()> {
    db.run(sql!("DELETE FROM tool_install WHERE id = ?1"), params![id]).map(drop)
}

/// Returns all installs of a scope, by name; the versions of a tool in the order in which they were installed.
///
/// # Errors
/// `E_DAMAGED`, `E_DB_BUSY`, `E_STORAGE`.
pub fn of_scope(db: &Db<'_>, scope: &Scope) -> Result<Vec<Install>> {
    db.all(sql!(select!(), "WHERE i.scope = ?1 ORDER BY i.name, i.id"), params![scope.key()], from_row)
}

/// Returns the names of all tools that are installed for anybody.
///
/// # Errors
/// `E_DB_BUSY`, `E_STORAGE`.
pub fn names(db: &Db<'_>) -> Result<Vec<String>> {
    db.all(sql!("SELECT DISTINCT name FROM tool_install ORDER BY name"), params![], |row| row.get(0))
}

/// Returns what agents see of a scope: the name and the version of each tool. It differs whenever their list does.
///
/// # Errors
/// `E_DB_BUSY`, `E_STORAGE`.
pub fn validator(db: &Db<'_>, scope: &Scope) -> Result<Vec<(String, String)>> {
    let sql = sql!("SELECT name, version FROM tool_install WHERE scope = ?1 AND active = 1 ORDER BY name");
    db.all(sql, params![scope.key()], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Returns the installs of a tool in a scope, in the order in which they were made.
///
/// # Errors
/// `E_DAMAGED`, `E_DB_BUSY`, `E_STORAGE`.
pub fn of_tool(db: &Db<'_>, scope: &Scope, name: &str) -> Result<Vec<Install>> {
    db.all(sql!(select!(), "WHERE i.scope = ?1 AND i.name = ?2 ORDER BY i.id"), params![scope.key(), name], from_row)
}

/// Returns the version of a tool that agents see in a scope.
///
/// # Errors
/// `E_DAMAGED`, `E_DB_BUSY`, `E_STORAGE`.
pub fn active(db: &Db<'_>, scope: &Scope, name: &str) -> Result<Option<Install>> {
    let sql = sql!(select!(), "WHERE i.scope = ?1 AND i.name = ?2 AND i.active = 1");
    db.one(sql, params![scope.key(), name], from_row)
}

/// Whether any tool is installed, for whomever.
///
/// # Errors
/// `E_DB_BUSY`, `E_STORAGE`.
pub fn any(db: &Db<'_>) -> Result<bool> {
    Ok(db.one(sql!("SELECT 1 FROM tool_install LIMIT 1"), params![], |_| Ok(()))?.is_some())
}

fn from_row(row: &Row<'_>) -> Result<Install> {
    Ok(Install {
        id: row.get(0)?,
        scope: row.get(1)?,
        package: row.get(2)?,
        name: row.get(3)?,
        version: row.get(4)?,
        active: row.get(5)?,
        publisher: row.get(6)?,
        installed_at: row.get(7)?,
        registry: row.get(8)?,
        sha256: row.get(9)?,
        manifest: row.get(10)?,
        yanked_at: row.get(11)?,
    })
}
