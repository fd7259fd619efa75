//! Which project a call means.

use std::path::Path;

use crate::Db;
use crate::engine::{params, sql};
use mcpkg_base::error::Result;

/// The project that a call names, before the database is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// The name from `--project` or `MCPKG_PROJECT`.
    pub named: Option<String>,
    /// Which of the two gave the name.
    pub named_by: &'static str,
    /// The folder the command or server was started in, `/`-separated without a final one; empty means none.
    pub directory: String,
    /// The folder in which to look for a workspace of contract 003 instead of `directory`: from `--workspace` or its
    /// variables.
    pub workspace: Option<String>,
}

impl Selection {
    /// Returns an absolute path as bindings keep it: `/` between, none at the end; `None` where it is not UTF-8.
    pub fn folder(path: &Path) -> Option<String> {
        Some(path.to_str()?.replace('\\', "/").trim_end_matches('/').to_owned())
    }
}

/// The id of the project that applies, as an SQL expression. Parameters: ?1 the name or NULL, ?2 the folder.
///
/// Of the folders above one the longest is also the last by name, so that the index gives it without a sort. A row's
/// query compares its `project_id` with this, so that a hot read resolves its project in its one statement; it is a
/// literal, so that the statement's text is made by the compiler and not for each request.
macro_rules! resolved {
    () => {
        "(CASE WHEN CAST(?1 AS TEXT) IS NOT NULL THEN (SELECT id FROM project WHERE name = ?1)
           ELSE coalesce((SELECT project_id FROM directory
                           WHERE path <= ?2 AND (path = ?2 OR substr(?2, 1, length(path) + 1) = path || '/')
                           ORDER BY path DESC LIMIT 1),
                         (SELECT project_id FROM selection)) END)"
    };
}
pub(crate) use resolved;

/// Returns the key of the project that applies, if any. A list of several statements asks for it first; one of a single
/// statement has it in a subquery of its own, which is resolved once: resolved in each row, it would cost as much as the row.
pub(crate) fn resolved_id(db: &Db<'_>, selection: &Selection) -> Result<Option<i64>> {
    let resolved =
        db.one(sql!("SELECT ", resolved!()), params![selection.named, selection.directory], |row| row.get(0))?;
    Ok(resolved.flatten())
}
