//! Confirm tokens, and requests that a person consents to. Only a token's SHA-256 is kept.
//!
//! A row never acts by itself: see `consent::request`, which asks the user's records outside of the database too.

use uuid::Uuid;

use super::Db;
use super::engine::{Row, damaged, params, sql};
use super::limits::{Growing, Limits};
use super::page::{Page, Slice};
use super::text::plain;
use mcpkg_base::clock::Millis;
use mcpkg_base::error::Result;

/// The table. For a day, an expired row can still be told apart from one that never existed. The number limits the tokens and the
/// requests of each asker.
pub const GROWING: Growing = Growing {
    name: "consents",
    about: "confirm tokens and consent requests, per caller; pending tokens and requests are never deleted",
    usual: Limits { age: Some(86_400_000), number: Some(1_000) },
    beyond,
    delete,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// The caller itself, by the token that it was given.
    Token,
    Person,
}

/// The states of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nobody decided yet; a token was not used.
    Pending,
    /// A person said yes.
    Approved,
    /// A person said no.
    Denied,
    /// The operation was run, once.
    Consumed,
}

/// The request that an approval is bound to: an approval counts for exactly this.
#[derive(Clone, Copy, Debug)]
pub struct Binding<'a> {
    /// The operation's name as a tool.
    pub operation: &'a str,
    /// Its requester: `user`, or `key:` and the name of an access key.
    pub asker: &'a str,
    /// The project's name; empty where none applies.
    pub project: &'a str,
    /// The normalised arguments, as JSON.
    pub inputs: &'a str,
    /// The SHA-256 of what was shown, in hex.
    pub plan_hash: &'a str,
}

/// A row to be added.
#[derive(Clone, Copy, Debug)]
pub struct New<'a> {
    pub uuid: Uuid,
    pub binding: Binding<'a>,
    /// The caller, as the trail names it.
    pub caller: &'a str,
    /// One sentence for people.
    pub summary: &'a str,
    /// Its effects, as a JSON array of lines.
    pub effects: &'a str,
    pub asked_at: Millis,
    /// From when on it is refused.
    pub expires_at: Millis,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub uuid: Uuid,
    /// The operation's name as a tool.
    pub operation: String,
    pub asker: String,
    /// The caller, as the trail names it.
    pub caller: String,
    /// The project's name; empty where none applied.
    pub project: String,
    /// The normalised arguments, as JSON.
    pub inputs: String,
    /// The SHA-256 of what was shown, in hex.
    pub plan_hash: String,
    /// One sentence for people.
    pub summary: String,
    /// Its effects, as a JSON array of lines.
    pub effects: String,
    pub state: State,
    /// When it was asked.
    pub asked_at: Millis,
    /// From when on it is refused.
    pub expires_at: Millis,
    /// When a person decided; of one that still waits, when a client declined it.
    pub decided_at: Option<Millis>,
    /// When it was used.
    pub consumed_at: Option<Millis>,
}

/// The columns that [`from_row`] reads.
macro_rules! columns {
    () => {
        "uuid, operation, asker, caller, project, inputs, plan_hash, summary, effects, state, asked_at, expires_at,
         decided_at, consumed_at"
    };
}

/// The rows beyond the limits: `?1` is now, `?2` the moment before which they have to have expired, `?3` how many an asker
/// has. A request that was denied holds until it expires.
macro_rules! beyond {
    () => {
        "SELECT id FROM (SELECT id, state, expires_at,
                                row_number() OVER (PARTITION BY asker, needs ORDER BY id DESC) AS place
                           FROM consent) AS ranked
          WHERE expires_at < ?2 OR (place > ?3 AND (state = 'consumed' OR expires_at <= ?1))"
    };
}

fn beyond(db: &Db<'_>, limits: Limits, now: Millis) -> Result<u64> {
    let sql = sql!("SELECT count(*) FROM (", beyond!(), ") AS beyond");
    db.single(sql, params![now, limits.before(now).min(now), limits.most()], |row| row.get(0))
}

fn delete(db: &Db<'_>, limits: Limits, now: Millis, most: u32) -> Result<u64> {
    let sql = sql!("DELETE FROM consent WHERE id IN (", beyond!(), " LIMIT ?4)");
    db.run(sql, params![now, limits.before(now).min(now), limits.most(), most])
}

/// Adds a request that a person consents to. Returns false, and adds nothing, where as many requests of the asker wait for a person
/// as may be.
pub fn insert(db: &Db<'_>, new: &New<'_>) -> Result<bool> {
    let most = GROWING.limits(db)?.most();
    if waiting(db, new.binding.asker, new.asked_at, most)? >= most {
        return Ok(false);
    }
    add(db, new, Needs::Person, None).map(|()| true)
}

/// Adds a token that a caller confirms with, by its SHA-256. There is always room for one: an older one of the asker makes way.
pub fn insert_token(db: &Db<'_>, new: &New<'_>, sha256: &[u8; 32]) -> Result<()> {
    add(db, new, Needs::Token, Some(sha256))
}

/// Adds a row, and deletes those that ended long ago and those of the asker that are too many.
fn add(db: &Db<'_>, new: &New<'_>, needs: Needs, sha256: Option<&[u8; 32]>) -> Result<()> {
    let limits = GROWING.limits(db)?;
    let (now, most) = (new.asked_at, limits.most());
    db.run(sql!("DELETE FROM consent WHERE expires_at < ?1"), params![limits.before(now).min(now)])?;
    let Binding { operation, asker, project, inputs, plan_hash } = new.binding;
    db.run(
        sql!(
            "INSERT INTO consent (uuid, needs, sha256, operation, asker, caller, project, inputs, plan_hash, summary,
                                  effects, state, asked_at, expires_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, 'pending', ?12, ?13)"
        ),
        params![
            new.uuid,
            needs.word(),
            sha256,
            operation,
            asker,
            plain(new.caller),
            project,
            inputs,
            plan_hash,
            new.summary,
            new.effects,
            new.asked_at,
            new.expires_at
        ],
    )?;
    // A caller's oldest unused tokens are deleted, even unexpired ones, once it has too many newer ones.
    let too_many = sql!(
        "DELETE FROM consent WHERE asker = ?1 AND needs = ?2
            AND (needs = 'token' OR state = 'consumed' OR expires_at <= ?3)
            AND id NOT IN (SELECT id FROM consent WHERE asker = ?1 AND needs = ?2 ORDER BY id DESC LIMIT ?4)"
    );
    db.run(too_many, params![asker, needs.word(), now, most])?;
    Ok(())
}

/// Returns how many requests of an asker are neither used nor past their time, `most` at most.
fn waiting(db: &Db<'_>, asker: &str, now: Millis, most: i64) -> Result<i64> {
    let sql = sql!(
        "SELECT 1 FROM consent WHERE asker = ?1 AND needs = 'person' AND state <> 'consumed' AND expires_at > ?2 LIMIT ?3"
    );
    let mut waiting = 0;
    db.each(sql, params![asker, now, most], |_| {
        waiting += 1;
        Ok(())
    })?;
    Ok(waiting)
}

/// Returns the row of a token.
pub fn of_token(db: &Db<'_>, sha256: &[u8; 32]) -> Result<Option<Request>> {
    db.one(sql!("SELECT ", columns!(), " FROM consent WHERE sha256 = ?1"), params![sha256], from_row)
}

/// Uses a token up; returns whether it was still unused and in time.
pub fn consume_token(db: &Db<'_>, sha256: &[u8; 32], now: Millis) -> Result<bool> {
    let sql = sql!(
        "UPDATE consent SET state = 'consumed', consumed_at = ?2
         WHERE sha256 = ?1 AND state = 'pending' AND expires_at > ?2"
    );
    Ok(db.run(sql, params![sha256, now])? == 1)
}

/// Returns the request with this id that a person consents to.
pub fn get(db: &Db<'_>, uuid: Uuid) -> Result<Option<Request>> {
    let sql = sql!("SELECT ", columns!(), " FROM consent WHERE uuid = ?1 AND needs = 'person'");
    db.one(sql, params![uuid], from_row)
}

/// Returns the requests for the same that are not past their time at `now`, the newest first.
pub fn find(db: &Db<'_>, binding: &Binding<'_>, now: Millis) -> Result<Vec<Request>> {
    let sql = sql!(
        "SELECT ",
        columns!(),
        " FROM consent WHERE asker = ?1 AND needs = 'person' AND operation = ?2 AND plan_hash = ?3 AND project = ?4
          AND inputs = ?5 AND expires_at > ?6 ORDER BY id DESC"
    );
    let Binding { operation, asker, project, inputs, plan_hash } = binding;
    db.all(sql, params![asker, operation, plan_hash, project, inputs, now], from_row)
}

/// Returns the requests of the same asker for the same plan that were not used and are not past their time at `now`, whatever
/// their inputs; the newest first.
pub fn unused(db: &Db<'_>, binding: &Binding<'_>, now: Millis) -> Result<Vec<Request>> {
    let sql = sql!(
        "SELECT ",
        columns!(),
        " FROM consent WHERE asker = ?1 AND needs = 'person' AND operation = ?2 AND plan_hash = ?3 AND project = ?4
          AND state <> 'consumed' AND expires_at > ?5 ORDER BY id DESC"
    );
    let Binding { operation, asker, project, plan_hash, .. } = binding;
    db.all(sql, params![asker, operation, plan_hash, project, now], from_row)
}

/// Returns a page of requests that a person consents to, by id, which is the order in which they were asked; `open` has
/// only those that wait for a decision at `now`.
pub fn list(db: &Db<'_>, open: Option<Millis>, page: &Page) -> Result<Slice<Request>> {
    let sql = sql!(
        "SELECT ",
        columns!(),
        " FROM consent WHERE needs = 'person' AND uuid > ?1 AND (?2 = 0 OR (state = 'pending' AND expires_at > ?3))
          ORDER BY uuid LIMIT ?4"
    );
    let after = Uuid::parse_str(&page.after).unwrap_or(Uuid::nil());
    let found = db.all(sql, params![after, open.is_some(), open.unwrap_or(0), page.fetch()], from_row)?;
    Ok(page.slice(found))
}

/// Records that a person approved a request until `expires_at`. Returns whether the request was pending, denied, or approved and not
/// used: after a use that was interrupted, it needs another approval.
pub fn approve(db: &Db<'_>, uuid: Uuid, now: Millis, expires_at: Millis) -> Result<bool> {
    let sql = sql!(
        "UPDATE consent SET state = 'approved', decided_at = ?2, expires_at = ?3
         WHERE uuid = ?1 AND needs = 'person' AND state IN ('pending', 'denied', 'approved') AND expires_at > ?2"
    );
    Ok(db.run(sql, params![uuid, now, expires_at])? == 1)
}

/// Records that a person denied a request. Returns whether it was pending, or approved and not used.
pub fn deny(db: &Db<'_>, uuid: Uuid, now: Millis) -> Result<bool> {
    let sql = sql!(
        "UPDATE consent SET state = 'denied', decided_at = ?2
         WHERE uuid = ?1 AND needs = 'person' AND state IN ('pending', 'approved') AND expires_at > ?2"
    );
    Ok(db.run(sql, params![uuid, now])? == 1)
}

/// Records that a client declined a request, which still waits for a person. Returns whether it was pending.
pub fn decline(db: &Db<'_>, uuid: Uuid, now: Millis) -> Result<bool> {
    let sql = sql!(
        "UPDATE consent SET decided_at = ?2
         WHERE uuid = ?1 AND needs = 'person' AND state = 'pending' AND expires_at > ?2"
    );
    Ok(db.run(sql, params![uuid, now])? == 1)
}

/// Uses an approved request up; returns whether it was approved, unused and in time.
pub fn consume(db: &Db<'_>, uuid: Uuid, now: Millis) -> Result<bool> {
    let sql = sql!(
        "UPDATE consent SET state = 'consumed', consumed_at = ?2
         WHERE uuid = ?1 AND needs = 'person' AND state = 'approved' AND expires_at > ?2"
    );
    Ok(db.run(sql, params![uuid, now])? == 1)
}

impl Request {
    /// Whether a client declined it and no person has decided. Clients decline on their own when no person is present.
    pub fn is_declined(&self) -> bool {
        self.state == State::Pending && self.decided_at.is_some()
    }
}

impl Needs {
    const fn word(self) -> &'static str {
        match self {
            Needs::Token => "token",
            Needs::Person => "person",
        }
    }
}

impl State {
    /// Returns the word for it, as the database keeps it.
    pub const fn word(self) -> &'static str {
        match self {
            State::Pending => "pending",
            State::Approved => "approved",
            State::Denied => "denied",
            State::Consumed => "consumed",
        }
    }

    fn of_word(word: &str) -> Option<Self> {
        [State::Pending, State::Approved, State::Denied, State::Consumed].into_iter().find(|state| state.word() == word)
    }
}

fn from_row(row: &Row<'_>) -> Result<Request> {
    let state: &str = row.get(9)?;
    Ok(Request {
        uuid: row.get(0)?,
        operation: row.get(1)?,
        asker: row.get(2)?,
        caller: row.get(3)?,
        project: row.get(4)?,
        inputs: row.get(5)?,
        plan_hash: row.get(6)?,
        summary: row.get(7)?,
        effects: row.get(8)?,
        state: State::of_word(state).ok_or_else(|| damaged("a request for consent has an unknown state"))?,
        asked_at: row.get(10)?,
        expires_at: row.get(11)?,
        decided_at: row.get(12)?,
        consumed_at: row.get(13)?,
    })
}
