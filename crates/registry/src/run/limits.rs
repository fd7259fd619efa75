//! What a run may use, and the bounds that no manifest and no caller passes.

use std::time::Duration;

/// Bytes of a mebibyte.
const MIB: u64 = 1 << 20;

/// The longest time that a run may be given.
pub const LONGEST: Duration = Duration::from_secs(60 * 60);

/// The address space beyond the memory that may be used: runtimes such as Node reserve far more than they touch.
const ADDRESSED: u64 = 8 << 30;

/// The kept part of each of standard output and standard error, in bytes: three quarters of it from the beginning.
pub const PRINTED: usize = 1 << 20;

/// The most files that are taken out of `/output`.
pub const OUTPUT_FILES: usize = 64;

/// The most bytes that are taken out of `/output`.
pub const OUTPUT_BYTES: u64 = 16 * MIB;

/// What a run may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How long it may run, and for how long use a processor.
    pub time: Duration,
    /// Bytes of memory.
    pub memory: u64,
    /// Bytes that `/tmp` and `/dev/shm` hold, each.
    pub scratch: u64,
    /// Processes and threads at once.
    pub processes: u64,
    /// Open files of each process.
    pub files: u64,
    /// Bytes of the longest file.
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

/// What a manifest or a caller asks for instead of a default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wished {
    /// How long it may run.
    pub time: Option<Duration>,
    /// Whether the caller asks for that time, and not the manifest.
    pub time_is_callers: bool,
    /// Bytes of memory.
    pub memory: Option<u64>,
    /// Bytes of `/tmp`.
    pub disk: Option<u64>,
}

impl Limits {
    /// Returns the defaults, made smaller as the manifest wishes; time may also be longer, up to [`LONGEST`].
    pub fn wished(wished: Wished) -> Self {
        let usual = Self::default();
        Self {
            time: wished.time.map_or(usual.time, |time| time.clamp(Duration::from_millis(1), LONGEST)),
            memory: wished.memory.map_or(usual.memory, |memory| memory.min(usual.memory)),
            scratch: wished.disk.map_or(usual.scratch, |disk| disk.clamp(1, usual.scratch)),
            ..usual
        }
    }

    /// Returns how many bytes a process may address.
    pub fn addressed(&self) -> u64 {
        self.memory.saturating_add(ADDRESSED)
    }

    /// Returns the seconds for which a process may use a processor: time, rounded up.
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
        // A tmpfs of no bytes would be one without a limit, and so would a time of none.
        assert_eq!(Limits::wished(Wished { disk: Some(0), ..Wished::default() }).scratch, 1);
        assert!(time(Duration::ZERO) > Duration::ZERO);
    }

    #[test]
    fn a_part_of_a_second_counts_as_one_of_a_processor() {
        let seconds = |millis| Limits { time: Duration::from_millis(millis), ..Limits::default() }.cpu_seconds();
        assert_eq!((seconds(1), seconds(1000), seconds(1001)), (1, 1, 2));
    }
}
