//! The rows of lock holders on PostgreSQL: which process holds a lock (`held.NAME`), and when it was last seen (`beat.NAME`).
//!
//! A holder deletes its rows when it releases its lock. If its machine never comes back, the rows stay until `prune`
//! deletes them.

use super::Db;
use super::engine::{params, sql};
use super::limits::{Growing, Limits};
use mcpkg_base::clock::Millis;
use mcpkg_base::error::Result;

const DAY: Millis = 24 * 3600 * 1000;

/// The limits of these rows: how long they stay after their holder was last seen. A holder that comes back after its
/// rows were deleted stops, because each of its writes checks for them.
pub const GROWING: Growing = Growing {
    name: "locks",
    about: "processes that held PostgreSQL locks; processes seen within the last day are never deleted",
    usual: Limits { age: Some(30 * DAY), number: None },
    beyond,
    delete,
};

/// The rows beyond the limits. A holder that was seen at `?1` or later always stays. Any other holder is beyond the
/// limits if it was last seen before `?2`, or if it is not among the `?3` holders that were seen most recently. The
/// CASE keeps other settings, which are not numbers, from being cast.
macro_rules! beyond {
    () => {
        "SELECT key, value
           FROM (SELECT key, value, CASE WHEN key >= 'beat.' AND key < 'beat/' THEN CAST(value AS bigint) END AS seen_at
                   FROM setting) AS beat
          WHERE seen_at < ?1
            AND (seen_at < ?2
                 OR key NOT IN (SELECT key FROM setting WHERE key >= 'beat.' AND key < 'beat/' ORDER BY value DESC LIMIT ?3))"
    };
}

fn beyond(db: &Db<'_>, limits: Limits, now: Millis) -> Result<u64> {
    let sql = sql!("SELECT count(*) FROM (", beyond!(), ") AS beyond");
    db.single(sql, params![now.saturating_sub(DAY), limits.before(now), limits.most()], |row| row.get(0))
}

fn delete(db: &Db<'_>, limits: Limits, now: Millis, most: u32) -> Result<u64> {
    let sql = sql!(beyond!(), " ORDER BY key LIMIT ?4");
    let lost: Vec<(String, String)> =
        db.all(sql, params![now.saturating_sub(DAY), limits.before(now), limits.most(), most], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
    for (beat, seen_at) in &lost {
        let held = beat.replacen("beat", "held", 1);
        // Keep both rows if the holder was seen again after it was read here.
        let sql = sql!(
            "DELETE FROM setting WHERE key IN (?1, ?2) AND EXISTS (SELECT 1 FROM setting WHERE key = ?1 AND value = ?3)"
        );
        db.run(sql, params![beat, held, seen_at])?;
    }
    Ok(lost.len() as u64)
}
