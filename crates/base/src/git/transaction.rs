//! Moves several refs together: all of them are locked and compared before the first one moves.
//!
//! [`Transaction::prepare`] holds the locks until [`Transaction::commit`], or until the value is dropped. So the refs
//! of several repositories can all be prepared before any is committed. git releases the locks when its input ends: if
//! this process is killed before the commit, nothing has moved and no lock stays.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::ChildStdin;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Instant;

use super::command::Git;
use super::failure::{ended, failed, is_locked, locked};
use crate::error::{Code, Error, Result};
use crate::process::{Failure, OnCancel, Running};

/// How long git waits for the lock of a ref.
const LOCK_TIMEOUT: &str = "core.filesRefLockTimeout=1000";

/// A change of several refs in one repository.
#[derive(Debug)]
pub struct Transaction<'a> {
    git: Git<'a>,
    args: Vec<String>,
    running: Running,
    stdin: Option<ChildStdin>,
    answers: Receiver<Answer>,
    sender: Sender<Answer>,
}

/// A message from git, or the reason why there is none.
#[derive(Debug)]
enum Answer {
    Line(String),
    Ended,
    Cancelled,
}

impl<'a> Transaction<'a> {
    /// Starts a transaction. `message` goes to the reflogs.
    pub fn begin(git: &Git<'a>, message: &str) -> Result<Self> {
        let args = ["-c", LOCK_TIMEOUT, "update-ref", "-m", message, "--stdin", "-z"].map(str::to_owned).to_vec();
        let started = git.program(&args)?.start();
        let mut running = started.map_err(|failure| ended(git.folder(), &args, git.limits(), failure))?;
        let (sender, answers) = channel();
        let stdin = running.stdin();
        if let Some(stdout) = running.stdout() {
            let sender = sender.clone();
            std::thread::spawn(move || {
                let lines = BufReader::new(stdout).lines().map_while(std::result::Result::ok);
                lines.for_each(|line| drop(sender.send(Answer::Line(line))));
                let _ = sender.send(Answer::Ended);
            });
        }
        let mut transaction = Self { git: git.clone(), args, running, stdin, answers, sender };
        transaction.say(b"start\0")?;
        transaction.hear("start", true)?;
        Ok(transaction)
    }

    /// Creates a ref, which must not exist yet.
    pub fn create(&mut self, name: &str, id: &str) -> Result<()> {
        self.say(format!("create {name}\0{id}\0").as_bytes())
    }

    /// Moves a ref that must still be at `old`.
    pub fn update(&mut self, name: &str, id: &str, old: &str) -> Result<()> {
        self.say(format!("update {name}\0{id}\0{old}\0").as_bytes())
    }

    /// Deletes a ref that must still be at `old`.
    pub fn delete(&mut self, name: &str, old: &str) -> Result<()> {
        // Delete a symbolic ref itself, not the branch that it points to.
        self.say(format!("option no-deref\0delete {name}\0{old}\0").as_bytes())
    }

    /// Requires a ref to be still at `old`.
    pub fn verify(&mut self, name: &str, old: &str) -> Result<()> {
        self.say(format!("verify {name}\0{old}\0").as_bytes())
    }

    /// Locks all refs and compares each with its old id. From then on no other process can move them.
    ///
    /// # Errors
    /// `E_GIT_LOCKED` if another git process holds a lock for more than a second; `E_GIT_FAILED` with git's message
    /// if a ref is not at its old id; `E_CANCELLED`.
    pub fn prepare(&mut self) -> Result<()> {
        self.say(b"prepare\0")?;
        self.hear("prepare", true)
    }

    /// Moves all refs. Waits for git, up to its time limit, even if the call is cancelled.
    pub fn commit(mut self) -> Result<()> {
        self.say(b"commit\0")?;
        self.hear("commit", false)?;
        self.stdin = None;
        Ok(())
    }

    fn say(&mut self, words: &[u8]) -> Result<()> {
        let written = self.stdin.as_mut().map(|stdin| stdin.write_all(words).and_then(|()| stdin.flush()));
        match written {
            Some(Ok(())) => Ok(()),
            // git has exited, and its error output says why.
            _ => Err(self.why()),
        }
    }

    /// Waits until git confirms the command `what`.
    fn hear(&mut self, what: &str, may_be_cancelled: bool) -> Result<()> {
        let sender = self.sender.clone();
        let wake = move || drop(sender.send(Answer::Cancelled));
        let _waking = may_be_cancelled.then(|| OnCancel::new(self.git.limits().cancelled, wake));
        let until = Instant::now() + self.git.limits().time;
        loop {
            return match self.answers.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Answer::Line(line)) if line == format!("{what}: ok") => Ok(()),
                Ok(Answer::Line(line)) => {
                    Err(Error::new(Code::GitFailed, format!("git update-ref: unexpected response to {what}: `{line}`")))
                }
                Ok(Answer::Cancelled) if may_be_cancelled => Err(self.failed(Failure::Cancelled)),
                // An earlier wait left this message behind.
                Ok(Answer::Cancelled) => continue,
                Err(RecvTimeoutError::Timeout) => Err(self.failed(Failure::TimedOut)),
                Ok(Answer::Ended) | Err(RecvTimeoutError::Disconnected) => Err(self.why()),
            };
        }
    }

    /// Returns the reason why git has exited.
    fn why(&mut self) -> Error {
        self.stdin = None;
        let never = tokio_util::sync::CancellationToken::new();
        match self.running.wait(Instant::now() + self.git.limits().time, &never) {
            Ok(Some(status)) => {
                let stderr = self.running.stderr();
                let why = if is_locked(&stderr) { locked } else { failed };
                why(self.git.folder(), &self.args, &status, &stderr)
            }
            Ok(None) => self.failed(Failure::TimedOut),
            Err(failure) => self.failed(failure),
        }
    }

    fn failed(&self, failure: Failure) -> Error {
        ended(self.git.folder(), &self.args, self.git.limits(), failure)
    }
}

impl Drop for Transaction<'_> {
    /// Closes git's input and waits until git exits, which releases all locks.
    fn drop(&mut self) {
        self.stdin = None;
        let never = tokio_util::sync::CancellationToken::new();
        let _ = self.running.wait(Instant::now() + self.git.limits().time, &never);
    }
}
