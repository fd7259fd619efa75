//! Noticing what other processes, and this one, commit.

use rusqlite::Connection;

use super::{Db, Store, events, sqlite};
use crate::error::Result;

/// A connection of its own that looks for new commits; cheap to ask often.
pub struct Watch {
    store: Store,
    connection: Connection,
    version: i64,
    generation: String,
    seq: i64,
}

/// What was committed since the last look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Nothing.
    None,
    /// These operations, oldest first; refused ones are left out.
    Events(Vec<String>),
    /// The database was restored from a backup: anything may differ.
    Restored,
}

impl Store {
    /// Returns a watch that begins now.
    ///
    /// # Errors
    /// How the disk failed.
    pub fn watch(&self) -> Result<Watch> {
        let connection = sqlite::connect(self.path(), self.access(), super::POOLED_CACHE, true)?;
        let mut watch = Watch { store: self.clone(), connection, version: 0, generation: String::new(), seq: 0 };
        watch.version = watch.data_version()?;
        (watch.generation, watch.seq) = watch.position()?;
        Ok(watch)
    }
}

impl Watch {
    /// Returns what was committed since the last look, and notices where the file was removed or replaced.
    ///
    /// # Errors
    /// How the disk failed.
    pub fn look(&mut self) -> Result<Change> {
        self.store.notice_replacement();
        let version = self.data_version()?;
        if version == self.version {
            return Ok(Change::None);
        }
        self.version = version;
        let (generation, newest) = self.position()?;
        if generation != self.generation {
            (self.generation, self.seq) = (generation, newest);
            return Ok(Change::Restored);
        }
        // A checkpoint moves data_version too: without an event after the last one nothing happened.
        let news = events::after(&Db { connection: &self.connection }, self.seq, usize::MAX)?;
        let Some(last) = news.last() else {
            return Ok(Change::None);
        };
        self.seq = last.seq;
        let kinds: Vec<String> =
            news.into_iter().filter(|event| event.outcome == "ok").map(|event| event.kind).collect();
        Ok(if kinds.is_empty() { Change::None } else { Change::Events(kinds) })
    }

    fn data_version(&self) -> Result<i64> {
        Ok(self.connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?)
    }

    fn position(&self) -> Result<(String, i64)> {
        let db = Db { connection: &self.connection };
        let generation = self
            .connection
            .prepare_cached("SELECT value FROM setting WHERE key = 'generation'")?
            .query_row([], |row| row.get(0))?;
        Ok((generation, events::newest(&db)?))
    }
}
