//! Records where the servers of this database write their audit logs, so that `doctor` can check them.

use super::Db;
use super::engine::{params, sql};
use mcpkg_base::error::Result;

/// Returns the path of the audit log that a server on this host was last started with, if that server has not ended.
pub fn get(db: &Db<'_>, host: &str) -> Result<Option<String>> {
    db.one(sql!("SELECT value FROM setting WHERE key = ?1"), params![key(host)], |row| row.get(0))
}

/// Records the path of the audit log of a server on this host.
pub fn set(db: &Db<'_>, host: &str, path: &str) -> Result<()> {
    let insert =
        sql!("INSERT INTO setting (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = excluded.value");
    db.run(insert, params![key(host), path]).map(drop)
}

/// Deletes the recorded path of the audit log when its server on this host ends. Keeps a path that another server recorded.
pub fn remove(db: &Db<'_>, host: &str, path: &str) -> Result<()> {
    db.run(sql!("DELETE FROM setting WHERE key = ?1 AND value = ?2"), params![key(host), path]).map(drop)
}

fn key(host: &str) -> String {
    format!("audit.log.{host}")
}
