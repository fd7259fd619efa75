//! The audit findings that users marked as harmless. Each project has one list, stored as text in the audit's own
//! format.

use super::Db;
use super::engine::{params, sql};
use super::projects::Project;
use mcpkg_base::error::Result;

/// Returns the project's list, if it has one.
pub fn get(db: &Db<'_>, project: &Project) -> Result<Option<String>> {
    db.one(sql!("SELECT value FROM setting WHERE key = ?1"), params![key(project)], |row| row.get(0))
}

/// Replaces the project's list.
pub fn set(db: &Db<'_>, project: &Project, list: &str) -> Result<()> {
    let insert =
        sql!("INSERT INTO setting (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = excluded.value");
    db.run(insert, params![key(project), list]).map(drop)
}

/// Deletes the list of a project that is deleted.
pub(super) fn forget(db: &Db<'_>, project: &Project) -> Result<()> {
    db.run(sql!("DELETE FROM setting WHERE key = ?1"), params![key(project)]).map(drop)
}

fn key(project: &Project) -> String {
    format!("audit.ignored.{}", project.uuid)
}
