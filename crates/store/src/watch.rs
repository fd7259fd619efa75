//! Notices commits of this and of other processes.

use std::fmt;
use std::time::{Duration, Instant};

use super::engine::{Connection, Version, params, sql};
use super::events::{self, Event};
use super::{Db, Store};
use mcpkg_base::error::Result;

/// How long to rely on notifications before checking anyway.
const UNTOLD: Duration = Duration::from_secs(1);

/// Checks for new commits on its own connection. Cheap enough to use often.
pub struct Watch {
    store: Store,
    connection: Connection,
    /// The engine's epoch when the connection was opened. Each reopening of the database begins a new epoch.
    epoch: u64,
    /// The version at the last check; `None` before the first check.
    version: Option<Version>,
    looked: Instant,
    position: Position,
}

/// A position in the order of commits: the generation of the database, and its newest event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    generation: String,
    seq: i64,
}

/// The commits since the last check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    None,
    /// The committed events, oldest first, including refused changes.
    Events(Vec<Event>),
    /// The database was restored from a backup, so anything may differ.
    Restored,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.generation, self.seq)
    }
}

impl Store {
    /// Returns the current position in the order of commits; cheap enough for every start.
    pub fn position(&self) -> Result<Position> {
        self.read_once(position)
    }

    /// Fails if the file of the database was removed or replaced since it was opened, as far as a watch has noticed.
    pub fn check_in_place(&self) -> Result<()> {
        self.engine.check_in_place()
    }

    /// Returns a watch whose first check reports what was committed after `position`.
    pub fn watch(&self, position: Position) -> Result<Watch> {
        self.engine.notice_replacement();
        self.engine.check_in_place()?;
        Ok(Watch {
            store: self.clone(),
            epoch: self.engine.epoch(),
            connection: self.engine.listener()?,
            version: None,
            looked: Instant::now(),
            position,
        })
    }
}

impl Watch {
    /// Waits until there may have been a commit: for at most half a second if the engine notifies of commits, or else
    /// for `limit`. Returns whether to check now. An engine that notifies is checked after each notification, and
    /// also from time to time, because a connection can be lost silently.
    pub fn wait(&self, limit: Duration) -> bool {
        match self.connection.link().wait(limit) {
            Ok(told) => told || self.looked.elapsed() >= UNTOLD,
            Err(error) => {
                tracing::debug!(%error, "the connection that waits for commits was lost");
                std::thread::sleep(limit);
                true
            }
        }
    }

    /// Returns the position up to which commits were reported.
    pub fn position(&self) -> &Position {
        &self.position
    }

    /// Returns the commits since the last check. Also detects that the file was removed or replaced.
    pub fn look(&mut self) -> Result<Change> {
        self.looked = Instant::now();
        self.store.engine.notice_replacement();
        let epoch = self.store.engine.epoch();
        if epoch != self.epoch {
            let connection = self.store.engine.listener()?;
            self.store.engine.listens_no_more();
            (self.connection, self.epoch) = (connection, epoch);
        }
        let version = self.connection.link().version()?.in_epoch(epoch);
        if self.version == Some(version) {
            return Ok(Change::None);
        }
        let db = Db::new(self.connection.link(), None);
        let now = position(&db)?;
        if now.generation != self.position.generation {
            (self.version, self.position) = (Some(version), now);
            return Ok(Change::Restored);
        }
        // SQLite's checkpoints change the version too, so only events show whether anything was committed.
        let news = events::after(&db, self.position.seq, usize::MAX)?;
        self.version = Some(version);
        if let Some(last) = news.last() {
            self.position.seq = last.seq;
        }
        Ok(if news.is_empty() { Change::None } else { Change::Events(news) })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.store.engine.listens_no_more();
    }
}

/// Returns an id that changes when the database is restored.
pub fn generation(db: &Db<'_>) -> Result<String> {
    db.single(sql!("SELECT value FROM setting WHERE key = 'generation'"), params![], |row| row.get(0))
}

fn position(db: &Db<'_>) -> Result<Position> {
    let sql =
        sql!("SELECT (SELECT value FROM setting WHERE key = 'generation'), (SELECT coalesce(max(seq), 0) FROM event)");
    db.single(sql, params![], |row| Ok(Position { generation: row.get(0)?, seq: row.get(1)? }))
}
