//! Detects whether a project's list of prompts or resources (`prompts/list`, `resources/list`) has changed.
//!
//! The settings contain a counter for each list of a project, and each transaction that changes the list increments
//! it. So every process notices the change by reading one row, however long the list is.

use uuid::Uuid;

use super::Db;
use super::engine::{params, sql};
use super::projects::Project;
use super::revisions::Kind;
use mcpkg_base::error::Result;

/// The kind of difference between a changed item and its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Difference {
    None,
    /// A difference that lists do not show, for example in the content.
    Unlisted,
    /// A difference that lists show.
    Listed,
}

impl Difference {
    /// `listed` says whether the values that lists show are equal, and `rest` whether all further values are equal.
    pub(super) const fn of(listed: bool, rest: bool) -> Self {
        match (listed, rest) {
            (true, true) => Self::None,
            (true, false) => Self::Unlisted,
            (false, _) => Self::Listed,
        }
    }
}

/// The version of a list: the project, and how often its list has changed. `None` if the list is empty: all empty
/// lists have the same version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct List(Option<(Uuid, i64)>);

impl List {
    /// The version of an empty list, also used if no project is selected.
    pub const EMPTY: Self = Self(None);
}

/// Returns the version of a project's list.
pub fn validator(db: &Db<'_>, project: &Project, kind: Kind) -> Result<List> {
    let filled = match kind {
        Kind::Prompt => sql!("SELECT 1 FROM prompt WHERE project_id = ?1 LIMIT 1"),
        Kind::Resource => sql!("SELECT 1 FROM resource WHERE project_id = ?1 LIMIT 1"),
    };
    if db.one(filled, params![project.id], |_| Ok(()))?.is_none() {
        return Ok(List::EMPTY);
    }
    let count = sql!("SELECT CAST(value AS BIGINT) FROM setting WHERE key = ?1");
    let count = db.one(count, params![key(project, kind)], |row| row.get(0))?;
    // A database from an older version has no counter until its list changes.
    Ok(List(Some((project.uuid, count.unwrap_or(0)))))
}

/// Notes that a project's list changes with this transaction.
pub(super) fn changed(db: &Db<'_>, project: &Project, kind: Kind) -> Result<()> {
    let key = key(project, kind);
    if !db.is_first(&key) {
        return Ok(());
    }
    db.run(
        sql!(
            "INSERT INTO setting (key, value) VALUES (?1, '1')
             ON CONFLICT (key) DO UPDATE SET value = CAST(CAST(setting.value AS BIGINT) + 1 AS TEXT)"
        ),
        params![key],
    )?;
    Ok(())
}

/// Removes the counters of a deleted project.
pub(super) fn forget(db: &Db<'_>, project: &Project) -> Result<()> {
    let keys = [Kind::Prompt, Kind::Resource].map(|kind| key(project, kind));
    db.run(sql!("DELETE FROM setting WHERE key IN (?1, ?2)"), params![keys[0], keys[1]])?;
    Ok(())
}

fn key(project: &Project, kind: Kind) -> String {
    format!("listed.{}.{}", kind.word(), project.uuid)
}
