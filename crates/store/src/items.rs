//! The code that prompts and resources share: both are items, with an id, a name, content and revisions.

use serde::Serialize;
use serde::de::DeserializeOwned;
use uuid::Uuid;

use super::engine::{Row, params, sql};
use super::names::legible;
use super::projects::{Project, Selection, resolved};
use super::revisions::{self, Author, Change, Kind, NewRevision, Revision};
use super::{Db, blobs, lists, search};
use mcpkg_base::clock::Millis;
use mcpkg_base::error::{Code, Error, Result};

/// A row of a prompt or a resource. `A` contains everything that a user sets, except for the name and the content.
#[derive(Clone, Debug)]
pub struct Item<A> {
    pub id: i64,
    pub uuid: Uuid,
    /// Unique in its project.
    pub name: String,
    pub attributes: A,
    pub blob: i64,
    pub size: i64,
    pub sha256: [u8; 32],
    pub revision: i64,
    pub created_at: Millis,
    pub updated_at: Millis,
}

/// The identity of a new item.
#[derive(Clone, Copy, Debug)]
pub struct Ids {
    /// The id that users see. Ignored if the item continues a deleted one.
    pub uuid: Uuid,
    /// The key of the item's words in the search index; `None` if they are not indexed yet.
    pub indexed: Option<i64>,
}

impl From<Uuid> for Ids {
    fn from(uuid: Uuid) -> Self {
        Self { uuid, indexed: None }
    }
}

/// The attributes of one kind of item, which each revision stores as JSON.
pub(super) trait Attributes: Serialize + DeserializeOwned {
    const KIND: Kind;
}

/// Returns a new item. If a deleted item had the same name, the new one continues its id and history.
pub(super) fn new<A: Attributes>(
    db: &Db<'_>,
    author: Author<'_>,
    project: &Project,
    uuid: Uuid,
    name: &str,
    attributes: A,
    (blob, size, sha256): (i64, u64, [u8; 32]),
) -> Result<Item<A>> {
    let (uuid, revision) = revisions::deleted(db, project.id, A::KIND, name)?.unwrap_or((uuid, 0));
    Ok(Item {
        id: 0,
        uuid,
        name: name.to_owned(),
        attributes,
        blob,
        size: i64::try_from(size).unwrap_or(i64::MAX),
        sha256,
        revision,
        created_at: author.now,
        updated_at: author.now,
    })
}

/// Returns the item as it was at `revision`, ready to be written: over the row of `live` if the item exists, or else
/// as a new row.
pub(super) fn restored<A: Attributes>(
    db: &Db<'_>,
    author: Author<'_>,
    name: &str,
    revision: &Revision,
    live: Option<Item<A>>,
) -> Result<Item<A>> {
    Ok(Item {
        id: live.as_ref().map_or(0, |live| live.id),
        uuid: revision.item,
        attributes: attributes(&revision.attributes)?,
        blob: revision.blob,
        size: revision.size,
        sha256: blobs::sha256(db, revision.blob)?,
        revision: revisions::newest(db, revision.item)?,
        created_at: live.as_ref().map_or(author.now, |live| live.created_at),
        updated_at: live.as_ref().map_or(author.now, |live| live.updated_at),
        name: live.map_or_else(|| name.to_owned(), |live| live.name),
    })
}

/// Deletes the row of `item`. Its revisions stay, and a new last revision records the deletion.
pub(super) fn delete<A: Attributes>(
    db: &Db<'_>,
    author: Author<'_>,
    project: &Project,
    mut item: Item<A>,
) -> Result<Item<A>> {
    item.revision = revisions::next(item.revision)?;
    keep_revision(db, author, project, &item, Change { action: "delete", restored: None })?;
    let sql = match A::KIND {
        Kind::Prompt => sql!("DELETE FROM prompt WHERE id = ?1"),
        Kind::Resource => sql!("DELETE FROM resource WHERE id = ?1"),
    };
    if db.run(sql, params![item.id])? == 0 {
        return Err(A::KIND.missing(db, project, &item.name));
    }
    search::unindex(db, A::KIND, item.id)?;
    lists::changed(db, project, A::KIND)?;
    Ok(item)
}

/// Stores the current state of `item` as its revision `item.revision`.
///
/// # Errors
/// `E_DB_BUSY` if another process has written that revision since the item was read.
pub(super) fn keep_revision<A: Attributes>(
    db: &Db<'_>,
    author: Author<'_>,
    project: &Project,
    item: &Item<A>,
    change: Change<'_>,
) -> Result<()> {
    revisions::insert(
        db,
        author,
        NewRevision {
            project: project.id,
            kind: A::KIND,
            item: item.uuid,
            number: item.revision,
            change,
            name: &item.name,
            attributes: &json(&item.attributes)?,
            blob: item.blob,
            sha256: &item.sha256,
        },
    )
}

/// Returns the attributes stored in a revision.
pub(super) fn attributes<A: Attributes>(json: &str) -> Result<A> {
    serde_json::from_str(json).map_err(|error| {
        blobs::damaged_value(&format!("a {}'s attributes are malformed", A::KIND.word())).with_source(error)
    })
}

/// Returns a value as JSON for a column.
pub(super) fn json(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|error| Error::internal("a row cannot be written as JSON").with_source(error))
}

/// Returns a placeholder for a damaged row, so that a list can still show its name. Passes on other errors. The name
/// must be in column 1, and the row's id in column `id`.
pub(super) fn placeholder<A>(row: &Row<'_>, error: Error, attributes: A, id: usize) -> Result<Item<A>> {
    if error.code() != Code::Damaged {
        return Err(error);
    }
    Ok(Item {
        id: row.get(id)?,
        uuid: Uuid::nil(),
        name: legible(row, 1),
        attributes,
        blob: 0,
        size: 0,
        sha256: [0; 32],
        revision: 0,
        created_at: 0,
        updated_at: 0,
    })
}

/// Returns at most `limit` names in the selected project that begin with `prefix`.
pub(super) fn names(db: &Db<'_>, selection: &Selection, kind: Kind, prefix: &str, limit: usize) -> Result<Vec<String>> {
    macro_rules! beginning {
        () => {
            " AND substr(name, 1, length(?3)) = ?3 AND name >= ?3 ORDER BY name LIMIT ?4"
        };
    }
    let sql = match kind {
        Kind::Prompt => sql!("SELECT name FROM prompt WHERE project_id = ", resolved!(), beginning!()),
        Kind::Resource => sql!("SELECT name FROM resource WHERE project_id = ", resolved!(), beginning!()),
    };
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    db.all(sql, params![selection.named, selection.directory, prefix, limit], |row| row.get(0))
}
