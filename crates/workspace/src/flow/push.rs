//! `mcpkg flow push`: pushes a flow's changes to `origin`, in each repository either all of them or none.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::named;
use super::undo;
use crate::journal;
use crate::keep;
use crate::lock::Lock;
use crate::parallel;
use crate::root::Workspace;
use crate::step::{Step, plain};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::git::Git;
use mcpkg_base::git::refs;
use mcpkg_base::git::remote::{self, Update};
use mcpkg_base::plural::first;
use mcpkg_base::redact::redact;
use mcpkg_core::op::{Body, Confirmation, Context, Effect, Faces, Operation, Reply, Shape, Table};
use mcpkg_store::flow_runs::{self, FlowRun, State};

/// Push what a flow changed
#[derive(clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Push {
    /// Run id, branch, or name of a feature, release or hotfix [default: the last run]
    #[serde(default)]
    name: Option<String>,
    /// Show what would be pushed, without pushing anything
    #[arg(long)]
    #[serde(skip)]
    dry_run: bool,
}

impl Operation for Push {
    const TOOL: &'static str = "smctl_flow_push";
    const CLI: &'static [&'static str] = &["flow", "push"];
    const TITLE: &'static str = "Push a flow";
    const ABOUT: &'static str = "Push a flow's changes: in each repository, either all changes or none";
    const HELP: &'static str = "mcpkg pushes only fast-forwards, and deletes a branch at origin only if nobody has \
        moved that branch since the last fetch. `mcpkg flow undo` does not undo pushes. If origin refuses a push, \
        your local work is not lost. Run the command again to retry the push.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg flow push", "mcpkg flow push login --yes"];
    const EFFECT: Effect = Effect::Write;
    const OPEN_WORLD: bool = true;
    const LONG: bool = true;
    const SHAPE: Shape = super::super::SHAPE;
    const GROUP: &'static str = super::super::GROUP;
    const FACES: Faces = Faces::Command;
    type Output = mcpkg_core::op::NoOutput;

    fn subject(&self) -> String {
        self.name.clone().unwrap_or_default()
    }

    fn foresee(&self, context: &Context) -> Result<Vec<String>> {
        let workspace = Workspace::open(context)?;
        let run = chosen(context, &workspace, self.name.as_deref())?;
        let mut lines =
            vec![format!("{} {} in the workspace '{}'", run.operation, run.subject, workspace.manifest.name)];
        for row in of_run(context, &workspace, &run)?.iter().filter(|row| !row.updates.is_empty()) {
            let folder = workspace.folder(workspace.repo(&row.repo)?)?;
            let addresses = remote::pushed_to(&Git::of(&folder, &context.cancelled))?;
            lines.push(format!("{}, to {}:", row.repo, redact(&addresses.join(" and "))));
            lines.extend(row.updates.iter().map(|update| format!("  {}", exactly(update))));
        }
        lines.push("git runs the push hooks of these repositories with your permissions".to_owned());
        Ok(lines)
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let workspace = Workspace::open(context)?;
        let run = chosen(context, &workspace, self.name.as_deref())?;
        let rows = of_run(context, &workspace, &run)?;
        if self.dry_run {
            return Ok(shown(&run, &rows, true));
        }
        // An agent only gets here with approval: the person has already approved the list from `foresee`.
        if context.is_shell() {
            let what = format!("{} {}", run.operation, run.subject);
            let pushed = rows.iter().filter(|row| !row.updates.is_empty());
            let to = pushed.map(|row| {
                let folder = workspace.folder(workspace.repo(&row.repo)?)?;
                let addresses = remote::pushed_to(&Git::of(&folder, &context.cancelled))?;
                Ok(redact(&addresses.join(" and ")))
            });
            let to = to.collect::<Result<Vec<_>>>()?;
            confirm(context, &what, &to, Body::Table(table(&rows)))?;
        }
        let _lock = Lock::take(context, &workspace.root, "flow push")?;
        carry_out(context, &workspace, &run, &rows)
    }
}

/// The pending push of a repository, and its result.
struct Row {
    repo: String,
    updates: Vec<Update>,
    state: &'static str,
    message: String,
    failed: bool,
}

/// Maximum number of addresses that the question lists. For the rest, it only gives their number.
const NAMED: usize = 3;

/// Asks a person at the terminal whether to push. Without a terminal, `--yes` is required.
fn confirm(context: &Context, what: &str, to: &[String], shown: Body) -> Result<()> {
    if context.confirmation == Confirmation::Given {
        return Ok(());
    }
    let to = if to.is_empty() { String::new() } else { format!(" to {}", first(to, NAMED)) };
    (context.ask)(shown, &format!("Push `{what}`{to}?"))
}

/// Asks before a flow starts whether its results may be pushed.
pub fn confirm_before(context: &Context, workspace: &Workspace, what: &str) -> Result<()> {
    let repos = &workspace.manifest.repos;
    let rows = repos.iter().map(|repo| vec![repo.name.clone(), redact(&repo.url)]).collect();
    let table = Table { columns: &["REPO", "PUSHED TO"], rows, empty: String::new() };
    let to: Vec<String> = repos.iter().map(|repo| redact(&repo.url)).collect();
    confirm(context, what, &to, Body::Table(table))
}

/// Pushes the result of a run that has just finished, and adds the outcome to the reply.
pub fn after(context: &Context, workspace: &Workspace, run: Uuid, mut reply: Reply) -> Result<Reply> {
    let Some(run) = context.store.read(|db| flow_runs::get(db, run))? else {
        return Err(Error::internal(format!("the flow run {run} is not in the database")));
    };
    let rows = of_run(context, workspace, &run)?;
    let pushed = carry_out(context, workspace, &run, &rows)?;
    reply.data["push"] = pushed.data["repos"].clone();
    reply.body = Body::Several(vec![reply.body, pushed.body]);
    Ok(reply)
}

/// Returns the pushes for the refs that a run moved, by repository.
fn of_run(context: &Context, workspace: &Workspace, run: &FlowRun) -> Result<Vec<Row>> {
    let steps = context.store.read(|db| flow_runs::steps(db, run.id))?;
    let steps: Vec<Step> =
        steps.into_iter().map(|row| serde_json::from_value(row.step)).collect::<std::result::Result<_, _>>().map_err(
            |error| {
                Error::new(Code::Damaged, format!("The database has a damaged step for the run {}", run.uuid))
                    .with_source(error)
            },
        )?;
    let repos = workspace.chosen(&[])?;
    let rows = parallel::all(&repos, |repo| {
        let folder = workspace.folder(repo)?;
        let git = Git::of(&folder, &context.cancelled);
        let mut updates = Vec::new();
        for step in steps.iter().filter(|step| step.repo() == repo.name) {
            let (name, new) = match step {
                Step::Ref { name, new, .. } if !keep::keeps(name) => (name.clone(), new.clone()),
                Step::Forward { branch, new, .. } => (format!("refs/heads/{branch}"), Some(new.clone())),
                _ => continue,
            };
            let seen = name.replacen("refs/heads/", "refs/remotes/origin/", 1);
            let seen = refs::find(&git, &seen)?.map(|found| found.id).filter(|_| name.starts_with("refs/heads/"));
            match new {
                Some(id) => updates.extend(forward(&git, name, id, seen.as_deref())?),
                // If origin never had the branch, there is nothing to delete.
                None => updates.extend(seen.map(|old| Update::Delete { name, old })),
            }
        }
        let state = if updates.is_empty() { "unchanged" } else { "to push" };
        let message = updates.iter().map(words).collect::<Vec<_>>().join(", ");
        Ok(Row { repo: repo.name.clone(), updates, state, message, failed: false })
    })?;
    Ok(rows)
}

/// Returns the push for a ref that a run moved to `id`, unless origin already contained that commit at the last fetch.
///
/// If origin has moved and you have merged its commits into the local branch since, the branch is pushed at its current
/// commit.
fn forward(git: &Git<'_>, name: String, id: String, seen: Option<&str>) -> Result<Option<Update>> {
    let Some(seen) = seen else { return Ok(Some(Update::Set { name, id })) };
    if refs::contains(git, seen, &id)? {
        return Ok(None);
    }
    if !refs::contains(git, &id, seen)?
        && let Some(now) = refs::find(git, &name)?
        && refs::contains(git, &now.id, &id)?
        && refs::contains(git, &now.id, seen)?
    {
        return Ok(Some(Update::Set { name, id: now.id }));
    }
    Ok(Some(Update::Set { name, id }))
}

/// Pushes, and records which refs of the run are now at `origin`.
///
/// # Errors
/// `E_REMOTE_FAILED` if a push was refused or a remote could not be reached. Pushes to the other repositories still happen;
/// running the command again retries those that failed.
fn carry_out(context: &Context, workspace: &Workspace, run: &FlowRun, plan: &[Row]) -> Result<Reply> {
    let rows = parallel::each(plan, |_, row| Ok(one(context, workspace, row)));
    let rows: Vec<Row> = rows.into_iter().collect::<Result<_>>()?;
    context.store.write(|db| {
        for row in rows.iter().filter(|row| !row.failed) {
            for update in &row.updates {
                let (name, id) = match update {
                    Update::Set { name, id } => (name, Some(id.as_str())),
                    Update::Delete { name, .. } => (name, None),
                };
                flow_runs::note_push(db, run.id, &row.repo, name, id, context.clock.now())?;
            }
        }
        context.event(db, context.author(), None, "flow.push", &run.subject)
    })?;
    let failed: Vec<&Row> = rows.iter().filter(|row| row.failed).collect();
    let Some(first) = failed.first() else { return Ok(shown(run, &rows, false)) };
    let lines: Vec<String> = failed.iter().map(|row| format!("{}: {}", row.repo, row.message)).collect();
    Err(Error::new(Code::RemoteFailed, format!("Not pushed everywhere: {}", lines.join("; ")))
        .with_details(json!({ "repo": first.repo, "remote": remote::ORIGIN, "repos": values(&rows), "run": run.uuid.to_string() }))
        .hint(format!("your local work is unchanged; run `mcpkg workspace sync`, merge the fetched commits in that \
            repository (`git merge origin/BRANCH`), then run `mcpkg flow push {}`", run.uuid)))
}

fn one(context: &Context, workspace: &Workspace, row: &Row) -> Row {
    let done = |state, message: String, failed| Row {
        repo: row.repo.clone(),
        updates: row.updates.clone(),
        state,
        message,
        failed,
    };
    if row.updates.is_empty() {
        return done("unchanged", String::new(), false);
    }
    let pushed = workspace.repo(&row.repo).and_then(|repo| workspace.folder(repo)).and_then(|folder| {
        let git = Git::of(&folder, &context.cancelled);
        remote::push(&git, &row.updates)
    });
    match pushed {
        Ok(pushed) => {
            let refused: Vec<String> = pushed
                .iter()
                .filter(|pushed| pushed.is_refused)
                .map(|pushed| format!("{} {}", pushed.name, pushed.said))
                .collect();
            if !refused.is_empty() {
                done("refused", refused.join(", "), true)
            } else if pushed.iter().all(|pushed| pushed.is_there) {
                done("unchanged", String::new(), false)
            } else {
                done("pushed", row.message.clone(), false)
            }
        }
        Err(error) => done("failed", error.message().to_owned(), true),
    }
}

/// Finds the run by its branch, by the branch's name without prefix, or by the start of its id; without a name, the newest
/// run that was not undone and is neither an undo nor a redo.
fn chosen(context: &Context, workspace: &Workspace, name: Option<&str>) -> Result<FlowRun> {
    let flow = &workspace.manifest.flow;
    let found = context.store.read(|db| {
        let Some(key) = journal::known(db, &workspace.root)? else { return Ok(None) };
        let Some(name) = name else { return flow_runs::newest(db, key) };
        let mut newest: Option<FlowRun> = None;
        for kind in super::kind::Kind::ALL {
            for operation in ["finish", "start"].map(|what| format!("{} {what}", kind.word())) {
                for subject in [name.to_owned(), format!("{}{name}", kind.prefix(flow))] {
                    let run = flow_runs::newest_of(db, key, &operation, &subject)?;
                    newest = newest.into_iter().chain(run).max_by_key(|run| run.id);
                }
            }
        }
        if newest.is_some() { Ok(newest) } else { named::find(db, key, name) }
    })?;
    let pushable = |run: &FlowRun| {
        run.state == State::Done
            && !run.operation.starts_with("work")
            && !undo::OPERATIONS.contains(&run.operation.as_str())
    };
    found.filter(pushable).ok_or_else(|| {
        let what = name.map_or("The last run changed nothing that can be pushed".to_owned(), |name| {
            format!("No flow run matches `{}`, or the run was undone", name.escape_debug())
        });
        Error::new(Code::NotFound, what).hint("list the runs: `mcpkg flow log`")
    })
}

fn words(update: &Update) -> String {
    match update {
        Update::Set { name, id } => format!("{} to {}", plain(name), super::rows::at(id)),
        Update::Delete { name, .. } => format!("delete {}", plain(name)),
    }
}

/// Like [`words`], but with full commit ids, because the person approves exactly these commits.
fn exactly(update: &Update) -> String {
    match update {
        Update::Set { name, id } => format!("{} to {id}", plain(name)),
        Update::Delete { name, old } => format!("delete {} at {old}", plain(name)),
    }
}

fn values(rows: &[Row]) -> Vec<Value> {
    rows.iter()
        .map(|row| {
            let (success, message) = (!row.failed, &row.message);
            json!({ "repo_name": row.repo, "success": success, "state": row.state, "message": message })
        })
        .collect()
}

fn shown(run: &FlowRun, rows: &[Row], dry_run: bool) -> Reply {
    let mut data =
        json!({ "operation": "push", "branch_name": run.subject, "run": run.uuid.to_string(), "repos": values(rows) });
    if dry_run {
        data["dry_run"] = true.into();
    }
    Reply::new(Body::Table(table(rows)), data)
}

fn table(rows: &[Row]) -> Table {
    let cells = rows.iter().map(|row| vec![row.repo.clone(), row.state.to_owned(), row.message.clone()]).collect();
    Table { columns: &["REPO", "STATE", "WHAT"], rows: cells, empty: "nothing to push".to_owned() }
}
