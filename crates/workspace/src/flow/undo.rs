//! `mcpkg flow undo`: reverts a run completely or not at all. Undoing an undo is called redo.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::named;
use super::rows::{self, More, Row};
use crate::carry::{self, Carrier};
use crate::journal::{self, Plan};
use crate::keep;
use crate::lock::Lock;
use crate::manifest::Repo;
use crate::root::Workspace;
use crate::step::{Step, plain, short, whole};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::git::{Git, refs};
use mcpkg_core::op::{Context, Effect, Faces, Operation, Reply, Shape};
use mcpkg_store::flow_runs::{self, FlowRun, State, StepRow};

/// The operation names recorded for an undo, and for the undo of an undo.
pub const OPERATIONS: [&str; 2] = ["undo", "redo"];

/// Undo what a flow did
#[derive(clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Undo {
    /// Id of the run to undo, from `flow log` [default: the last run that has not been undone]
    #[serde(default)]
    run: Option<String>,
    /// Show what would be done, without doing it
    #[arg(long)]
    #[serde(skip)]
    dry_run: bool,
}

impl Operation for Undo {
    const TOOL: &'static str = "smctl_flow_undo";
    const CLI: &'static [&'static str] = &["flow", "undo"];
    const TITLE: &'static str = "Undo a flow";
    const ABOUT: &'static str = "Undo a flow's changes, either in all repositories or in none";
    const HELP: &'static str = "Restores the branches, tags, work trees and branch settings that the run changed. \
        mcpkg refuses to undo a run if any of these has been moved or pushed since the run. Run `mcpkg flow undo` \
        again to undo the previous run. To redo a run, run `mcpkg flow undo ID` with the id of the undo.";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg flow undo", "mcpkg flow undo --dry-run", "mcpkg flow undo 01a20be6-7be2"];
    const EFFECT: Effect = Effect::Write;
    const LONG: bool = true;
    const SHAPE: Shape = super::super::SHAPE;
    const GROUP: &'static str = super::super::GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = mcpkg_core::op::NoOutput;

    fn subject(&self) -> String {
        self.run.clone().unwrap_or_default()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let workspace = Workspace::open(context)?;
        let lock = if self.dry_run { None } else { Some(Lock::take(context, &workspace.root, "flow undo")?) };
        let run = chosen(context, &workspace, self.run.as_deref())?;
        let steps = context.store.read(|db| flow_runs::steps(db, run.id))?;
        refuse(context, &run, &steps)?;
        let done = Done::by(context, &workspace, run)?;
        let plan = plan(context, &workspace, &done, steps, lock.as_ref())?;
        refuse_moved(context, &workspace, &done, &plan)?;
        let warnings = match &lock {
            Some(lock) => journal::carry_out(context, &workspace.root, lock, &plan)?,
            None => Vec::new(),
        };
        let is_concerned = |repo: &&Repo| plan.land.iter().any(|step| step.repo() == repo.name);
        let row =
            |repo: &Repo| Row { repo: repo.name.clone(), state: done.state(), message: done.message(), worktree: None };
        let rows: Vec<Row> = workspace.manifest.repos.iter().filter(is_concerned).map(row).collect();
        let mut reply =
            rows::reply(&done.about().subject, &rows, &plan, self.dry_run, More { warnings, ..More::default() });
        reply.data[done.state()] = done.about().uuid.to_string().into();
        if self.dry_run {
            return Ok(reply);
        }
        Ok(reply.hint(match &done.again {
            None => format!("to redo the run: `mcpkg flow undo {}`", named::shown(plan.uuid)),
            Some(_) => "to undo the run again: `mcpkg flow undo`".to_owned(),
        }))
    }
}

/// The run to undo. If it is itself an undo, also the run that it had undone.
struct Done {
    run: FlowRun,
    /// The run that takes effect again, if `run` is an undo.
    again: Option<FlowRun>,
}

impl Done {
    fn by(context: &Context, workspace: &Workspace, run: FlowRun) -> Result<Self> {
        let [undo, _] = OPERATIONS;
        let again = if run.operation == undo {
            context.store.read(|db| match journal::known(db, &workspace.root)? {
                Some(key) => flow_runs::taken_back(db, key, &run),
                None => Ok(None),
            })?
        } else {
            None
        };
        Ok(Self { run, again })
    }

    /// Returns the run to mention in messages: the one that takes effect again, otherwise the one to undo.
    fn about(&self) -> &FlowRun {
        self.again.as_ref().unwrap_or(&self.run)
    }

    fn operation(&self) -> &'static str {
        let [undo, redo] = OPERATIONS;
        if self.again.is_some() { redo } else { undo }
    }

    fn state(&self) -> &'static str {
        if self.again.is_some() { "redone" } else { "undone" }
    }

    /// Returns the command of the run to mention, such as `feature finish feature/login`.
    fn what(&self) -> String {
        format!("{} {}", self.about().operation, self.about().subject)
    }

    fn message(&self) -> String {
        format!("`{}` is {}", self.what(), if self.again.is_some() { "redone" } else { "undone" })
    }

    /// Returns the new states, by database key: of the run to undo and, if that run is an undo, of the run that takes
    /// effect again.
    fn becomes(&self) -> Vec<(i64, State)> {
        let again = self.again.as_ref().map(|run| (run.id, State::Done));
        std::iter::once((self.run.id, State::Undone)).chain(again).collect()
    }
}

/// Finds the run by the start of its id; without an id, the newest run that was not undone and is neither an undo nor a
/// redo.
fn chosen(context: &Context, workspace: &Workspace, run: Option<&str>) -> Result<FlowRun> {
    let found = context.store.read(|db| match (journal::known(db, &workspace.root)?, run) {
        (None, _) => Ok(None),
        (Some(key), Some(id)) => named::find(db, key, id),
        (Some(key), None) => flow_runs::newest(db, key),
    })?;
    found.ok_or_else(|| {
        let what = run.map_or("This workspace has no run to undo".to_owned(), |run| {
            format!("This workspace has no run with the id or id prefix `{}`", run.escape_debug())
        });
        Error::new(Code::NotFound, what).hint("list the runs: `mcpkg flow log`")
    })
}

/// Refuses a run that is not in effect, is a redo, was pushed, or was not started by this user on this machine.
fn refuse(context: &Context, run: &FlowRun, steps: &[StepRow]) -> Result<()> {
    let FlowRun { operation, subject, state, .. } = run;
    let [_, redo] = OPERATIONS;
    if *state != State::Done || operation == redo {
        let what = format!("`{operation} {subject}` ({})", named::shown(run.uuid));
        let error = if *state == State::Done {
            Error::new(Code::RunState, format!("{what} redid a run: undo that run instead"))
        } else {
            Error::new(Code::RunState, format!("cannot undo {what}: the run is {}", state.word()))
        };
        let error = error.with_details(json!({ "run": run.uuid.to_string(), "state": state.word() }));
        return Err(error.hint("list the runs: `mcpkg flow log`"));
    }
    let pushed = context.store.read(|db| flow_runs::pushes(db, run.id))?;
    if !pushed.is_empty() {
        let rows: Vec<_> = pushed.iter().map(|(repo, name, _)| json!({ "repo": repo, "ref": name })).collect();
        return Err(Error::new(Code::FlowPushed, format!("cannot undo `{operation} {subject}`: it was pushed"))
            .with_details(json!({ "repos": rows }))
            .hint("revert its commits with `git revert`"));
    }
    if !journal::is_of_this_machine(context, run, steps)? {
        return Err(Error::new(
            Code::Unapproved,
            format!(
                "The database records a run of `{operation} {subject}`, but this user did not start it on this machine"
            ),
        )
        .hint("if the run really happened, move the branches back by hand"));
    }
    Ok(())
}

/// Refuses to undo refs that are no longer where the run left them.
fn refuse_moved(context: &Context, workspace: &Workspace, done: &Done, plan: &Plan) -> Result<()> {
    let mut seen = HashSet::new();
    for step in &plan.land {
        let (repo, folder, name, left) = match step {
            Step::Ref { name, .. } if keep::keeps(name) => continue,
            Step::Ref { repo, folder, name, old, .. } => (repo, folder, name.clone(), old.as_deref()),
            Step::Forward { repo, folder, branch, old, .. } | Step::Back { repo, folder, branch, old, .. } => {
                (repo, folder, format!("refs/heads/{branch}"), Some(old.as_str()))
            }
            _ => continue,
        };
        if !seen.insert((repo, name.clone())) {
            continue;
        }
        let folder = whole(&workspace.root, folder);
        let is = refs::find(&Git::of(&folder, &context.cancelled), &name)?.map(|found| found.id);
        if is.as_deref() == left {
            continue;
        }
        let at = |id: Option<&str>| id.map_or("deleted".to_owned(), |id| format!("at {}", short(id)));
        let (name, is, left) = (plain(&name), at(is.as_deref()), at(left));
        let what = done.what();
        return Err(Error::new(
            Code::FlowMoved,
            format!(
                "{repo}: {name} has since been moved: it is {is} now, but was {left} after `{what}`, so that \
                run can no longer be undone"
            ),
        )
        .with_details(json!({ "repo": repo, "ref": name, "run": done.run.uuid.to_string() }))
        .hint("nothing was changed; revert the run's commits with `git revert` instead"));
    }
    Ok(())
}

/// Plans the reverse steps. Adds refs for commits that would otherwise become unreachable.
fn plan(
    context: &Context,
    workspace: &Workspace,
    undone: &Done,
    steps: Vec<StepRow>,
    lock: Option<&Lock>,
) -> Result<Plan> {
    let (uuid, run) = (context.clock.uuid(), &undone.run);
    let mut done = Vec::new();
    for row in steps {
        let step: Step = serde_json::from_value(row.step).map_err(|error| {
            Error::new(Code::Damaged, format!("The database has a damaged step for the run {}", run.uuid))
                .with_source(error)
        })?;
        if let Step::Place { .. } | Step::Unmark { .. } | Step::Write { .. } = step {
            return Err(Error::new(Code::RunState, format!("`{}` cannot be undone", run.operation))
                .hint("`mcpkg workspace remove REPO` removes a repository from the workspace"));
        }
        done.push((row.tidies, step));
    }
    if let Some(lock) = lock {
        // A cleanup step that failed was never applied, so it needs no reverse step.
        let never = CancellationToken::new();
        let carrier = Carrier { root: &workspace.root, lock: lock.file(), cancelled: &never, message: "" };
        let mut kept = Vec::new();
        for (tidies, step) in done {
            if !tidies || carry::is_done(&carrier, &step)? {
                kept.push((tidies, step));
            }
        }
        done = kept;
    }
    let (mut keeps, mut land) = (Vec::new(), Vec::new());
    for (_, step) in done.into_iter().rev() {
        match &step {
            Step::Ref { repo, folder, name, new: Some(new), .. } if !keep::keeps(name) => {
                keeps.push(rows::keep(repo, folder, uuid, name, new));
            }
            Step::Forward { repo, folder, branch, new, .. } => {
                keeps.push(rows::keep(repo, folder, uuid, &format!("refs/heads/{branch}"), new));
            }
            _ => {}
        }
        land.push(step.inverse());
    }
    keeps.extend(land);
    Ok(Plan {
        workspace: workspace.manifest.name.clone(),
        operation: undone.operation(),
        subject: undone.what(),
        uuid,
        land: keeps,
        tidy: Vec::new(),
        becomes: undone.becomes(),
    })
}
