//! Controls a running program: waits for it and ends it.

use std::io;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::cancel::OnCancel;
use super::limits::Limits;
use super::output::{Capture, Printed, Reading, Tell};
use crate::file::read_kernel;
use crate::platform::{self, End};

/// The reason why a program did not run to its end.
#[derive(Debug)]
pub enum Failure {
    NotStarted(io::Error),
    /// The program was started, but then communication with it failed.
    Lost(io::Error),
    /// The program exceeded its time limit. `Program::run` and similar methods have then ended it.
    TimedOut,
    /// The call was cancelled. `Program::run` and similar methods have then ended the program; [`Running::wait`]
    /// leaves it running.
    Cancelled,
}

/// A running program. If it is dropped before the program has exited, the program and its group are ended.
#[derive(Debug)]
pub struct Running {
    child: Child,
    status: Option<ExitStatus>,
    leaves_children: bool,
    asks_below: bool,
    events: Receiver<Event>,
    sender: Sender<Event>,
    stderr: Option<Reading>,
}

/// An event that wakes a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Ended,
    Cancelled,
}

/// The reason why a wait returned.
#[derive(Clone, Copy, Debug)]
enum Woken {
    Ended(ExitStatus),
    TimedOut,
    Cancelled,
}

impl Running {
    pub(super) fn start(
        command: &mut Command,
        capture: Capture,
        leaves_children: bool,
        told: Option<Tell>,
    ) -> Result<Self, Failure> {
        command.stderr(Stdio::piped());
        let mut running = Self::spawn(command, leaves_children)?;
        let stderr = running.child.stderr.take().map(|stderr| Reading::begin(stderr, capture, told)).transpose();
        running.stderr = stderr.map_err(Failure::Lost)?;
        Ok(running)
    }

    /// Starts a program that writes both outputs to one pipe. The merged output is treated as standard error.
    pub(super) fn start_as_one(
        command: &mut Command,
        capture: Capture,
        leaves_children: bool,
        told: Option<Tell>,
    ) -> Result<Self, Failure> {
        let (reader, writer) = std::io::pipe().map_err(Failure::NotStarted)?;
        command.stdout(writer.try_clone().map_err(Failure::NotStarted)?).stderr(writer);
        let running = Self::spawn(command, leaves_children);
        // Drop the command's own ends of the pipe, so that only the program holds them.
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut running = running?;
        running.stderr = Some(Reading::begin(reader, capture, told).map_err(Failure::Lost)?);
        Ok(running)
    }

    fn spawn(command: &mut Command, leaves_children: bool) -> Result<Self, Failure> {
        platform::separate(command);
        let child = command.spawn().map_err(Failure::NotStarted)?;
        let (sender, events) = channel();
        // From here on, dropping this value ends the program.
        let running = Self { child, status: None, leaves_children, asks_below: false, events, sender, stderr: None };
        let sender = running.sender.clone();
        let ended = move || {
            let _ = sender.send(Event::Ended);
        };
        platform::watch(&running.child, ended).map_err(Failure::Lost)?;
        Ok(running)
    }

    /// Sets whether to ask the program's children, if there are any, to end instead of the program itself.
    pub(super) fn asking_below(mut self, asks_below: bool) -> Self {
        self.asks_below = asks_below;
        self
    }

    /// Takes the pipe to the program's standard input. Dropping the pipe ends the input.
    pub fn stdin(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    /// Takes the pipe from the program's standard output.
    pub fn stdout(&mut self) -> Option<ChildStdout> {
        self.child.stdout.take()
    }

    /// Takes the program's standard error. If that output has not ended, waits for a second, and returns what was read
    /// until then.
    pub fn stderr(&mut self) -> Printed {
        Reading::end(self.stderr.take())
    }

    /// Waits until the program exits, at most until `until`; returns `None` if it is still running. When the program
    /// exits, processes that it left running are ended too, unless they are allowed to stay.
    ///
    /// # Errors
    /// [`Failure::Cancelled`] if the call is cancelled; the program keeps running. [`Failure::Lost`].
    pub fn wait(&mut self, until: Instant, cancelled: &CancellationToken) -> Result<Option<ExitStatus>, Failure> {
        match self.wait_for(Some(until), Some(cancelled))? {
            Woken::Ended(status) => Ok(Some(status)),
            Woken::TimedOut => Ok(None),
            Woken::Cancelled => Err(Failure::Cancelled),
        }
    }

    /// Waits until the program exits. Ends the program if a limit is reached.
    pub(super) fn run(&mut self, limits: &Limits<'_>) -> Result<ExitStatus, Failure> {
        let failure = match self.wait_for(Instant::now().checked_add(limits.time), Some(limits.cancelled))? {
            Woken::Ended(status) => return Ok(status),
            Woken::TimedOut => Failure::TimedOut,
            Woken::Cancelled => Failure::Cancelled,
        };
        self.end(limits.grace);
        Err(failure)
    }

    /// Asks the program and its group to end, or only its children ([`super::Program::asks_below`]), and kills whatever
    /// is left after `grace`.
    pub fn end(&mut self, grace: Duration) {
        if self.status.is_some() {
            return;
        }
        self.leaves_children = false;
        if !(self.asks_below && ask_below(&self.child)) {
            platform::end(&mut self.child, End::Asked);
        }
        if !matches!(self.wait_for(Instant::now().checked_add(grace), None), Ok(Woken::Ended(_))) {
            self.kill();
        }
    }

    fn wait_for(&mut self, until: Option<Instant>, cancelled: Option<&CancellationToken>) -> Result<Woken, Failure> {
        let sender = self.sender.clone();
        let wake = move || {
            let _ = sender.send(Event::Cancelled);
        };
        let _waking = cancelled.map(|token| OnCancel::new(token, wake));
        loop {
            if let Some(status) = self.status {
                return Ok(Woken::Ended(status));
            }
            let left = until.map_or(Duration::MAX, |until| until.saturating_duration_since(Instant::now()));
            let pause = platform::POLL.map_or(left, |poll| left.min(poll));
            match self.events.recv_timeout(pause) {
                Ok(Event::Ended) => self.reap()?,
                // An earlier wait may have left this event behind.
                Ok(Event::Cancelled) if cancelled.is_none_or(|token| !token.is_cancelled()) => {}
                Ok(Event::Cancelled) => return Ok(Woken::Cancelled),
                Err(_) if platform::POLL.is_some() && self.child.try_wait().is_ok_and(|status| status.is_some()) => {
                    self.reap()?;
                }
                Err(RecvTimeoutError::Timeout) if left > pause => {}
                Err(_) => return Ok(Woken::TimedOut),
            }
        }
    }

    /// Ends the processes that the exited program left running, unless they are allowed to stay, and then waits for the
    /// program. Until that wait, the id of the group cannot be reused.
    fn reap(&mut self) -> Result<(), Failure> {
        if !self.leaves_children {
            platform::end(&mut self.child, End::Forced);
        }
        self.status = Some(self.child.wait().map_err(Failure::Lost)?);
        Ok(())
    }

    fn kill(&mut self) {
        platform::end(&mut self.child, End::Forced);
        self.status = self.child.wait().ok();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.status.is_none() {
            self.kill();
        }
    }
}

/// Asks the process groups led by children of `child` to end; returns whether there were any. Only Linux lists a process's
/// children.
fn ask_below(child: &Child) -> bool {
    let id = child.id();
    let children = read_kernel(Path::new(&format!("/proc/{id}/task/{id}/children"))).unwrap_or_default();
    let ids = children.split_ascii_whitespace().filter_map(|id| id.parse().ok());
    ids.filter(|id| platform::ask_group(*id)).count() > 0
}
