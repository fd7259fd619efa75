//! Waits for a database server that is unreachable for a time.

use std::thread;
use std::time::{Duration, Instant};

use mcpkg_base::error::{Code, Result};

/// How long work that has begun keeps trying to store its result.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// How long it waits between two tries.
pub(super) const AGAIN: Duration = Duration::from_millis(100);

/// Tries again what changes nothing, or nothing twice, while the server of the database is away.
pub(super) fn patiently<T>(until: Instant, mut f: impl FnMut() -> Result<T>) -> Result<T> {
    loop {
        match f() {
            Err(error)
                if matches!(error.code(), Code::Unavailable | Code::OutcomeUnknown | Code::Busy)
                    && Instant::now() < until =>
            {
                thread::sleep(AGAIN);
            }
            done => return done,
        }
    }
}
