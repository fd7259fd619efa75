//! Starts other programs. All other modules start programs through this one.
//!
//! A program gets its arguments as a list, so no shell interprets them. By default it gets only an allow-list of
//! variables. Unless it runs in the terminal, it has its own process group: when it is ended, so are the programs that it
//! started. Except on Windows, waiting needs no polling: a wait returns when the program exits, at the deadline, or when
//! the call is cancelled.
//!
//! Every user of the machine can read a program's arguments. So secrets are passed in variables or on standard input,
//! and [`Secret`](crate::secret::Secret) cannot be converted to an argument.

mod cancel;
pub mod cgroup;
mod ending;
mod environment;
mod limits;
mod output;
mod running;
mod spent;
pub mod starter;
#[cfg(all(test, unix))]
mod tests;

use std::borrow::Cow;
use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use crate::platform;

pub use cancel::OnCancel;
pub use ending::{ending, on_ending, on_hang_up};
pub use environment::{Environment, is_needed_on_windows, is_passed_on};
pub use limits::{GRACE, Limits};
pub use output::{Capture, Feed, Output, Printed, Tell, utf16};
pub use running::{Failure, Running};
pub use spent::spent;

/// Returns the path of a program: a name without a `/` is searched on PATH. Starting a program by its path avoids a copy of this
/// process's memory. If the search finds nothing, returns the name, and starting the program fails.
fn full_path(program: &OsStr) -> Cow<'_, OsStr> {
    let is_name = Path::new(program).components().count() == 1;
    let path = is_name.then(|| which::which(program).ok()).flatten();
    path.map_or(Cow::Borrowed(program), |path| Cow::Owned(path.into_os_string()))
}

/// A program to start.
pub struct Program {
    command: Command,
    capture: Capture,
    leaves_children: bool,
    asks_below: bool,
    has_stdin: bool,
    told: Option<Tell>,
}

impl Program {
    /// Creates a program with the variables of [`Environment::Allowed`]. A name without a `/` is searched on PATH.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        let program = program.as_ref();
        let mut command = Command::new(full_path(program));
        platform::call_as(&mut command, program);
        let program = Self {
            command,
            capture: Capture::default(),
            leaves_children: false,
            asks_below: false,
            has_stdin: false,
            told: None,
        };
        program.environment(Environment::Allowed)
    }

    #[must_use]
    pub fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.command.args(args);
        self
    }

    /// Sets the working directory.
    #[must_use]
    pub fn folder(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// Replaces all variables of the program.
    #[must_use]
    pub fn environment(mut self, environment: Environment) -> Self {
        self.command.env_clear().envs(environment.variables());
        self
    }

    #[must_use]
    pub fn variable(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Removes a variable.
    #[must_use]
    pub fn without(mut self, name: impl AsRef<OsStr>) -> Self {
        self.command.env_remove(name);
        self
    }

    /// Sets how much of standard output and of standard error is kept.
    #[must_use]
    pub fn capture(mut self, capture: Capture) -> Self {
        self.capture = capture;
        self
    }

    /// Lets processes that the program started, such as git's credential cache, keep running after the program exits.
    #[must_use]
    pub fn leaves_children(mut self) -> Self {
        self.leaves_children = true;
        self
    }

    /// Ends the program by asking the process groups that its children lead, or its own group if there are none. A
    /// sandbox program needs this if it would end everything at once when asked itself. Applies only to
    /// [`Program::run`] and [`Program::run_fed`].
    #[must_use]
    pub fn asks_below(mut self) -> Self {
        self.asks_below = true;
        self
    }

    /// Sets the program's standard input, which replaces the input of [`Program::run`].
    #[must_use]
    pub fn stdin(mut self, stdin: impl Into<Stdio>) -> Self {
        self.command.stdin(stdin);
        self.has_stdin = true;
        self
    }

    /// Passes the program's standard error to `tell` as it arrives, for programs that report progress.
    #[must_use]
    pub fn tell(mut self, tell: Tell) -> Self {
        self.told = Some(tell);
        self
    }

    /// Runs the program to completion with `input` on its standard input. On failure, none of its processes keeps running.
    pub fn run(mut self, input: &[u8], limits: &Limits<'_>) -> Result<Output, Failure> {
        if input.is_empty() && !self.has_stdin {
            self = self.stdin(Stdio::null());
        }
        let input = input.to_vec();
        self.run_fed(Box::new(move |stdin| stdin.write_all(&input)), limits)
    }

    /// Runs the program to completion. `feed` writes to the program's standard input on its own thread. That thread may
    /// live as long as something reads the input. On failure, none of the program's processes keeps running.
    pub fn run_fed(mut self, feed: Feed, limits: &Limits<'_>) -> Result<Output, Failure> {
        if !self.has_stdin {
            self.command.stdin(Stdio::piped());
        }
        let (command, capture) = (self.command.stdout(Stdio::piped()), self.capture);
        let mut running =
            Running::start(command, capture, self.leaves_children, self.told)?.asking_below(self.asks_below);
        let stdout = running.stdout().map(|stdout| output::Reading::begin(stdout, capture, None)).transpose();
        let stdout = stdout.map_err(Failure::Lost)?;
        let written = running.stdin().map(|stdin| output::write(stdin, feed)).transpose();
        let written = written.map_err(Failure::Lost)?;
        let status = running.run(limits)?;
        match written.map_or(Ok(()), |written| written.recv_timeout(output::DRAIN).unwrap_or(Ok(()))) {
            // If the program failed, its own error explains more.
            Err(error) if status.success() => Err(Failure::Lost(error)),
            _ => Ok(Output { status, stdout: output::Reading::end(stdout), stderr: running.stderr() }),
        }
    }

    /// Runs the program to completion with an empty standard input. Standard output and standard error are merged in the order of
    /// writing. The merged output is returned even if the program was ended early. On failure, none of the program's processes
    /// keeps running.
    pub fn run_as_one(mut self, limits: &Limits<'_>) -> (Result<ExitStatus, Failure>, Printed) {
        self.command.stdin(Stdio::null());
        match Running::start_as_one(&mut self.command, self.capture, self.leaves_children, self.told) {
            Ok(mut running) => {
                let ended = running.run(limits);
                (ended, running.stderr())
            }
            Err(failure) => (Err(failure), Printed::default()),
        }
    }

    /// Starts the program with pipes for standard input and output. Dropping the returned value ends the program.
    ///
    /// # Errors
    /// [`Failure::NotStarted`], [`Failure::Lost`].
    pub fn start(mut self) -> Result<Running, Failure> {
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped());
        Running::start(&mut self.command, self.capture, self.leaves_children, self.told)
    }

    /// Runs the program on this process's terminal. The program stays in the same process group, because only that group may read
    /// the terminal. There is no deadline, because a person works with the program.
    ///
    /// # Errors
    /// The system's error if the program cannot be started.
    pub fn run_in_terminal(mut self) -> io::Result<ExitStatus> {
        self.command.status()
    }
}
