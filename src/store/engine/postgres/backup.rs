//! Backups into a file, and the way back from one.

use std::path::{Path, PathBuf};

use super::connection::Connection;
use super::database::Database;
use crate::error::Result;
use crate::store::Db;
use crate::store::engine::sqlite::backup::{Staged, kept_beside, make_tables, publish, refuse_existing};
use crate::store::engine::{Intent, Link, Progress, transfer};

impl Database {
    /// As [`crate::store::Store::backup`]: a file as SQLite's own backup makes one.
    pub(in crate::store) fn backup(&self, to: &Path, progress: &Progress<'_>) -> Result<u64> {
        refuse_existing(to)?;
        self.copy_to(to, true, progress)
    }

    /// Writes all that is committed into a file; a damaged one only where it is not to be checked.
    fn copy_to(&self, to: &Path, checked: bool, progress: &Progress<'_>) -> Result<u64> {
        let source = self.reader()?;
        publish(self.local(), to, checked, progress, |copy| {
            make_tables(copy, to)?;
            let file = Link::Sqlite(copy);
            Db::in_transaction(Link::Postgres(&source), None, Intent::Read, |from| {
                Db::in_transaction(file, None, Intent::Write, |to| transfer::copy(from, to, progress))
            })
        })
    }

    /// As [`crate::store::Store::restore`], in one transaction: whoever reads meanwhile sees what was there.
    pub(in crate::store) fn restore(
        &self,
        from: &Path,
        kept: &Path,
        carry: impl FnOnce(&Db<'_>) -> Result<()>,
        progress: &Progress<'_>,
    ) -> Result<()> {
        let staged = Staged::of(self.local(), from, carry, progress)?;
        let live: Connection = self.reader()?;
        Db::in_transaction(Link::Postgres(&live), None, Intent::Write, |to| {
            // Nobody else can write: what others commit stands in it or comes after the restore.
            self.copy_to(kept, false, &progress.silent())?;
            Db::in_transaction(Link::Sqlite(&staged.connection), None, Intent::Read, |from| {
                transfer::copy(from, to, progress)
            })
        })?;
        // The planner knows the rows as they were.
        live.run_text("ANALYZE")
    }

    /// As [`crate::store::Store::kept_beside`].
    pub(in crate::store) fn kept_beside(&self, timestamp: &str) -> PathBuf {
        kept_beside(self.local(), timestamp)
    }
}
