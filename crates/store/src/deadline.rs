//! Deadlines for reads on behalf of clients, so that no read blocks its connection forever.
//!
//! SQLite asks [`Watch`] every few thousand steps of its virtual machine. A read that goes through content in pieces
//! also checks the deadline between the pieces. A single step can be long: FTS5 reads all occurrences of a word, or
//! of all words that begin with it, in one step. In an index of 16 million words, a read may therefore exceed its
//! deadline by about half a second.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::engine::{Link, timeout};
use mcpkg_base::error::Result;

/// Ends a read early: when its time is up, its client has left, or the server ends.
#[derive(Clone, Debug)]
pub(super) struct Deadline {
    pub(super) limit: Duration,
    /// Cancelled when no caller waits for the read any more; see [`Watch::cancel_with`].
    pub(super) cancelled: CancellationToken,
    /// Set when the server ends.
    pub(super) ended: Arc<AtomicBool>,
}

/// The deadline of one connection, for the read that is running on it.
#[derive(Debug)]
pub(super) struct Watch {
    limit: Duration,
    /// Cancels the current read. Only the connection's thread takes this lock.
    cancelled: Mutex<CancellationToken>,
    ended: Arc<AtomicBool>,
    made: Instant,
    /// One plus the milliseconds from `made` to the first check of the running read; 0 before that check. A short read ends
    /// before its first check, and never asks for the time.
    began: AtomicU64,
}

impl Deadline {
    /// Ends reads on `connection` when this deadline has passed, until [`Link::release`] is called.
    pub(super) fn watch(&self, connection: Link<'_>) -> Result<Arc<Watch>> {
        let watch = Arc::new(Watch {
            limit: self.limit,
            cancelled: Mutex::new(self.cancelled.clone()),
            ended: Arc::clone(&self.ended),
            made: Instant::now(),
            began: AtomicU64::new(0),
        });
        watch.attach(connection)?;
        Ok(watch)
    }
}

impl Watch {
    /// Ends reads on `connection` when the deadline has passed.
    pub(super) fn attach(self: &Arc<Self>, connection: Link<'_>) -> Result<()> {
        let looking = Arc::clone(self);
        connection.watch(move || looking.has_passed())
    }

    pub(super) fn begin(&self) {
        self.began.store(0, Ordering::Relaxed);
    }

    /// Sets the token that ends later reads when it is cancelled. It replaces the current token.
    pub(super) fn cancel_with(&self, cancelled: CancellationToken) {
        *self.cancelled.lock().unwrap_or_else(PoisonError::into_inner) = cancelled;
    }

    /// Fails once the deadline has passed. For reads of a content in pieces.
    pub(super) fn check(&self) -> Result<()> {
        if self.has_passed() { Err(timeout()) } else { Ok(()) }
    }

    fn has_passed(&self) -> bool {
        let cancelled = self.cancelled.lock().unwrap_or_else(PoisonError::into_inner).is_cancelled();
        if cancelled || self.ended.load(Ordering::Relaxed) {
            return true;
        }
        let now = u64::try_from(self.made.elapsed().as_millis()).unwrap_or(u64::MAX);
        match self.began.load(Ordering::Relaxed) {
            0 => {
                self.began.store(now + 1, Ordering::Relaxed);
                self.limit.is_zero()
            }
            began => u128::from(now + 1 - began) >= self.limit.as_millis(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{params, sql};
    use crate::{Db, Store, blobs};
    use mcpkg_base::error::Code;

    fn forever(db: &Db<'_>) -> Result<i64> {
        let sql = sql!("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n");
        db.single(sql, params![], |row| row.get(0))
    }

    fn seven(db: &Db<'_>) -> Result<i64> {
        db.single(sql!("SELECT 7"), params![], |row| row.get(0))
    }

    fn store() -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("test.db")).unwrap();
        (folder, store)
    }

    fn short(store: &Store) -> Result<i64> {
        store.read(seven)
    }

    #[test]
    fn a_read_ends_at_its_deadline_and_the_connection_is_good_again() {
        let (_folder, store) = store();
        let limited = store.limited(Duration::from_millis(50), CancellationToken::new());
        assert_eq!(limited.read(forever).unwrap_err().code(), Code::Timeout);
        assert_eq!(short(&limited).unwrap(), 7);
        assert_eq!(short(&store).unwrap(), 7);
        let reader = limited.reader().unwrap();
        for _ in 0..3 {
            assert_eq!(reader.statement(forever).unwrap_err().code(), Code::Timeout);
            assert_eq!(reader.read(forever).unwrap_err().code(), Code::Timeout);
            assert!(reader.version().is_ok());
            let short = reader.statement(seven);
            assert_eq!(short.unwrap_or(0), 7);
        }
    }

    #[test]
    fn a_read_ends_when_it_is_cancelled() {
        let (_folder, store) = store();
        let hour = Duration::from_secs(3600);
        let cancelled = CancellationToken::new();
        let limited = store.limited(hour, cancelled.clone());
        let reading = std::thread::spawn(move || limited.read(forever));
        cancelled.cancel();
        assert_eq!(reading.join().unwrap().unwrap_err().code(), Code::Timeout);

        let limited = store.limited(hour, CancellationToken::new());
        let reading = std::thread::spawn(move || limited.read(forever));
        store.end_reads();
        assert_eq!(reading.join().unwrap().unwrap_err().code(), Code::Timeout);
        // A handle that was not made by `limited` has no deadline.
        assert_eq!(short(&store).unwrap(), 7);
    }

    #[test]
    fn a_reader_takes_a_new_token_for_each_read() {
        let (_folder, store) = store();
        let reader = store.limited(Duration::from_secs(3600), CancellationToken::new()).reader().unwrap();
        let cancelled = CancellationToken::new();
        cancelled.cancel();
        reader.cancel_with(cancelled);
        assert_eq!(reader.statement(forever).unwrap_err().code(), Code::Timeout);
        reader.cancel_with(CancellationToken::new());
        assert!(reader.statement(|db| db.check_deadline()).is_ok());
    }

    #[test]
    fn reading_content_in_pieces_stops_at_the_deadline() {
        let (_folder, store) = store();
        let id = store.write(|db| blobs::put(db, &vec![1; 5 << 20])).unwrap();
        let limited = store.limited(Duration::ZERO, CancellationToken::new());
        assert_eq!(limited.read(|db| blobs::get(db, id)).unwrap_err().code(), Code::Timeout);
        assert_eq!(store.read(|db| blobs::get(db, id)).unwrap().len(), 5 << 20);
    }
}
