//! Writing to one project, while others write to other ones.

use super::engine::Intent;
use super::projects::{self, Project, Selection};
use super::{Db, Store};
use crate::error::Result;

impl Store {
    /// Runs `f` in one write transaction as [`Store::write`] does, with the project that applies or why none does. On a
    /// server it excludes those alone who write to the same project, and those who [`Store::write`]. So `f` changes what is that
    /// project's, adds what nobody else refers to yet, appends events, and where rows are shared by all projects
    /// lets the condition of its statement decide.
    ///
    /// # Errors
    /// As [`Store::write`].
    pub fn write_in<T>(
        &self,
        selection: &Selection,
        f: impl FnOnce(&Db<'_>, Result<Project>) -> Result<T>,
    ) -> Result<T> {
        self.write_as(Intent::WriteProject, |db| {
            // Who deletes, renames or selects a project excludes all who write: the one found here stays.
            let project = projects::require(db, selection);
            if let Ok(project) = &project {
                db.lock_project(project.id)?;
            }
            f(db, project)
        })
    }
}
