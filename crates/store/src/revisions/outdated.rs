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

/// The SQL condition that a row of `revision` is outdated: `?1` is the time, `?2` how many revisions stay. The numbers
/// of the revisions that stay have no gap.
macro_rules! outdated {
    () => {
        "revision.number <= (SELECT max(newest.number) FROM revision newest WHERE newest.item = revision.item) - ?2
         AND NOT EXISTS (SELECT 1 FROM revision older
                          WHERE older.item = revision.item AND older.number <= revision.number AND older.at >= ?1)"
    };
}

/// Returns how many revisions are outdated.
pub(crate) fn outdated(db: &Db<'_>, outdated: Outdated) -> Result<u64> {
    let sql = sql!("SELECT count(*) FROM revision WHERE ", outdated!());
    db.single(sql, params![outdated.before, outdated.keep.max(1)], |row| row.get(0))
}

/// Whether old revisions were ever deleted. If so, the first revisions of an item may be missing without being lost
/// to damage.
pub(crate) fn forgot_revisions(db: &Db<'_>) -> Result<bool> {
    Ok(db.one(sql!("SELECT 1 FROM setting WHERE key = ?1"), params![FORGOT], |_| Ok(()))?.is_some())
}

/// Deletes up to `limit` outdated revisions, the oldest first, and returns how many.
pub(crate) fn forget(db: &Db<'_>, outdated: Outdated, limit: u32) -> Result<u64> {
    let noted = sql!("INSERT INTO setting (key, value) VALUES (?1, '1') ON CONFLICT (key) DO NOTHING");
    db.run(noted, params![FORGOT])?;
    let sql = sql!(
        "DELETE FROM revision WHERE (item, number) IN (SELECT item, number FROM revision WHERE ",
        outdated!(),
        " ORDER BY item, number LIMIT ?3)"
    );
    db.run(sql, params![outdated.before, outdated.keep.max(1), limit])
}
