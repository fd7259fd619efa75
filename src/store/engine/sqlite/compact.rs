//! Free pages: how many there are, and giving them back to the disk.

use super::database::Database;
use crate::error::Result;

impl Database {
    /// Writes the file anew without its free pages, on the connection that writes.
    pub(in crate::store) fn compact(&self) -> Result<()> {
        let writer = self.pooled_writer()?;
        writer.execute_batch("VACUUM")?;
        drop(writer);
        // The file shrinks when what VACUUM wrote moves out of the WAL.
        self.checkpoint();
        Ok(())
    }

    /// Returns the bytes of the file's free pages.
    pub(in crate::store) fn free(&self) -> Result<u64> {
        let reader = self.pooled_reader()?;
        let number = |sql| reader.query_row(sql, [], |row| row.get::<_, i64>(0));
        let (pages, size) = (number("PRAGMA freelist_count")?, number("PRAGMA page_size")?);
        Ok(u64::try_from(pages.saturating_mul(size)).unwrap_or(0))
    }
}
