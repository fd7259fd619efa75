//! Connection pools.

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use r2d2::{ManageConnection, PooledConnection};
use scheduled_thread_pool::ScheduledThreadPool;

use super::errors::busy;
use mcpkg_base::error::{Error, Result};

/// How often a call that waits for a connection checks whether connections can be opened at all.
const LOOK: Duration = Duration::from_millis(100);

/// r2d2 tries again to open a connection after half of this time. The default pauses of r2d2 start at 0.4 s and grow, so
/// r2d2 would notice much later that a standby has taken over.
const AGAIN: Duration = Duration::from_millis(100);

/// The longest time for which dropping a pool waits for a connection that is being opened.
const CLOSING: Duration = Duration::from_secs(1);

pub(super) struct Pool<M: ManageConnection> {
    connections: r2d2::Pool<M>,
    opener: Arc<ScheduledThreadPool>,
    failed: Failed,
}

/// The reason why the last connection could not be opened. r2d2 does not report that; it keeps trying until its time is up.
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
    /// Returns a pool of at most `size` connections. `manager` starts to open `ready` of them at once, and further
    /// ones when they are needed. A connection that is unused for `idle` is closed within another half minute.
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

    /// Takes a connection. Waits for at most `limit` while all are in use, but fails at once if none can be opened.
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
    /// Waits until the thread that opens connections has finished. The last owner of the pool closes its connections.
    /// If that owner were the thread, and the process ended before the thread, the connections would not be closed.
    /// SQLite's side files would then stay, because closing the last connection removes them.
    fn drop(&mut self) {
        let (done, idle) = channel::<()>();
        self.opener.execute(move || drop(done));
        let _ = idle.recv_timeout(CLOSING);
    }
}
