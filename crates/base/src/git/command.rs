//! Runs git with the options and environment that every git command needs, and reads its output.

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

/// The time limit of git commands that do not contact another host.
pub const LOCAL: Duration = Duration::from_secs(60);

/// How long to wait for a lock that another git process holds.
const LOCKED: Duration = Duration::from_secs(1);

/// The pause between two attempts while another git process holds the lock.
const RETRY: Duration = Duration::from_millis(50);

/// Runs git in one folder. Callers must put `--` before text from users, or convert the text to a full ref name.
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
    /// Runs git in any folder, inside a repository or not. Commits are not signed.
    pub fn new(folder: &'a Path, limits: Limits<'a>) -> Self {
        Self { folder, limits, lock: None, variables: Vec::new(), is_repository: false, runs_hooks: false }
    }

    /// Runs git in the top folder of a repository, with the time limit [`LOCAL`]. If the folder is not a repository,
    /// git fails, even inside another repository. Commits are signed if the configuration says so.
    pub fn of(folder: &'a Path, cancelled: &'a CancellationToken) -> Self {
        Self { is_repository: true, ..Self::new(folder, Limits::new(LOCAL, cancelled)) }
    }

    /// Sets the time limit of each command.
    #[must_use]
    pub fn within(mut self, time: Duration) -> Self {
        self.limits.time = time;
        self
    }

    /// Makes an open file the standard input of each [`Git::change`]. A lock on that file is then held until the last
    /// git process has ended, even if this process is killed.
    #[must_use]
    pub fn holding(mut self, lock: &'a File) -> Self {
        self.lock = Some(lock);
        self
    }

    /// Sets an environment variable, such as `GIT_INDEX_FILE`.
    #[must_use]
    pub fn variable(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.variables.push((name, value.into()));
        self
    }

    /// Allows the repository's hooks. Git LFS, for example, pushes large files with a hook.
    #[must_use]
    pub fn with_hooks(mut self) -> Self {
        self.runs_hooks = true;
        self
    }

    /// Returns the same settings for another folder, such as another work tree of the repository.
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

    pub fn limits(&self) -> &Limits<'a> {
        &self.limits
    }

    /// Runs git and returns its output.
    ///
    /// # Errors
    /// `E_GIT_FAILED` with git's message; the details have `cwd`, `cwd_posix`, `args`, `status` and `stderr`. If the
    /// time limit is exceeded, `status` and `stderr` are missing. Also `E_GIT_NOT_FOUND`, `E_NOT_FOUND` if the folder
    /// does not exist, `E_CANCELLED`, and `E_UNAPPROVED` if git would run a program that the user has not trusted.
    pub fn run<A: AsRef<OsStr>>(&self, args: &[A]) -> Result<Vec<u8>> {
        self.feed(args, &[])
    }

    /// Runs git and returns its output as text, without the last line end.
    pub fn text<A: AsRef<OsStr>>(&self, args: &[A]) -> Result<String> {
        let printed = self.run(args)?;
        Ok(String::from_utf8_lossy(&printed).trim_end_matches('\n').to_owned())
    }

    /// Runs git with `input` on its standard input, and returns its output.
    pub fn feed<A: AsRef<OsStr>>(&self, args: &[A], input: &[u8]) -> Result<Vec<u8>> {
        self.succeeded(args, self.output(self.program(args)?, args, input)?)
    }

    /// Runs a git command that asks a question. Returns its output, or `None` if it exits with status 1, which means
    /// no.
    pub fn ask<A: AsRef<OsStr>>(&self, args: &[A]) -> Result<Option<Vec<u8>>> {
        let output = self.output(self.program(args)?, args, &[])?;
        match output.status.code() {
            Some(1) => Ok(None),
            _ => self.succeeded(args, output).map(Some),
        }
    }

    /// Runs a command that exits with status 1 if it found something. Returns its output, and whether it found
    /// anything.
    pub fn run_check<A: AsRef<OsStr>>(&self, args: &[A]) -> Result<(Vec<u8>, bool)> {
        let output = self.output(self.program(args)?, args, &[])?;
        match output.status.code() {
            Some(1) => Ok((printed(args, output)?, true)),
            _ => Ok((self.succeeded(args, output)?, false)),
        }
    }

    /// Runs a command that reports each thing it did, and parses the output into rows. With exit status 1, some of the
    /// rows describe failures.
    pub(super) fn rows<A: AsRef<OsStr>, T>(&self, args: &[A], parse: impl Fn(&[u8]) -> Vec<T>) -> Result<Vec<T>> {
        let output = self.output(self.program(args)?, args, &[])?;
        let rows = parse(output.stdout.text().as_bytes());
        match output.status.code() {
            Some(1) if !rows.is_empty() => Ok(rows),
            _ => self.succeeded(args, output).map(|_| rows),
        }
    }

    /// Runs a command that changes a work tree or an index, with the file of [`Git::holding`] as its standard input.
    /// Retries for a second if another git process holds a lock.
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

    /// Runs git, and passes its standard error to `tell` while it runs.
    pub fn watch<A: AsRef<OsStr>>(&self, args: &[A], tell: Tell) -> Result<Vec<u8>> {
        self.succeeded(args, self.output(self.program(args)?.tell(tell), args, &[])?)
    }

    /// Runs git with `input` on its standard input, and lets `f` read the output while git runs. This works for output of
    /// any size. `f` runs on its own thread and must read to the end.
    pub fn stream<A: AsRef<OsStr>, T: Send>(
        &self,
        args: &[A],
        input: Vec<u8>,
        f: impl FnOnce(&mut dyn Read) -> Result<T> + Send,
    ) -> Result<T> {
        let (folder, limits) = (self.folder, &self.limits);
        let started = self.program(args)?.start();
        let mut running = started.map_err(|failure| ended(folder, args, limits, failure))?;
        let (stdin, stdout) = (running.stdin(), running.stdout());
        std::thread::scope(|scope| {
            scope.spawn(move || {
                // If git exits early, its own error says why.
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
                    // Ending git closes its pipes, so that the threads end too.
                    running.end(limits.grace);
                    running.stderr()
                }
            };
            let read = reading.join().map_err(|_| Error::internal("the thread that reads git's output panicked"))?;
            match status {
                Err(failure) => Err(ended(folder, args, limits, failure)),
                Ok(status) if status.success() => read,
                // If the reader stopped early, git failed because its pipe was closed, so report the reader's error.
                Ok(status) => Err(read.err().unwrap_or_else(|| failed(folder, args, &status, &stderr))),
            }
        })
    }

    /// Returns the program to start, for callers that talk to it while it runs.
    ///
    /// # Errors
    /// `E_UNAPPROVED` if git would run a program from the repository's configuration that this user has not trusted.
    pub(super) fn program<A: AsRef<OsStr>>(&self, args: &[A]) -> Result<Program> {
        // With `GIT_DIR`, a command in a temporary folder works on another repository.
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

/// Runs git in `folder` and returns its output. Callers must put `--` before text from users.
pub fn run<A: AsRef<OsStr>>(folder: &Path, args: &[A], limits: &Limits<'_>) -> Result<Vec<u8>> {
    Git::new(folder, *limits).run(args)
}

/// Runs git in `folder` with `input` on its standard input, and returns its output.
pub fn feed<A: AsRef<OsStr>>(folder: &Path, args: &[A], input: &[u8], limits: &Limits<'_>) -> Result<Vec<u8>> {
    Git::new(folder, *limits).feed(args, input)
}

/// Runs git in `folder`. Returns its output, or `None` if it exits with status 1, which means no.
pub fn ask<A: AsRef<OsStr>>(folder: &Path, args: &[A], limits: &Limits<'_>) -> Result<Option<Vec<u8>>> {
    Git::new(folder, *limits).ask(args)
}

/// Runs git in `folder`, and passes its standard error to `tell` while it runs.
pub fn watch<A: AsRef<OsStr>>(folder: &Path, args: &[A], tell: Tell, limits: &Limits<'_>) -> Result<Vec<u8>> {
    Git::new(folder, *limits).watch(args, tell)
}

/// Runs git in `folder` with `input` on its standard input, and lets `f` read the output while git runs.
/// See [`Git::stream`].
pub fn stream<A: AsRef<OsStr>, T: Send>(
    folder: &Path,
    args: &[A],
    input: Vec<u8>,
    limits: &Limits<'_>,
    f: impl FnOnce(&mut dyn Read) -> Result<T> + Send,
) -> Result<T> {
    Git::new(folder, *limits).stream(args, input, f)
}
