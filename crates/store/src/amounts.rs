//! Counts what the database holds, for people who look at its health. Counting reads whole indexes, so requests of
//! agents never do it.

use super::Db;
use super::engine::{params, sql};
use mcpkg_base::clock::Millis;
use mcpkg_base::error::Result;

const DAY: Millis = 24 * 60 * 60 * 1000;

/// The maximum number of events to count. The newest ones are counted.
pub const COUNTED: i64 = 200_000;

/// The names of the rows that [`rows`] counts, in the order of its columns.
const NAMES: [&str; 8] =
    ["projects", "prompts", "resources", "revisions", "workflows", "runs", "requests for consent", "stored deploys"];

/// Returns the number of rows of the tables that grow with use.
pub fn rows(db: &Db<'_>) -> Result<Vec<(&'static str, u64)>> {
    let sql = sql!(
        "SELECT (SELECT count(*) FROM project), (SELECT count(*) FROM prompt), (SELECT count(*) FROM resource),
                (SELECT count(*) FROM revision), (SELECT count(*) FROM workflow), (SELECT count(*) FROM run),
                (SELECT count(*) FROM consent), (SELECT count(*) FROM snapshot)"
    );
    db.single(sql, params![], |row| NAMES.into_iter().enumerate().map(|(at, name)| Ok((name, row.get(at)?))).collect())
}

/// Returns the number of events of each of the last `days` days in UTC, the oldest first: the beginning of the day, and
/// its events.
pub fn events_per_day(db: &Db<'_>, now: Millis, days: i64) -> Result<Vec<(Millis, u64)>> {
    let first = now.div_euclid(DAY) - days + 1;
    let sql = sql!(
        "SELECT at / 86400000, count(*) FROM event
          WHERE seq > (SELECT coalesce(max(seq), 0) FROM event) - ?1 AND at >= ?2
          GROUP BY at / 86400000"
    );
    let found: Vec<(i64, u64)> = db.all(sql, params![COUNTED, first * DAY], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let of = |day| found.iter().find(|(known, _)| *known == day).map_or(0, |(_, count)| *count);
    Ok((first..first + days).map(|day| (day * DAY, of(day))).collect())
}
