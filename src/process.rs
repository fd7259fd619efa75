//! Starts other programs and waits for them, each with a limit on its time and on what is kept of its output.
//!
//! A program gets its arguments as a list, so no shell reads them. It runs in a process group of its own: where it has to
//! be ended, the programs that it started end with it.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Bytes kept of the beginning of an output.
const HEAD: usize = 4 << 20;

/// Bytes kept of the end of an output that is longer than [`HEAD`].
const TAIL: usize = 64 << 10;

/// How long output is waited for once a program has ended: something that it left running may hold the pipe open.
const DRAIN: Duration = Duration::from_secs(1);

/// The longest pause between two looks at a program that runs.
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

/// What ends a program before it ends by itself.
#[derive(Clone, Copy, Debug)]
pub struct Limits<'a> {
    /// How long it may run.
    pub time: Duration,
    /// Ends it once it is set.
    pub cancelled: &'a AtomicBool,
}

/// What a program printed until it ended.
#[derive(Debug)]
pub struct Output {
    /// How it ended.
    pub status: ExitStatus,
    /// Its standard output.
    pub stdout: Printed,
    /// Its standard error.
    pub stderr: Printed,
}

/// Why there is no output.
#[derive(Debug)]
pub enum Failure {
    /// The program could not be started.
    NotStarted(io::Error),
    /// It was started, and could not be written to or waited for.
    Lost(io::Error),
    /// It ran for longer than it may, and was ended.
    TimedOut,
    /// The caller gave up, and it was ended.
    Cancelled,
}

/// Runs a program to its end with `input` on its standard input. No part of it runs on where this fails.
///
/// # Errors
/// See [`Failure`]; a program that ended with another status than 0 is none.
pub fn run(command: &mut Command, input: &[u8], limits: &Limits<'_>) -> Result<Output, Failure> {
    command.stdin(if input.is_empty() { Stdio::null() } else { Stdio::piped() });
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    in_own_group(command);
    let mut running = Running { child: command.spawn().map_err(Failure::NotStarted)?, ended: false };
    let stdout = running.child.stdout.take().map(Reading::begin).transpose().map_err(Failure::Lost)?;
    let stderr = running.child.stderr.take().map(Reading::begin).transpose().map_err(Failure::Lost)?;
    let stdin = running.child.stdin.take().map(|stdin| write(stdin, input.to_vec())).transpose();
    let stdin = stdin.map_err(Failure::Lost)?;
    let status = running.wait(limits)?;
    let written = stdin.map_or(Ok(()), |written| written.recv_timeout(DRAIN).unwrap_or(Ok(())));
    match written {
        // A program that failed says why itself.
        Err(error) if status.success() => Err(Failure::Lost(error)),
        _ => Ok(Output { status, stdout: Reading::end(stdout), stderr: Reading::end(stderr) }),
    }
}

/// A program that runs; dropped before it has ended, it is ended with its group.
struct Running {
    child: Child,
    ended: bool,
}

impl Running {
    fn wait(&mut self, limits: &Limits<'_>) -> Result<ExitStatus, Failure> {
        let begun = Instant::now();
        let mut pause = Duration::from_micros(200);
        loop {
            if let Some(status) = self.child.try_wait().map_err(Failure::Lost)? {
                self.ended = true;
                return Ok(status);
            }
            if limits.cancelled.load(Ordering::Relaxed) {
                return Err(Failure::Cancelled);
            }
            if begun.elapsed() >= limits.time {
                return Err(Failure::TimedOut);
            }
            thread::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.ended {
            // Its id stays its own until it was waited for, so the group is no other's.
            kill_group(&mut self.child);
            let _ = self.child.wait();
        }
    }
}

#[cfg(unix)]
fn in_own_group(command: &mut Command) {
    use std::os::unix::process::CommandExt;
    command.process_group(0);
}

#[cfg(not(unix))]
fn in_own_group(_: &mut Command) {}

#[cfg(unix)]
fn kill_group(child: &mut Child) {
    use rustix::process::{Pid, Signal, kill_process_group};
    let killed = i32::try_from(child.id()).ok().and_then(Pid::from_raw).map(|id| kill_process_group(id, Signal::KILL));
    if !matches!(killed, Some(Ok(()))) {
        let _ = child.kill();
    }
}

#[cfg(not(unix))]
fn kill_group(child: &mut Child) {
    let _ = child.kill();
}

/// Writes beside the program, which may answer before it has read everything.
fn write(mut stdin: impl Write + Send + 'static, input: Vec<u8>) -> io::Result<Receiver<io::Result<()>>> {
    let (done, written) = channel();
    thread::Builder::new().name("to-program".to_owned()).spawn(move || {
        let _ = done.send(stdin.write_all(&input));
    })?;
    Ok(written)
}

/// An output that is being read.
struct Reading {
    printed: Arc<Mutex<Printed>>,
    /// Disconnected at the end of the output.
    ended: Receiver<()>,
}

impl Reading {
    fn begin(mut from: impl Read + Send + 'static) -> io::Result<Self> {
        let (running, ended) = channel();
        let printed = Arc::new(Mutex::new(Printed::default()));
        let into = Arc::clone(&printed);
        thread::Builder::new().name("from-program".to_owned()).spawn(move || {
            let _running = running;
            let mut piece = [0; 16 << 10];
            loop {
                match from.read(&mut piece) {
                    Ok(0) => return,
                    Ok(read) => into.lock().unwrap_or_else(PoisonError::into_inner).push(&piece[..read]),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(_) => return,
                }
            }
        })?;
        Ok(Self { printed, ended })
    }

    /// Returns what was read until the output's end, or until what holds it open was waited for long enough.
    fn end(reading: Option<Self>) -> Printed {
        let Some(Self { printed, ended }) = reading else { return Printed::default() };
        let _ = ended.recv_timeout(DRAIN);
        std::mem::take(&mut *printed.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The beginning and the end of an output.
#[derive(Debug, Default)]
pub struct Printed {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    dropped: u64,
}

impl Printed {
    fn push(&mut self, bytes: &[u8]) {
        let (head, rest) = bytes.split_at(bytes.len().min(HEAD - self.head.len()));
        self.head.extend_from_slice(head);
        self.tail.extend(rest);
        let over = self.tail.len().saturating_sub(TAIL);
        self.tail.drain(..over);
        self.dropped += over as u64;
    }

    /// Returns every byte; `None` where there were more than are kept.
    pub fn whole(self) -> Option<Vec<u8>> {
        let Self { mut head, tail, dropped } = self;
        head.extend(tail);
        (dropped == 0).then_some(head)
    }

    /// Returns the output as text, with a line that counts what was left out.
    pub fn text(&self) -> String {
        let mut text = String::from_utf8_lossy(&self.head).into_owned();
        if self.dropped > 0 {
            text.push_str(&format!("\n... {} bytes left out ...\n", self.dropped));
        }
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        text.push_str(&String::from_utf8_lossy(&tail));
        text
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    fn within(time: Duration) -> Limits<'static> {
        static NEVER: AtomicBool = AtomicBool::new(false);
        Limits { time, cancelled: &NEVER }
    }

    const LONG: Duration = Duration::from_secs(20);

    #[test]
    fn gives_and_takes_what_a_program_reads_and_prints() {
        let output = run(&mut shell("cat; echo no >&2; exit 3"), b"in", &within(LONG)).unwrap();
        assert_eq!((output.status.code(), output.stderr.text().as_str()), (Some(3), "no\n"));
        assert_eq!(output.stdout.whole().unwrap(), b"in");
        // More than a pipe holds, to one that reads nothing.
        let many = vec![b'x'; 1 << 20];
        assert!(!run(&mut shell("exit 1"), &many, &within(LONG)).unwrap().status.success());
        assert!(matches!(run(&mut shell("exit 0"), &many, &within(LONG)), Err(Failure::Lost(_))));
        assert!(matches!(run(&mut Command::new("/none"), b"", &within(LONG)), Err(Failure::NotStarted(_))));
    }

    #[test]
    fn keeps_the_beginning_and_the_end_of_a_long_output() {
        let output = run(&mut shell("yes begin | head -c 9000000; echo end"), b"", &within(LONG)).unwrap();
        let text = output.stdout.text();
        assert!(text.starts_with("begin\n") && text.ends_with("\nend\n") && text.contains(" bytes left out "));
        assert!(text.len() < HEAD + TAIL + 100);
        assert_eq!(output.stdout.whole(), None);
    }

    #[test]
    fn ends_a_program_with_those_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("child");
        let script = format!("sleep 1000 & echo $! > '{0}.new'; mv '{0}.new' '{0}'; wait", file.display());
        let cancelled = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let running = scope.spawn(|| run(&mut shell(&script), b"", &Limits { time: LONG, cancelled: &cancelled }));
            while !file.exists() {
                thread::sleep(Duration::from_millis(2));
            }
            cancelled.store(true, Ordering::Relaxed);
            assert!(matches!(running.join().unwrap(), Err(Failure::Cancelled)));
        });
        let child = std::fs::read_to_string(&file).unwrap();
        let gone = || {
            let status = std::fs::read_to_string(format!("/proc/{}/stat", child.trim()));
            status.map_or(true, |status| status.contains(") Z "))
        };
        let end = Instant::now() + LONG;
        while !gone() {
            assert!(Instant::now() < end, "the child of the program still runs");
            thread::sleep(Duration::from_millis(2));
        }
        assert!(matches!(
            run(&mut shell("sleep 1000"), b"", &within(Duration::from_millis(50))),
            Err(Failure::TimedOut)
        ));
    }

    #[test]
    fn does_not_wait_for_what_a_program_leaves_running() {
        let begun = Instant::now();
        let output = run(&mut shell("sleep 30 & echo done"), b"", &within(LONG)).unwrap();
        assert_eq!(output.stdout.whole().unwrap(), b"done\n");
        assert!(begun.elapsed() < Duration::from_secs(15));
    }
}
