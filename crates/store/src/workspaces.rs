//! Workspaces known to this database: the folder of each, by machine.

use uuid::Uuid;

use super::Db;
use super::engine::{params, sql};
use mcpkg_base::clock::Millis;
use mcpkg_base::error::Result;

/// A workspace that is to be known.
#[derive(Clone, Copy, Debug)]
pub struct New<'a> {
    /// Its id, where it is new.
    pub uuid: Uuid,
    /// The machine that it lies on.
    pub machine: &'a str,
    /// Its folder's real path.
    pub root: &'a str,
    pub name: &'a str,
    pub now: Millis,
}

/// Returns the key of a workspace, which is added where it is new.
pub fn add(db: &Db<'_>, new: &New<'_>) -> Result<i64> {
    let sql = sql!(
        "INSERT INTO workspace (uuid, machine, root, name, added_at) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (machine, root) DO UPDATE SET name = excluded.name RETURNING id"
    );
    db.single(sql, params![new.uuid, new.machine, new.root, new.name, new.now], |row| row.get(0))
}

/// Returns the key of the workspace in a folder of a machine, where this database knows it.
pub fn find(db: &Db<'_>, machine: &str, root: &str) -> Result<Option<i64>> {
    db.one(sql!("SELECT id FROM workspace WHERE machine = ?1 AND root = ?2"), params![machine, root], |row| row.get(0))
}
