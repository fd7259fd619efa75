//! What a module has: its arguments and variables, files, outputs, clocks, and limits. There is nothing else.

use std::collections::BTreeMap;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::super::limits::{Limits, PRINTED};
use super::budget::Budget;
use super::files::{Files, Given};
use mcpkg_base::clock::Clock;
use mcpkg_base::process::{Capture, OnCancel, Printed, Tell};

/// What a module has.
pub struct Host {
    /// Its arguments, each with a NUL at its end; the first is its own name.
    pub arguments: Vec<Vec<u8>>,
    /// Its variables, `NAME=VALUE`, each with a NUL at its end.
    pub variables: Vec<Vec<u8>>,
    pub files: Files,
    pub stdout: Printed,
    /// What it printed to standard error.
    pub stderr: Printed,
    /// Told of each piece of that.
    pub told: Option<Tell>,
    /// The time of day, and randomness.
    pub clock: Clock,
    /// When it was started.
    pub begun: Instant,
    /// What it may still take of memory.
    pub budget: Budget,
    /// Its memory, once there is one.
    pub memory: Option<wasmi::Memory>,
    /// What the call that is being answered costs, in fuel.
    pub work: u64,
    pub ending: Ending,
}

/// What a run is made with.
pub struct Setup<'a> {
    /// The files of its package.
    pub package: &'a Given,
    /// Its arguments, its name first.
    pub arguments: &'a [String],
    pub variables: &'a BTreeMap<String, String>,
    /// Files that the call gives, by their paths below `/input`.
    pub inputs: &'a Given,
    pub limits: Limits,
    /// The time of day, and randomness.
    pub clock: Clock,
    /// Ends it when the call is cancelled.
    pub cancelled: CancellationToken,
}

/// What ends a run before it ends by itself.
#[derive(Clone, Debug)]
pub struct Ending {
    deadline: Instant,
    cancelled: CancellationToken,
}

/// Why a run was ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Its time was over.
    TimedOut,
    /// The call was cancelled.
    Cancelled,
}

impl Ending {
    /// Returns whether a run is to end now, and why.
    pub fn now(&self) -> Option<Ended> {
        match (self.cancelled.is_cancelled(), Instant::now() >= self.deadline) {
            (true, _) => Some(Ended::Cancelled),
            (false, true) => Some(Ended::TimedOut),
            (false, false) => None,
        }
    }

    /// Waits for so long, or until the run is to end.
    pub fn wait(&self, time: Duration) {
        let (wake, woken) = channel();
        let _waking = OnCancel::new(&self.cancelled, move || {
            let _ = wake.send(());
        });
        let left = self.deadline.saturating_duration_since(Instant::now());
        let _ = woken.recv_timeout(time.min(left));
    }
}

impl Host {
    /// Returns what a run has at its start, whose time begins now.
    pub fn new(setup: &Setup<'_>) -> Self {
        let terminated = |text: String| [text.into_bytes(), vec![0]].concat();
        let printed = || Printed::new(Capture { head: PRINTED / 4 * 3, tail: PRINTED / 4 });
        let begun = Instant::now();
        let variables = setup.variables.iter().map(|(name, value)| terminated(format!("{name}={value}")));
        Self {
            arguments: setup.arguments.iter().cloned().map(terminated).collect(),
            variables: variables.collect(),
            files: Files::new(setup.package, setup.inputs, &setup.limits),
            stdout: printed(),
            stderr: printed(),
            told: None,
            clock: setup.clock.clone(),
            begun,
            budget: Budget::new(setup.limits.memory),
            memory: None,
            work: 0,
            ending: Ending { deadline: begun + setup.limits.time, cancelled: setup.cancelled.clone() },
        }
    }

    /// Returns the time of day in nanoseconds since the Unix epoch.
    pub fn now(&self) -> u64 {
        u64::try_from(self.clock.now()).unwrap_or(0).saturating_mul(1_000_000)
    }

    /// Counts bytes that a call moves, and other work of this size, as fuel.
    pub fn moved(&mut self, bytes: u64) {
        self.work = self.work.saturating_add(bytes / 16);
    }
}
