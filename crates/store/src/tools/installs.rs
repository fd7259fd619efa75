//! The installed versions of tools, and their scopes.

use std::sync::Arc;

use uuid::Uuid;

use super::session::{SessionInstall, SessionInstalls};
use crate::Db;
use crate::engine::{Row, params, sql};
use mcpkg_base::clock::Millis;
use mcpkg_base::error::Result;

/// The text for the scope of a session. No row has it: the installs of a session are kept in memory.
const SESSION: &str = "session";

/// The clients that a tool is installed for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Everyone who uses this database.
    Global,
    /// Everyone who uses this project.
    Project(Uuid),
    /// The clients with the access key of this name.
    Key(String),
    /// One session of a server. Such installs are kept in memory.
    Session(Arc<SessionInstalls>),
}

impl Scope {
    /// Returns the scope as text. Rows store this text, except for sessions.
    pub fn key(&self) -> String {
        match self {
            Scope::Global => "global".to_owned(),
            Scope::Project(uuid) => format!("project:{uuid}"),
            Scope::Key(name) => format!("key:{name}"),
            Scope::Session(_) => SESSION.to_owned(),
        }
    }

    /// Returns the kind of a scope from the text of [`Scope::key`]: `global`, `project`, `key` or `session`.
    pub fn word(text: &str) -> &str {
        text.split(':').next().unwrap_or(text)
    }

    /// Runs a transaction that may change the installs of this scope. If it fails, nothing changes, neither in the database nor
    /// in memory.
    ///
    /// # Errors
    /// Errors of the transaction.
    pub fn change<T>(&self, transaction: impl FnOnce() -> Result<T>) -> Result<T> {
        match self {
            Scope::Session(session) => session.change(transaction),
            Scope::Global | Scope::Project(_) | Scope::Key(_) => transaction(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Install {
    pub id: i64,
    /// The scope, as returned by [`Scope::key`].
    pub scope: String,
    pub package: i64,
    pub name: String,
    pub version: String,
    /// Whether agents in this scope see this version of the tool.
    pub active: bool,
    /// The trusted publisher according to the archive's attestations, if any.
    pub publisher: Option<String>,
    pub installed_at: Millis,
    pub registry: String,
    pub sha256: [u8; 32],
    /// When the registry yanked the version.
    pub yanked_at: Option<Millis>,
}

/// The columns that [`from_row`] reads.
macro_rules! select {
    () => {
        "SELECT i.id, i.scope, i.package_id, i.name, i.version, i.active, i.publisher, i.installed_at, p.registry,
                p.sha256, p.yanked_at
           FROM tool_install AS i JOIN tool_package AS p ON p.id = i.package_id "
    };
}

/// Installs a package in a scope, as the version that agents there see. Returns false if it was already installed.
pub fn install(
    db: &Db<'_>,
    scope: &Scope,
    (package, name, version): (i64, &str, &str),
    publisher: Option<&str>,
    (actor, now): (&str, Millis),
) -> Result<bool> {
    if let Scope::Session(session) = scope {
        let (name, version, publisher) = (name.to_owned(), version.to_owned(), publisher.map(str::to_owned));
        return Ok(session.install(SessionInstall {
            id: 0,
            package,
            name,
            version,
            active: true,
            publisher,
            installed_at: now,
        }));
    }
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

/// Makes a version the one that agents see in a scope. Returns false if it is not installed there.
pub fn activate(db: &Db<'_>, scope: &Scope, name: &str, version: &str) -> Result<bool> {
    if let Scope::Session(session) = scope {
        return Ok(session.activate(name, version));
    }
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

/// Removes an install from a scope.
pub fn remove(db: &Db<'_>, scope: &Scope, id: i64) -> Result<()> {
    match scope {
        Scope::Session(session) => {
            session.remove(id);
            Ok(())
        }
        _ => db.run(sql!("DELETE FROM tool_install WHERE id = ?1"), params![id]).map(drop),
    }
}

/// Removes all installs of a scope that was deleted.
pub fn remove_all(db: &Db<'_>, scope: &Scope) -> Result<()> {
    db.run(sql!("DELETE FROM tool_install WHERE scope = ?1"), params![scope.key()]).map(drop)
}

/// Returns all installs of a scope, ordered by name. The versions of a tool are in the order in which they were installed.
pub fn of_scope(db: &Db<'_>, scope: &Scope) -> Result<Vec<Install>> {
    if let Scope::Session(session) = scope {
        let mut found = of_session(db, session, |_| true)?;
        found.sort_by(|one, other| (&one.name, one.id).cmp(&(&other.name, other.id)));
        return Ok(found);
    }
    db.all(sql!(select!(), "WHERE i.scope = ?1 ORDER BY i.name, i.id"), params![scope.key()], from_row)
}

/// Returns the installs of all scopes, ordered by name.
pub fn all(db: &Db<'_>) -> Result<Vec<Install>> {
    db.all(sql!(select!(), "ORDER BY i.name, i.id"), params![], from_row)
}

/// Returns the names of all tools that are installed in any scope.
pub fn names(db: &Db<'_>) -> Result<Vec<String>> {
    db.all(sql!("SELECT DISTINCT name FROM tool_install ORDER BY name"), params![], |row| row.get(0))
}

/// Returns the installs that agents see in a scope, one per tool.
pub fn seen(db: &Db<'_>, scope: &Scope) -> Result<Vec<Install>> {
    if let Scope::Session(session) = scope {
        return of_session(db, session, |one| one.active);
    }
    db.all(sql!(select!(), "WHERE i.scope = ?1 AND i.active = 1 ORDER BY i.name"), params![scope.key()], from_row)
}

/// Returns the installs of a tool in a scope, in the order in which they were installed.
pub fn of_tool(db: &Db<'_>, scope: &Scope, name: &str) -> Result<Vec<Install>> {
    if let Scope::Session(session) = scope {
        return of_session(db, session, |one| one.name == name);
    }
    db.all(sql!(select!(), "WHERE i.scope = ?1 AND i.name = ?2 ORDER BY i.id"), params![scope.key(), name], from_row)
}

/// Returns the version of a tool that agents see in a scope.
pub fn active(db: &Db<'_>, scope: &Scope, name: &str) -> Result<Option<Install>> {
    if let Scope::Session(session) = scope {
        return Ok(of_session(db, session, |one| one.active && one.name == name)?.pop());
    }
    let sql = sql!(select!(), "WHERE i.scope = ?1 AND i.name = ?2 AND i.active = 1");
    db.one(sql, params![scope.key(), name], from_row)
}

/// Returns the installs of a session for which `wanted` returns true. Skips those whose package is no longer in the database,
/// for example after a restore.
fn of_session(
    db: &Db<'_>,
    session: &SessionInstalls,
    wanted: impl Fn(&SessionInstall) -> bool,
) -> Result<Vec<Install>> {
    let kept = session.installs();
    let found = kept.iter().filter(|one| wanted(one)).map(|one| {
        let sql =
            sql!("SELECT registry, sha256, yanked_at FROM tool_package WHERE id = ?1 AND name = ?2 AND version = ?3");
        db.one(sql, params![one.package, one.name, one.version], |row| {
            Ok(Install {
                id: one.id,
                scope: SESSION.to_owned(),
                package: one.package,
                name: one.name.clone(),
                version: one.version.clone(),
                active: one.active,
                publisher: one.publisher.clone(),
                installed_at: one.installed_at,
                registry: row.get(0)?,
                sha256: row.get(1)?,
                yanked_at: row.get(2)?,
            })
        })
    });
    Ok(found.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
}

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
        yanked_at: row.get(10)?,
    })
}
