//! Reacts to the signals that ask this process to end.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::flag;

use crate::file;
use crate::platform::{ENDING, HANG_UP, on_each_signal, on_signal};

/// Whether SIGHUP has another meaning than to end this process.
static HANG_UP_IS_TAKEN: AtomicBool = AtomicBool::new(false);

/// Calls `then` at each SIGHUP, which no longer ends this process. Call this before [`on_ending`]. Does nothing on Windows.
pub fn on_hang_up(then: impl FnMut() + Send + 'static) -> io::Result<()> {
    let Some(signal) = HANG_UP else { return Ok(()) };
    on_each_signal(signal, "hang-up", then)?;
    HANG_UP_IS_TAKEN.store(true, Ordering::Relaxed);
    Ok(())
}

/// Calls `then` when this process is asked to end. A second request ends it at once, with the exit status `status`.
pub fn on_ending(status: i32, then: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let ending = ending();
    let again = Arc::new(AtomicBool::new(false));
    for signal in &ending {
        // Keep this order: on the first signal, the flag must still be unset when the first handler runs, and then the
        // second handler sets it.
        flag::register_conditional_shutdown(*signal, status, Arc::clone(&again))?;
        flag::register(*signal, Arc::clone(&again))?;
    }
    // `then` may wake threads, which a signal handler must not do. So a thread receives the signals.
    on_signal(&ending, "signals", then)
}

/// Returns the signals that ask this process to end: SIGINT, SIGTERM and usually SIGHUP. Leaves SIGHUP out if it has
/// another meaning ([`on_hang_up`]), or if Linux reports that this process ignores it, for example because of `nohup`.
pub fn ending() -> Vec<i32> {
    let status = file::read_text(Path::new("/proc/self/status"), file::TEXT).unwrap_or_default();
    let hangs_up = |signal| !HANG_UP_IS_TAKEN.load(Ordering::Relaxed) && !is_ignored(&status, signal);
    ENDING.into_iter().filter(|signal| Some(*signal) != HANG_UP || hangs_up(*signal)).collect()
}

/// Whether a process ignores a signal, according to its status in /proc.
fn is_ignored(status: &str, signal: i32) -> bool {
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    ignored >> (signal - 1) & 1 == 1
}

#[cfg(all(test, unix))]
mod tests {
    use signal_hook::consts::SIGHUP;

    use super::*;

    #[test]
    fn nohup_is_seen_in_the_mask_of_ignored_signals() {
        assert!(is_ignored("Name:\tmcpkg\nSigIgn:\t0000000000000001\n", SIGHUP));
        assert!(!is_ignored("SigIgn:\t0000000000001000\n", SIGHUP) && !is_ignored("", SIGHUP));
    }
}
