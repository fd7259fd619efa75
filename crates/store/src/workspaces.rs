//! The workspaces that this database knows: their folders on each machine.

use uuid::Uuid;

use super::Db;
use super::engine::{params, sql};
use mcpkg_base::clock::Millis;
use mcpkg_base::error::Result;

/// A workspace to add.
#[derive(Clone, Copy, Debug)]
pub struct New<'a> {
    /// The id to use if the workspace is new.
    pub uuid: Uuid,
    /// The machine with the folder.
    pub machine: &'a str,
    /// The folder's path, with symlinks resolved.
    pub root: &'a str,
    pub name: &'a str,
    pub now: Millis,
}

/// Adds a workspace, or updates its name if the folder is already known. Returns the workspace's key.
pub fn add(db: &Db<'_>, new: &New<'_>) -> Result<i64> {
    let sql = sql!(
        "INSERT INTO workspace (uuid, machine, root, name, added_at) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (machine, root) DO UPDATE SET name = excluded.name RETURNING id"
    );
    db.single(sql, params![new.uuid, new.machine, new.root, new.name, new.now], |row| row.get(0))
}

/// Returns the key of the workspace in a folder of a machine, if this database knows it.
pub fn find(db: &Db<'_>, machine: &str, root: &str) -> Result<Option<i64>> {
    db.one(sql!("SELECT id FROM workspace WHERE machine = ?1 AND root = ?2"), params![machine, root], |row| row.get(0))
}
