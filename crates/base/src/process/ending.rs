//! Lists the signals that ask this process to end, and suspends this process.

use std::path::Path;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::file;

/// Returns the signals that ask this process to end: SIGINT, SIGTERM, and SIGHUP unless it is ignored, for example
/// because the process was started with `nohup`.
pub fn ending() -> Vec<i32> {
    let status = file::read_text(Path::new("/proc/self/status"), file::TEXT).unwrap_or_default();
    let ends = [SIGINT, SIGTERM, SIGHUP].into_iter();
    ends.filter(|signal| *signal != SIGHUP || !is_ignored(&status, *signal)).collect()
}

/// Suspends this process until it is continued, as Ctrl-Z does.
pub fn stop_self() {
    // If this fails, the process simply keeps running.
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::TSTP);
}

/// Whether a process ignores a signal, according to its status in /proc.
fn is_ignored(status: &str, signal: i32) -> bool {
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    ignored >> (signal - 1) & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nohup_is_seen_in_the_mask_of_ignored_signals() {
        assert!(is_ignored("Name:\tmcpkg\nSigIgn:\t0000000000000001\n", SIGHUP));
        assert!(!is_ignored("SigIgn:\t0000000000001000\n", SIGHUP) && !is_ignored("", SIGHUP));
    }
}
