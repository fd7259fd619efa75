//! A cache of registries' answers. It saves requests, and helps when a registry cannot be reached.

use crate::Db;
use crate::engine::{params, sql};
use mcpkg_base::clock::Millis;
use mcpkg_base::error::Result;

/// How many answers to keep for each registry. Older ones are deleted.
pub const KEPT: u32 = 2000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The registry's ETag for this version of the answer.
    pub etag: Option<String>,
    pub body: String,
    /// When the registry last gave or confirmed this answer.
    pub fetched_at: Millis,
}

/// Returns a registry's cached answer to a request.
pub fn get(db: &Db<'_>, registry: &str, request: &str) -> Result<Option<Answer>> {
    let sql = sql!("SELECT etag, body, fetched_at FROM registry_answer WHERE registry = ?1 AND request = ?2");
    db.one(sql, params![registry, request], |row| {
        Ok(Answer { etag: row.get(0)?, body: row.get(1)?, fetched_at: row.get(2)? })
    })
}

/// Stores a registry's answer to a request, replacing the previous one. Deletes the registry's oldest answers beyond
/// [`KEPT`].
pub fn put(db: &Db<'_>, registry: &str, request: &str, answer: &Answer) -> Result<()> {
    let sql = sql!(
        "INSERT INTO registry_answer (registry, request, etag, body, fetched_at) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (registry, request) DO UPDATE SET etag = excluded.etag, body = excluded.body,
                                                       fetched_at = excluded.fetched_at"
    );
    db.run(sql, params![registry, request, answer.etag, answer.body, answer.fetched_at])?;
    let sql = sql!(
        "DELETE FROM registry_answer WHERE registry = ?1 AND fetched_at < (
           SELECT min(fetched_at) FROM (
             SELECT fetched_at FROM registry_answer WHERE registry = ?1 ORDER BY fetched_at DESC LIMIT ?2) AS newest)"
    );
    db.run(sql, params![registry, KEPT]).map(drop)
}

/// Records that an answer is still valid.
pub fn touch(db: &Db<'_>, registry: &str, request: &str, now: Millis) -> Result<()> {
    let sql = sql!("UPDATE registry_answer SET fetched_at = ?3 WHERE registry = ?1 AND request = ?2");
    db.run(sql, params![registry, request, now]).map(drop)
}

/// Deletes all answers of a registry.
pub fn remove_all(db: &Db<'_>, registry: &str) -> Result<()> {
    db.run(sql!("DELETE FROM registry_answer WHERE registry = ?1"), params![registry]).map(drop)
}
