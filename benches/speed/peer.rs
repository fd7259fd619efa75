//! Runs a child process that answers lines, and reads its CPU time and memory.

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::installed;

/// The handshake's first line.
pub const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#;

/// A server or a reference process.
pub struct Peer {
    child: Child,
    is_killed: bool,
    buffer: Vec<u8>,
    /// The part of the buffer that was read from the process but not returned yet.
    unread: std::ops::Range<usize>,
}

/// Returns a command that runs the mcpkg under test on `database`. Removes the user's environment variables that would
/// change the database, the project or the log.
pub fn mcpkg(database: &Path) -> Command {
    let mut command = Command::new(installed::mcpkg());
    command.current_dir(database.parent().expect("the database stands in a folder"));
    for name in ["MCPKG_DB", "MCPKG_PROJECT", "MCPKG_LOG"] {
        command.env_remove(name);
    }
    command.arg("--db").arg(database);
    command
}

/// Returns a command that runs this program as a reference process.
pub fn reference(arguments: &[&str]) -> Command {
    let mut command = Command::new(installed::this());
    command.args(arguments);
    command
}

impl Peer {
    /// Starts a process that answers lines.
    pub fn start(mut command: Command) -> Self {
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        Self { child: child.expect("the process starts"), is_killed: false, buffer: vec![0; 1 << 20], unread: 0..0 }
    }

    /// Starts `mcpkg serve` and does the handshake.
    pub fn serve(database: &Path, front: bool) -> Self {
        let mut command = mcpkg(database);
        command.arg("serve");
        if !front {
            command.arg("--no-front");
        }
        Self::shake_hands(command)
    }

    /// Starts a server and does the handshake.
    pub fn shake_hands(command: Command) -> Self {
        let mut peer = Self::start(command);
        peer.ask(&line(INITIALIZE));
        peer.tell(&line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#));
        peer
    }

    /// Sends a line and returns the answer including its line end. Skips notifications before it.
    pub fn ask(&mut self, line: &[u8]) -> &[u8] {
        self.tell(line);
        loop {
            let answer = self.next_line();
            if !self.buffer[answer.clone()].starts_with(br#"{"jsonrpc":"2.0","method""#) {
                return &self.buffer[answer];
            }
        }
    }

    /// Waits for a notification.
    pub fn wait_for(&mut self, method: &str) {
        let start = format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{method}\"");
        loop {
            let line = self.next_line();
            if self.buffer[line].starts_with(start.as_bytes()) {
                return;
            }
        }
    }

    /// Kills the process, even if it is still working.
    pub fn kill(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.is_killed = true;
    }

    /// Sends a line.
    pub fn tell(&mut self, line: &[u8]) {
        let input = self.child.stdin.as_mut().expect("the process has an input");
        input.write_all(line).expect("the process takes a line");
    }

    fn next_line(&mut self) -> std::ops::Range<usize> {
        let mut scanned = self.unread.start;
        loop {
            if let Some(at) = self.buffer[scanned..self.unread.end].iter().position(|byte| *byte == b'\n') {
                let start = std::mem::replace(&mut self.unread.start, scanned + at + 1);
                return start..self.unread.start;
            }
            scanned = self.unread.end;
            if self.unread.is_empty() {
                self.unread = 0..0;
                scanned = 0;
            }
            if self.unread.end == self.buffer.len() {
                self.buffer.resize(self.buffer.len() * 2, 0);
            }
            let output = self.child.stdout.as_mut().expect("the process has an output");
            let read = output.read(&mut self.buffer[self.unread.end..]).expect("the process can be read");
            assert!(read > 0, "the process ended without an answer");
            self.unread.end += read;
        }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns the CPU time of all threads of the process so far.
    pub fn cpu(&self) -> Duration {
        cpu(self.child.id())
    }

    /// Returns the size of the process's resident memory in bytes.
    pub fn resident(&self) -> u64 {
        resident(self.child.id())
    }

    /// Returns the largest size of the process's resident memory so far, in bytes.
    pub fn peak(&self) -> u64 {
        status(self.child.id(), "VmHWM:")
    }
}

/// Keeps a process, and all children that it starts from now on, on one CPU. Returns whether that succeeded.
pub fn pin(process: u32, cpu: usize) -> bool {
    let pinned = Command::new("taskset").args(["-p", "-c", &cpu.to_string(), &process.to_string()]).output();
    pinned.is_ok_and(|output| output.status.success())
}

/// Returns the CPU time of all threads of a process so far.
pub fn cpu(process: u32) -> Duration {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).expect("/proc lists the threads");
    let nanoseconds = tasks.map(|task| {
        let path = task.expect("/proc lists the threads").path().join("schedstat");
        // The thread may have ended since the folder was read. Its time is then missing.
        let text = fs::read_to_string(path).unwrap_or_default();
        text.split(' ').next().and_then(|first| first.parse::<u64>().ok()).unwrap_or(0)
    });
    Duration::from_nanos(nanoseconds.sum())
}

/// Returns the CPU time so far of a process and of its children that have ended. The resolution is a hundredth of a
/// second.
pub fn cpu_with_children(process: u32) -> Duration {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).expect("/proc has the process");
    // The process's name is in parentheses and may contain spaces. User and system time are the fields 14 to 17.
    let (_, fields) = text.rsplit_once(')').expect("a name in brackets");
    let ticks: u64 =
        fields.split_whitespace().skip(11).take(4).map(|field| field.parse::<u64>().expect("a number")).sum();
    Duration::from_millis(ticks * 10)
}

/// Returns the size of a process's resident memory in bytes.
pub fn resident(process: u32) -> u64 {
    status(process, "VmRSS:")
}

/// Returns the largest size of a process's resident memory so far, in bytes; `None` once the process has ended.
pub fn peak(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().trim_end_matches(" kB").parse::<u64>().ok()? * 1024)
}

/// Returns a size from `/proc/PID/status` in bytes. The file has it in kB.
fn status(process: u32, name: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("/proc has the process");
    let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("its memory is known");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("the figure is a number") * 1024
}

impl Drop for Peer {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let status = self.child.wait().expect("the process ends with its input");
        assert!(status.success() || self.is_killed || std::thread::panicking(), "the process ended with {status}");
    }
}

/// Returns `text` with a line end.
pub fn line(text: &str) -> Vec<u8> {
    [text.as_bytes(), b"\n"].concat()
}
