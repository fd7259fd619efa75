//! Revisions of prompts and resources: the history of each item.

use std::ops::Range;

use serde::Serialize;
use uuid::Uuid;

use super::Db;
use super::blobs::damaged_value;
use super::engine::{Row, Unique, params, sql};
use super::names::{legible, plain};
use super::projects::Project;
use super::sums::{checksum, intact};
use mcpkg_base::clock::{self, Millis};
use mcpkg_base::error::{Code, Error, Result};

mod kind;
mod outdated;

pub use kind::Kind;
pub use outdated::Outdated;
pub(super) use outdated::{forget, forgot_revisions, outdated};

/// The SELECT without its conditions; [`from_row`] reads its rows. The columns that the checksum covers come first, then the
/// checksum, then the rest.
macro_rules! revision_columns {
    () => {
        "SELECT v.project_id, v.kind, v.item, v.number, v.action, v.restored, v.name, v.attributes, b.sha256, v.actor,
                v.at, v.row_sum, v.blob_id, b.size
           FROM revision v JOIN blob b ON b.id = v.blob_id"
    };
}

pub(super) use revision_columns;

const NUMBER: Unique = Unique::new("revision", &["item", "number"]);

const ROW: Range<usize> = 0..11;

/// The author of a change, and its time.
#[derive(Clone, Copy, Debug)]
pub struct Author<'a> {
    /// The actor, such as `shell`, `mcp:CLIENT` or `key:KEY:CLIENT`.
    pub actor: &'a str,
    pub now: Millis,
}

/// The action that made a revision.
#[derive(Clone, Copy, Debug)]
pub(super) struct Change<'a> {
    /// `create`, `update`, `rename`, `delete` or `restore`.
    pub(super) action: &'a str,
    /// The number of the restored revision.
    pub(super) restored: Option<i64>,
}

/// A revision to store.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewRevision<'a> {
    pub(super) project: i64,
    pub(super) kind: Kind,
    pub(super) item: Uuid,
    pub(super) number: i64,
    pub(super) change: Change<'a>,
    pub(super) name: &'a str,
    pub(super) attributes: &'a str,
    pub(super) blob: i64,
    pub(super) sha256: &'a [u8; 32],
}

/// A revision's row. As JSON it has neither the content nor the attributes.
#[derive(Clone, Debug, Serialize)]
pub struct Revision {
    #[serde(skip)]
    pub item: Uuid,
    /// The revision's number, counted from 1 for each item.
    #[serde(rename = "revision")]
    pub number: i64,
    /// `create`, `update`, `rename`, `delete` or `restore`.
    pub action: String,
    /// The number of the restored revision.
    pub restored: Option<i64>,
    /// The item's name in this revision.
    pub name: String,
    /// The item's attributes without its content, as JSON.
    #[serde(skip)]
    pub attributes: String,
    /// The key of the revision's content.
    #[serde(skip)]
    pub blob: i64,
    pub size: i64,
    #[serde(serialize_with = "clock::as_rfc3339")]
    pub at: Millis,
    pub actor: String,
}

/// Stores a revision.
///
/// # Errors
/// `E_DB_BUSY` if the item already has a revision with that number, which another process has just written.
pub(super) fn insert(db: &Db<'_>, author: Author<'_>, new: NewRevision<'_>) -> Result<()> {
    let (kind, actor) = (new.kind.word(), plain(author.actor));
    let row_sum = checksum(params![
        new.project,
        kind,
        new.item,
        new.number,
        new.change.action,
        new.change.restored,
        new.name,
        new.attributes,
        new.sha256,
        actor,
        author.now
    ]);
    let sql = sql!(
        "INSERT INTO revision (project_id, kind, item, number, action, restored, name, attributes, blob_id, actor, at,
                               row_sum)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)"
    );
    let columns = params![
        new.project,
        kind,
        new.item,
        new.number,
        new.change.action,
        new.change.restored,
        new.name,
        new.attributes,
        new.blob,
        actor,
        author.now,
        row_sum
    ];
    db.note(kind, new.item, before(new.number), new.number);
    db.run(sql, columns).map(drop).map_err(|error| raced(NUMBER, new.kind.title(), new.name, error))
}

/// Returns the error for a revision that another process has just written. Passes on other errors.
pub(super) fn raced(number: Unique, title: &str, name: &str, error: Error) -> Error {
    if !number.is_violated_by(&error) {
        return error;
    }
    Error::new(Code::Busy, format!("{title} '{name}' was changed in the meantime"))
        .hint("try again; nothing was changed")
        .with_source(error)
}

/// Returns the error for a revision whose row does not match its checksum.
pub(super) fn damaged(what: String) -> Error {
    Error::new(Code::Damaged, what).hint(
        "the damaged revision was not served; use another revision, or restore a backup with `mcpkg restore FILE`",
    )
}

/// Returns the number of the revision before revision `number`, as text for an event; empty for the first revision.
pub(super) fn before(number: i64) -> String {
    if number > 1 { (number - 1).to_string() } else { String::new() }
}

/// Returns revision `number` of the item with the UUID `item`, with its project's key; `None` if it is not stored.
pub fn of_item(db: &Db<'_>, item: Uuid, number: i64) -> Result<Option<(i64, Revision)>> {
    let sql = sql!(revision_columns!(), " WHERE v.item = ?1 AND v.number = ?2");
    db.one(sql, params![item, number], |row| Ok((row.get(0)?, from_row(row)?)))
}

/// Returns the revisions of the item that has or last had `name`, newest first; empty if there never was one. A damaged
/// revision has only the action `damaged`, its number, and the legible part of its name.
pub fn history(db: &Db<'_>, project: i64, kind: Kind, name: &str) -> Result<Vec<Revision>> {
    last(db, project, kind, name, usize::MAX)
}

/// Returns the newest `limit` revisions of [`history`].
pub fn last(db: &Db<'_>, project: i64, kind: Kind, name: &str, limit: usize) -> Result<Vec<Revision>> {
    let Some(item) = item(db, project, kind, name)? else {
        return Ok(Vec::new());
    };
    let sql = sql!(revision_columns!(), " WHERE v.item = ?1 ORDER BY v.number DESC LIMIT ?2");
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    db.all(sql, params![item, limit], |row| from_row(row).or_else(|error| placeholder(row, error)))
}

/// Returns the number of an item's oldest stored revision; 0 if there is none.
pub fn oldest(db: &Db<'_>, item: Uuid) -> Result<i64> {
    db.single(sql!("SELECT coalesce(min(number), 0) FROM revision WHERE item = ?1"), params![item], |row| row.get(0))
}

/// Returns revision `number` of the item that has or last had `name`.
///
/// # Errors
/// `E_NOT_FOUND` if there is no such item or revision.
pub fn get(db: &Db<'_>, project: &Project, kind: Kind, name: &str, number: i64) -> Result<Revision> {
    let item = item(db, project.id, kind, name)?.ok_or_else(|| kind.missing(db, project, name))?;
    let sql = sql!(revision_columns!(), " WHERE v.item = ?1 AND v.number = ?2");
    let found = db.one(sql, params![item, number], from_row)?;
    // A damaged index may lead to another row.
    if found.as_ref().is_some_and(|found| found.item != item || found.number != number) {
        return Err(kind.damaged(name));
    }
    found.ok_or_else(|| {
        Error::new(Code::NotFound, format!("{} '{name}' has no revision {number}", kind.title()))
            .hint(format!("`mcpkg {} history {name}` shows the existing revisions", kind.word()))
    })
}

/// Returns `number` plus one, or an error if that is not a valid number.
pub(super) fn next(number: i64) -> Result<i64> {
    let next = number.checked_add(1).filter(|next| *next > 0);
    next.ok_or_else(|| damaged_value("a revision has an invalid number"))
}

/// Returns the number of an item's newest revision; 0 if there is none.
pub fn newest(db: &Db<'_>, item: Uuid) -> Result<i64> {
    let sql = sql!("SELECT coalesce(max(number), 0) FROM revision WHERE item = ?1");
    db.single(sql, params![item], |row| row.get(0))
}

/// Returns the deleted item that last had `name`, with the number of its newest revision. A new item with that name continues
/// its history, so that the deleted one can still be restored.
pub(super) fn deleted(db: &Db<'_>, project: i64, kind: Kind, name: &str) -> Result<Option<(Uuid, i64)>> {
    // Most names never belonged to an item. This query finds that out, and is cheaper than the next one, which sorts.
    let any = sql!("SELECT 1 FROM revision WHERE project_id = ?1 AND kind = ?2 AND name = ?3 LIMIT 1");
    if db.one(any, params![project, kind.word(), name], |_| Ok(()))?.is_none() {
        return Ok(None);
    }
    let sql = sql!(
        "SELECT item, (SELECT max(number) FROM revision of WHERE of.item = revision.item) FROM revision
          WHERE project_id = ?1 AND kind = ?2 AND name = ?3 ORDER BY rowid DESC LIMIT 1"
    );
    let found: Option<(Uuid, i64)> =
        db.one(sql, params![project, kind.word(), name], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let lives = match kind {
        Kind::Prompt => sql!("SELECT EXISTS (SELECT 1 FROM prompt WHERE uuid = ?1)"),
        Kind::Resource => sql!("SELECT EXISTS (SELECT 1 FROM resource WHERE uuid = ?1)"),
    };
    match found {
        Some((item, _)) if db.single(lives, params![item], |row| row.get(0))? => Ok(None),
        found => Ok(found),
    }
}

/// Returns the item that has the name, or else the item that had it last. The order in which revisions were written
/// decides which item had it last, not the clock.
fn item(db: &Db<'_>, project: i64, kind: Kind, name: &str) -> Result<Option<Uuid>> {
    let has = match kind {
        Kind::Prompt => sql!("SELECT uuid FROM prompt WHERE project_id = ?1 AND name = ?2"),
        Kind::Resource => sql!("SELECT uuid FROM resource WHERE project_id = ?1 AND name = ?2"),
    };
    if let Some(found) = db.one(has, params![project, name], |row| row.get(0))? {
        return Ok(Some(found));
    }
    let had =
        sql!("SELECT item FROM revision WHERE project_id = ?1 AND kind = ?2 AND name = ?3 ORDER BY rowid DESC LIMIT 1");
    db.one(had, params![project, kind.word(), name], |row| row.get(0))
}

pub(super) fn from_row(row: &Row<'_>) -> Result<Revision> {
    if !intact(row, ROW)? {
        return Err(damaged(format!("Revision {} of '{}' is damaged", row.get::<i64>(3)?, legible(row, 6))));
    }
    Ok(Revision {
        item: row.get(2)?,
        number: row.get(3)?,
        action: row.get(4)?,
        restored: row.get(5)?,
        name: row.get(6)?,
        attributes: row.get(7)?,
        blob: row.get(12)?,
        size: row.get(13)?,
        actor: row.get(9)?,
        at: row.get(10)?,
    })
}

/// Returns a placeholder for a damaged row that is only shown. Passes on other errors.
fn placeholder(row: &Row<'_>, error: Error) -> Result<Revision> {
    if error.code() != Code::Damaged {
        return Err(error);
    }
    Ok(Revision {
        item: Uuid::nil(),
        number: row.get(3)?,
        action: "damaged".to_owned(),
        restored: None,
        name: legible(row, 6),
        attributes: "{}".to_owned(),
        blob: 0,
        size: 0,
        at: 0,
        actor: String::new(),
    })
}
