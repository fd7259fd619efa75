//! The interface of runners: a runner starts one program, isolated from the rest of the machine, and returns the result.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::grants::Granted;
use super::kind::RunnerKind;
use super::limits::Limits;
use super::mount::Mount;
use mcpkg_base::error::Error;
use mcpkg_base::process::starter::{Before, Ended, Left};
use mcpkg_base::process::{Printed, Tell};

/// One run, as a runner is given it: arguments and files were checked, and trust was asked for.
pub struct Job<'a> {
    /// The program and its arguments. Paths in it are those that a sandbox has.
    pub argv: &'a [String],
    /// The variables, secrets among them: they are handed over inside, and are not arguments.
    pub variables: &'a BTreeMap<String, String>,
    /// The tool's files on this machine: for reading, at [`WORKSPACE`](super::mount::WORKSPACE).
    pub tree: &'a Path,
    /// Files of the caller's or of this run: where they are on this machine, and where the tool finds them.
    pub given: &'a [(PathBuf, PathBuf)],
    /// A folder of this run's own that only this user reads; it goes away after the run. Empty where the runner needs none.
    pub scratch: &'a Path,
    /// What a person allowed beyond the sandbox.
    pub granted: &'a Granted,
    /// What it may use.
    pub limits: Limits,
    /// What is taken when it has ended.
    pub takes: Takes,
    /// Cancelled when nobody waits for it any more.
    pub cancelled: &'a CancellationToken,
    /// Told of each piece of standard error.
    pub told: Option<Tell>,
    /// What is to be done before the tool itself starts, at the same time as what is made for it. Where it returns false nothing of
    /// the tool runs, whatever the runner answers: who gave it knows why.
    pub before: Option<Before>,
}

/// What is taken of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// What it leaves in [`OUTPUT`](super::mount::OUTPUT).
    Output,
    /// All of [`WORKSPACE`](super::mount::WORKSPACE), which is a copy of the tool's files that it changes: what a build leaves.
    Workspace,
    Nothing,
}

/// What came of a run.
#[derive(Debug)]
pub struct Ran {
    /// How the program ended; `None` where it was killed with what started it.
    pub ended: Option<Ended>,
    pub stdout: Printed,
    pub stderr: Printed,
    pub files: Vec<Left>,
    /// What it left that was not taken: links, pipes, devices, and what was too much.
    pub left_out: Vec<String>,
    /// The limit that ended it, where a runner can tell.
    pub reached: Option<&'static str>,
    /// The limits that this runner could not apply.
    pub unlimited: Vec<&'static str>,
}

/// Why nothing came of a run. No part of it runs on.
#[derive(Debug)]
pub enum NotRun {
    /// The runner does not work here, and why: the program was not started.
    Unavailable(String),
    /// It ran for longer than it may.
    TimedOut,
    /// The call was cancelled.
    Cancelled,
    /// It could not be waited for.
    Lost(io::Error),
    /// A fault that the runner itself found, such as an invalid module.
    Failed(Error),
}

/// Something that runs tools. One is made for each run, by [`choose`](super::choose::choose).
pub trait Runner: Send + Sync {
    /// Returns which one it is.
    fn kind(&self) -> RunnerKind;

    /// Returns the id of the image that it runs in, where it runs in one.
    fn image(&self) -> Option<&str> {
        None
    }

    /// Whether it needs the tool's files on the disk: else they are not unpacked for it.
    fn needs_tree(&self) -> bool {
        true
    }

    /// Whether it needs a folder of the run's own on the disk: else none is made where the tool is given nothing.
    fn needs_scratch(&self) -> bool {
        true
    }

    /// Returns what a run finds where. It is shown before a run, and is what a run has.
    ///
    /// # Errors
    /// Why it cannot be had.
    fn mounts(&self, job: &Job<'_>) -> Result<Vec<Mount>, String>;

    /// Returns the command line that starts a run, to show before the run. Empty if no program is started.
    fn command(&self, job: &Job<'_>) -> Vec<String>;

    /// Returns the limits that it cannot apply on this machine.
    fn unlimited(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// Runs a program to its end.
    fn run(&self, job: Job<'_>) -> Result<Ran, NotRun>;
}

/// How long it may take to look whether a runner works.
pub const PROBE: Duration = Duration::from_secs(20);
