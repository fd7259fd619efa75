//! Finds and deletes old revisions.

use crate::Db;
use crate::engine::{params, sql};
use mcpkg_base::clock::Millis;
use mcpkg_base::error::Result;

/// The setting that records that old revisions were deleted.
const FORGOT: &str = "revisions_forgotten";

#[derive(Clone, Copy, Debug)]
pub struct Outdated {
    /// How many of the newest revisions each prompt, resource and workflow keeps; at least one.
    pub keep: u32,
    /// Only revisions from before this time are outdated, and only together with all earlier revisions of the item.
    pub before: Millis,
}

/// The tables that keep revisions.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kept {
    /// Revisions of prompts and resources.
    Items,
    Workflows,
}

impl Kept {
    pub(crate) const ALL: [Self; 2] = [Self::Items, Self::Workflows];
}

/// The SQL condition that a row of a table of revisions is outdated: `?1` is the time, `?2` how many revisions stay. The
/// remaining ones have no gap.
macro_rules! outdated {
    ($table:literal) => {
        concat!(
            $table,
            ".number <= (SELECT max(newest.number) FROM ",
            $table,
            " newest WHERE newest.item = ",
            $table,
            ".item) - ?2 AND NOT EXISTS (SELECT 1 FROM ",
            $table,
            " older WHERE older.item = ",
            $table,
            ".item AND older.number <= ",
            $table,
            ".number AND older.at >= ?1)"
        )
    };
}

/// The statement that deletes outdated rows, at most `?3` of them, the oldest first.
macro_rules! forget {
    ($table:literal) => {
        sql!(
            "DELETE FROM ",
            $table,
            " WHERE (item, number) IN (SELECT item, number FROM ",
            $table,
            " WHERE ",
            outdated!($table),
            " ORDER BY item, number LIMIT ?3)"
        )
    };
}

/// Returns how many revisions are outdated.
pub(crate) fn outdated(db: &Db<'_>, outdated: Outdated) -> Result<u64> {
    let count = |sql| db.single::<u64>(sql, params![outdated.before, outdated.keep.max(1)], |row| row.get(0));
    Ok(count(sql!("SELECT count(*) FROM revision WHERE ", outdated!("revision")))?
        + count(sql!("SELECT count(*) FROM workflow_revision WHERE ", outdated!("workflow_revision")))?)
}

/// Whether old revisions were ever deleted. If so, the first revisions of an item may be missing without being lost
/// to damage.
pub(crate) fn forgot_revisions(db: &Db<'_>) -> Result<bool> {
    Ok(db.one(sql!("SELECT 1 FROM setting WHERE key = ?1"), params![FORGOT], |_| Ok(()))?.is_some())
}

/// Deletes up to `limit` outdated revisions, the oldest first, and returns how many. An open draft of a workflow keeps the
/// text that it is based on.
pub(crate) fn forget(db: &Db<'_>, kept: Kept, outdated: Outdated, limit: u32) -> Result<u64> {
    let sql = match kept {
        Kept::Items => {
            let noted = sql!("INSERT INTO setting (key, value) VALUES (?1, '1') ON CONFLICT (key) DO NOTHING");
            db.run(noted, params![FORGOT])?;
            forget!("revision")
        }
        Kept::Workflows => forget!("workflow_revision"),
    };
    db.run(sql, params![outdated.before, outdated.keep.max(1), limit])
}
