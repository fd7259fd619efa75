//! Free pages: how many there are, and giving them back to the disk.

use std::time::{Duration, Instant};

use super::database::Database;
use crate::error::Result;

/// How long readers are waited for who read what was before.
const PATIENCE: Duration = Duration::from_secs(60);

impl Database {
    /// Writes the file anew without its free pages, on the connection that writes.
    pub(in crate::store) fn compact(&self) -> Result<()> {
        let writer = self.pooled_writer()?;
        writer.execute_batch("VACUUM")?;
        // The file shrinks when what VACUUM wrote moves out of the WAL, and the WAL when nobody reads it any more. Whoever writes
        // meanwhile gives way, and whoever begins to read reads the file.
        let until = Instant::now() + PATIENCE;
        loop {
            let is_busy: i64 = writer.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
            if is_busy == 0 {
                return Ok(());
            }
            if Instant::now() >= until {
                tracing::warn!(
                    "somebody reads for so long that the WAL stays as large as it is; a later write moves it"
                );
                return Ok(());
            }
        }
    }

    /// Returns the bytes of the file's free pages.
    pub(in crate::store) fn free(&self) -> Result<u64> {
        let reader = self.pooled_reader()?;
        let number = |sql| reader.query_row(sql, [], |row| row.get::<_, i64>(0));
        let (pages, size) = (number("PRAGMA freelist_count")?, number("PRAGMA page_size")?);
        Ok(u64::try_from(pages.saturating_mul(size)).unwrap_or(0))
    }
}
