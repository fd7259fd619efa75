//! Finds and deletes unused data: archives, results of their builds, outdated answers, and approvals of unknown archives.
//!
//! When an archive is deleted, the row of its version stays, with the digest and whether the version was yanked.
//! Attestations stay too, so that a failed audit is never forgotten. The MCP names of tools stay as well.

use std::collections::{HashMap, HashSet};

use super::{packages, trust};
use crate::engine::{params, sql};
use crate::{Db, blobs};
use mcpkg_base::clock::Millis;
use mcpkg_base::error::Result;

/// How many archives one transaction deletes.
const AT_ONCE: u32 = 50;

/// The SQL condition that the archive of a row `p` of `tool_package` is unused: it was not published here, it is not
/// installed, it was not looked up after `?2`, and no unfinished run that started after `?1` uses it.
macro_rules! unused {
    () => {
        "(p.blob_id IS NOT NULL AND p.registry <> 'local' AND p.seen_at <= ?2
          AND NOT EXISTS (SELECT 1 FROM tool_install AS i WHERE i.package_id = p.id)
          AND p.sha256 NOT IN (SELECT r.sha256 FROM tool_run AS r
                                WHERE r.started_at > ?1 AND r.ended_at IS NULL AND r.sha256 IS NOT NULL))"
    };
}

/// The SQL condition that a row `b` of `tool_build` is unused: its archive is gone or unused itself.
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

/// Archives that were used after these times may still be in use, even if they are not installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Since {
    /// The earliest start of a run that may still be running.
    pub runs: Millis,
    /// An archive that was looked up after this time counts as used, because a server's session may have it installed
    /// in memory.
    pub seen: Millis,
}

/// A number of things, and their total size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    pub count: u64,
    pub bytes: u64,
}

impl Amount {
    pub fn add(&mut self, other: Self) {
        self.count += other.count;
        self.bytes += other.bytes;
    }
}

/// Returns the number and size of unused archives.
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

/// Deletes up to [`AT_ONCE`] unused archives. Returns how many were deleted.
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

/// Returns the number and size of unused results of builds.
pub fn builds(db: &Db<'_>, since: Since) -> Result<Amount> {
    let sql = sql!(
        "SELECT count(*), CAST(coalesce(sum(blob.size), 0) AS BIGINT) FROM tool_build AS b JOIN blob ON blob.id = b.blob_id WHERE ",
        unused_build!()
    );
    db.single(sql, params![since.runs, since.seen], |row| Ok(Amount { count: row.get(0)?, bytes: row.get(1)? }))
}

/// Deletes unused results of builds.
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

/// The SQL condition that a row of `registry_answer` is older than `?1`, or belongs to a registry that was removed. A
/// row without text only describes the index of a folder, so its age does not matter.
macro_rules! outdated {
    () => {
        "((body <> '' AND fetched_at < ?1) OR registry NOT IN (SELECT name FROM registry))"
    };
}

/// Returns the number and size of outdated answers.
pub fn answers(db: &Db<'_>, before: Millis) -> Result<Amount> {
    let sql = sql!(
        "SELECT count(*), CAST(coalesce(sum(length(body)), 0) AS BIGINT) FROM registry_answer WHERE ",
        outdated!()
    );
    db.single(sql, params![before], |row| Ok(Amount { count: row.get(0)?, bytes: row.get(1)? }))
}

/// Deletes outdated answers.
pub fn forget_answers(db: &Db<'_>, before: Millis) -> Result<()> {
    db.run(sql!("DELETE FROM registry_answer WHERE ", outdated!()), params![before]).map(drop)
}

/// The SQL condition that a row of `tool_verdict` is about an archive that no known registry has.
macro_rules! unknown {
    () => {
        "NOT EXISTS (SELECT 1 FROM tool_package AS p WHERE p.sha256 = tool_verdict.package_sha256)"
    };
}

/// Returns the number of approvals of archives that no registry is known to have.
pub fn approvals(db: &Db<'_>) -> Result<u64> {
    db.single(sql!("SELECT count(*) FROM tool_verdict WHERE ", unknown!()), params![], |row| row.get(0))
}

/// Deletes approvals of archives that no registry is known to have.
pub fn forget_approvals(db: &Db<'_>) -> Result<()> {
    if db.run(sql!("DELETE FROM tool_verdict WHERE ", unknown!()), params![])? > 0 {
        trust::raise_epoch(db)?;
    }
    Ok(())
}

/// Returns the SHA-256 of every archive that is in use, including results of builds. Their unpacked copies must be kept.
pub fn needed(db: &Db<'_>, since: Since) -> Result<HashSet<[u8; 32]>> {
    let sql = sql!(
        "SELECT p.sha256 FROM tool_package AS p WHERE p.blob_id IS NOT NULL AND NOT ",
        unused!(),
        " UNION SELECT b.sha256 FROM tool_build AS b WHERE NOT ",
        unused_build!()
    );
    Ok(db.all(sql, params![since.runs, since.seen], |row| row.get(0))?.into_iter().collect())
}
