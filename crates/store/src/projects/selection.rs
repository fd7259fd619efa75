//! How a call selects its project: by name, by folder, or not at all.

use std::path::Path;

use crate::Db;
use crate::engine::{params, sql};
use mcpkg_base::disk;
use mcpkg_base::error::Result;

/// How a call selects its project, before the database is queried.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// The project's name, if the call names one.
    pub named: Option<String>,
    /// Where the name comes from, for errors: `--project`, `MCPKG_PROJECT`, `the access key` and others.
    pub named_by: &'static str,
    /// The folder in which the command or server was started, with `/` as separator and no trailing `/`; empty for
    /// none.
    pub directory: String,
    /// The folder to search for a workspace of several repositories, instead of `directory`. It comes from
    /// `--workspace` or its environment variables.
    pub workspace: Option<String>,
}

impl Selection {
    /// Returns an absolute path in the form that bindings have: with `/` as separator, and no trailing `/`. `None` if
    /// it is not UTF-8.
    pub fn folder(path: &Path) -> Option<String> {
        path.to_str().map(|_| disk::posix(path).trim_end_matches('/').to_owned())
    }
}

/// An SQL expression for the id of the selected project. Parameters: ?1 the name or NULL, ?2 the folder.
///
/// If several bound folders contain the folder, the innermost one counts. It has the longest path, which comes last in
/// the order of the index, so the query needs no sort. Queries compare the `project_id` of their rows with this
/// expression, so that a read needs only one statement. The macro expands to a literal, so the text of a statement is
/// built at compile time and not for each request.
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

/// Returns the key of the selected project, if any. Only for reads with several statements. A read with one statement
/// has `resolved!` in a subquery, which runs once: resolving the project for each row would cost as much as reading
/// the row.
pub(crate) fn resolved_id(db: &Db<'_>, selection: &Selection) -> Result<Option<i64>> {
    let resolved =
        db.one(sql!("SELECT ", resolved!()), params![selection.named, selection.directory], |row| row.get(0))?;
    Ok(resolved.flatten())
}
