//! Runs one command of a build.
//!
//! The command is a program with arguments, not a shell line. It runs in the repository's folder with an empty standard
//! input. It gets the user's environment, without the variables that would point git or mcpkg at something else.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::log::Log;
use super::plan::Command;
use mcpkg_base::platform;
use mcpkg_base::process::{Capture, Environment, Failure, Limits, Program};

/// Prefixes of environment variables that are not passed to a build.
const LEFT_OUT: &[&str] = &["GIT_", "MCPKG_", "SMCTL_"];

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    Exited(i32),
    /// Ended by a signal that mcpkg did not send; `None` on systems without signals.
    Killed(Option<i32>),
    /// Stopped by mcpkg after this time limit.
    TimedOut(Duration),
    /// Stopped because the call was cancelled.
    Cancelled,
    /// Could not be started, or mcpkg lost track of the process.
    Failed(String),
}

impl Ended {
    pub fn is_success(&self) -> bool {
        *self == Ended::Exited(0)
    }

    /// Returns the exit status, unless the command ended in another way.
    pub fn exit_code(&self) -> Option<i32> {
        match self {
            Ended::Exited(code) => Some(*code),
            _ => None,
        }
    }

    /// Describes the ending, to follow the command's name: `failed with status 2`.
    pub fn description(&self) -> String {
        match self {
            Ended::Exited(0) => "passed".to_owned(),
            Ended::Exited(code) => format!("failed with status {code}"),
            Ended::Killed(Some(signal)) => format!("was killed by signal {signal}"),
            Ended::Killed(None) => "was killed".to_owned(),
            Ended::TimedOut(limit) => format!("was stopped: it was still running after {} s", limit.as_secs_f64()),
            Ended::Cancelled => "was cancelled".to_owned(),
            Ended::Failed(why) => format!("could not run: {why}"),
        }
    }
}

/// The result of running a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub ended: Ended,
    /// The beginning and the end of stdout and stderr. If the command did not exit by itself, mcpkg appends the reason.
    pub output: String,
    pub took: Duration,
}

/// Runs a command until it ends. Meanwhile, `log` holds the output so far.
pub fn run(command: &Command, log: &Arc<Mutex<Log>>, grace: Duration, cancelled: &CancellationToken) -> Outcome {
    let begun = Instant::now();
    let ended = match command.folder.is_dir() {
        true => start(command, log, grace, cancelled),
        false => {
            let why = format!(
                "`{}` does not exist; `mcpkg workspace sync` clones missing repositories",
                command.folder.display()
            );
            Ended::Failed(why)
        }
    };
    let mut output = log.lock().unwrap_or_else(PoisonError::into_inner).end();
    if !matches!(ended, Ended::Exited(_)) {
        // Append the reason to the stored output, as a shell would print it.
        let begin = if output.is_empty() || output.ends_with('\n') { "" } else { "\n" };
        output.push_str(&format!("{begin}mcpkg: {} {}\n", command.label(), ended.description()));
    }
    Outcome { ended, output, took: begun.elapsed() }
}

fn start(command: &Command, log: &Arc<Mutex<Log>>, grace: Duration, cancelled: &CancellationToken) -> Ended {
    let Some((program, arguments)) = command.argv.split_first() else {
        return Ended::Failed("the command is empty".to_owned());
    };
    let into = Arc::clone(log);
    let program = Program::new(program)
        .args(arguments)
        .folder(&command.folder)
        .environment(Environment::Without(LEFT_OUT))
        .capture(Capture { head: 0, tail: 0 })
        .tell(Box::new(move |piece| into.lock().unwrap_or_else(PoisonError::into_inner).push(piece)));
    let (ended, _) = program.run_as_one(&Limits { time: command.timeout, grace, cancelled });
    match ended {
        Ok(status) => status.code().map_or_else(|| Ended::Killed(platform::signal(status)), Ended::Exited),
        Err(Failure::TimedOut) => Ended::TimedOut(command.timeout),
        Err(Failure::Cancelled) => Ended::Cancelled,
        Err(Failure::NotStarted(error)) if error.kind() == std::io::ErrorKind::NotFound => {
            Ended::Failed(format!("program `{}` not found", command.argv[0]))
        }
        Err(Failure::NotStarted(error) | Failure::Lost(error)) => Ended::Failed(error.to_string()),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::super::plan::Step;
    use super::*;

    fn sh(script: &str, timeout: Duration) -> Outcome {
        let folder = tempfile::tempdir().expect("a folder");
        let argv = ["sh", "-c", script].map(str::to_owned).to_vec();
        let command =
            Command { repo: "api".to_owned(), step: Step::Test, argv, folder: folder.path().to_owned(), timeout };
        run(&command, &Arc::default(), Duration::from_millis(200), &CancellationToken::new())
    }

    #[test]
    fn stdout_and_stderr_are_kept_and_the_ending_is_reported() {
        let long = Duration::from_secs(20);
        let outcome = sh("echo 1; echo 2 >&2; echo 3; exit 4", long);
        assert_eq!((&*outcome.output, outcome.ended), ("1\n2\n3\n", Ended::Exited(4)));
        let outcome = sh("printf no-end; sleep 1000", Duration::from_millis(100));
        assert_eq!(outcome.output, "no-end\nmcpkg: api: test was stopped: it was still running after 0.1 s\n");
        let outcome = sh("kill -9 $$", long);
        assert_eq!(outcome.ended, Ended::Killed(Some(9)));
        assert!(outcome.output.ends_with("was killed by signal 9\n"), "{outcome:?}");
    }

    #[test]
    fn a_command_that_cannot_start_says_why() {
        let folder = tempfile::tempdir().expect("a folder");
        let command = |program: &str, folder: std::path::PathBuf| Command {
            repo: "api".to_owned(),
            step: Step::Build,
            argv: vec![program.to_owned()],
            folder,
            timeout: Duration::from_secs(20),
        };
        let ran = |command: &Command| run(command, &Arc::default(), Duration::ZERO, &CancellationToken::new());
        let missing = ran(&command("no-such-program", folder.path().to_owned()));
        assert_eq!(missing.ended, Ended::Failed("program `no-such-program` not found".to_owned()));
        let nowhere = ran(&command("true", folder.path().join("none")));
        assert!(nowhere.output.contains("`mcpkg workspace sync` clones"), "{nowhere:?}");
    }
}
