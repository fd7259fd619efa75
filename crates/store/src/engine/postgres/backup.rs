//! Backs up a database on a PostgreSQL server into a file, and restores it from one.

use std::path::{Path, PathBuf};

use super::connection::Connection;
use super::database::Database;
use super::sql::postgres_sql;
use crate::Db;
use crate::engine::sqlite::backup::{Staged, kept_beside, make_tables, publish, refuse_existing};
use crate::engine::{Intent, Link, Progress, params, transfer};
use mcpkg_base::error::Result;

/// The SQL condition that selects the settings that belong to this server and not to the content: who holds its locks,
/// and the id of the last `mcpkg move`.
macro_rules! locks {
    () => {
        "(key = 'moved' OR key >= 'held.' AND key < 'held/' OR key >= 'beat.' AND key < 'beat/')"
    };
}

impl Database {
    /// Implements [`crate::Store::backup`]: writes the same kind of file as SQLite's own backup does.
    pub(crate) fn backup(&self, to: &Path, progress: &Progress<'_>) -> Result<u64> {
        refuse_existing(to)?;
        self.copy_to(to, true, progress)
    }

    /// Writes everything that is committed into a file. With `checked`, a damaged copy is refused.
    fn copy_to(&self, to: &Path, checked: bool, progress: &Progress<'_>) -> Result<u64> {
        let source = self.reader()?;
        source.stay_patient();
        publish(self.local(), to, checked, progress, |copy| {
            make_tables(copy, to)?;
            let file = Link::Sqlite(copy);
            Db::in_transaction(Link::Postgres(&source), None, Intent::Read, |from| {
                Db::in_transaction(file, None, Intent::Write, |to| transfer::copy(from, to, progress))
            })
        })
    }

    /// Implements [`crate::Store::restore`], in one transaction: reads see the old content until it commits.
    pub(crate) fn restore(
        &self,
        from: &Path,
        kept: &Path,
        carry: impl FnOnce(&Db<'_>) -> Result<()>,
        progress: &Progress<'_>,
    ) -> Result<()> {
        let staged = Staged::of(self.local(), from, carry, progress)?;
        let live: Connection = self.reader()?;
        live.stay_patient();
        Db::in_transaction(Link::Postgres(&live), None, Intent::Write, |to| {
            // No other process can write now, so the copy contains every commit before the restore.
            self.copy_to(kept, false, &progress.silent())?;
            // Locks and the id of the last move belong to this server. So the server's rows about them stay, and the
            // backup's are deleted.
            let held = to.all(postgres_sql!("SELECT key, value FROM setting WHERE ", locks!()), params![], |row| {
                Ok((row.get::<String>(0)?, row.get::<String>(1)?))
            })?;
            Db::in_transaction(Link::Sqlite(&staged.connection), None, Intent::Read, |from| {
                transfer::copy(from, to, progress)
            })?;
            to.run(postgres_sql!("DELETE FROM setting WHERE ", locks!()), params![])?;
            let insert = postgres_sql!("INSERT INTO setting (key, value) VALUES (?1, ?2)");
            held.iter().try_for_each(|(key, value)| to.run(insert, params![key, value]).map(drop))
        })?;
        // The planner's statistics are still those of the old rows.
        live.run_text("ANALYZE")
    }

    /// Implements [`crate::Store::kept_beside`].
    pub(crate) fn kept_beside(&self, timestamp: &str) -> PathBuf {
        kept_beside(self.local(), timestamp)
    }
}
