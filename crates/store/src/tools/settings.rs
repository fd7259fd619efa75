//! Settings of tools, stored as text under the keys that users write. Missing settings have defaults.

use crate::Db;
use crate::engine::{params, sql};
use mcpkg_base::error::Result;

/// Returns a setting's text, if it was set.
pub fn get(db: &Db<'_>, key: &str) -> Result<Option<String>> {
    db.one(sql!("SELECT value FROM setting WHERE key = ?1"), params![row(key)], |row| row.get(0))
}

pub fn set(db: &Db<'_>, key: &str, value: &str) -> Result<()> {
    let sql =
        sql!("INSERT INTO setting (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = excluded.value");
    db.run(sql, params![row(key), value]).map(drop)
}

/// Removes a setting. Returns whether it was set.
pub fn unset(db: &Db<'_>, key: &str) -> Result<bool> {
    Ok(db.run(sql!("DELETE FROM setting WHERE key = ?1"), params![row(key)])? > 0)
}

/// Returns the key of the setting's row. It has a prefix, because other domains have settings too.
fn row(key: &str) -> String {
    format!("tool.{key}")
}
