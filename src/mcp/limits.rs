//! Limits clients' requests: how large one may be, how long a read may take, and how many reads run at once.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::Config;
use mcpkg_store::Store;

/// The default maximum size of one request: 64 MiB.
pub const MAX_LINE: u64 = 64 << 20;

/// The default time limit for one read of the database. Clients usually wait longer than this for an answer.
pub const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// Returns the database for serving a client: its reads end after the time limit, or when `cancelled` is cancelled.
pub(super) fn limited(store: &Store, config: &Config, cancelled: CancellationToken) -> Store {
    store.limited(config.read_timeout, cancelled)
}

/// Returns how many reads run at once: one per processor, but between 2 and 8. More would not be faster, and each
/// thread has its own heap and SQLite cache.
pub(super) fn reads_at_once() -> usize {
    std::thread::available_parallelism().map_or(2, |processors| processors.get().clamp(2, 8))
}
