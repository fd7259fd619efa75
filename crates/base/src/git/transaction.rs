//! Refs that move together: all of them are locked and compared before the first one moves.
//!
//! [`Transaction::prepare`] holds the locks until [`Transaction::commit`] or until the value is dropped, so that the refs of
//! several repositories can be prepared first and committed then. git lets the locks go by itself where its input ends:
//! when this process is killed, nothing was moved and no lock stays.

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

/// A change of several refs of one repository.
#[derive(Debug)]
pub struct Transaction<'a> {
    git: Git<'a>,
    args: Vec<String>,
    running: Running,
    stdin: Option<ChildStdin>,
    answers: Receiver<Answer>,
    sender: Sender<Answer>,
}

/// What git sent, or why it sent nothing.
#[derive(Debug)]
enum Answer {
    Line(String),
    Ended,
    Cancelled,
}

impl<'a> Transaction<'a> {
    /// Begins a change, which the refs' logs tell as `message`.
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

    /// Makes a ref, which may not exist yet.
    pub fn create(&mut self, name: &str, id: &str) -> Result<()> {
        self.say(format!("create {name}\0{id}\0").as_bytes())
    }

    /// Moves a ref that is still at `old`.
    pub fn update(&mut self, name: &str, id: &str, old: &str) -> Result<()> {
        self.say(format!("update {name}\0{id}\0{old}\0").as_bytes())
    }

    /// Deletes a ref that is still at `old`.
    pub fn delete(&mut self, name: &str, old: &str) -> Result<()> {
        // A symbolic ref is deleted itself, not the branch that it points to.
        self.say(format!("option no-deref\0delete {name}\0{old}\0").as_bytes())
    }

    /// Requires that a ref is still at `old`.
    pub fn verify(&mut self, name: &str, old: &str) -> Result<()> {
        self.say(format!("verify {name}\0{old}\0").as_bytes())
    }

    /// Locks all refs and compares each with its old id; from then on nobody else can move them.
    ///
    /// # Errors
    /// `E_GIT_LOCKED` where another git holds one for longer than a second; `E_GIT_FAILED` where a ref is not at its old id, with
    /// git's own words.
    pub fn prepare(&mut self) -> Result<()> {
        self.say(b"prepare\0")?;
        self.hear("prepare", true)
    }

    /// Moves all refs. It is waited for also where the call was cancelled.
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
            // It has ended: it says why itself.
            _ => Err(self.why()),
        }
    }

    /// Waits for git's word that it did what it was asked.
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
                // A wait that is over has left it behind.
                Ok(Answer::Cancelled) => continue,
                Err(RecvTimeoutError::Timeout) => Err(self.failed(Failure::TimedOut)),
                Ok(Answer::Ended) | Err(RecvTimeoutError::Disconnected) => Err(self.why()),
            };
        }
    }

    /// Returns why git has ended.
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
    /// Ends git's input and waits for its end, after which no lock is held.
    fn drop(&mut self) {
        self.stdin = None;
        let never = tokio_util::sync::CancellationToken::new();
        let _ = self.running.wait(Instant::now() + self.git.limits().time, &never);
    }
}
