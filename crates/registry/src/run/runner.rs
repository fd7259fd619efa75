//! The interface of runners. A runner runs one program, and returns the result.

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

/// One run, as a runner receives it. The arguments, the files and the trust in the tool are already checked.
pub struct Job<'a> {
    /// The program and its arguments, with paths as in the sandbox.
    pub argv: &'a [String],
    /// The variables, including secrets. They are never passed as arguments, which other users can see.
    pub variables: &'a BTreeMap<String, String>,
    /// The folder with the tool's files on this machine, which the run must not change; empty if the runner needs no
    /// folder.
    pub tree: &'a Path,
    /// Input files: each path on this machine, and the path in the sandbox.
    pub given: &'a [(PathBuf, PathBuf)],
    /// A temporary folder of this run that only this user can read; empty if the runner needs none.
    pub scratch: &'a Path,
    /// The permissions beyond the sandbox.
    pub granted: &'a Granted,
    pub limits: Limits,
    /// The files to return when the program has ended.
    pub takes: Takes,
    /// Cancelled when nobody waits for the result any more.
    pub cancelled: &'a CancellationToken,
    /// Receives each piece of standard error.
    pub told: Option<Tell>,
    /// Runs before the tool starts, while the sandbox is being set up. If it returns false, the tool does not start.
    pub before: Option<Before>,
}

/// Selects the files that a run returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// The files in [`OUTPUT`](super::mount::OUTPUT).
    Output,
    /// All files in [`WORKSPACE`](super::mount::WORKSPACE), a writable copy of the tool's files: the result of a
    /// build.
    Workspace,
    Nothing,
}

/// The result of a run.
#[derive(Debug)]
pub struct Ran {
    /// How the program ended. `None` if the runner cannot tell, for example because memory ran out.
    pub ended: Option<Ended>,
    pub stdout: Printed,
    pub stderr: Printed,
    pub files: Vec<Left>,
    /// Files that are not returned: links, pipes, devices, and those over the limits.
    pub left_out: Vec<String>,
    /// The limit that ended the run, if the runner can tell.
    pub reached: Option<&'static str>,
    /// The limits that this runner could not enforce.
    pub unlimited: Vec<&'static str>,
}

/// The reason why a run has no result. No part of the run is still active.
#[derive(Debug)]
pub enum NotRun {
    /// The runner does not work on this machine, for this reason; the program was not started.
    Unavailable(String),
    /// The run exceeded its timeout.
    TimedOut,
    Cancelled,
    /// Waiting for the program failed.
    Lost(io::Error),
    /// An error that the runner itself found, such as an invalid module.
    Failed(Error),
}

/// A runner. A new one is created for each run, by [`choose`](super::choose::choose).
pub trait Runner: Send + Sync {
    fn kind(&self) -> RunnerKind;

    /// Returns the id of the image that the tool runs in, if there is one.
    fn image(&self) -> Option<&str> {
        None
    }

    /// Returns whether the tool's files must be unpacked on disk.
    fn needs_tree(&self) -> bool {
        true
    }

    /// Returns whether a temporary folder is needed even if the call has no input files.
    fn needs_scratch(&self) -> bool {
        true
    }

    /// Returns the mounts of a run, for the run itself and for a dry run. An error says why they are not possible.
    fn mounts(&self, job: &Job<'_>) -> Result<Vec<Mount>, String>;

    /// Returns the command line that a dry run shows; empty if the run starts no program.
    fn command(&self, job: &Job<'_>) -> Vec<String>;

    /// Returns the limits that this runner cannot enforce on this machine.
    fn unlimited(&self) -> Vec<&'static str> {
        Vec::new()
    }

    fn run(&self, job: Job<'_>) -> Result<Ran, NotRun>;
}

/// The timeout for checking whether a runner works.
pub const PROBE: Duration = Duration::from_secs(20);
