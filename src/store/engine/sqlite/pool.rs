//! Connections that come and go.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use scheduled_thread_pool::ScheduledThreadPool;

use super::access::Access;
use super::connect::{self, Manager};
use super::limits::POOLED_CACHE;
use crate::error::Result;
use crate::store::engine::{BUSY_TIMEOUT, busy};

/// How often a call that waits for a connection looks whether one can be opened at all.
const POOL_LOOK: Duration = Duration::from_millis(100);

/// How long the end of a pool waits at most for a connection that is being opened.
const CLOSING: Duration = Duration::from_secs(1);

/// A connection of a pool, which has it again when this is dropped.
pub(in crate::store) type Pooled = r2d2::PooledConnection<Manager>;

/// A pool of connections to one file.
pub(super) struct Pool {
    connections: r2d2::Pool<Manager>,
    opener: Arc<ScheduledThreadPool>,
    failed: OpenFailed,
}

/// Set when a connection could not be opened: r2d2 itself tries again until its time is up.
#[derive(Clone, Debug, Default)]
struct OpenFailed(Arc<AtomicBool>);

impl r2d2::HandleError<rusqlite::Error> for OpenFailed {
    fn handle_error(&self, _error: rusqlite::Error) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Pool {
    /// Returns a pool of at most `size` connections, which are opened when they are asked for, but for `first`.
    pub(super) fn new(path: &Path, access: Access, size: u32, first: Option<Connection>, query_only: bool) -> Self {
        let failed = OpenFailed::default();
        let opener = Arc::new(ScheduledThreadPool::new(1));
        let connections = r2d2::Pool::builder()
            .max_size(size)
            .min_idle(Some(0))
            .test_on_check_out(false)
            .error_handler(Box::new(failed.clone()))
            .thread_pool(Arc::clone(&opener))
            .build_unchecked(Manager::new(path, access, first, query_only));
        Self { connections, opener, failed }
    }

    /// Takes a connection; waits while all are in use, but not where none can be opened.
    ///
    /// # Errors
    /// `E_DB_BUSY`, or why none can be opened.
    pub(super) fn get(&self, path: &Path, access: Access) -> Result<Pooled> {
        let deadline = Instant::now() + BUSY_TIMEOUT * 2;
        self.failed.0.store(false, Ordering::Relaxed);
        loop {
            let error = match self.connections.get_timeout(POOL_LOOK) {
                Ok(connection) => return Ok(connection),
                Err(error) => error,
            };
            if self.failed.0.load(Ordering::Relaxed) || Instant::now() >= deadline {
                // The pool hides why: where a connection can be opened all were in use, else the reason is the disk's.
                return Err(match connect::connect(path, access, POOLED_CACHE, true) {
                    Ok(_) => busy().with_source(error),
                    Err(cause) => cause,
                });
            }
        }
    }
}

impl Drop for Pool {
    /// Waits until the thread that opens connections is done with the last one: whoever holds the pool last closes them, and a
    /// thread that the end of the process meets does not. The connection that is closed last removes the side files.
    fn drop(&mut self) {
        let (done, idle) = channel::<()>();
        self.opener.execute(move || drop(done));
        let _ = idle.recv_timeout(CLOSING);
    }
}
