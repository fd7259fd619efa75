//! The limits of a run, and the maximum that a manifest or caller can ask for.

use std::time::Duration;

/// The bytes of a mebibyte.
const MIB: u64 = 1 << 20;

/// The longest timeout of a run.
pub const LONGEST: Duration = Duration::from_secs(60 * 60);

/// Additional address space beyond the memory limit: runtimes such as Node reserve far more than they use.
const ADDRESSED: u64 = 8 << 30;

/// How many bytes of standard output, and of standard error, are kept; three quarters are from the beginning.
pub const PRINTED: usize = 1 << 20;

/// The maximum number of files that are returned from `/output`.
pub const OUTPUT_FILES: usize = 64;

/// The maximum number of bytes that are returned from `/output`.
pub const OUTPUT_BYTES: u64 = 16 * MIB;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The timeout, which also limits the processor time.
    pub time: Duration,
    /// Bytes of memory.
    pub memory: u64,
    /// The size of `/tmp` and of `/dev/shm` in bytes, each.
    pub scratch: u64,
    /// The number of processes and threads.
    pub processes: u64,
    /// The number of open files per process.
    pub files: u64,
    /// The size of a file in bytes.
    pub file_size: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(5 * 60),
            memory: 1 << 30,
            scratch: 256 * MIB,
            processes: 128,
            files: 256,
            file_size: 256 * MIB,
        }
    }
}

/// The limits that a manifest or a caller asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wished {
    pub time: Option<Duration>,
    /// Whether the timeout is from the caller instead of the manifest.
    pub time_is_callers: bool,
    /// Bytes of memory.
    pub memory: Option<u64>,
    /// Bytes of `/tmp`.
    pub disk: Option<u64>,
}

impl Limits {
    /// Returns the default limits, lowered as requested. The timeout can also be raised, up to [`LONGEST`].
    pub fn wished(wished: Wished) -> Self {
        let usual = Self::default();
        Self {
            time: wished.time.map_or(usual.time, |time| time.clamp(Duration::from_millis(1), LONGEST)),
            memory: wished.memory.map_or(usual.memory, |memory| memory.min(usual.memory)),
            scratch: wished.disk.map_or(usual.scratch, |disk| disk.clamp(1, usual.scratch)),
            ..usual
        }
    }

    /// Returns the limit on the address space of a process in bytes.
    pub fn addressed(&self) -> u64 {
        self.memory.saturating_add(ADDRESSED)
    }

    /// Returns the limit on processor time in seconds: the timeout, rounded up.
    pub fn cpu_seconds(&self) -> u64 {
        self.time.as_secs() + u64::from(self.time.subsec_nanos() > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x28_a_manifest_lowers_the_limits_and_never_raises_them() {
        let usual = Limits::default();
        assert_eq!(Limits::wished(Wished::default()), usual);
        let lower = Limits::wished(Wished { memory: Some(64 * MIB), disk: Some(MIB), ..Wished::default() });
        assert_eq!((lower.memory, lower.scratch), (64 * MIB, MIB));
        let higher = Limits::wished(Wished { memory: Some(u64::MAX), disk: Some(u64::MAX), ..Wished::default() });
        assert_eq!(higher, usual);
        let time = |time| Limits::wished(Wished { time: Some(time), ..Wished::default() }).time;
        assert_eq!(time(Duration::from_secs(600)), Duration::from_secs(600));
        assert_eq!(time(Duration::from_secs(86_400)), LONGEST);
        // Zero would mean "no limit", both for a tmpfs and for a timeout.
        assert_eq!(Limits::wished(Wished { disk: Some(0), ..Wished::default() }).scratch, 1);
        assert!(time(Duration::ZERO) > Duration::ZERO);
    }

    #[test]
    fn a_part_of_a_second_counts_as_one_of_a_processor() {
        let seconds = |millis| Limits { time: Duration::from_millis(millis), ..Limits::default() }.cpu_seconds();
        assert_eq!((seconds(1), seconds(1000), seconds(1001)), (1, 1, 2));
    }
}
