//! Finds and deletes unused data: archives, results of their builds, outdated answers, and decisions on unknown
//! archives.
//!
//! The record of a version stays in its row without the archive: its digest, and whether it was yanked. Attestations
//! stay too, so that a failed audit is never forgotten, and so do the names by which agents call tools.

use std::collections::{HashMap, HashSet};

use super::{packages, trust};
use crate::engine::{params, sql};
use crate::{Db, blobs};
use mcpkg_base::clock::Millis;
use mcpkg_base::error::Result;

/// Archives that one transaction frees.
const AT_ONCE: u32 = 50;

/// The condition for a row `p` of `tool_package` to have an unused archive: it was not published here, it is not installed, no run that
/// began after `?1` uses it, and it was not looked up after `?2`.
macro_rules! unused {
    () => {
        "(p.blob_id IS NOT NULL AND p.registry <> 'local' AND p.seen_at <= ?2
          AND NOT EXISTS (SELECT 1 FROM tool_install AS i WHERE i.package_id = p.id)
          AND p.sha256 NOT IN (SELECT r.sha256 FROM tool_run AS r
                                WHERE r.started_at > ?1 AND r.ended_at IS NULL AND r.sha256 IS NOT NULL))"
    };
}

/// The condition on a row `b` of `tool_build` without an archive, not counting archives that are kept for no reason.
macro_rules! unused_build {
    () => {
        concat!(
            "NOT EXISTS (SELECT 1 FROM tool_package AS p
                          WHERE p.sha256 = b.package_sha256 AND p.blob_id IS NOT NULL AND NOT ",
            unused!(),
            ")"
        )
    };
}

/// Until when something may still be in use though nothing refers to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Since {
    /// The earliest start of a run that may still be running.
    pub runs: Millis,
    /// An archive may go if it was not looked up after this time: a server's session may have it installed in memory.
    pub seen: Millis,
}

/// How many, and how many bytes they take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    pub count: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Amount {
    pub fn add(&mut self, other: Self) {
        self.count += other.count;
        self.bytes += other.bytes;
    }
}

/// Returns the archives that are kept for nothing.
pub fn archives(db: &Db<'_>, since: Since) -> Result<Amount> {
    let sql = sql!(
        "SELECT p.blob_id, p.size, (SELECT count(*) FROM tool_package AS o WHERE o.blob_id = p.blob_id)
           FROM tool_package AS p WHERE ",
        unused!()
    );
    let rows: Vec<(i64, u64, u64)> =
        db.all(sql, params![since.runs, since.seen], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    // Several registries may have the same archive, which is stored once.
    let mut of_blob: HashMap<i64, u64> = HashMap::new();
    let mut amount = Amount { count: rows.len() as u64, bytes: 0 };
    for (blob, size, users) in rows {
        let unused = of_blob.entry(blob).or_default();
        *unused += 1;
        amount.bytes += if *unused == users { size } else { 0 };
    }
    Ok(amount)
}

/// Lets the archives go that are kept for nothing, some of them at a time; returns how many those were.
pub fn free_archives(db: &Db<'_>, since: Since) -> Result<u64> {
    let sql = sql!("SELECT p.id FROM tool_package AS p WHERE ", unused!(), " ORDER BY p.id LIMIT ?3");
    let ids: Vec<i64> = db.all(sql, params![since.runs, since.seen, AT_ONCE], |row| row.get(0))?;
    for id in &ids {
        if let Some(row) = packages::by_id(db, *id)? {
            packages::let_go(db, &row)?;
        }
    }
    Ok(ids.len() as u64)
}

/// Returns what builds left of archives that are no longer here.
pub fn builds(db: &Db<'_>, since: Since) -> Result<Amount> {
    let sql = sql!(
        "SELECT count(*), CAST(coalesce(sum(blob.size), 0) AS BIGINT) FROM tool_build AS b JOIN blob ON blob.id = b.blob_id WHERE ",
        unused_build!()
    );
    db.single(sql, params![since.runs, since.seen], |row| Ok(Amount { count: row.get(0)?, bytes: row.get(1)? }))
}

/// Lets go what builds left of archives that are no longer here.
pub fn free_builds(db: &Db<'_>, since: Since) -> Result<()> {
    let sql = sql!("SELECT b.package_sha256, b.runner, b.blob_id FROM tool_build AS b WHERE ", unused_build!());
    let rows: Vec<([u8; 32], String, i64)> =
        db.all(sql, params![since.runs, since.seen], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    for (package, runner, blob) in rows {
        let delete = sql!("DELETE FROM tool_build WHERE package_sha256 = ?1 AND runner = ?2");
        db.run(delete, params![package, runner])?;
        blobs::take_back(db, blob)?;
    }
    Ok(())
}

/// The condition for a row of `registry_answer` to be outdated at `?1`, or of a registry that was removed. A row without text only
/// describes the index of a folder, and never expires.
macro_rules! outdated {
    () => {
        "((body <> '' AND fetched_at < ?1) OR registry NOT IN (SELECT name FROM registry))"
    };
}

/// Returns the answers of registries that hold no longer.
pub fn answers(db: &Db<'_>, before: Millis) -> Result<Amount> {
    let sql = sql!(
        "SELECT count(*), CAST(coalesce(sum(length(body)), 0) AS BIGINT) FROM registry_answer WHERE ",
        outdated!()
    );
    db.single(sql, params![before], |row| Ok(Amount { count: row.get(0)?, bytes: row.get(1)? }))
}

/// Forgets the answers of registries that hold no longer.
pub fn forget_answers(db: &Db<'_>, before: Millis) -> Result<()> {
    db.run(sql!("DELETE FROM registry_answer WHERE ", outdated!()), params![before]).map(drop)
}

/// The condition for a row of `tool_verdict` to be about an archive that no known registry has.
macro_rules! unknown {
    () => {
        "NOT EXISTS (SELECT 1 FROM tool_package AS p WHERE p.sha256 = tool_verdict.package_sha256)"
    };
}

/// Returns how many approvals are of archives that no registry was seen to have.
pub fn approvals(db: &Db<'_>) -> Result<u64> {
    db.single(sql!("SELECT count(*) FROM tool_verdict WHERE ", unknown!()), params![], |row| row.get(0))
}

/// Forgets approvals of archives that no registry was seen to have.
pub fn forget_approvals(db: &Db<'_>) -> Result<()> {
    if db.run(sql!("DELETE FROM tool_verdict WHERE ", unknown!()), params![])? > 0 {
        trust::raise_epoch(db)?;
    }
    Ok(())
}

/// Returns the SHA-256 of every archive that is not kept for nothing, what builds left among them: their unpacked copies are
/// used.
pub fn needed(db: &Db<'_>, since: Since) -> Result<HashSet<[u8; 32]>> {
    let sql = sql!(
        "SELECT p.sha256 FROM tool_package AS p WHERE p.blob_id IS NOT NULL AND NOT ",
        unused!(),
        " UNION SELECT b.sha256 FROM tool_build AS b WHERE NOT ",
        unused_build!()
    );
    Ok(db.all(sql, params![since.runs, since.seen], |row| row.get(0))?.into_iter().collect())
}
