//! `mcpkg build` (tool `smctl_build`): builds the repositories of a workspace.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::live::Live;
use super::log::Log;
use super::plan::{Command, Options, Plan};
use super::report::Report;
use super::schedule::{self, Manner};
use super::{command, consent, record};
use crate::completions::REPOS;
use crate::root::Workspace;
use crate::{GROUP, SHAPE};
use mcpkg_base::error::Result;
use mcpkg_core::op::{Body, Changes, Context, Effect, Faces, NoOutput, Operation, Reply, Shape, Table};

/// The time that a command may take to end after mcpkg asked it to stop.
const GRACE: Duration = Duration::from_secs(5);

/// Like [`GRACE`], for a build in a server. It is shorter, because a server cancels its calls one second after it is asked to
/// stop, and exits four seconds later.
const SERVED: Duration = Duration::from_secs(3);

/// Build the repositories of a workspace
#[derive(clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Build {
    /// Specific repo to build (default: all)
    #[arg(add = REPOS)]
    #[serde(default)]
    repo: Option<String>,
    /// Build independent repositories in parallel
    #[arg(long)]
    #[serde(default)]
    parallel: bool,
    /// Also run the tests
    #[arg(long)]
    #[serde(default)]
    test: bool,
    /// Run the clean commands first
    #[arg(long)]
    #[serde(default)]
    clean: bool,
    /// Maximum number of repositories to build at the same time [default: number of processors]
    #[arg(short, long, value_name = "NUMBER", requires = "parallel", value_parser = clap::value_parser!(u16).range(1..))]
    #[serde(skip)]
    jobs: Option<u16>,
    /// If a repository fails, still build the repositories that do not depend on it
    #[arg(long)]
    #[serde(skip)]
    keep_going: bool,
    /// Show the commands that would run, without running them
    #[arg(long)]
    #[serde(skip)]
    dry_run: bool,
}

impl Operation for Build {
    const TOOL: &'static str = "smctl_build";
    const CLI: &'static [&'static str] = &["build"];
    const TITLE: &'static str = "Build repos";
    const ABOUT: &'static str = "Build repos in dependency order";
    const HELP: &'static str = "Runs the commands that the workspace's manifest sets for each repository \
        (clean_cmd, build_cmd, test_cmd). A repository is built after the repositories that it depends on. mcpkg \
        starts each command directly, without a shell. A command runs with your permissions and your environment \
        variables, except the variables of git and mcpkg. With --parallel, if a build fails, mcpkg lets the \
        running builds finish, and skips the repositories that depend on the failed one. Agents can build a \
        repository only after you have approved the repository's commands.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg build",
        "mcpkg build api --test",
        "mcpkg build --parallel --jobs 4 --keep-going",
        "mcpkg build --clean --test --dry-run",
    ];
    const EFFECT: Effect = Effect::Create;
    const IDEMPOTENT: bool = false;
    const OPEN_WORLD: bool = true;
    const CHANGES: Changes = Changes::NO_LIST;
    const LONG: bool = true;
    const MAY_NEED_CONSENT: bool = true;
    const SHAPE: Shape = SHAPE;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    const SCHEMA: Option<&'static str> = Some(
        r#"{"type":"object","properties":{"repo":{"type":"string","description":"Specific repo to build (default: all)"},"parallel":{"type":"boolean","default":false},"test":{"type":"boolean","default":false},"clean":{"type":"boolean","default":false}}}"#,
    );
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.repo.clone().unwrap_or_default()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let workspace = Workspace::open(context)?;
        let asked = Options { repo: self.repo.as_deref(), clean: self.clean, test: self.test };
        let plan = Plan::of(&workspace, &asked)?;
        let warnings = workspace.manifest.warnings.clone();
        if self.dry_run {
            return Ok(planned(&plan).warn(warnings));
        }
        consent::require(context, &workspace, &plan)?;
        context.unless_cancelled()?;
        let run = record::begin(context, &workspace, &self.options())?;
        (context.step_aside)();
        let begun = Instant::now();
        let rows = {
            let live = Live::begin(context, plan.commands().count());
            schedule::run(&plan, self.manner(), &|command| run_one(context, &live, command))
        };
        let report = Report { run, rows, took: begun.elapsed() };
        let unkept = record::end(context, &report, &self.subject());
        Ok(report.answer()?.warn(warnings).warn(unkept))
    }
}

impl Build {
    fn manner(&self) -> Manner {
        let processors = || std::thread::available_parallelism().map_or(1, usize::from);
        let jobs = match self.parallel {
            true => self.jobs.map_or_else(processors, usize::from),
            false => 1,
        };
        Manner { parallel: self.parallel, jobs, keep_going: self.keep_going }
    }

    fn options(&self) -> Value {
        json!({
            "repo": self.repo,
            "parallel": self.parallel,
            "test": self.test,
            "clean": self.clean,
            "jobs": self.jobs,
            "keep_going": self.keep_going,
        })
    }
}

fn run_one(context: &Context, live: &Live, command: &Command) -> command::Outcome {
    let log: Arc<Mutex<Log>> = Arc::default();
    let grace = if context.is_shell() { GRACE } else { SERVED };
    let number = live.start(command, &log);
    let outcome = command::run(command, &log, grace, &context.cancelled);
    live.end(number, command, &outcome);
    outcome
}

fn planned(plan: &Plan) -> Reply {
    let rows = (1..).zip(&plan.levels).flat_map(|(level, jobs)| {
        let cells = move |command: &Command| {
            let (repo, step) = (command.repo.clone(), command.step.word().to_owned());
            vec![i32::to_string(&level), repo, step, command.line()]
        };
        jobs.iter().flat_map(move |job| job.commands.iter().map(cells))
    });
    let table = Table {
        columns: &["LEVEL", "REPO", "STEP", "COMMAND"],
        rows: rows.collect(),
        empty: "Nothing to build in the workspace".to_owned(),
    };
    Reply::new(Body::Table(table), json!({ "dry_run": true, "commands": plan.data() }))
        .hint("nothing was run; run `mcpkg build` without --dry-run to build")
}
