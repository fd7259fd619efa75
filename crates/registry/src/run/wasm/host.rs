//! The state that a module can reach: arguments, variables, files, outputs, clocks and limits.

use std::collections::BTreeMap;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::super::limits::{Limits, PRINTED};
use super::budget::Budget;
use super::files::{FileMap, Files};
use mcpkg_base::clock::Clock;
use mcpkg_base::process::{Capture, OnCancel, Printed, Tell};

/// The state of one run.
pub struct Host {
    /// The arguments, each ending with NUL; the first one is the module's name.
    pub arguments: Vec<Vec<u8>>,
    /// The variables as `NAME=VALUE`, each ending with NUL.
    pub variables: Vec<Vec<u8>>,
    pub files: Files,
    pub stdout: Printed,
    /// The standard error so far.
    pub stderr: Printed,
    /// Receives each piece of standard error.
    pub told: Option<Tell>,
    /// The time of day and the source of randomness.
    pub clock: Clock,
    /// When the run started.
    pub begun: Instant,
    /// The memory that the module may still take.
    pub budget: Budget,
    /// The module's memory, once it exists.
    pub memory: Option<wasmi::Memory>,
    /// The fuel that the current call costs.
    pub work: u64,
    pub ending: Ending,
}

/// The inputs of a run.
pub struct Setup<'a> {
    /// The files of the package.
    pub package: &'a FileMap,
    /// The arguments; the first one is the module's name.
    pub arguments: &'a [String],
    pub variables: &'a BTreeMap<String, String>,
    /// The input files of the call by their paths below `/input`.
    pub inputs: &'a FileMap,
    pub limits: Limits,
    /// The time of day and the source of randomness.
    pub clock: Clock,
    /// Ends the run when the call is cancelled.
    pub cancelled: CancellationToken,
}

/// Decides whether a run must end early.
#[derive(Clone, Debug)]
pub struct Ending {
    deadline: Instant,
    cancelled: CancellationToken,
}

/// The reason why a run ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    TimedOut,
    Cancelled,
}

impl Ending {
    /// Returns whether the run must end now, and why.
    pub fn now(&self) -> Option<Ended> {
        match (self.cancelled.is_cancelled(), Instant::now() >= self.deadline) {
            (true, _) => Some(Ended::Cancelled),
            (false, true) => Some(Ended::TimedOut),
            (false, false) => None,
        }
    }

    /// Waits for this time, or until the run must end.
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
    /// Returns the initial state of a run; its timeout starts now.
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

    pub fn now(&self) -> u64 {
        u64::try_from(self.clock.now()).unwrap_or(0).saturating_mul(1_000_000)
    }

    /// Adds the cost of moving bytes, or of similar work, to the current call.
    pub fn moved(&mut self, bytes: u64) {
        self.work = self.work.saturating_add(bytes / 16);
    }
}
