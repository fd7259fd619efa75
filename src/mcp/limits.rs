//! Limits on clients' requests: how long a read may take, and how many run at once.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::Config;
use mcpkg_store::Store;

/// The most bytes of one request unless told otherwise: 64 MiB.
pub const MAX_LINE: u64 = 64 << 20;

/// How long one read of the database for a client may take unless told otherwise: less than clients wait for an answer.
pub const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// Returns the database for what serves a client: its reads end in time, and when `cancelled` is set.
pub(super) fn limited(store: &Store, config: &Config, cancelled: CancellationToken) -> Store {
    store.limited(config.read_timeout, cancelled)
}

/// Returns how many reads run at once: as many as there are processors, within bounds. More would not be quicker, and
/// each thread keeps a heap and a cache of SQLite's of its own.
pub(super) fn reads_at_once() -> usize {
    std::thread::available_parallelism().map_or(2, |processors| processors.get().clamp(2, 8))
}
