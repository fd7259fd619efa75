//! Runs tools without a sandbox, if a person allowed it. The tools run in temporary folders, with the limits of a
//! sandboxed run as far as the system supports them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use super::kind::RunnerKind;
use super::limits::Limits;
use super::mount::Mount;
use super::runner::{Job, NotRun, Ran, Runner, Takes};
use super::started;
use mcpkg_base::process::Environment;
use mcpkg_base::process::cgroup::{Cgroup, Together};
use mcpkg_base::process::starter::{self, Copied, Ended, Meeting, Request, Within};

/// The variable with the path of the output folder, since there is no `/output`.
const LEFT: &str = "OUTPUT";

/// The runner without a sandbox.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unsandboxed;

/// The folders of a run that replace the fixed paths of a sandbox.
struct Places {
    workspace: PathBuf,
    output: PathBuf,
    /// The folder for HOME and TMPDIR.
    home: PathBuf,
}

impl Places {
    fn of(scratch: &Path) -> Self {
        let [workspace, output, home] = ["workspace", "output", "home"].map(|name| scratch.join(name));
        Self { workspace, output, home }
    }
}

impl Runner for Unsandboxed {
    fn kind(&self) -> RunnerKind {
        RunnerKind::None
    }

    fn mounts(&self, _: &Job<'_>) -> Result<Vec<Mount>, String> {
        Ok(vec![Mount::Write { from: "/".into(), at: "/".into() }])
    }

    fn command(&self, job: &Job<'_>) -> Vec<String> {
        argv(job)
    }

    fn unlimited(&self) -> Vec<&'static str> {
        static MAKES: LazyLock<bool> = LazyLock::new(|| cgroup(&Limits::default()).is_some());
        unlimited(*MAKES)
    }

    fn run(&self, job: Job<'_>) -> Result<Ran, NotRun> {
        if job.takes == Takes::Workspace {
            return Err(NotRun::Unavailable("mcpkg runs builds only in a sandbox".to_owned()));
        }
        let Places { workspace, output, home } = Places::of(job.scratch);
        for folder in [&workspace, &output, &home] {
            fs::create_dir(folder).map_err(NotRun::Lost)?;
        }
        let request = request(&job)
            .ok_or_else(|| NotRun::Unavailable("the path of the run's folder is not valid UTF-8".to_owned()))?;
        let cgroup = cgroup(&job.limits);
        let not_started = |error: &std::io::Error| format!("mcpkg's own program cannot be started: {error}");
        let program = starter::program().map_err(|error| NotRun::Unavailable(not_started(&error)))?;
        let program =
            program.to_str().ok_or_else(|| NotRun::Unavailable("mcpkg's path is not valid UTF-8".to_owned()))?;
        let program = starter::within(cgroup.as_ref(), program);
        let program = program.map_err(|error| NotRun::Unavailable(not_started(&error)))?;
        let program = program.environment(Environment::Exactly(BTreeMap::new())).folder(job.scratch);
        let start =
            started::Start { request, meeting: Meeting::Stdin, not_started: &not_started, not_made: &str::to_owned };
        let mut ran = started::run(program, job, start)?;
        ran.unlimited = unlimited(cgroup.is_some());
        if ran.ended != Some(Ended::Exited(0)) && cgroup.is_some_and(|cgroup| cgroup.ran_out_of_memory()) {
            ran.reached = Some("memory");
        }
        Ok(ran)
    }
}

/// Returns the request to the starter, mcpkg's own program that sets the limits. The request has the paths of this run.
fn request(job: &Job<'_>) -> Option<Request> {
    let Places { workspace, output, home } = Places::of(job.scratch);
    let text = |path: &Path| path.to_str().map(str::to_owned);
    let mut request = started::request(job, Within::Nothing);
    request.argv = argv(job);
    request.folder = text(&workspace)?;
    request.copied = Some(Copied { from: text(job.tree)?, to: text(&workspace)? });
    if let Some(taken) = &mut request.output {
        taken.folder = text(&output)?;
    }
    for (name, place) in [("HOME", &home), ("TMPDIR", &home), ("PWD", &workspace), (LEFT, &output)] {
        request.variables.insert(name.to_owned(), text(place)?);
    }
    Some(request)
}

/// Returns the arguments, with sandbox paths of input files replaced by their paths on this machine.
fn argv(job: &Job<'_>) -> Vec<String> {
    let mut given: Vec<(String, String)> =
        job.given.iter().map(|(from, at)| (at.display().to_string(), from.display().to_string())).collect();
    // Longer paths are replaced first, since one path may be the beginning of another.
    given.sort_by_key(|(at, _)| std::cmp::Reverse(at.len()));
    let placed = |word: &String| given.iter().fold(word.clone(), |word, (at, from)| word.replace(at.as_str(), from));
    job.argv.iter().map(placed).collect()
}

fn cgroup(limits: &Limits) -> Option<Cgroup> {
    // The starter (mcpkg's own program that sets the limits) also counts as a process.
    Cgroup::new(Together { memory: limits.memory, processes: limits.processes + 1 })
}

fn unlimited(has_cgroup: bool) -> Vec<&'static str> {
    match has_cgroup {
        true => vec!["disk"],
        false => vec!["disk", "shared memory", "processes"],
    }
}
