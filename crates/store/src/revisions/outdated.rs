//! Old revisions that may be deleted.

use crate::Db;
use crate::engine::{params, sql};
use mcpkg_base::clock::Millis;
use mcpkg_base::error::Result;

/// The setting that says that old revisions were deleted.
const FORGOT: &str = "revisions_forgotten";

#[derive(Clone, Copy, Debug)]
pub struct Outdated {
    /// How many of the newest of each prompt, resource and workflow stay; at least one does.
    pub keep: u32,
    /// Only those from before this time, and none that comes after one that stays.
    pub before: Millis,
}

/// The condition on a row of `revision` that is outdated: `?1` is the time, `?2` how many stay. What stays has no gap.
macro_rules! outdated {
    () => {
        "revision.number <= (SELECT max(newest.number) FROM revision newest WHERE newest.item = revision.item) - ?2
         AND NOT EXISTS (SELECT 1 FROM revision older
                          WHERE older.item = revision.item AND older.number <= revision.number AND older.at >= ?1)"
    };
}

/// Returns how many revisions of prompts and resources are outdated.
pub(crate) fn outdated(db: &Db<'_>, outdated: Outdated) -> Result<u64> {
    let sql = sql!("SELECT count(*) FROM revision WHERE ", outdated!());
    db.single(sql, params![outdated.before, outdated.keep.max(1)], |row| row.get(0))
}

/// Whether revisions were deleted: then the first ones of an item may be missing, which else is damage.
pub(crate) fn forgot_revisions(db: &Db<'_>) -> Result<bool> {
    Ok(db.one(sql!("SELECT 1 FROM setting WHERE key = ?1"), params![FORGOT], |_| Ok(()))?.is_some())
}

/// Deletes outdated revisions, at most `limit` and the oldest first, and returns how many.
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
