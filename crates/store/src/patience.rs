//! Waits for a database server that is unreachable for a time.

use std::thread;
use std::time::{Duration, Instant};

use mcpkg_base::error::{Code, Result};

/// How long mcpkg keeps trying to reach the server.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// The pause between two attempts.
pub(crate) const AGAIN: Duration = Duration::from_millis(100);

/// Repeats `f` while the database server is unreachable or busy, until the time `until`. `f` must change nothing, or
/// have no further effect when it is repeated.
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
