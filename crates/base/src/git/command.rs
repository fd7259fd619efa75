//! Starts git: the options and variables that every git gets, and how its output is read.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::failure::{ended, failed, is_locked, locked, printed};
use super::plain::plain;
use super::programs;
use crate::error::{Error, Result};
use crate::process::{Failure, Limits, Output, Program, Tell};

/// How long git may run if it talks to no other host.
pub const LOCAL: Duration = Duration::from_secs(60);

/// How long to wait for a lock that another git holds.
const LOCKED: Duration = Duration::from_secs(1);

/// The pause between two tries to get what another git has locked.
const RETRY: Duration = Duration::from_millis(50);

/// git in one folder. The caller puts `--` before text from users, or makes full ref names of it.
#[derive(Clone, Debug)]
pub struct Git<'a> {
    folder: &'a Path,
    limits: Limits<'a>,
    lock: Option<&'a File>,
    variables: Vec<(&'static str, OsString)>,
    is_repository: bool,
    runs_hooks: bool,
}

impl<'a> Git<'a> {
    /// Returns git in any folder, inside a repository or not. It does not sign its commits.
    pub fn new(folder: &'a Path, limits: Limits<'a>) -> Self {
        Self { folder, limits, lock: None, variables: Vec::new(), is_repository: false, runs_hooks: false }
    }

    /// Returns git in the top folder of a repository, for [`LOCAL`] at most. It never uses a repository around that one, and signs if
    /// the configuration says so.
    pub fn of(folder: &'a Path, cancelled: &'a CancellationToken) -> Self {
        Self { is_repository: true, ..Self::new(folder, Limits::new(LOCAL, cancelled)) }
    }

    /// Sets how long each command may run.
    #[must_use]
    pub fn within(mut self, time: Duration) -> Self {
        self.limits.time = time;
        self
    }

    /// Makes an open file the standard input of each [`Git::change`]. A lock on that file is then held until the last git has ended,
    /// even if this process is killed.
    #[must_use]
    pub fn holding(mut self, lock: &'a File) -> Self {
        self.lock = Some(lock);
        self
    }

    /// Sets a variable, such as `GIT_INDEX_FILE`.
    #[must_use]
    pub fn variable(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.variables.push((name, value.into()));
        self
    }

    /// Lets the repository's hooks run: a push uploads large files by one.
    #[must_use]
    pub fn with_hooks(mut self) -> Self {
        self.runs_hooks = true;
        self
    }

    /// Returns the same git in another folder, such as another work tree of the repository.
    #[must_use]
    pub fn at<'b>(&self, folder: &'b Path) -> Git<'b>
    where
        'a: 'b,
    {
        Git { folder, ..self.clone() }
    }

    pub fn folder(&self) -> &'a Path {
        self.folder
    }

    /// The limits of each command.
    pub fn limits(&self) -> &Limits<'a> {
        &self.limits
    }

    /// Runs it, and returns what it printed.
    ///
    /// # Errors
    /// `E_GIT_FAILED` with git's own words, cwd, args, status and stderr, or where it did not end in time.
    pub fn run<A: AsRef<OsStr>>(&self, args: &[A]) -> Result<Vec<u8>> {
        self.feed(args, &[])
    }

    /// Runs it, and returns what it printed as text, without the last line end.
    pub fn text<A: AsRef<OsStr>>(&self, args: &[A]) -> Result<String> {
        let printed = self.run(args)?;
        Ok(String::from_utf8_lossy(&printed).trim_end_matches('\n').to_owned())
    }

    /// Runs it with `input` on its standard input, and returns what it printed.
    pub fn feed<A: AsRef<OsStr>>(&self, args: &[A], input: &[u8]) -> Result<Vec<u8>> {
        self.succeeded(args, self.output(self.program(args)?, args, input)?)
    }

    /// Runs it, and returns what it printed, or `None` if it ended with status 1, which means no.
    pub fn ask<A: AsRef<OsStr>>(&self, args: &[A]) -> Result<Option<Vec<u8>>> {
        let output = self.output(self.program(args)?, args, &[])?;
        match output.status.code() {
            Some(1) => Ok(None),
            _ => self.succeeded(args, output).map(Some),
        }
    }

    /// Runs a command that ends with status 1 if it found something. Returns what it printed and whether it found anything.
    pub fn found<A: AsRef<OsStr>>(&self, args: &[A]) -> Result<(Vec<u8>, bool)> {
        let output = self.output(self.program(args)?, args, &[])?;
        match output.status.code() {
            Some(1) => Ok((printed(args, output)?, true)),
            _ => Ok((self.succeeded(args, output)?, false)),
        }
    }

    /// Runs a command that reports each thing it did, and returns the rows that `parse` makes of its output. With status 1 some of the
    /// rows say what failed.
    pub(super) fn rows<A: AsRef<OsStr>, T>(&self, args: &[A], parse: impl Fn(&[u8]) -> Vec<T>) -> Result<Vec<T>> {
        let output = self.output(self.program(args)?, args, &[])?;
        let rows = parse(output.stdout.text().as_bytes());
        match output.status.code() {
            Some(1) if !rows.is_empty() => Ok(rows),
            _ => self.succeeded(args, output).map(|_| rows),
        }
    }

    /// Runs a command that changes a work tree or an index, with the file of [`Git::holding`] as its standard input. If another git
    /// holds a lock, it tries again for a second.
    pub fn change<A: AsRef<OsStr>>(&self, args: &[A]) -> Result<Vec<u8>> {
        let began = Instant::now();
        loop {
            let mut program = self.program(args)?;
            if let Some(lock) = self.lock {
                program = program.stdin(lock.try_clone().map_err(|error| Error::file("share", self.folder, error))?);
            }
            let output = self.output(program, args, &[])?;
            if output.status.success() || !is_locked(&output.stderr) {
                return self.succeeded(args, output);
            }
            if began.elapsed() >= LOCKED || self.limits.cancelled.is_cancelled() {
                return Err(locked(self.folder, args, &output.status, &output.stderr));
            }
            std::thread::sleep(RETRY);
        }
    }

    /// Runs it, and passes what it prints to standard error to `tell` at once.
    pub fn watch<A: AsRef<OsStr>>(&self, args: &[A], tell: Tell) -> Result<Vec<u8>> {
        self.succeeded(args, self.output(self.program(args)?.tell(tell), args, &[])?)
    }

    /// Returns the program, for a caller that talks to it while it runs.
    ///
    /// # Errors
    /// `E_UNAPPROVED` where it would run a program that the repository names and this user did not trust.
    pub(super) fn program<A: AsRef<OsStr>>(&self, args: &[A]) -> Result<Program> {
        // A scratch folder may work on another repository.
        let other = self.variables.iter().find(|(name, _)| *name == "GIT_DIR").map(|(_, folder)| Path::new(folder));
        programs::held_back(self.plain(args), other.unwrap_or(self.folder), args, self.runs_hooks, &self.limits)
    }

    fn plain<A: AsRef<OsStr>>(&self, args: &[A]) -> Program {
        let git = plain(self.folder, self.is_repository, self.runs_hooks, args);
        self.variables.iter().fold(git, |git, (name, value)| git.variable(name, value))
    }

    fn output<A: AsRef<OsStr>>(&self, program: Program, args: &[A], input: &[u8]) -> Result<Output> {
        program.run(input, &self.limits).map_err(|failure| ended(self.folder, args, &self.limits, failure))
    }

    fn succeeded<A: AsRef<OsStr>>(&self, args: &[A], output: Output) -> Result<Vec<u8>> {
        if output.status.success() {
            printed(args, output)
        } else {
            Err(failed(self.folder, args, &output.status, &output.stderr))
        }
    }
}

/// Runs git in `folder` and returns what it printed. The caller puts `--` before text from users.
pub fn run<A: AsRef<OsStr>>(folder: &Path, args: &[A], limits: &Limits<'_>) -> Result<Vec<u8>> {
    Git::new(folder, *limits).run(args)
}

/// Runs git in `folder` with `input` on its standard input, and returns what it printed.
pub fn feed<A: AsRef<OsStr>>(folder: &Path, args: &[A], input: &[u8], limits: &Limits<'_>) -> Result<Vec<u8>> {
    Git::new(folder, *limits).feed(args, input)
}

/// Runs git in `folder`, and returns what it printed, or `None` if it ended with status 1, which means no.
pub fn ask<A: AsRef<OsStr>>(folder: &Path, args: &[A], limits: &Limits<'_>) -> Result<Option<Vec<u8>>> {
    Git::new(folder, *limits).ask(args)
}

/// Runs git in `folder`, and passes what it prints to standard error to `tell` at once.
pub fn watch<A: AsRef<OsStr>>(folder: &Path, args: &[A], tell: Tell, limits: &Limits<'_>) -> Result<Vec<u8>> {
    Git::new(folder, *limits).watch(args, tell)
}

/// Runs git in `folder` with `input` on its standard input, and lets `f` read what it prints while it runs: for output of
/// any size. `f` runs on a thread of its own, and reads to the end.
pub fn stream<A: AsRef<OsStr>, T: Send>(
    folder: &Path,
    args: &[A],
    input: Vec<u8>,
    limits: &Limits<'_>,
    f: impl FnOnce(&mut dyn Read) -> Result<T> + Send,
) -> Result<T> {
    let mut running =
        Git::new(folder, *limits).program(args)?.start().map_err(|failure| ended(folder, args, limits, failure))?;
    let (stdin, stdout) = (running.stdin(), running.stdout());
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // A git that ends early says why itself.
            let _ = stdin.map(|mut stdin| std::io::Write::write_all(&mut stdin, &input));
        });
        let reading = scope.spawn(move || match stdout {
            Some(mut stdout) => f(&mut stdout),
            None => Err(Error::internal("git has no standard output")),
        });
        let until = Instant::now().checked_add(limits.time).unwrap_or_else(Instant::now);
        let status = match running.wait(until, limits.cancelled) {
            Ok(Some(status)) => Ok(status),
            Ok(None) => Err(Failure::TimedOut),
            Err(failure) => Err(failure),
        };
        let stderr = match status {
            Ok(_) => running.stderr(),
            Err(_) => {
                // Its pipes close, so that the threads end.
                running.end(limits.grace);
                running.stderr()
            }
        };
        let read = reading.join().map_err(|_| Error::internal("the thread that reads git's output panicked"))?;
        match status {
            Err(failure) => Err(ended(folder, args, limits, failure)),
            Ok(status) if status.success() => read,
            // A reader that gave up closed the pipe on git.
            Ok(status) => Err(read.err().unwrap_or_else(|| failed(folder, args, &status, &stderr))),
        }
    })
}
