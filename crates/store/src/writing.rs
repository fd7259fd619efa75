//! Writes to one project while others write to other projects.

use super::engine::Intent;
use super::projects::{self, Project, Selection};
use super::{Db, Store};
use mcpkg_base::error::Result;

impl Store {
    /// Runs `f` in one write transaction, as [`Store::write`] does. Passes `f` the selected project, or the error
    /// that says why there is none.
    ///
    /// On a database server, this locks out only writers to the same project and callers of [`Store::write`]. So `f`
    /// may change what belongs to that project, add rows that nothing refers to yet, and append events. If `f` changes
    /// rows that all projects share, each statement has to check its own condition, because others may change the same
    /// rows.
    pub fn write_in<T>(
        &self,
        selection: &Selection,
        f: impl FnOnce(&Db<'_>, Result<Project>) -> Result<T>,
    ) -> Result<T> {
        self.write_as(Intent::WriteProject, |db| {
            // Deleting, renaming or selecting a project locks out all writers, so the project found here cannot change.
            let project = projects::require(db, selection);
            if let Ok(project) = &project {
                db.lock_project(project.id)?;
            }
            f(db, project)
        })
    }
}
