//! The trail and the change feed: one row for every mutation and every refused one, without contents.

use serde::Serialize;

use super::Db;
use super::engine::{Row, params, sql};
use super::limits::{Growing, Limits};
use super::projects::{Selection, resolved};
use super::text::plain;
use mcpkg_base::clock::{self, Millis};
use mcpkg_base::error::Result;

/// An event to append.
#[derive(Clone, Copy, Debug)]
pub struct NewEvent<'a> {
    pub at: Millis,
    /// Who: `shell`, or `mcp:` and the client's name.
    pub actor: &'a str,
    /// The project's name, where one applied.
    pub project: Option<&'a str>,
    /// The operation, such as `prompt.create`.
    pub kind: &'a str,
    /// The name of what it was done to.
    pub subject: &'a str,
    /// `ok`, or the code of the refusal.
    pub outcome: &'a str,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Event {
    /// Its place in the order of things; never reused.
    pub seq: i64,
    /// The time of the event.
    #[serde(serialize_with = "clock::as_rfc3339")]
    pub at: Millis,
    pub actor: String,
    /// The project's name, where one applied.
    pub project: Option<String>,
    pub kind: String,
    /// The name of what it was done to.
    pub subject: String,
    /// `ok`, or the code of the refusal.
    pub outcome: String,
}

/// The query whose rows [`from_row`] reads, without its conditions.
macro_rules! events {
    () => {
        "SELECT seq, at, actor, project, kind, subject, outcome FROM event"
    };
}

/// The table. All of it stays unless users set limits.
pub const GROWING: Growing = Growing {
    name: "events",
    about: "the audit trail; events of the last hour are never deleted, so that all servers can read them",
    usual: Limits::NONE,
    beyond,
    delete,
};

/// How long an event stays whatever the limits say: a server that was stopped for a while reads on where it was.
const UNREAD: Millis = 3_600_000;

/// The rows beyond the limits, which are the oldest without a gap: `?1` to `?2` is when those happened that are young enough,
/// `?3` how many stay, `?4` to `?5` is when those happened that servers may not have read. What a clock that went wrong wrote
/// as later than now counts as its neighbours do.
macro_rules! beyond {
    () => {
        "SELECT seq FROM event, (SELECT max(seq) AS newest FROM event) AS last
          WHERE seq < newest
            AND seq < coalesce((SELECT seq FROM event WHERE at >= ?4 AND at <= ?5 ORDER BY seq LIMIT 1), newest)
            AND (seq <= newest - ?3
                 OR seq < coalesce((SELECT seq FROM event WHERE at >= ?1 AND at <= ?2 ORDER BY seq LIMIT 1), newest))"
    };
}

/// The parameters of [`beyond!`].
fn moments(limits: Limits, now: Millis) -> [i64; 5] {
    let young = if limits.age.is_some() { now } else { Millis::MAX };
    [limits.before(now), young, limits.most(), now.saturating_sub(UNREAD), now]
}

fn beyond(db: &Db<'_>, limits: Limits, now: Millis) -> Result<u64> {
    let [since, until, most, unread, now] = moments(limits, now);
    let sql = sql!("SELECT count(*) FROM (", beyond!(), ") AS beyond");
    db.single(sql, params![since, until, most, unread, now], |row| row.get(0))
}

fn delete(db: &Db<'_>, limits: Limits, now: Millis, batch: u32) -> Result<u64> {
    let [since, until, most, unread, now] = moments(limits, now);
    let sql = sql!("DELETE FROM event WHERE seq IN (", beyond!(), " ORDER BY seq LIMIT ?6)");
    db.run(sql, params![since, until, most, unread, now, batch])
}

/// Appends an event. This comes last in its transaction, since others that append wait until that ends.
pub fn append(db: &Db<'_>, event: NewEvent<'_>) -> Result<()> {
    db.lock_events()?;
    db.run(
        sql!("INSERT INTO event (at, actor, project, kind, subject, outcome) VALUES (?1, ?2, ?3, ?4, ?5, ?6)"),
        params![event.at, plain(event.actor), event.project, event.kind, plain(event.subject), event.outcome],
    )?;
    Ok(())
}

/// Returns the events after `seq`, oldest first, at most `limit`.
pub fn after(db: &Db<'_>, seq: i64, limit: usize) -> Result<Vec<Event>> {
    db.all(sql!(events!(), " WHERE seq > ?1 ORDER BY seq LIMIT ?2"), params![seq, most(limit)], from_row)
}

/// Returns the last `limit` events, oldest first.
pub fn last(db: &Db<'_>, limit: usize) -> Result<Vec<Event>> {
    let mut events = db.all(sql!(events!(), " ORDER BY seq DESC LIMIT ?1"), params![most(limit)], from_row)?;
    events.reverse();
    Ok(events)
}

/// Returns the last `limit` events whose kind begins with `words`, such as `gate`, oldest first.
pub fn last_of_kinds(db: &Db<'_>, words: &str, limit: usize) -> Result<Vec<Event>> {
    // What comes after a point is a slash.
    let (first, end) = (format!("{words}."), format!("{words}/"));
    let sql = sql!(events!(), " WHERE kind >= ?1 AND kind < ?2 ORDER BY seq DESC LIMIT ?3");
    let mut events = db.all(sql, params![first, end, most(limit)], from_row)?;
    events.reverse();
    Ok(events)
}

/// Returns the last `limit` events of the project that applies, newest first.
pub fn last_of(db: &Db<'_>, selection: &Selection, limit: usize) -> Result<Vec<Event>> {
    let sql = sql!(
        events!(),
        " WHERE project = (SELECT name FROM project WHERE id = ",
        resolved!(),
        ") ORDER BY seq DESC LIMIT ?3"
    );
    db.all(sql, params![selection.named, selection.directory, most(limit)], from_row)
}

/// Returns the newest event's place; 0 if there are no events.
pub fn newest(db: &Db<'_>) -> Result<i64> {
    db.single(sql!("SELECT coalesce(max(seq), 0) FROM event"), params![], |row| row.get(0))
}

/// Returns the oldest event's place; 0 if there are no events.
pub fn oldest(db: &Db<'_>) -> Result<i64> {
    db.single(sql!("SELECT coalesce(min(seq), 0) FROM event"), params![], |row| row.get(0))
}

fn most(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

fn from_row(row: &Row<'_>) -> Result<Event> {
    Ok(Event {
        seq: row.get(0)?,
        at: row.get(1)?,
        actor: row.get(2)?,
        project: row.get(3)?,
        kind: row.get(4)?,
        subject: row.get(5)?,
        outcome: row.get(6)?,
    })
}
