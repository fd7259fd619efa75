//! Revisions of workflows: the history of each workflow.

use std::ops::Range;

use serde::{Serialize, Serializer};
use uuid::Uuid;

use super::read::missing;
use super::workflow::{Change, Workflow};
use crate::Db;
use crate::engine::{Row, Unique, params, sql};
use crate::names::{legible, plain};
use crate::projects::Project;
use crate::revisions::{self, Author, Outdated};
use crate::sums::{checksum, intact};
use mcpkg_base::clock::{self, Millis};
use mcpkg_base::error::{Code, Error, Result};

/// The SELECT without its conditions; [`revision_from_row`] reads its rows. The columns that the checksum covers come first,
/// then the checksum, then the rest.
macro_rules! workflow_revision_columns {
    () => {
        "SELECT v.project_id, v.item, v.number, v.action, v.restored, v.name, v.message, v.draft, v.model_hash, b.sha256,
                v.actor, v.at, v.row_sum, v.blob_id, b.size
           FROM workflow_revision v JOIN blob b ON b.id = v.blob_id"
    };
}
pub(crate) use workflow_revision_columns;

const NUMBER: Unique = Unique::new("workflow_revision", &["item", "number"]);
const SUMMED: Range<usize> = 0..12;

/// A revision's row. As JSON it has no content.
#[derive(Clone, Debug, Serialize)]
pub struct Revision {
    #[serde(skip)]
    pub item: Uuid,
    /// The revision's number, counted from 1 for each workflow.
    #[serde(rename = "revision")]
    pub number: i64,
    /// `create`, `update`, `rename`, `delete` or `restore`.
    pub action: String,
    /// The number of the restored revision.
    pub restored: Option<i64>,
    /// The workflow's name in this revision.
    pub name: String,
    pub message: Option<String>,
    /// The approved draft that became this revision.
    #[serde(serialize_with = "as_id")]
    pub draft: Option<Uuid>,
    /// The SHA-256 of the workflow's model, which does not depend on formatting and comments.
    #[serde(serialize_with = "as_hex")]
    pub model_hash: [u8; 32],
    /// The key of the revision's text.
    #[serde(skip)]
    pub blob: i64,
    pub size: i64,
    #[serde(serialize_with = "clock::as_rfc3339")]
    pub at: Millis,
    pub actor: String,
}

fn as_hex<S: Serializer>(hash: &[u8; 32], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&mcpkg_base::hex::encode(hash))
}

fn as_id<S: Serializer>(id: &Option<Uuid>, serializer: S) -> Result<S::Ok, S::Error> {
    match id {
        Some(id) => serializer.collect_str(id),
        None => serializer.serialize_none(),
    }
}

/// Stores the current state of a workflow as its revision `workflow.revision`.
///
/// # Errors
/// `E_DB_BUSY` if another process has already written that revision.
pub(super) fn keep(
    db: &Db<'_>,
    author: Author<'_>,
    project: &Project,
    workflow: &Workflow,
    change: Change<'_>,
) -> Result<()> {
    let (action, actor) = (change.action.word(), plain(author.actor));
    let hash = workflow.summary.model_hash;
    let row_sum = checksum(params![
        project.id,
        workflow.uuid,
        workflow.revision,
        action,
        change.restored,
        workflow.name,
        change.message,
        change.draft,
        hash,
        workflow.sha256,
        actor,
        author.now
    ]);
    let sql = sql!(
        "INSERT INTO workflow_revision (project_id, item, number, action, restored, name, message, draft, model_hash,
                                        blob_id, actor, at, row_sum)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)"
    );
    let columns = params![
        project.id,
        workflow.uuid,
        workflow.revision,
        action,
        change.restored,
        workflow.name,
        change.message,
        change.draft,
        hash,
        workflow.blob,
        actor,
        author.now,
        row_sum
    ];
    db.note("workflow", workflow.uuid, revisions::before(workflow.revision), workflow.revision);
    db.run(sql, columns).map(drop).map_err(|error| revisions::raced(NUMBER, "Workflow", &workflow.name, error))
}

/// Returns the revisions of the workflow that has or last had `name`, newest first; empty if there never was one. A
/// damaged revision has only the action `damaged`, its number, and the legible part of its name.
pub fn history(db: &Db<'_>, project: i64, name: &str) -> Result<Vec<Revision>> {
    last(db, project, name, usize::MAX)
}

/// Returns the newest `limit` revisions of [`history`].
pub fn last(db: &Db<'_>, project: i64, name: &str, limit: usize) -> Result<Vec<Revision>> {
    let Some(item) = item(db, project, name)? else {
        return Ok(Vec::new());
    };
    let sql = sql!(workflow_revision_columns!(), " WHERE v.item = ?1 ORDER BY v.number DESC LIMIT ?2");
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    db.all(sql, params![item, limit], |row| revision_from_row(row).or_else(|error| placeholder(row, error)))
}

/// Returns revision `number` of the workflow that has or last had `name`.
///
/// # Errors
/// `E_NOT_FOUND` if there is no such workflow or revision.
pub fn revision(db: &Db<'_>, project: &Project, name: &str, number: i64) -> Result<Revision> {
    let item = item(db, project.id, name)?.ok_or_else(|| missing(db, project, name))?;
    let sql = sql!(workflow_revision_columns!(), " WHERE v.item = ?1 AND v.number = ?2");
    let found = db.one(sql, params![item, number], revision_from_row)?;
    // A damaged index may lead to another row.
    if found.as_ref().is_some_and(|found| found.item != item || found.number != number) {
        return Err(super::row::damaged(name));
    }
    found.ok_or_else(|| {
        Error::new(Code::NotFound, format!("Workflow '{name}' has no revision {number}"))
            .hint(format!("`mcpkg workflow history {name}` shows the existing revisions"))
    })
}

/// Returns the number of a workflow's oldest stored revision; 0 if there is none.
pub fn oldest(db: &Db<'_>, item: Uuid) -> Result<i64> {
    let sql = sql!("SELECT coalesce(min(number), 0) FROM workflow_revision WHERE item = ?1");
    db.single(sql, params![item], |row| row.get(0))
}

/// Returns the number of a workflow's newest revision; 0 if there is none.
pub(super) fn newest(db: &Db<'_>, item: Uuid) -> Result<i64> {
    let sql = sql!("SELECT coalesce(max(number), 0) FROM workflow_revision WHERE item = ?1");
    db.single(sql, params![item], |row| row.get(0))
}

/// Returns the deleted workflow that last had `name`. A new workflow with that name continues its history, so that the deleted
/// one can still be restored.
pub(super) fn deleted(db: &Db<'_>, project: i64, name: &str) -> Result<Option<Uuid>> {
    let sql = sql!(
        "SELECT v.item FROM workflow_revision v
          WHERE v.project_id = ?1 AND v.name = ?2 AND NOT EXISTS (SELECT 1 FROM workflow WHERE uuid = v.item)
          ORDER BY v.id DESC LIMIT 1"
    );
    db.one(sql, params![project, name], |row| row.get(0))
}

/// Returns the workflow that has or last had the name. A workflow that has the name now wins over workflows that had
/// it once. Of those, the one whose revision was written last wins, regardless of the clock.
fn item(db: &Db<'_>, project: i64, name: &str) -> Result<Option<Uuid>> {
    let has = sql!("SELECT uuid FROM workflow WHERE project_id = ?1 AND name = ?2");
    if let Some(found) = db.one(has, params![project, name], |row| row.get(0))? {
        return Ok(Some(found));
    }
    let had = sql!("SELECT item FROM workflow_revision WHERE project_id = ?1 AND name = ?2 ORDER BY id DESC LIMIT 1");
    db.one(had, params![project, name], |row| row.get(0))
}

/// Reads a row of the query `workflow_revision_columns!`.
pub(crate) fn revision_from_row(row: &Row<'_>) -> Result<Revision> {
    if !intact(row, SUMMED)? {
        let what = format!("Revision {} of the workflow '{}' is damaged", row.get::<i64>(2)?, legible(row, 5));
        return Err(revisions::damaged(what));
    }
    Ok(Revision {
        item: row.get(1)?,
        number: row.get(2)?,
        action: row.get(3)?,
        restored: row.get(4)?,
        name: row.get(5)?,
        message: row.get(6)?,
        draft: row.get(7)?,
        model_hash: row.get(8)?,
        blob: row.get(13)?,
        size: row.get(14)?,
        actor: row.get(10)?,
        at: row.get(11)?,
    })
}

/// Returns a placeholder for a damaged row, for lists that show it. Passes on other errors.
fn placeholder(row: &Row<'_>, error: Error) -> Result<Revision> {
    if error.code() != Code::Damaged {
        return Err(error);
    }
    Ok(Revision {
        item: Uuid::nil(),
        number: row.get(2)?,
        action: "damaged".to_owned(),
        restored: None,
        name: legible(row, 5),
        message: None,
        draft: None,
        model_hash: [0; 32],
        blob: 0,
        size: 0,
        at: 0,
        actor: String::new(),
    })
}

/// The SQL condition that a row of `workflow_revision` is outdated: it is not among the newest `?2` of its workflow,
/// and it and all earlier revisions were made before `?1`. So the numbers of the remaining revisions have no gap.
macro_rules! outdated {
    () => {
        "workflow_revision.number <= (SELECT max(newest.number) FROM workflow_revision newest
                                       WHERE newest.item = workflow_revision.item) - ?2
         AND NOT EXISTS (SELECT 1 FROM workflow_revision older
                          WHERE older.item = workflow_revision.item AND older.number <= workflow_revision.number
                            AND older.at >= ?1)"
    };
}

/// Returns how many revisions are outdated.
pub(crate) fn outdated(db: &Db<'_>, outdated: Outdated) -> Result<u64> {
    let sql = sql!("SELECT count(*) FROM workflow_revision WHERE ", outdated!());
    db.single(sql, params![outdated.before, outdated.keep.max(1)], |row| row.get(0))
}

/// Deletes up to `limit` outdated revisions, the oldest first, and returns how many. The text that an open draft is based
/// on stays.
pub(crate) fn forget(db: &Db<'_>, outdated: Outdated, limit: u32) -> Result<u64> {
    let sql = sql!(
        "DELETE FROM workflow_revision WHERE id IN (SELECT id FROM workflow_revision WHERE ",
        outdated!(),
        " ORDER BY item, number LIMIT ?3)"
    );
    db.run(sql, params![outdated.before, outdated.keep.max(1), limit])
}
