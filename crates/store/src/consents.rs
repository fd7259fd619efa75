//! Confirm tokens, and requests for a person's consent. Only a token's SHA-256 is stored.
//!
//! A row alone approves nothing: `consent::request` also checks the user's records outside of the database.

use uuid::Uuid;

use super::Db;
use super::engine::{Row, damaged, params, sql};
use super::limits::{Growing, Limits};
use super::names::plain;
use super::page::{Page, Slice};
use mcpkg_base::clock::Millis;
use mcpkg_base::error::Result;

/// The limits of this table. By default, expired rows stay for a day, so that mcpkg can tell them apart from rows that
/// never existed. `number` limits the tokens of each asker, and separately its requests.
pub const GROWING: Growing = Growing {
    name: "consents",
    about: "confirm tokens and consent requests, per caller; pending tokens and requests are never deleted",
    usual: Limits { age: Some(86_400_000), number: Some(1_000) },
    beyond,
    delete,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// The caller confirms by itself, with a token that it was given.
    Token,
    Person,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// No person has decided yet. For a token: it is unused.
    Pending,
    Approved,
    Denied,
    /// The operation was run, which uses the approval up.
    Consumed,
}

/// The call that an approval is bound to. The approval is valid for exactly this call.
#[derive(Clone, Copy, Debug)]
pub struct Binding<'a> {
    /// The tool name of the operation.
    pub operation: &'a str,
    /// The asker: `user`, `key:NAME`, `person:NAME` or `program:NAME`.
    pub asker: &'a str,
    /// The project's name; empty if none applies.
    pub project: &'a str,
    /// The normalized arguments, as JSON.
    pub inputs: &'a str,
    /// The SHA-256 of the plan that was shown, in hex.
    pub plan_hash: &'a str,
}

/// A row to add.
#[derive(Clone, Copy, Debug)]
pub struct New<'a> {
    pub uuid: Uuid,
    pub binding: Binding<'a>,
    /// The caller's name in the audit trail (`events`).
    pub caller: &'a str,
    /// A summary for people, in one sentence.
    pub summary: &'a str,
    /// The effects, as a JSON array of lines.
    pub effects: &'a str,
    /// The operation's effect on data: `reads`, `writes` or `destroys`. `None` for a token.
    pub effect: Option<&'a str>,
    pub asked_at: Millis,
    pub expires_at: Millis,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub uuid: Uuid,
    /// The tool name of the operation.
    pub operation: String,
    pub asker: String,
    /// The caller's name in the audit trail (`events`).
    pub caller: String,
    /// The project's name; empty if none applied.
    pub project: String,
    /// The normalized arguments, as JSON.
    pub inputs: String,
    /// The SHA-256 of the plan that was shown, in hex.
    pub plan_hash: String,
    /// A summary for people, in one sentence.
    pub summary: String,
    /// The effects, as a JSON array of lines.
    pub effects: String,
    /// The operation's effect on data: `reads`, `writes` or `destroys`. `None` if an older version stored the
    /// request.
    pub effect: Option<String>,
    pub state: State,
    pub asked_at: Millis,
    pub expires_at: Millis,
    /// When a person decided. While the request is pending: when a client declined it.
    pub decided_at: Option<Millis>,
    pub consumed_at: Option<Millis>,
    /// The note to the asker from the person who decided.
    pub note: Option<String>,
}

/// The columns that [`from_row`] reads.
macro_rules! columns {
    () => {
        "uuid, operation, asker, caller, project, inputs, plan_hash, summary, effects, state, asked_at, expires_at,
         decided_at, consumed_at, effect, note"
    };
}

/// The rows beyond the limits. `?1` is the current time. `?2` is the time before which a row must have expired to be
/// deleted. `?3` is the number of rows that each asker may have. Beyond that number, only used and expired rows are
/// deleted.
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

/// Adds a request for a person's consent. Returns false, and adds nothing, if too many requests of the asker are waiting.
pub fn insert(db: &Db<'_>, new: &New<'_>) -> Result<bool> {
    let most = GROWING.limits(db)?.most();
    if waiting(db, new.binding.asker, new.asked_at, most)? >= most {
        return Ok(false);
    }
    add(db, new, Needs::Person, None)?;
    db.note("consent", new.uuid, "", State::Pending.word());
    Ok(true)
}

/// Adds a confirm token by its SHA-256. There is always room: the asker's oldest tokens are deleted if necessary.
pub fn insert_token(db: &Db<'_>, new: &New<'_>, sha256: &[u8; 32]) -> Result<()> {
    add(db, new, Needs::Token, Some(sha256))
}

/// Adds a row. Also deletes rows that expired long ago, and the asker's rows beyond the limit, except requests that can
/// still be used.
fn add(db: &Db<'_>, new: &New<'_>, needs: Needs, sha256: Option<&[u8; 32]>) -> Result<()> {
    let limits = GROWING.limits(db)?;
    let (now, most) = (new.asked_at, limits.most());
    db.run(sql!("DELETE FROM consent WHERE expires_at < ?1"), params![limits.before(now).min(now)])?;
    let Binding { operation, asker, project, inputs, plan_hash } = new.binding;
    db.run(
        sql!(
            "INSERT INTO consent (uuid, needs, sha256, operation, asker, caller, project, inputs, plan_hash, summary,
                                  effects, state, asked_at, expires_at, effect)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, 'pending', ?12, ?13, ?14)"
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
            new.expires_at,
            new.effect
        ],
    )?;
    // Delete the asker's oldest rows beyond the limit: any tokens, even unexpired ones, but only used or expired
    // requests.
    let too_many = sql!(
        "DELETE FROM consent WHERE asker = ?1 AND needs = ?2
            AND (needs = 'token' OR state = 'consumed' OR expires_at <= ?3)
            AND id NOT IN (SELECT id FROM consent WHERE asker = ?1 AND needs = ?2 ORDER BY id DESC LIMIT ?4)"
    );
    db.run(too_many, params![asker, needs.word(), now, most])?;
    Ok(())
}

/// Counts the requests of an asker that are neither used nor expired, up to `most`.
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

pub fn of_token(db: &Db<'_>, sha256: &[u8; 32]) -> Result<Option<Request>> {
    db.one(sql!("SELECT ", columns!(), " FROM consent WHERE sha256 = ?1"), params![sha256], from_row)
}

/// Uses a token up. Returns whether it was still unused and valid.
pub fn consume_token(db: &Db<'_>, sha256: &[u8; 32], now: Millis) -> Result<bool> {
    let sql = sql!(
        "UPDATE consent SET state = 'consumed', consumed_at = ?2
         WHERE sha256 = ?1 AND state = 'pending' AND expires_at > ?2"
    );
    Ok(db.run(sql, params![sha256, now])? == 1)
}

/// Returns the request with this id.
pub fn get(db: &Db<'_>, uuid: Uuid) -> Result<Option<Request>> {
    let sql = sql!("SELECT ", columns!(), " FROM consent WHERE uuid = ?1 AND needs = 'person'");
    db.one(sql, params![uuid], from_row)
}

/// Returns the unexpired requests with the same binding, the newest first.
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

/// Returns the unused and unexpired requests of the same asker for the same plan, whatever their inputs, the newest first.
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

/// Returns a page of requests, ordered by id and thus by time. With `open`, only those that wait for a decision at that time.
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

/// Records that a person approved a request until `expires_at`. Returns false if the request is used or expired, or if
/// it was denied after it was `shown` to that person. A request that was shown as denied can still be approved. An
/// approved request that was not used can be approved again, in case its use was interrupted.
pub fn approve(
    db: &Db<'_>,
    uuid: Uuid,
    shown: State,
    now: Millis,
    expires_at: Millis,
    note: Option<&str>,
) -> Result<bool> {
    let sql = sql!(
        "UPDATE consent SET state = 'approved', decided_at = ?2, expires_at = ?3, note = ?4
         WHERE uuid = ?1 AND needs = 'person' AND expires_at > ?2
             AND (state = 'approved' OR state <> 'consumed' AND state = ?5)"
    );
    Ok(db.run(sql, params![uuid, now, expires_at, note, shown.word()])? == 1)
}

/// Records that a person denied a request. Returns false if the request is used or expired.
pub fn deny(db: &Db<'_>, uuid: Uuid, now: Millis, note: Option<&str>) -> Result<bool> {
    let sql = sql!(
        "UPDATE consent SET state = 'denied', decided_at = ?2, note = ?3
         WHERE uuid = ?1 AND needs = 'person' AND state IN ('pending', 'approved', 'denied') AND expires_at > ?2"
    );
    let Some(before) = get(db, uuid)? else { return Ok(false) };
    let denied = db.run(sql, params![uuid, now, note])? == 1;
    if denied {
        db.note("consent", uuid, before.state.word(), State::Denied.word());
    }
    Ok(denied)
}

/// Records that a client declined a request. The request still waits for a person. Returns whether it was pending.
pub fn decline(db: &Db<'_>, uuid: Uuid, now: Millis) -> Result<bool> {
    let sql = sql!(
        "UPDATE consent SET decided_at = ?2
         WHERE uuid = ?1 AND needs = 'person' AND state = 'pending' AND expires_at > ?2"
    );
    Ok(db.run(sql, params![uuid, now])? == 1)
}

/// Uses an approved request up. Returns whether it was approved, unused and valid.
pub fn consume(db: &Db<'_>, uuid: Uuid, now: Millis) -> Result<bool> {
    let sql = sql!(
        "UPDATE consent SET state = 'consumed', consumed_at = ?2
         WHERE uuid = ?1 AND needs = 'person' AND state = 'approved' AND expires_at > ?2"
    );
    Ok(db.run(sql, params![uuid, now])? == 1)
}

impl Request {
    /// Whether a client declined the request and no person has decided. Clients decline on their own if no person is present.
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
    /// Returns the word that the database stores for this state.
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
        effect: row.get(14)?,
        note: row.get(15)?,
    })
}
