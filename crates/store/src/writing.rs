//! Writes to one project while others write to other projects.

use super::engine::Intent;
use super::projects::{self, Project, Selection};
use super::{Db, Store};
use mcpkg_base::error::Result;

impl Store {
    /// Runs `f` in one write transaction as [`Store::write`] does, with the project that applies or the reason why none does. On a server,
    /// it excludes only writers to the same project and those that use [`Store::write`]. So `f` may change what belongs to that project,
    /// add what nothing else refers to yet, and append events. For rows that all projects share, the condition of its statement decides.
    pub fn write_in<T>(
        &self,
        selection: &Selection,
        f: impl FnOnce(&Db<'_>, Result<Project>) -> Result<T>,
    ) -> Result<T> {
        self.write_as(Intent::WriteProject, |db| {
            // Deleting, renaming or selecting a project excludes all writers, so the project found here stays.
            let project = projects::require(db, selection);
            if let Ok(project) = &project {
                db.lock_project(project.id)?;
            }
            f(db, project)
        })
    }
}
