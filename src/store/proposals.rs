//! Changes that users made to deployed files, offered to the project they came from.

use super::Db;
use super::engine::{Row, params, sql};
use super::text::plain;
use crate::clock::Millis;
use crate::error::Result;

/// A proposal to be kept.
#[derive(Clone, Copy, Debug)]
pub struct NewProposal<'a> {
    /// The project.
    pub project: i64,
    /// The prompt or resource: `prompt:<uuid>` or `resource:<uuid>`.
    pub item: &'a str,
    /// The module.
    pub module_id: &'a str,
    /// The file on disk in which it was made.
    pub path: &'a str,
    /// The key of the module's file as it was deployed.
    pub base: i64,
    /// The key of the module's file as it would be.
    pub blob: i64,
    /// Who.
    pub actor: &'a str,
    /// When.
    pub now: Millis,
}

/// A proposal's row.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// Its number.
    pub id: i64,
    /// The prompt or resource.
    pub item: String,
    /// The module.
    pub module_id: String,
    /// The file on disk in which it was made.
    pub path: String,
    /// The key of the module's file as it was deployed.
    pub base: i64,
    /// The key of the module's file as it would be.
    pub blob: i64,
    /// open, accepted or rejected.
    pub state: String,
    /// Who.
    pub actor: String,
    /// When.
    pub created_at: Millis,
}

/// The columns that [`from_row`] reads.
macro_rules! columns {
    () => {
        "id, item, module_id, path, base_blob, blob_id, state, actor, created_at"
    };
}

/// Keeps a proposal and returns its number; an open one for the same item and file is replaced, since it is of the same
/// file as it was earlier.
///
/// # Errors
/// `E_DB_BUSY`, `E_DB_CORRUPT`, `E_STORAGE`.
pub fn insert(db: &Db<'_>, new: NewProposal<'_>) -> Result<i64> {
    let replaced = sql!("DELETE FROM proposal WHERE project_id = ?1 AND item = ?2 AND state = 'open'");
    db.run(replaced, params![new.project, new.item])?;
    db.insert(
        sql!(
            "INSERT INTO proposal (project_id, item, module_id, path, base_blob, blob_id, state, actor, created_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'open', ?7, ?8) RETURNING id"
        ),
        params![new.project, new.item, new.module_id, new.path, new.base, new.blob, plain(new.actor), new.now],
    )
}

/// Returns the proposals of a project, open ones only or all, by number.
///
/// # Errors
/// `E_DB_BUSY`, `E_DB_CORRUPT`, `E_STORAGE`.
pub fn list(db: &Db<'_>, project: i64, all: bool) -> Result<Vec<Proposal>> {
    let sql =
        sql!("SELECT ", columns!(), " FROM proposal WHERE project_id = ?1 AND (?2 = 1 OR state = 'open') ORDER BY id");
    db.all(sql, params![project, all], from_row)
}

/// Returns a proposal of a project.
///
/// # Errors
/// `E_DB_BUSY`, `E_DB_CORRUPT`, `E_STORAGE`.
pub fn get(db: &Db<'_>, project: i64, id: i64) -> Result<Option<Proposal>> {
    let sql = sql!("SELECT ", columns!(), " FROM proposal WHERE project_id = ?1 AND id = ?2");
    db.one(sql, params![project, id], from_row)
}

/// Says what became of an open proposal; returns whether it was still open.
///
/// # Errors
/// `E_DB_BUSY`, `E_DB_CORRUPT`, `E_STORAGE`.
pub fn decide(db: &Db<'_>, id: i64, accepted: bool, now: Millis) -> Result<bool> {
    let state = if accepted { "accepted" } else { "rejected" };
    let sql = sql!("UPDATE proposal SET state = ?2, decided_at = ?3 WHERE id = ?1 AND state = 'open'");
    Ok(db.run(sql, params![id, state, now])? == 1)
}

fn from_row(row: &Row<'_>) -> Result<Proposal> {
    Ok(Proposal {
        id: row.get(0)?,
        item: row.get(1)?,
        module_id: row.get(2)?,
        path: row.get(3)?,
        base: row.get(4)?,
        blob: row.get(5)?,
        state: row.get(6)?,
        actor: row.get(7)?,
        created_at: row.get(8)?,
    })
}
