//! Bounds for input from strangers: how many cases a run takes, and what a child process may cost.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{Random, machine, seed};

/// Cases of one property: a number of them, or as many as fit into `MCPKG_FUZZ_SECONDS`.
pub struct Cases {
    name: &'static str,
    count: u32,
    until: Option<Instant>,
    done: u32,
    pub random: Random,
}

impl Cases {
    /// Returns as many of `all` cases as [`seed::cases`] says, or cases for as many seconds as `MCPKG_FUZZ_SECONDS` says.
    pub fn new(name: &'static str, all: u32) -> Self {
        let seconds = std::env::var("MCPKG_FUZZ_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
        let until = seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
        Self { name, count: seed::cases(all), until, done: 0, random: Random::new() }
    }

    /// Returns whether another case is to be run; counts it.
    pub fn more(&mut self) -> bool {
        let more = self.until.map_or(self.done < self.count, |until| Instant::now() < until);
        self.done += u32::from(more);
        more
    }
}

impl Drop for Cases {
    fn drop(&mut self) {
        eprintln!("{}: {} cases", self.name, self.done);
    }
}

/// What became of a child process that was given input from a stranger.
#[derive(Debug)]
pub struct Outcome {
    /// The exit status; `None` where a signal ended it, such as an abort.
    pub status: Option<i32>,
    pub signal: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// Runs `command` to its end and asserts that it ended in `deadline` by itself and not by a signal. `mib` bounds its
/// address space above that of an idle process, so that the kernel refuses what is too much.
#[track_caller]
pub fn bounded(command: &mut Command, input: &[u8], mib: u64, deadline: Duration) -> Outcome {
    // The peak that the kernel counted for a child is known only after it was waited for; a limit that it enforces is
    // known at once, and a child that meets it aborts.
    let limit = machine::finds("prlimit").map(|_| (mib + BASE_MIB) << 20);
    let mut limited = Command::new("prlimit");
    let command = match limit {
        None => command,
        Some(bytes) => {
            limited.arg(format!("--data={bytes}")).arg(command.get_program()).args(command.get_args()).env_clear();
            for (name, value) in command.get_envs() {
                if let Some(value) = value {
                    limited.env(name, value);
                }
            }
            if let Some(folder) = command.get_current_dir() {
                limited.current_dir(folder);
            }
            &mut limited
        }
    };
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let outcome = finish(child.expect("mcpkg starts"), input, deadline);
    assert!(outcome.signal.is_none(), "a signal ended it: {outcome:?}");
    assert_ne!(outcome.status, Some(70), "a bug was met: {outcome:?}");
    assert!(!outcome.stderr.contains("panicked"), "it panicked: {outcome:?}");
    outcome
}

/// Data segments of the program before it does anything: heaps of its threads and their stacks.
const BASE_MIB: u64 = 96;

#[track_caller]
fn finish(mut child: Child, input: &[u8], deadline: Duration) -> Outcome {
    use std::io::{Read, Write};
    let (mut stdin, stdout, stderr) = (
        child.stdin.take().expect("a standard input"),
        child.stdout.take().expect("a standard output"),
        child.stderr.take().expect("a standard error"),
    );
    let input = input.to_vec();
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let text = |mut from: Box<dyn Read + Send>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = from.read_to_end(&mut bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        })
    };
    let (stdout, stderr) = (text(Box::new(stdout)), text(Box::new(stderr)));
    let end = Instant::now() + deadline;
    let status = loop {
        if let Some(status) = child.try_wait().expect("the child can be waited for") {
            break status;
        }
        if Instant::now() > end {
            let _ = child.kill();
            let _ = child.wait();
            panic!("it did not end within {deadline:?}");
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    writer.join().expect("the writer ends");
    Outcome {
        status: status.code(),
        signal: status.signal(),
        stdout: stdout.join().expect("the reader ends"),
        stderr: stderr.join().expect("the reader ends"),
    }
}
