//! Changes that users made to deployed files, offered to the project they came from.

use rusqlite::{OptionalExtension, Row, params};

use super::Db;
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

const COLUMNS: &str = "id, item, module_id, path, base_blob, blob_id, state, actor, created_at FROM proposal";

/// Keeps a proposal and returns its number; an open one for the same item and file is replaced, since it is of the same
/// file as it was earlier.
///
/// # Errors
/// How the disk failed.
pub fn insert(db: &Db<'_>, new: NewProposal<'_>) -> Result<i64> {
    db.connection
        .prepare_cached("DELETE FROM proposal WHERE project_id = ?1 AND item = ?2 AND state = 'open'")?
        .execute(params![new.project, new.item])?;
    db.connection
        .prepare_cached(
            "INSERT INTO proposal (project_id, item, module_id, path, base_blob, blob_id, state, actor, created_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'open', ?7, ?8)",
        )?
        .execute(params![
            new.project,
            new.item,
            new.module_id,
            new.path,
            new.base,
            new.blob,
            super::events::plain(new.actor),
            new.now
        ])?;
    Ok(db.connection.last_insert_rowid())
}

/// Returns the proposals of a project, open ones only or all, by number.
///
/// # Errors
/// How the disk failed.
pub fn list(db: &Db<'_>, project: i64, all: bool) -> Result<Vec<Proposal>> {
    let mut statement = db
        .connection
        .prepare_cached(&format!("SELECT {COLUMNS} WHERE project_id = ?1 AND (?2 OR state = 'open') ORDER BY id"))?;
    let rows = statement.query_map(params![project, all], from_row)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Returns a proposal of a project.
///
/// # Errors
/// How the disk failed.
pub fn get(db: &Db<'_>, project: i64, id: i64) -> Result<Option<Proposal>> {
    Ok(db
        .connection
        .prepare_cached(&format!("SELECT {COLUMNS} WHERE project_id = ?1 AND id = ?2"))?
        .query_row([project, id], from_row)
        .optional()?)
}

/// Says what became of a proposal.
///
/// # Errors
/// How the disk failed.
pub fn decide(db: &Db<'_>, id: i64, accepted: bool, now: Millis) -> Result<()> {
    let state = if accepted { "accepted" } else { "rejected" };
    db.connection
        .prepare_cached("UPDATE proposal SET state = ?2, decided_at = ?3 WHERE id = ?1")?
        .execute(params![id, state, now])?;
    Ok(())
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<Proposal> {
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
