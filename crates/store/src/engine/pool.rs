//! Connections that come and go.

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use r2d2::{ManageConnection, PooledConnection};
use scheduled_thread_pool::ScheduledThreadPool;

use super::errors::busy;
use mcpkg_base::error::{Error, Result};

/// How often a call that waits for a connection looks whether one can be opened at all.
const LOOK: Duration = Duration::from_millis(100);

/// A connection that cannot be opened is tried again after half of this time. r2d2 by itself waits longer each time, 0.4 s first, and so
/// finds a standby that takes over when it has been there for a while.
const AGAIN: Duration = Duration::from_millis(100);

/// How long the end of a pool waits at most for a connection that is being opened.
const CLOSING: Duration = Duration::from_secs(1);

/// A pool of connections to one database.
pub(super) struct Pool<M: ManageConnection> {
    connections: r2d2::Pool<M>,
    opener: Arc<ScheduledThreadPool>,
    failed: Failed,
}

/// The reason why a connection could not be opened: r2d2 itself tries again until its time is up.
#[derive(Debug)]
struct Failed(Arc<Mutex<Option<Error>>>);

impl Failed {
    fn take(&self) -> Option<Error> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl r2d2::HandleError<Error> for Failed {
    fn handle_error(&self, error: Error) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).replace(error);
    }
}

impl<M: ManageConnection<Error = Error>> Pool<M> {
    /// Returns a pool of at most `size` connections. `manager` begins to open `ready` of them at once, and the others when they are
    /// asked for; those that were not used for `idle` are closed within half a minute.
    pub(super) fn new(manager: M, size: u32, ready: u32, idle: Duration) -> Self {
        let failed = Failed(Arc::default());
        let opener = Arc::new(ScheduledThreadPool::new(1));
        let connections = r2d2::Pool::builder()
            .max_size(size)
            .min_idle(Some(ready))
            .connection_timeout(AGAIN)
            .test_on_check_out(false)
            .idle_timeout(Some(idle))
            .error_handler(Box::new(Failed(Arc::clone(&failed.0))))
            .thread_pool(Arc::clone(&opener))
            .build_unchecked(manager);
        Self { connections, opener, failed }
    }

    /// Takes a connection; waits for at most `limit` while all are in use, but not where none can be opened.
    pub(super) fn get(&self, limit: Duration) -> Result<PooledConnection<M>> {
        let deadline = Instant::now() + limit;
        self.failed.take();
        loop {
            let error = match self.connections.get_timeout(LOOK) {
                Ok(connection) => return Ok(connection),
                Err(error) => error,
            };
            if let Some(cause) = self.failed.take() {
                return Err(cause);
            }
            if Instant::now() >= deadline {
                return Err(busy().with_source(error));
            }
        }
    }
}

impl<M: ManageConnection> Drop for Pool<M> {
    /// Waits until the thread that opens connections is done with the last one. The last owner of the pool closes the connections, and a
    /// thread that is still running at the end of the process would not. The last connection to a file removes its side files.
    fn drop(&mut self) {
        let (done, idle) = channel::<()>();
        self.opener.execute(move || drop(done));
        let _ = idle.recv_timeout(CLOSING);
    }
}
