//! Provides what the tests need from the machine: tools, signals, mounted file systems, facts about processes, and
//! random numbers.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use mcpkg_base::clock::Clock;

use super::seed::{runs_all, seed};
use super::{BINARY, eventually};

/// Returns the path of `tool`, if it is on PATH.
pub fn finds(tool: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?).map(|folder| folder.join(tool)).find(|path| path.is_file())
}

/// Returns a command that runs a tool of the machine. The command uses the tool's full path. With a path, Rust can
/// start a program in any environment without first copying this process's memory.
pub fn tool(name: &str) -> Command {
    Command::new(finds(name).unwrap_or_else(|| name.into()))
}

/// Returns the free bytes of the disk that contains `path`, as `df` reports them; 0 if `df` fails.
pub fn free_space(path: &Path) -> u64 {
    let output = Command::new("df").arg("-Pk").arg(path).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let column = text.lines().nth(1).and_then(|line| line.split_whitespace().nth(3));
    column.and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) * 1024
}

/// Returns whether this process ignores SIGHUP, as it does under nohup. Processes that it starts then ignore SIGHUP
/// too.
pub fn ignores_hangups() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}

/// Returns whether the tests run as root.
pub fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|metadata| {
        use std::os::unix::fs::MetadataExt;
        metadata.uid() == 0
    })
}

/// Returns the words to put before a command so that file permissions apply to it. As root, the command has to run as
/// another user; otherwise no words are needed. `None` if root cannot run the binary as another user.
pub fn as_bound_user() -> Option<&'static [&'static str]> {
    const NOBODY: &[&str] = &["runuser", "-u", "nobody", "--"];
    if !is_root() {
        return Some(&[]);
    }
    let reaches = || Command::new("runuser").args(&NOBODY[1..]).args(["test", "-x", BINARY]).status();
    (finds("runuser").is_some() && reaches().is_ok_and(|status| status.success())).then_some(NOBODY)
}

/// Returns the command lines of all processes, with blanks between the arguments. There are none without `/proc`.
pub fn command_lines() -> impl Iterator<Item = String> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
}

/// Returns the number of processes whose arguments contain this text.
pub fn running(text: &str) -> usize {
    command_lines().filter(|line| line.contains(text)).count()
}

/// Returns a value for `TZ` that makes the local time now between nine and ten in the morning. Then something that expires
/// in some hours expires on the same day, so a console shows only the time.
pub fn morning() -> String {
    let hour = Clock::system().now() / 3_600_000 % 24;
    // POSIX counts the hours to the west.
    format!("TEST{}", hour - 9)
}

/// Sends a signal, such as `TERM`, to a process that the test started.
pub fn signal(pid: u32, name: &str) {
    let sent = Command::new("sh").arg("-c").arg(format!("kill -{name} {pid}")).stderr(Stdio::null()).status();
    assert!(sent.expect("sh starts").success(), "{name} could not be sent to {pid}");
}

/// Returns how many sockets a process has open.
pub fn sockets(pid: u32) -> usize {
    let files = std::fs::read_dir(format!("/proc/{pid}/fd")).expect("the process lives");
    let targets = files.filter_map(|file| std::fs::read_link(file.ok()?.path()).ok());
    targets.filter(|target| target.to_string_lossy().starts_with("socket:")).count()
}

/// Returns a figure in KiB from a process's status in /proc. `VmRSS` is its memory now, and `VmHWM` is the highest
/// value so far.
pub fn memory(pid: u32, what: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("the process lives");
    let line = status.lines().find(|line| line.starts_with(what)).expect("a line of memory");
    line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).expect("a number of KiB")
}

/// Resets `VmHWM` of a process to its current memory.
pub fn reset_peak(pid: u32) {
    std::fs::write(format!("/proc/{pid}/clear_refs"), "5").expect("the kernel takes it from who started the process");
}

/// A mounted file system. Dropping it unmounts the file system.
pub struct Mount {
    at: PathBuf,
}

impl Mount {
    /// Mounts a file system at `at` with these arguments of `mount`; `None` if that fails.
    pub fn new(arguments: &[&str], at: &Path) -> Option<Self> {
        std::fs::create_dir_all(at).expect("a folder to mount at");
        let mut command = Command::new("mount");
        let done = command.args(arguments).arg(at).stderr(Stdio::null()).status().is_ok_and(|status| status.success());
        done.then(|| Self { at: at.to_path_buf() })
    }

    /// Mounts a file system in memory of this `size`, such as `6m`; `None` without root.
    pub fn in_memory(size: &str, at: &Path) -> Option<Self> {
        if !is_root() {
            return None;
        }
        Self::new(&["-t", "tmpfs", "-o", &format!("size={size},mode=0755"), "tmpfs"], at)
    }

    /// Changes a mount option, such as `ro`. Retries while processes that are just ending still have files open.
    #[track_caller]
    pub fn remount(&self, options: &str) {
        let options = format!("remount,{options}");
        eventually(&options, || {
            let mut command = Command::new("mount");
            let status = command.args(["-o", &options]).arg(&self.at).stderr(Stdio::null()).status();
            status.expect("mount starts").success().then_some(())
        });
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // Unmount lazily, because a child process that is just ending would otherwise prevent it.
        let _ = Command::new("umount").arg("-l").arg(&self.at).status();
    }
}

/// Returns the interval between the steps at which a sweep kills a process: 1 if [`runs_all`] is true, otherwise 20,
/// because complete sweeps take half an hour.
pub fn kill_stride() -> usize {
    if runs_all() { 1 } else { 20 }
}

/// Random numbers that depend only on a seed (splitmix64).
pub struct Random(u64);

impl Random {
    /// Returns random numbers from the seed of all random tests.
    pub fn new() -> Self {
        Self(seed())
    }

    /// Returns a separate sequence of random numbers, which also depends only on the seed.
    pub fn another(&mut self) -> Self {
        Self(self.next())
    }

    /// Returns the next number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `end`, or 0 if `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    /// Returns `length` random bytes.
    pub fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.next() as u8).collect()
    }
}
