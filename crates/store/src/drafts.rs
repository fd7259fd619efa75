//! Drafts: proposed changes to workflows that wait for a person's decision.
//!
//! A draft stores the revision that it is based on. It is stale if that is no longer the workflow's current revision. A
//! draft of a new workflow is stale if another workflow has taken its name. Each read computes whether a draft is
//! stale.

use uuid::Uuid;

use super::engine::{Row, damaged, params, sql};
use super::limits::{Growing, Limits};
use super::names::plain;
use super::page::{Page, Slice};
use super::{Db, blobs};
use mcpkg_base::clock::Millis;
use mcpkg_base::error::Result;

/// The limits of this table. Open drafts are never deleted. `number` also limits the open drafts of a project.
pub const GROWING: Growing = Growing {
    name: "drafts",
    about: "workflow drafts, per project; drafts that are waiting for a person are never deleted",
    usual: Limits { age: Some(90 * 24 * 60 * 60 * 1000), number: Some(500) },
    beyond,
    delete,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The draft waits for a person's decision, and its base is current.
    Open,
    /// The draft waits for a decision, but its base is outdated.
    Stale,
    /// The draft became a revision.
    Approved,
    Rejected,
}

impl State {
    pub const fn word(self) -> &'static str {
        match self {
            State::Open => "open",
            State::Stale => "stale",
            State::Approved => "approved",
            State::Rejected => "rejected",
        }
    }

    pub const fn waits(self) -> bool {
        matches!(self, State::Open | State::Stale)
    }
}

/// The revision that a draft is based on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Base {
    pub item: Uuid,
    pub revision: i64,
    pub blob: i64,
}

/// The parts of a draft that an edit replaces.
#[derive(Clone, Copy, Debug)]
pub struct Said<'a> {
    /// The workflow's name in the text.
    pub name: &'a str,
    pub text: &'a str,
    /// The findings, as JSON.
    pub findings: &'a str,
    /// The plan, as JSON, if there is one.
    pub plan: Option<&'a str>,
    /// The revision that the draft is based on; `None` for a new workflow.
    pub base: Option<Base>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    pub uuid: Uuid,
    /// The workflow's name in the draft's text.
    pub name: String,
    pub state: State,
    pub message: Option<String>,
    /// The revision that the draft is based on; `None` for a new workflow.
    pub base: Option<Base>,
    pub blob: i64,
    pub size: i64,
    /// The findings when the draft was proposed or last edited, as JSON.
    pub findings: String,
    /// The plan when the draft was proposed or last edited, as JSON; `None` if there was none.
    pub plan: Option<String>,
    pub actor: String,
    pub created_at: Millis,
    /// When a person last edited the draft.
    pub edited_at: Option<Millis>,
    pub decided_by: Option<String>,
    pub decided_at: Option<Millis>,
    /// The note to the proposer from the person who decided.
    pub note: Option<String>,
}

/// A person's decision about a draft.
#[derive(Clone, Copy, Debug)]
pub struct Decision<'a> {
    pub approved: bool,
    pub actor: &'a str,
    pub now: Millis,
    /// The person's note to the proposer.
    pub note: Option<&'a str>,
}

/// The SELECT without its conditions; [`from_row`] reads its rows.
macro_rules! drafts {
    () => {
        "SELECT d.uuid, d.name, d.state, d.message, d.base_item, d.base_revision, d.base_blob, d.blob_id, b.size,
                d.findings, d.plan, d.actor, d.created_at, d.edited_at, d.decided_by, d.decided_at,
                CASE WHEN d.base_item IS NULL
                     THEN EXISTS (SELECT 1 FROM workflow w WHERE w.project_id = d.project_id AND w.name = d.name)
                     ELSE NOT EXISTS (SELECT 1 FROM workflow w WHERE w.uuid = d.base_item AND w.revision = d.base_revision)
                END, d.note
           FROM workflow_draft d JOIN blob b ON b.id = d.blob_id"
    };
}

/// The drafts beyond the limits: `?1` is the time before which a draft must have been decided, `?2` the number of
/// drafts that a project keeps.
macro_rules! beyond {
    () => {
        "SELECT id FROM (SELECT id, state, decided_at, row_number() OVER (PARTITION BY project_id ORDER BY id DESC) AS place
                           FROM workflow_draft) AS ranked
          WHERE state <> 'open' AND (decided_at < ?1 OR place > ?2)"
    };
}

fn beyond(db: &Db<'_>, limits: Limits, now: Millis) -> Result<u64> {
    let sql = sql!("SELECT count(*) FROM (", beyond!(), ") AS beyond");
    db.single(sql, params![limits.before(now), limits.most()], |row| row.get(0))
}

fn delete(db: &Db<'_>, limits: Limits, now: Millis, most: u32) -> Result<u64> {
    let sql = sql!("DELETE FROM workflow_draft WHERE id IN (", beyond!(), " LIMIT ?3)");
    db.run(sql, params![limits.before(now), limits.most(), most])
}

/// Stores a draft. Returns false, and stores nothing, if too many drafts of the project are open.
pub fn insert(
    db: &Db<'_>,
    project: i64,
    uuid: Uuid,
    (actor, now): (&str, Millis),
    message: Option<&str>,
    said: Said<'_>,
) -> Result<bool> {
    let most = GROWING.limits(db)?.most();
    let waiting = sql!("SELECT 1 FROM workflow_draft WHERE project_id = ?1 AND state = 'open' LIMIT ?2");
    let waiting = db.all(waiting, params![project, most], |_| Ok(()))?.len();
    if i64::try_from(waiting).unwrap_or(i64::MAX) >= most {
        return Ok(false);
    }
    let blob = blobs::put(db, said.text.as_bytes())?;
    let sql = sql!(
        "INSERT INTO workflow_draft (uuid, project_id, name, state, message, base_item, base_revision, base_blob, blob_id,
                                     findings, plan, actor, created_at)
         VALUES (?1, ?2, ?3, 'open', ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)"
    );
    let ((item, revision, base_blob), actor) = (columns(said.base), plain(actor));
    let values = params![
        uuid,
        project,
        said.name,
        message,
        item,
        revision,
        base_blob,
        blob,
        said.findings,
        said.plan,
        actor,
        now
    ];
    db.run(sql, values)?;
    db.note("draft", uuid, "", format!("open {blob}"));
    Ok(true)
}

/// Replaces the text and the base of an open draft. Returns whether it was still open and its text was still the blob
/// `was`.
pub fn edit(db: &Db<'_>, uuid: Uuid, was: i64, now: Millis, said: Said<'_>) -> Result<bool> {
    let blob = blobs::put(db, said.text.as_bytes())?;
    let (item, revision, base_blob) = columns(said.base);
    let sql = sql!(
        "UPDATE workflow_draft SET name = ?3, base_item = ?4, base_revision = ?5, base_blob = ?6, blob_id = ?7,
                                   findings = ?8, plan = ?9, edited_at = ?10
          WHERE uuid = ?1 AND blob_id = ?2 AND state = 'open'"
    );
    let values = params![uuid, was, said.name, item, revision, base_blob, blob, said.findings, said.plan, now];
    let edited = db.run(sql, values)? == 1;
    if edited {
        db.note("draft", uuid, format!("open {was}"), format!("open {blob}"));
    }
    Ok(edited)
}

/// Records a person's decision about an open draft. Returns whether it was still open and its text was still the blob
/// `shown`.
pub fn decide(db: &Db<'_>, uuid: Uuid, shown: i64, decision: Decision<'_>) -> Result<bool> {
    let Decision { approved, actor, now, note } = decision;
    let word = if approved { State::Approved } else { State::Rejected }.word();
    let sql = sql!(
        "UPDATE workflow_draft SET state = ?3, decided_by = ?4, decided_at = ?5, note = ?6
          WHERE uuid = ?1 AND blob_id = ?2 AND state = 'open'"
    );
    let decided = db.run(sql, params![uuid, shown, word, plain(actor), now, note])? == 1;
    if decided {
        db.note("draft", uuid, format!("open {shown}"), word);
    }
    Ok(decided)
}

/// Opens a rejected draft again, to undo the rejection. Returns whether it was rejected.
pub fn reopen(db: &Db<'_>, uuid: Uuid) -> Result<bool> {
    let sql = sql!(
        "UPDATE workflow_draft SET state = 'open', decided_by = NULL, decided_at = NULL, note = NULL
          WHERE uuid = ?1 AND state = 'rejected'"
    );
    Ok(db.run(sql, params![uuid])? == 1)
}

/// Returns the draft with this id in any project, if there is one.
pub fn by_uuid(db: &Db<'_>, uuid: Uuid) -> Result<Option<Draft>> {
    db.one(sql!(drafts!(), " WHERE d.uuid = ?1"), params![uuid], from_row)
}

/// Returns the draft of a project with this id, if there is one.
pub fn get(db: &Db<'_>, project: i64, uuid: Uuid) -> Result<Option<Draft>> {
    db.one(sql!(drafts!(), " WHERE d.uuid = ?1 AND d.project_id = ?2"), params![uuid, project], from_row)
}

/// Returns a page of a project's drafts, ordered by id and thus by time. With `waiting`, only those that wait for a person.
pub fn list(db: &Db<'_>, project: i64, waiting: bool, page: &Page) -> Result<Slice<Draft>> {
    let sql = sql!(
        drafts!(),
        " WHERE d.project_id = ?1 AND d.uuid > ?2 AND (?3 = 0 OR d.state = 'open') ORDER BY d.uuid LIMIT ?4"
    );
    let after = Uuid::parse_str(&page.after).unwrap_or(Uuid::nil());
    Ok(page.slice(db.all(sql, params![project, after, waiting, page.fetch()], from_row)?))
}

fn columns(base: Option<Base>) -> (Option<Uuid>, Option<i64>, Option<i64>) {
    (base.map(|base| base.item), base.map(|base| base.revision), base.map(|base| base.blob))
}

fn from_row(row: &Row<'_>) -> Result<Draft> {
    let is_moved: bool = row.get(16)?;
    let state = match (row.get(2)?, is_moved) {
        ("open", false) => State::Open,
        ("open", true) => State::Stale,
        ("approved", _) => State::Approved,
        ("rejected", _) => State::Rejected,
        _ => return Err(damaged("a draft has an unknown state")),
    };
    let base = match (row.get(4)?, row.get(5)?, row.get(6)?) {
        (Some(item), Some(revision), Some(blob)) => Some(Base { item, revision, blob }),
        (None, None, None) => None,
        _ => return Err(damaged("a draft refers to its base only in part")),
    };
    Ok(Draft {
        uuid: row.get(0)?,
        name: row.get(1)?,
        state,
        message: row.get(3)?,
        base,
        blob: row.get(7)?,
        size: row.get(8)?,
        findings: row.get(9)?,
        plan: row.get(10)?,
        actor: row.get(11)?,
        created_at: row.get(12)?,
        edited_at: row.get(13)?,
        decided_by: row.get(14)?,
        decided_at: row.get(15)?,
        note: row.get(17)?,
    })
}
