//! Full-text search over prompts and textual resources. Each engine has its own index.

use super::Db;
use super::blobs::Blob;
use super::engine::search as engine;
use super::revisions::Kind;
use mcpkg_base::error::Result;

mod ahead;
pub(super) mod reserved;
mod spaceless;

pub use crate::engine::Hit;
pub use ahead::{IndexedAhead, Words};
pub use spaceless::{Ends, cut, is_cut, is_spaceless, query_word};

/// How many MiB of a text are indexed. The limit exists because the index of a text is built in memory.
pub const INDEXED: usize = 16;

/// Replaces the words of an item in the index. Only the first [`INDEXED`] MiB of its text are indexed.
pub(super) fn index(
    db: &Db<'_>,
    kind: Kind,
    id: i64,
    project: i64,
    name: &str,
    description: Option<&str>,
    body: &str,
) -> Result<()> {
    let body = &body[..body.floor_char_boundary(INDEXED << 20)];
    engine::index(db, (kind, id), project, name, description.unwrap_or(""), body)
}

/// Runs `f`, which writes many items in this transaction. On SQLite, the transaction gets more memory for pages and
/// for the index, so that segments of the index are merged less often.
///
/// # Errors
/// Errors of `f`.
pub fn with_many<T>(db: &Db<'_>, f: impl FnOnce() -> Result<T>) -> Result<T> {
    engine::with_many(db, f)
}

/// Removes an item from the index.
pub fn unindex(db: &Db<'_>, kind: Kind, id: i64) -> Result<()> {
    engine::unindex(db, (kind, id))
}

/// Removes all items of a project from the index.
pub(super) fn unindex_project(db: &Db<'_>, project: i64) -> Result<()> {
    engine::unindex_project(db, project)
}

/// Finds the best `limit` items that contain all of `words`, or words that begin with them, in one project or in all. Calls
/// `each` with each item and its content, in any order; the content is `None` if it is missing. Returns the items with the
/// results of `each`, best first.
///
/// # Errors
/// Errors of `each`.
pub fn find<T>(
    db: &Db<'_>,
    project: Option<i64>,
    words: &[&str],
    limit: usize,
    mut each: impl FnMut(&Hit, Option<Blob<'_>>) -> Result<T>,
) -> Result<Vec<(Hit, T)>> {
    let mut found = Vec::new();
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let has_others = engine::takes_words_ahead(db) && reserved::is_any(db)?;
    engine::find(db, project, words, (limit, has_others), |hit, content| {
        let made = each(&hit, content)?;
        found.push((hit, made));
        Ok(())
    })?;
    found.sort_by(|(a, _), (b, _)| {
        b.score.total_cmp(&a.score).then_with(|| (&a.project, &a.name).cmp(&(&b.project, &b.name)))
    });
    Ok(found)
}
