//! The audit trail: one row for every change and every refused change, without contents. Servers also read it to
//! notice changes.

use serde::Serialize;
use uuid::Uuid;

use super::Db;
use super::changes::{self, Change};
use super::engine::{Row, params, sql};
use super::limits::{Growing, Limits};
use super::names::plain;
use super::projects::{Selection, resolved};
use mcpkg_base::clock::{self, Millis};
use mcpkg_base::error::Result;

#[derive(Clone, Copy, Debug)]
pub struct NewEvent<'a> {
    pub at: Millis,
    /// The actor, such as `shell`, `mcp:CLIENT` or `key:KEY:CLIENT`.
    pub actor: &'a str,
    /// The project's name, if one applied.
    pub project: Option<&'a str>,
    /// The operation, such as `prompt.create`.
    pub kind: &'a str,
    /// The name or id of the thing that was changed.
    pub subject: &'a str,
    /// `ok`, or the error code of the refusal.
    pub outcome: &'a str,
    /// The client's connection, or the shell command, that caused the event.
    pub session: Option<&'a str>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Event {
    /// The sequence number. It is never reused.
    pub seq: i64,
    #[serde(serialize_with = "clock::as_rfc3339")]
    pub at: Millis,
    pub actor: String,
    /// The project's name, if one applied.
    pub project: Option<String>,
    pub kind: String,
    /// The name or id of the thing that was changed.
    pub subject: String,
    /// `ok`, or the error code of the refusal.
    pub outcome: String,
    /// The client's connection, or the shell command, that caused the event.
    pub session: Option<String>,
    /// The name of the subject, if `subject` is an id and its row still exists. Only [`with_names`] sets it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject_name: Option<String>,
}

/// The SELECT without its conditions; [`from_row`] reads its rows.
macro_rules! events {
    () => {
        "SELECT seq, at, actor, project, kind, subject, outcome, session FROM event"
    };
}

/// The limits of this table. Nothing is deleted unless users set limits.
pub const GROWING: Growing = Growing {
    name: "events",
    about: "the audit trail; events of the last hour are never deleted, so that all servers can read them",
    usual: Limits::NONE,
    beyond,
    delete,
};

/// How long an event stays regardless of the limits, so that a server that was suspended for a while does not miss events.
const UNREAD: Millis = 3_600_000;

/// The rows beyond the limits, which are always the oldest ones. A row is deleted if it is older than all events whose
/// time is between `?1` and `?2`, or if it is not among the newest `?3`. There are two exceptions. The newest row always
/// stays. The oldest event whose time is between `?4` and `?5` stays with all newer rows, since servers may not have read
/// them yet. Events whose time is in the future, because of a wrong clock, are treated like their neighbors.
macro_rules! beyond {
    () => {
        "SELECT seq FROM event, (SELECT max(seq) AS newest FROM event) AS last
          WHERE seq < newest
            AND seq < coalesce((SELECT seq FROM event WHERE at >= ?4 AND at <= ?5 ORDER BY seq LIMIT 1), newest)
            AND (seq <= newest - ?3
                 OR seq < coalesce((SELECT seq FROM event WHERE at >= ?1 AND at <= ?2 ORDER BY seq LIMIT 1), newest))"
    };
}

/// Returns the parameters of [`beyond!`].
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

/// Appends an event. Do this last in a transaction, because other transactions that append have to wait until this
/// one ends.
pub fn append(db: &Db<'_>, event: NewEvent<'_>) -> Result<()> {
    db.lock_events()?;
    let changes = changes::column(db.take_changes());
    db.run(
        sql!(
            "INSERT INTO event (at, actor, project, kind, subject, outcome, session, changes)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"
        ),
        params![
            event.at,
            plain(event.actor),
            event.project,
            event.kind,
            plain(event.subject),
            event.outcome,
            event.session,
            changes
        ],
    )?;
    Ok(())
}

/// Returns at most `limit` events after `seq`, oldest first.
pub fn after(db: &Db<'_>, seq: i64, limit: usize) -> Result<Vec<Event>> {
    db.all(sql!(events!(), " WHERE seq > ?1 ORDER BY seq LIMIT ?2"), params![seq, most(limit)], from_row)
}

/// Returns the last `limit` events, oldest first.
pub fn last(db: &Db<'_>, limit: usize) -> Result<Vec<Event>> {
    let mut events = db.all(sql!(events!(), " ORDER BY seq DESC LIMIT ?1"), params![most(limit)], from_row)?;
    events.reverse();
    Ok(events)
}

/// Returns the last `limit` events whose kind begins with `words` and a dot, such as `gate.`, oldest first.
pub fn last_of_kinds(db: &Db<'_>, words: &str, limit: usize) -> Result<Vec<Event>> {
    // `/` is the character after `.`.
    let (first, end) = (format!("{words}."), format!("{words}/"));
    let sql = sql!(events!(), " WHERE kind >= ?1 AND kind < ?2 ORDER BY seq DESC LIMIT ?3");
    let mut events = db.all(sql, params![first, end, most(limit)], from_row)?;
    events.reverse();
    Ok(events)
}

/// Returns the last `limit` events of the selected project, newest first.
pub fn last_of(db: &Db<'_>, selection: &Selection, limit: usize) -> Result<Vec<Event>> {
    let sql = sql!(
        events!(),
        " WHERE project = (SELECT name FROM project WHERE id = ",
        resolved!(),
        ") ORDER BY seq DESC LIMIT ?3"
    );
    db.all(sql, params![selection.named, selection.directory, most(limit)], from_row)
}

/// Returns the newest event's sequence number; 0 if there are no events.
pub fn newest(db: &Db<'_>) -> Result<i64> {
    db.single(sql!("SELECT coalesce(max(seq), 0) FROM event"), params![], |row| row.get(0))
}

/// Returns the sequence number of the newest event of a project after `seq`, apart from refusals.
pub fn newest_of(db: &Db<'_>, project: &str, seq: i64) -> Result<Option<i64>> {
    let sql = sql!("SELECT max(seq) FROM event WHERE seq > ?1 AND project = ?2 AND outcome = 'ok'");
    db.single(sql, params![seq, project], |row| row.get(0))
}

/// Returns the oldest event's sequence number; 0 if there are no events.
pub fn oldest(db: &Db<'_>) -> Result<i64> {
    db.single(sql!("SELECT coalesce(min(seq), 0) FROM event"), params![], |row| row.get(0))
}

/// Selects which events to return.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Filter<'a> {
    pub after: Option<i64>,
    pub actor: Option<&'a str>,
    pub since: Option<Millis>,
    /// A project's name.
    pub project: Option<&'a str>,
    pub session: Option<&'a str>,
    /// A kind in lowercase. `*` stands for any text.
    pub kind: Option<&'a str>,
}

macro_rules! filtered {
    () => {
        " WHERE seq > ?1 AND (CAST(?2 AS TEXT) IS NULL OR actor = ?2) AND at >= ?3
            AND (CAST(?4 AS TEXT) IS NULL OR project = ?4) AND (CAST(?5 AS TEXT) IS NULL OR session = ?5)
            AND (CAST(?7 AS TEXT) IS NULL OR kind LIKE ?7 ESCAPE '!')"
    };
}

impl<'a> Filter<'a> {
    fn params(&self) -> (i64, Option<&'a str>, Millis, Option<&'a str>, Option<&'a str>) {
        (self.after.unwrap_or(0), self.actor, self.since.unwrap_or(Millis::MIN), self.project, self.session)
    }
}

/// Returns at most `limit` events that match, oldest first: the first ones after `filter.after`, or else the last ones.
pub fn filtered(db: &Db<'_>, filter: &Filter<'_>, limit: usize) -> Result<Vec<Event>> {
    let (after, actor, since, project, session) = filter.params();
    let limit = most(limit);
    let kind = filter.kind.map(|kind| kind.replace('!', "!!").replace('%', "!%").replace('_', "!_").replace('*', "%"));
    let values = params![after, actor, since, project, session, limit, kind];
    if filter.after.is_some() {
        return db.all(sql!(events!(), filtered!(), " ORDER BY seq LIMIT ?6"), values, from_row);
    }
    let mut events = db.all(sql!(events!(), filtered!(), " ORDER BY seq DESC LIMIT ?6"), values, from_row)?;
    events.reverse();
    Ok(events)
}

/// Returns the event with this number, if there is one.
pub fn get(db: &Db<'_>, seq: i64) -> Result<Option<Event>> {
    db.one(sql!(events!(), " WHERE seq = ?1"), params![seq], from_row)
}

/// Returns what an event changed.
pub fn changes(db: &Db<'_>, seq: i64) -> Result<Vec<Change>> {
    let found = db.one(sql!("SELECT changes FROM event WHERE seq = ?1"), params![seq], |row| {
        changes::read(row.get::<Option<&str>>(0)?)
    })?;
    Ok(found.unwrap_or_default())
}

/// Returns the last successful event after `seq` that concerns an item, ignoring the events in `but`.
pub fn last_about(db: &Db<'_>, seq: i64, kind: &str, item: &str, but: &[i64]) -> Result<Option<Event>> {
    let begin = serde_json::to_string(&[kind, item]).unwrap_or_default();
    let sql = sql!(
        events!(),
        " WHERE seq > ?1 AND outcome = 'ok' AND (changes LIKE ?2 OR (subject = ?3 AND subject <> '')) ORDER BY seq DESC"
    );
    let pattern = format!("%{},%", begin.trim_end_matches(']'));
    let found = db.all(sql, params![seq, pattern, item], from_row)?;
    Ok(found.into_iter().find(|event| !but.contains(&event.seq)))
}

/// Fills in [`Event::subject_name`] for drafts, consents and runs, whose events have ids as subjects.
pub fn with_names(db: &Db<'_>, events: &mut [Event]) -> Result<()> {
    for event in events {
        // The subject of a step's event is the run's id, `/` and the step's id.
        let Ok(uuid) = Uuid::parse_str(event.subject.split('/').next().unwrap_or_default()) else { continue };
        let sql = sql!(
            "SELECT name FROM workflow_draft WHERE uuid = ?1
             UNION ALL SELECT summary FROM consent WHERE uuid = ?1
             UNION ALL SELECT name FROM run WHERE uuid = ?1 LIMIT 1"
        );
        event.subject_name = db.one(sql, params![uuid], |row| row.get(0))?;
    }
    Ok(())
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
        session: row.get(7)?,
        subject_name: None,
    })
}
