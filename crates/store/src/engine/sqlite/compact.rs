//! Free pages of a database file: counts them, and returns their space to the disk.

use std::thread;
use std::time::{Duration, Instant};

use super::connect::{wait, wait_briefly};
use super::database::Database;
use super::errors::failed;
use mcpkg_base::error::{Code, Result};

/// How long to wait until no reader uses the old content.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long other writers get a turn between two attempts.
const PAUSE: Duration = Duration::from_millis(50);

impl Database {
    /// Rewrites the file without its free pages, on the writing connection.
    pub(crate) fn compact(&self) -> Result<()> {
        self.pooled_writer()?.execute_batch("VACUUM").map_err(failed)?;
        // The file shrinks when VACUUM's output moves from the WAL into it. The WAL shrinks when no reader uses it
        // any more. Writers have to wait during each attempt, so attempts are short, with pauses for writers in
        // between.
        let until = Instant::now() + PATIENCE;
        while !self.truncate_wal()? {
            if Instant::now() >= until {
                tracing::warn!(
                    "a reader kept the WAL in use for too long, so the WAL could not shrink; a later write can \
                        shrink it"
                );
                break;
            }
            thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// Moves the content of the WAL into the file, and empties the WAL. Returns false if another connection prevented
    /// that.
    fn truncate_wal(&self) -> Result<bool> {
        let writer = match self.pooled_writer() {
            Err(error) if error.code() == Code::Busy => return Ok(false),
            writer => writer?,
        };
        writer.busy_handler(Some(wait_briefly)).map_err(failed)?;
        let is_busy = writer.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
        writer.busy_handler(Some(wait)).map_err(failed)?;
        Ok(is_busy.map_err(failed)? == 0)
    }

    /// Returns the number of bytes in the file's free pages.
    pub(crate) fn free(&self) -> Result<u64> {
        let reader = self.pooled_reader()?;
        let number = |sql| reader.query_row(sql, [], |row| row.get::<_, i64>(0));
        let (pages, size) =
            (number("PRAGMA freelist_count").map_err(failed)?, number("PRAGMA page_size").map_err(failed)?);
        Ok(u64::try_from(pages.saturating_mul(size)).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writers_go_on_while_a_reader_keeps_the_wal_from_being_emptied() {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::open(&folder.path().join("a.db")).unwrap();
        let reader = database.slim_reader().unwrap();
        reader.execute_batch("BEGIN; SELECT count(*) FROM setting").unwrap();
        let write = |n: i64| {
            let writer = database.pooled_writer()?;
            writer
                .execute("INSERT INTO setting (key, value) VALUES (?1, '')", [format!("test.{n}")])
                .map_err(failed)?;
            Ok::<_, mcpkg_base::error::Error>(())
        };
        write(0).unwrap();
        thread::scope(|scope| {
            let compacting = scope.spawn(|| database.compact());
            // Each write waits for one attempt at most.
            let written = (1..40).try_for_each(|n| {
                thread::sleep(Duration::from_millis(10));
                write(n)
            });
            let is_compacting = !compacting.is_finished();
            reader.execute_batch("COMMIT").unwrap();
            assert!(compacting.join().unwrap().is_ok());
            assert!(written.is_ok() && is_compacting, "{written:?}");
        });
    }
}
