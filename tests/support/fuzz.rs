//! Limits tests with hostile input: the number of cases in a run, and the cost of a child process.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{Random, machine, seed};

/// Counts the cases of one property: a fixed number, or as many as fit into `MCPKG_FUZZ_SECONDS`.
pub struct Cases {
    name: &'static str,
    count: u32,
    until: Option<Instant>,
    done: u32,
    pub random: Random,
}

impl Cases {
    /// Allows the number of cases that [`seed::cases`] returns for `all`. If `MCPKG_FUZZ_SECONDS` is set, allows cases
    /// for that many seconds instead.
    pub fn new(name: &'static str, all: u32) -> Self {
        let seconds = std::env::var("MCPKG_FUZZ_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
        let until = seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
        Self { name, count: seed::cases(all), until, done: 0, random: Random::new() }
    }

    /// Returns whether the test should run another case, and counts that case.
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

/// The result of a child process that was given hostile input.
#[derive(Debug)]
pub struct Outcome {
    /// The exit status; `None` if a signal ended the process, for example after an abort.
    pub status: Option<i32>,
    pub signal: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// Runs `command` to its end. Asserts that it ended before the deadline, and not by a signal or a panic. The process
/// may use `mib` MiB more memory than an idle one. If `prlimit` is installed, the kernel refuses more.
#[track_caller]
pub fn bounded(command: &mut Command, input: &[u8], mib: u64, deadline: Duration) -> Outcome {
    // Use a limit that the kernel enforces, so that a process that exceeds it aborts at once. The peak of its memory
    // would be known only after its end.
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

/// The memory of the program before it does anything, in MiB: the heaps and stacks of its threads.
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
