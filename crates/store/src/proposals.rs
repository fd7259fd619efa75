//! Proposals: changes to a project that wait for a person. They come from deployed files, upstream sources, or synced folders.

use super::Db;
use super::engine::{Row, params, sql};
use super::names::plain;
use mcpkg_base::clock::Millis;
use mcpkg_base::error::Result;

/// The place where a proposed change was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    Deploy,
    /// The change was made in the upstream of a source.
    Source,
    /// The change was made in a synced folder.
    Sync,
}

impl Origin {
    /// Returns the word that is stored, and that programs see.
    pub const fn word(self) -> &'static str {
        match self {
            Origin::Deploy => "deploy",
            Origin::Source => "source",
            Origin::Sync => "sync",
        }
    }

    fn of(word: &str) -> Result<Self> {
        let all = [Self::Deploy, Self::Source, Self::Sync];
        let known = all.into_iter().find(|origin| origin.word() == word);
        known.ok_or_else(|| super::blobs::damaged_value("a proposal's origin is unknown"))
    }
}

/// The effect of accepting a proposal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The item gets the proposed state. A deleted item is restored.
    Change,
    /// The item is deleted.
    Delete,
    /// Deletes a file of the synced folder, because the project no longer has the item.
    DeleteFile,
}

impl Action {
    /// Returns the word that is stored, and that programs see.
    pub const fn word(self) -> &'static str {
        match self {
            Action::Change => "change",
            Action::Delete => "delete",
            Action::DeleteFile => "delete_file",
        }
    }

    fn of(word: &str) -> Result<Self> {
        let all = [Self::Change, Self::Delete, Self::DeleteFile];
        let known = all.into_iter().find(|action| action.word() == word);
        known.ok_or_else(|| super::blobs::damaged_value("a proposal's action is unknown"))
    }
}

/// Whether a proposal is open, or how a person decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Open,
    Accepted,
    Rejected,
}

impl State {
    /// Returns the word that is stored, and that people and programs see.
    pub const fn word(self) -> &'static str {
        match self {
            State::Open => "open",
            State::Accepted => "accepted",
            State::Rejected => "rejected",
        }
    }

    fn of(word: &str) -> Result<Self> {
        let all = [Self::Open, Self::Accepted, Self::Rejected];
        let known = all.into_iter().find(|state| state.word() == word);
        known.ok_or_else(|| super::blobs::damaged_value("a proposal's state is unknown"))
    }
}

/// A proposal to store.
#[derive(Clone, Copy, Debug)]
pub struct NewProposal<'a> {
    pub project: i64,
    pub origin: Origin,
    pub action: Action,
    /// The prompt or resource: `prompt:<uuid>` or `resource:<uuid>`.
    pub item: &'a str,
    pub module_id: &'a str,
    /// The file with the change.
    pub path: &'a str,
    /// The key of the project's content when the change was proposed; `None` if the item was deleted.
    pub base: Option<i64>,
    /// The key of the proposed content; `None` to delete the item.
    pub blob: Option<i64>,
    /// The proposed name and attributes, as JSON; `None` if only the content changes.
    pub entry: Option<&'a str>,
    pub actor: &'a str,
    pub now: Millis,
}

#[derive(Clone, Debug)]
pub struct Proposal {
    pub id: i64,
    pub origin: Origin,
    pub action: Action,
    /// The prompt or resource, as in [`NewProposal::item`].
    pub item: String,
    pub module_id: String,
    /// The file with the change.
    pub path: String,
    /// The key of the project's content when the change was proposed; `None` if the item was deleted.
    pub base: Option<i64>,
    /// The key of the proposed content; `None` to delete the item.
    pub blob: Option<i64>,
    /// The proposed name and attributes, as JSON; `None` if only the content changes.
    pub entry: Option<String>,
    pub state: State,
    pub actor: String,
    pub created_at: Millis,
    /// The note to the proposer from the person who decided.
    pub note: Option<String>,
}

/// The columns that [`from_row`] reads.
macro_rules! columns {
    () => {
        "id, origin, action, item, module_id, path, base_blob, blob_id, entry, state, actor, created_at, note"
    };
}

/// The setting that stores the highest number that any proposal ever had.
const LAST: &str = "proposal.last";

/// Stores a proposal and returns its number. It replaces an open proposal of the same origin for the same item. The
/// number is always new: a person may have looked at the replaced proposal, and accepting its number must not accept
/// the new one.
pub fn insert(db: &Db<'_>, new: NewProposal<'_>) -> Result<i64> {
    // Insert before deleting the old proposal. Otherwise the old number could be reused.
    let id = db.insert(
        sql!(
            "INSERT INTO proposal (project_id, origin, action, item, module_id, path, base_blob, blob_id, entry, state,
                                   actor, created_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 'open', ?10, ?11) RETURNING id"
        ),
        params![
            new.project,
            new.origin.word(),
            new.action.word(),
            new.item,
            new.module_id,
            new.path,
            new.base,
            new.blob,
            new.entry,
            plain(new.actor),
            new.now
        ],
    )?;
    let sql = sql!(
        "DELETE FROM proposal WHERE project_id = ?1 AND item = ?2 AND origin = ?3 AND state = 'open' AND id <> ?4"
    );
    db.run(sql, params![new.project, new.item, new.origin.word(), id])?;
    never_given(db, id)
}

/// Gives the new proposal `id` a number that no proposal ever had, and returns the number. This is `id` itself, unless
/// SQLite has reused the number of a deleted proposal.
fn never_given(db: &Db<'_>, id: i64) -> Result<i64> {
    let last = sql!("SELECT CAST(value AS BIGINT) FROM setting WHERE key = ?1");
    let last: i64 = db.one(last, params![LAST], |row| row.get(0))?.unwrap_or(0);
    let number = if id > last { id } else { last + 1 };
    if number != id {
        db.run(sql!("UPDATE proposal SET id = ?2 WHERE id = ?1"), params![id, number])?;
    }
    let sql =
        sql!("INSERT INTO setting (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = excluded.value");
    db.run(sql, params![LAST, number.to_string()])?;
    Ok(number)
}

/// Withdraws the open proposals of an origin for an item. Returns whether there were any.
pub fn withdraw(db: &Db<'_>, project: i64, origin: Origin, item: &str) -> Result<bool> {
    let sql = sql!("DELETE FROM proposal WHERE project_id = ?1 AND item = ?2 AND origin = ?3 AND state = 'open'");
    Ok(db.run(sql, params![project, item, origin.word()])? > 0)
}

/// Returns the open proposals of a project, ordered by number. With `all`, also returns the decided ones.
pub fn list(db: &Db<'_>, project: i64, all: bool) -> Result<Vec<Proposal>> {
    let sql =
        sql!("SELECT ", columns!(), " FROM proposal WHERE project_id = ?1 AND (?2 = 1 OR state = 'open') ORDER BY id");
    db.all(sql, params![project, all], from_row)
}

pub fn get(db: &Db<'_>, project: i64, id: i64) -> Result<Option<Proposal>> {
    let sql = sql!("SELECT ", columns!(), " FROM proposal WHERE project_id = ?1 AND id = ?2");
    db.one(sql, params![project, id], from_row)
}

/// Returns the newest decided proposal that has a note, among those that proposed the same content for an item.
pub fn noted(db: &Db<'_>, project: i64, item: &str, blob: i64) -> Result<Option<Proposal>> {
    let sql = sql!(
        "SELECT ",
        columns!(),
        " FROM proposal WHERE project_id = ?1 AND item = ?2 AND blob_id = ?3 AND state <> 'open' AND note IS NOT NULL
          ORDER BY id DESC LIMIT 1"
    );
    db.one(sql, params![project, item, blob], from_row)
}

/// Records the decision on an open proposal. Returns whether it was still open.
pub fn decide(db: &Db<'_>, id: i64, accepted: bool, now: Millis, note: Option<&str>) -> Result<bool> {
    let state = if accepted { State::Accepted } else { State::Rejected };
    let sql = sql!("UPDATE proposal SET state = ?2, decided_at = ?3, note = ?4 WHERE id = ?1 AND state = 'open'");
    Ok(db.run(sql, params![id, state.word(), now, note])? == 1)
}

fn from_row(row: &Row<'_>) -> Result<Proposal> {
    Ok(Proposal {
        id: row.get(0)?,
        origin: Origin::of(row.get(1)?)?,
        action: Action::of(row.get(2)?)?,
        item: row.get(3)?,
        module_id: row.get(4)?,
        path: row.get(5)?,
        base: row.get(6)?,
        blob: row.get(7)?,
        entry: row.get(8)?,
        state: State::of(row.get(9)?)?,
        actor: row.get(10)?,
        created_at: row.get(11)?,
        note: row.get(12)?,
    })
}
