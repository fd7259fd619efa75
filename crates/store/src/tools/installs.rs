//! The installed versions of tools, and their scopes.

use std::sync::Arc;

use uuid::Uuid;

use super::session::{Kept, SessionInstalls};
use crate::Db;
use crate::engine::{Row, params, sql};
use mcpkg_base::clock::Millis;
use mcpkg_base::error::Result;

/// The scope of what is installed for a session, which no row has.
const SESSION: &str = "session";

/// Whom an install is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All users of this database.
    Global,
    /// The users of this project.
    Project(Uuid),
    /// The clients of the access key of this name.
    Key(String),
    /// One session of a server: in memory.
    Session(Arc<SessionInstalls>),
}

impl Scope {
    /// Returns the scope as rows have it.
    pub fn key(&self) -> String {
        match self {
            Scope::Global => "global".to_owned(),
            Scope::Project(uuid) => format!("project:{uuid}"),
            Scope::Key(name) => format!("key:{name}"),
            Scope::Session(_) => SESSION.to_owned(),
        }
    }

    /// The word for people and programs: `global`, `project`, `key` or `session`.
    pub fn word(text: &str) -> &str {
        text.split(':').next().unwrap_or(text)
    }

    /// Runs a transaction that may change what is installed for this scope. Where it fails nothing has changed, in memory
    /// too.
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
    /// Whom it is for, as [`Scope::key`] writes it.
    pub scope: String,
    /// The key of the package.
    pub package: i64,
    pub name: String,
    pub version: String,
    /// Whether it is the version of its scope that agents see.
    pub active: bool,
    /// Its trusted publisher, according to its attestations.
    pub publisher: Option<String>,
    /// When it was installed.
    pub installed_at: Millis,
    /// The registry that it came from.
    pub registry: String,
    /// The SHA-256 of its archive.
    pub sha256: [u8; 32],
    /// When its registry took it back.
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

/// Installs a package for a scope, as the version that agents see there; returns whether it was not installed before.
pub fn install(
    db: &Db<'_>,
    scope: &Scope,
    (package, name, version): (i64, &str, &str),
    publisher: Option<&str>,
    (actor, now): (&str, Millis),
) -> Result<bool> {
    if let Scope::Session(session) = scope {
        let (name, version, publisher) = (name.to_owned(), version.to_owned(), publisher.map(str::to_owned));
        return Ok(session.install(Kept { id: 0, package, name, version, active: true, publisher, installed_at: now }));
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

/// Makes a version the one of its scope that agents see; returns whether it is installed there.
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

/// Takes an install of a scope away.
pub fn remove(db: &Db<'_>, scope: &Scope, id: i64) -> Result<()> {
    match scope {
        Scope::Session(session) => {
            session.remove(id);
            Ok(())
        }
        _ => db.run(sql!("DELETE FROM tool_install WHERE id = ?1"), params![id]).map(drop),
    }
}

/// Takes away all that is installed for a scope that is gone.
pub fn remove_all(db: &Db<'_>, scope: &Scope) -> Result<()> {
    db.run(sql!("DELETE FROM tool_install WHERE scope = ?1"), params![scope.key()]).map(drop)
}

/// Returns all installs of a scope, by name; the versions of a tool in the order in which they were installed.
pub fn of_scope(db: &Db<'_>, scope: &Scope) -> Result<Vec<Install>> {
    if let Scope::Session(session) = scope {
        let mut found = of_session(db, session, |_| true)?;
        found.sort_by(|one, other| (&one.name, one.id).cmp(&(&other.name, other.id)));
        return Ok(found);
    }
    db.all(sql!(select!(), "WHERE i.scope = ?1 ORDER BY i.name, i.id"), params![scope.key()], from_row)
}

/// Returns the installs of all scopes, by name.
pub fn all(db: &Db<'_>) -> Result<Vec<Install>> {
    db.all(sql!(select!(), "ORDER BY i.name, i.id"), params![], from_row)
}

/// Returns the names of all tools that are installed for anybody.
pub fn names(db: &Db<'_>) -> Result<Vec<String>> {
    db.all(sql!("SELECT DISTINCT name FROM tool_install ORDER BY name"), params![], |row| row.get(0))
}

/// Returns what agents see of a scope, by name: of each tool its version.
pub fn seen(db: &Db<'_>, scope: &Scope) -> Result<Vec<Install>> {
    if let Scope::Session(session) = scope {
        return of_session(db, session, |one| one.active);
    }
    db.all(sql!(select!(), "WHERE i.scope = ?1 AND i.active = 1 ORDER BY i.name"), params![scope.key()], from_row)
}

/// Returns the installs of a tool in a scope, in the order in which they were made.
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

/// Returns the installs of a session that are wanted. One whose package is no longer in the database, such as
/// after a restore, is not there either.
fn of_session(db: &Db<'_>, session: &SessionInstalls, wanted: impl Fn(&Kept) -> bool) -> Result<Vec<Install>> {
    let kept = session.kept();
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

/// Whether any tool is installed, in any scope.
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
