//! Running in bubblewrap: the program itself, and whether it works on this machine.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::bwrap::{self, Mount, STARTER, Sandbox, WORKSPACE};
use super::host;
use super::limits::{Limits, OUTPUT_BYTES};
use crate::error::{Code, Error, Result};
use crate::process::cgroup::{Cgroup, Together};
use crate::process::starter::{self, Ceilings, Ended, Finished, Request};
use crate::process::{self, Environment, Failure};

/// How long it may take to look whether it works.
const PROBE: Duration = Duration::from_secs(20);

/// Whether it was found to work: that is looked at once in a process, by running `true` in it.
static WORKS: AtomicBool = AtomicBool::new(false);

/// Fails where bubblewrap does not work on this machine.
///
/// # Errors
/// `E_RUNNER_UNAVAILABLE` with the reason in details.runners.
pub fn require() -> Result<()> {
    if WORKS.load(Ordering::Relaxed) {
        return Ok(());
    }
    probe().map_err(|why| unavailable(&why))?;
    WORKS.store(true, Ordering::Relaxed);
    Ok(())
}

/// Returns the failure of a machine on which nothing can run a tool.
pub fn unavailable(why: &str) -> Error {
    Error::new(Code::RunnerUnavailable, format!("Tools cannot be run on this machine: {why}"))
        .with_details(serde_json::json!({ "runners": [{ "runner": "bubblewrap", "reason": why }] }))
        .hint("install bubblewrap 0.8 or newer (Debian: `apt install bubblewrap`); `mcpkg doctor` looks again")
}

/// Runs `true` in a sandbox.
///
/// # Errors
/// Why it does not work.
pub fn probe() -> Result<(), String> {
    if !cfg!(target_os = "linux") {
        return Err("bubblewrap runs on Linux only".to_owned());
    }
    let limits = Limits { time: PROBE, ..Limits::default() };
    // The folder stands in for a tool's files.
    let mut mounts = host::mounts(Path::new("/"), false);
    mounts.push(Mount::read("/usr", WORKSPACE));
    mounts.push(starter_mount()?);
    let request = Request {
        argv: vec!["true".to_owned()],
        variables: BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]),
        folder: "/".to_owned(),
        ceilings: ceilings(&limits),
        output: None,
    };
    let sandbox = Sandbox { mounts, network: false, limits };
    let token = CancellationToken::new();
    match run(&sandbox, request, cgroup(&sandbox.limits).as_ref(), &process::Limits::new(PROBE, &token)) {
        Ok(finished) => match &finished.ended {
            Some(Ended::Exited(0)) => Ok(()),
            _ => Err(failure_of(&finished)),
        },
        Err(Failure::NotStarted(error)) => Err(not_started(&error)),
        Err(Failure::TimedOut) => Err(format!("it had not run `true` after {} seconds", PROBE.as_secs())),
        Err(Failure::Lost(error)) => Err(format!("bwrap cannot be waited for: {error}")),
        Err(Failure::Cancelled) => Err("the look at it was cancelled".to_owned()),
    }
}

/// Returns the control group of a run, where one can be made: it counts memory of all processes together, shared memory and
/// files in memory among it.
pub fn cgroup(limits: &Limits) -> Option<Cgroup> {
    let files = limits.scratch.saturating_mul(2).saturating_add(OUTPUT_BYTES);
    // bwrap and the starter are processes too.
    Cgroup::new(Together { memory: limits.memory.saturating_add(files), processes: limits.processes + 4 })
}

/// Runs what `request` says in a sandbox, all of it in a control group.
///
/// # Errors
/// See [`Failure`].
pub fn run(
    sandbox: &Sandbox,
    request: Request,
    cgroup: Option<&Cgroup>,
    limits: &process::Limits<'_>,
) -> Result<Finished, Failure> {
    // Where it is not there, that is said of it, not of what would start it.
    if !is_there("bwrap") {
        return Err(Failure::NotStarted(std::io::ErrorKind::NotFound.into()));
    }
    let kept = super::limits::PRINTED;
    let program = starter::within(cgroup, "bwrap")
        .map_err(Failure::NotStarted)?
        .args(bwrap::arguments(sandbox))
        .args([STARTER])
        // What the tool gets is handed over inside; bwrap needs none, and none of it could change what bwrap does.
        .environment(Environment::Exactly(BTreeMap::from([(
            "PATH".into(),
            std::env::var_os("PATH").unwrap_or_default(),
        )])))
        .capture(process::Capture { head: kept / 4 * 3, tail: kept / 4 })
        .asks_below();
    starter::run(program, request, limits)
}

fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// Returns the limits that mcpkg sets for itself inside, and so for the tool.
pub fn ceilings(limits: &Limits) -> Ceilings {
    Ceilings {
        cpu: limits.cpu_seconds(),
        data: limits.memory,
        addressed: limits.addressed(),
        processes: limits.processes,
        files: limits.files,
        file_size: limits.file_size,
    }
}

/// Returns the mount of mcpkg's own program.
///
/// # Errors
/// Why it cannot be mounted.
pub fn starter_mount() -> Result<Mount, String> {
    let program: PathBuf = starter::program().map_err(|error| format!("mcpkg's own program is not known: {error}"))?;
    match program.is_file() {
        true => Ok(Mount::read(program, STARTER)),
        false => Err("mcpkg's own program was replaced while it runs; start it again".to_owned()),
    }
}

/// Returns why bwrap could not be started.
pub fn not_started(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "bubblewrap is not installed: there is no `bwrap` on PATH".to_owned(),
        _ => format!("`bwrap` cannot be started: {error}"),
    }
}

/// Returns why a sandbox was not made, in bwrap's own words.
pub fn failure_of(finished: &Finished) -> String {
    let said = finished.stderr.text();
    match said.lines().find(|line| !line.trim().is_empty()) {
        Some(line) if line.contains("Unknown option") => format!("{line}: bubblewrap is older than 0.8"),
        Some(line) => line.trim().to_owned(),
        None => format!("the sandbox ended with {}", finished.status),
    }
}
