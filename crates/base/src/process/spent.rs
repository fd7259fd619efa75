//! Measures the CPU time of the programs that this process has run.

use std::path::Path;
use std::time::Duration;

use crate::file::read_kernel;

/// The number of ticks per second in Linux's process statistics.
const TICKS: u64 = 100;

/// The positions of the CPU times of children, in user mode and in the kernel, among the fields after the process's
/// name.
const PLACES: std::ops::Range<usize> = 13..15;

/// Returns the total CPU time of the exited programs that this process has run; `None` if the system does not report
/// it.
pub fn spent() -> Option<Duration> {
    let said = read_kernel(Path::new("/proc/self/stat")).ok()?;
    ticks(&said).map(|ticks| Duration::from_millis(ticks * 1000 / TICKS))
}

fn ticks(said: &str) -> Option<u64> {
    // The name is in parentheses, and may contain anything.
    let (_, behind) = said.rsplit_once(')')?;
    let fields: Vec<&str> = behind.split_ascii_whitespace().collect();
    fields.get(PLACES)?.iter().map(|field| field.parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_times_of_children_are_read() {
        let said = "7 (a) b) S 1 7 7 0 -1 4194304 100 200 0 0 5 6 70 8 20 0 1 0 300 4096";
        assert_eq!(ticks(said), Some(78));
        assert_eq!(ticks("7 (a"), None);
        if cfg!(target_os = "linux") {
            assert!(spent().is_some());
        }
    }
}
