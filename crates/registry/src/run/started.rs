//! Code shared by the runners that start the tool through the starter, mcpkg's own program: sends the request, and
//! returns the result.

use super::limits::{Limits, OUTPUT_BYTES, OUTPUT_FILES, PRINTED};
use super::mount::{Mount, OUTPUT, PACKAGE, STARTER, WORKSPACE};
use super::runner::{Job, NotRun, Ran, Takes};
use crate::package::archive::{MAX_MEMBERS, MAX_UNPACKED};
use mcpkg_base::process::starter::{self, Ceilings, Copied, Meeting, Output, Request, Within};
use mcpkg_base::process::{self, Capture, Failure, Printed, Program};
use mcpkg_base::redact::{redact, redact_at_cut};

/// The parameters for starting a program through the starter.
pub(super) struct Start<'s> {
    /// The request to the starter.
    pub request: Request,
    /// The way in which mcpkg connects to the starter.
    pub meeting: Meeting,
    /// Explains why the runner's own program could not be started.
    pub not_started: &'s dyn Fn(&std::io::Error) -> String,
    /// Explains why the tool was not started, from the first line on standard error.
    pub not_made: &'s dyn Fn(&str) -> String,
}

/// Runs a job. `program` starts the starter, inside a sandbox or directly.
pub(super) fn run(program: Program, mut job: Job<'_>, start: Start<'_>) -> Result<Ran, NotRun> {
    let program = program.capture(Capture { head: PRINTED / 4 * 3, tail: PRINTED / 4 });
    let program = match job.told.take() {
        Some(told) => program.tell(told),
        None => program,
    };
    let limits = process::Limits::new(job.limits.time, job.cancelled);
    let before = job.before.take();
    let finished =
        starter::run(program, start.request, &start.meeting, before, &limits).map_err(|failure| match failure {
            Failure::NotStarted(error) => NotRun::Unavailable((start.not_started)(&error)),
            Failure::TimedOut => NotRun::TimedOut,
            Failure::Cancelled => NotRun::Cancelled,
            Failure::Lost(error) => NotRun::Lost(error),
        })?;
    if !finished.began {
        let line = first_line(&finished.stderr).unwrap_or_else(|| format!("it ended with {}", finished.status));
        return Err(NotRun::Unavailable((start.not_made)(&line)));
    }
    Ok(Ran {
        ended: finished.ended,
        stdout: finished.stdout,
        stderr: finished.stderr,
        files: finished.files,
        left_out: finished.left_out,
        reached: finished.ran_out_of_memory.then_some("memory"),
        unlimited: Vec::new(),
    })
}

/// Returns the request to the starter, with the paths of the sandbox.
pub(super) fn request(job: &Job<'_>, within: Within) -> Request {
    let output = match job.takes {
        Takes::Output => {
            Some(Output { folder: OUTPUT.to_owned(), files: OUTPUT_FILES, bytes: OUTPUT_BYTES, links: false })
        }
        Takes::Workspace => {
            Some(Output { folder: WORKSPACE.to_owned(), files: MAX_MEMBERS, bytes: MAX_UNPACKED, links: true })
        }
        Takes::Nothing => None,
    };
    let copied = Copied { from: PACKAGE.to_owned(), to: WORKSPACE.to_owned() };
    Request {
        argv: job.argv.to_vec(),
        variables: job.variables.clone(),
        folder: WORKSPACE.to_owned(),
        ceilings: ceilings(&job.limits, within),
        output,
        copied: (job.takes == Takes::Workspace).then_some(copied),
        within,
    }
}

/// Returns the limits that the starter sets for itself, and so for the tool.
fn ceilings(limits: &Limits, within: Within) -> Ceilings {
    let counts_its_own = within == Within::Sandbox;
    Ceilings {
        cpu: limits.cpu_seconds(),
        data: limits.memory,
        addressed: limits.addressed(),
        // Only a sandbox has its own user namespace. Elsewhere, this limit would count all processes of the user.
        processes: if counts_its_own { limits.processes } else { u64::MAX },
        files: limits.files,
        file_size: limits.file_size,
    }
}

/// Returns the maximum total size, in bytes, of the files kept in memory: in `/tmp`, `/dev/shm` and `/output`.
pub(super) fn files_in_memory(limits: &Limits) -> u64 {
    limits.scratch.saturating_mul(2).saturating_add(OUTPUT_BYTES)
}

/// Returns the size of a writable workspace in bytes; 0 if the workspace is read-only.
pub(super) fn workspace_size(job: &Job<'_>) -> u64 {
    match job.takes {
        Takes::Workspace => MAX_UNPACKED + (MAX_UNPACKED >> 3),
        Takes::Output | Takes::Nothing => 0,
    }
}

/// Returns the mount of mcpkg's own program; an error says why it cannot be mounted.
pub(super) fn starter_mount() -> Result<Mount, String> {
    let program = starter::program().map_err(|error| format!("cannot find mcpkg's own program: {error}"))?;
    match program.is_file() {
        true => Ok(Mount::read(program, STARTER)),
        false => Err("the mcpkg program was replaced while it was running; restart mcpkg".to_owned()),
    }
}

/// Returns the first printed line that is not blank.
pub(super) fn first_line(printed: &Printed) -> Option<String> {
    printed
        .text_by(|text| redact(&text), redact_at_cut)
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .map(str::to_owned)
}

pub(super) fn is_on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}
