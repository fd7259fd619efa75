//! Runs tools in bubblewrap, and checks whether bubblewrap works on this machine.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::{LazyLock, OnceLock};

use tokio_util::sync::CancellationToken;

use super::bwrap::{self, Sandbox};
use super::grants::Granted;
use super::kind::RunnerKind;
use super::limits::Limits;
use super::mount::{Mount, PACKAGE, STARTER, WORKSPACE};
use super::runner::{Job, NotRun, PROBE, Ran, Runner, Takes};
use super::started;
use super::{host, users};
use mcpkg_base::platform::{self, SYSTEM, System};
use mcpkg_base::process::Environment;
use mcpkg_base::process::cgroup::{Cgroup, Together};
use mcpkg_base::process::starter::{self, Ended, Meeting, Within};

#[derive(Clone, Copy, Debug, Default)]
pub struct Bubblewrap;

/// Returns the runner if bubblewrap works; otherwise the error says why not. A success is remembered until the
/// process ends.
pub fn find() -> Result<Bubblewrap, String> {
    static WORKS: OnceLock<()> = OnceLock::new();
    if WORKS.get().is_none() {
        probe()?;
        WORKS.get_or_init(|| ());
    }
    Ok(Bubblewrap)
}

/// Runs `true` in a sandbox; an error says why that does not work.
pub fn probe() -> Result<(), String> {
    if SYSTEM != System::Linux {
        return Err("bubblewrap runs on Linux only".to_owned());
    }
    let (argv, granted, token) = (["true".to_owned()], Granted::default(), CancellationToken::new());
    let variables = BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]);
    let ran = Bubblewrap.run(Job {
        argv: &argv,
        variables: &variables,
        // Any existing folder will do as the tool's files.
        tree: Path::new("/usr"),
        given: &[],
        scratch: Path::new(""),
        granted: &granted,
        limits: Limits { time: PROBE, ..Limits::default() },
        takes: Takes::Nothing,
        cancelled: &token,
        told: None,
        before: None,
    });
    match ran {
        Ok(ran) if ran.ended == Some(Ended::Exited(0)) => Ok(()),
        Ok(ran) => Err(started::first_line(&ran.stderr).unwrap_or_else(|| "bwrap could not run `true`".to_owned())),
        Err(NotRun::Unavailable(why)) => Err(why),
        Err(NotRun::TimedOut) => Err(format!("bwrap did not finish running `true` within {} seconds", PROBE.as_secs())),
        Err(NotRun::Lost(error)) => Err(format!("cannot wait for bwrap: {error}")),
        Err(NotRun::Failed(error)) => Err(format!("the files that bwrap needs cannot be written: {}", error.message())),
        Err(NotRun::Cancelled) => Err("the check was cancelled".to_owned()),
    }
}

impl Runner for Bubblewrap {
    fn kind(&self) -> RunnerKind {
        RunnerKind::Bubblewrap
    }

    fn needs_scratch(&self) -> bool {
        false
    }

    fn mounts(&self, job: &Job<'_>) -> Result<Vec<Mount>, String> {
        let mut mounts = host::mounts(Path::new("/"), job.granted.network);
        mounts.push(started::starter_mount()?);
        mounts.push(Mount::read(job.tree, if job.takes == Takes::Workspace { PACKAGE } else { WORKSPACE }));
        mounts.extend(users::mounts(&users::folder().map_err(|error| error.message().to_owned())?));
        mounts.extend(job.granted.folders.iter().map(|folder| Mount::Write { from: folder.into(), at: folder.into() }));
        mounts.extend(job.given.iter().map(|(from, at)| Mount::read(from, at)));
        Ok(mounts)
    }

    fn command(&self, job: &Job<'_>) -> Vec<String> {
        let Ok(sandbox) = self.sandbox(job) else { return Vec::new() };
        let arguments = bwrap::arguments(&sandbox).into_iter().map(|word| word.to_string_lossy().into_owned());
        ["bwrap".to_owned()].into_iter().chain(arguments).chain([STARTER.to_owned()]).collect()
    }

    fn unlimited(&self) -> Vec<&'static str> {
        static MAKES: LazyLock<bool> = LazyLock::new(|| cgroup(&Limits::default(), 0).is_some());
        unlimited(*MAKES)
    }

    fn run(&self, job: Job<'_>) -> Result<Ran, NotRun> {
        // Look for bwrap first. Otherwise a missing bwrap would be reported as a failure of the starter, mcpkg's own
        // program inside the sandbox.
        if !started::is_on_path("bwrap") {
            return Err(NotRun::Unavailable(not_started(&ErrorKind::NotFound.into())));
        }
        users::folder().and_then(|folder| users::write(&folder)).map_err(NotRun::Failed)?;
        let sandbox = self.sandbox(&job).map_err(NotRun::Unavailable)?;
        let cgroup = cgroup(&job.limits, started::workspace_size(&job));
        let program = starter::within(cgroup.as_ref(), "bwrap")
            .map_err(|error| NotRun::Unavailable(not_started(&error)))?
            .args(bwrap::arguments(&sandbox))
            .args([STARTER])
            // Give bwrap itself no variables, since the tool could read them from the bwrap process. The starter,
            // mcpkg's own program inside the sandbox, gets the tool's variables.
            .environment(Environment::Exactly(BTreeMap::new()))
            .asks_below();
        let start = started::Start {
            request: started::request(&job, Within::Sandbox),
            meeting: Meeting::Stdin,
            not_started: &not_started,
            not_made: &|line: &str| match line.contains("Unknown option") {
                true => format!("{line}: bubblewrap is older than 0.8"),
                false => line.to_owned(),
            },
        };
        let mut ran = started::run(program, job, start)?;
        ran.unlimited = unlimited(cgroup.is_some());
        let is_out_of_memory = cgroup.is_some_and(|cgroup| cgroup.ran_out_of_memory());
        if ran.ended != Some(Ended::Exited(0)) && is_out_of_memory {
            ran.reached = Some("memory");
        }
        Ok(ran)
    }
}

impl Bubblewrap {
    fn sandbox(self, job: &Job<'_>) -> Result<Sandbox, String> {
        let workspace = (job.takes == Takes::Workspace).then(|| started::workspace_size(job));
        Ok(Sandbox { mounts: self.mounts(job)?, network: job.granted.network, limits: job.limits, workspace })
    }
}

/// Returns a control group for the run, if one can be created. It counts the memory of all processes together,
/// including shared memory and files in memory.
fn cgroup(limits: &Limits, workspace: u64) -> Option<Cgroup> {
    let memory = limits.memory.saturating_add(started::files_in_memory(limits)).saturating_add(workspace);
    // bwrap and the starter (mcpkg's own program inside the sandbox) also count as processes.
    Cgroup::new(Together { memory, processes: limits.processes + 4 })
}

/// Lists the limits that do not apply. Without a control group, shared memory is not limited, and if mcpkg runs as
/// root, the number of processes is not limited either.
fn unlimited(has_cgroup: bool) -> Vec<&'static str> {
    match (has_cgroup, platform::user().is_some_and(|(user, _)| user == 0)) {
        (true, _) => Vec::new(),
        (false, true) => vec!["shared memory", "processes"],
        (false, false) => vec!["shared memory"],
    }
}

fn not_started(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "bubblewrap is not installed: there is no `bwrap` on PATH".to_owned(),
        _ => format!("`bwrap` cannot be started: {error}"),
    }
}
