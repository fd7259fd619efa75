//! Applies a change to a workspace completely or not at all.
//!
//! The change is recorded before its first step. If a step fails or the process is killed, mcpkg undoes the change. A
//! change has landed when all of its main steps are done; mcpkg completes such a change instead of undoing it.
//!
//! There are three records. The database stores the run for `flow log` and `flow undo`. The file `.smctl/applying` is
//! in the workspace during the run, so that a process with another database does not start work meanwhile. A record
//! outside both ([`mcpkg_base::approved`]) proves that this machine started the run. So mcpkg does not move anything
//! just because a database or folder from somebody else says so.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::carry::{self, Carrier, Leftover};
use super::exclude::exclude;
use super::lock::Lock;
use super::names::OWN;
use super::root::{around, start};
use super::step::Step;
use super::submodules;
use mcpkg_base::approved::Kind;
use mcpkg_base::disk;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::file;
use mcpkg_base::machine;
use mcpkg_base::sha256;
use mcpkg_core::op::Context;
use mcpkg_store::Db;
use mcpkg_store::flow_runs::{self, FlowRun, New, State, StepRow};
use mcpkg_store::workspaces;

/// The steps of a change, and how to record it.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The workspace's name.
    pub workspace: String,
    /// The operation, such as `feature finish`.
    pub operation: &'static str,
    /// The target of the operation, such as a branch.
    pub subject: String,
    /// The run's id. It is part of the names of refs that keep old commits.
    pub uuid: Uuid,
    /// The steps that are undone if one of them fails.
    pub land: Vec<Step>,
    /// The cleanup steps that follow. If one fails, the change stays, and the failure becomes a warning.
    pub tidy: Vec<Step>,
    /// The new states of earlier runs once this one has landed, by database key.
    pub becomes: Vec<(i64, State)>,
}

/// The contents of the file that marks a run in progress.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Applying {
    run: String,
    database: String,
    operation: String,
    subject: String,
    land: Vec<Step>,
    tidy: Vec<Step>,
}

/// Applies a plan; returns one warning per cleanup step that failed.
///
/// # Errors
/// The error of the failed step, if all steps could be undone. Otherwise `E_FLOW_UNDONE`; `details.kept` lists what
/// could not be undone. `E_WORKSPACE_BUSY` if an earlier run is unfinished. `E_CANCELLED` if the call is cancelled before the
/// first step.
pub fn carry_out(context: &Context, root: &Path, lock: &Lock, plan: &Plan) -> Result<Vec<String>> {
    refuse_unfinished(context, root)?;
    context.unless_cancelled()?;
    let applying = Applying {
        run: plan.uuid.to_string(),
        database: context.database().display().to_string(),
        operation: plan.operation.to_owned(),
        subject: plan.subject.clone(),
        land: plan.land.clone(),
        tidy: plan.tidy.clone(),
    };
    let sha256 = begin(context, root, &applying)?;
    let journalled = context.store.write(|db| {
        let workspace = key(context, db, root, &plan.workspace)?;
        let (uuid, now, actor) = (plan.uuid, context.clock.now(), context.caller.actor());
        let (operation, subject) = (plan.operation, plan.subject.as_str());
        flow_runs::begin(db, &New { uuid, workspace, operation, subject, actor, now }, &rows(plan))
    });
    let id = match journalled {
        Ok(id) => id,
        Err(error) => {
            // Nothing has changed yet, so only remove the records.
            end(root)?;
            context.approved.withdraw(Kind::Flow, &sha256)?;
            return Err(error);
        }
    };
    let message = format!("mcpkg: {} {}", plan.operation, plan.subject);
    let never = CancellationToken::new();
    let carrier = Carrier { root, lock: lock.file(), cancelled: &never, message: &message };
    let mut done = 0;
    let landed = carry::apply(&carrier, &plan.land, &mut done).and_then(|()| landed(context, id, &plan.becomes));
    if let Err(error) = landed {
        return Err(undo(context, &carrier, id, plan.land.split_at(done), error)?);
    }
    let mut warnings = tidy(&carrier, &plan.tidy);
    warnings.extend(submodules::warnings(root, &plan.land, &never));
    warnings.extend(exclude(root).err().map(|error| error.message().to_owned()));
    finished(context, id, &event(plan), &plan.subject)?;
    end(root)?;
    Ok(warnings)
}

/// Cleans up after a killed process in the workspace around the start folder: undoes a run that had not landed, and completes a
/// run that had. Leaves runs of another database or another machine alone. In that case, commands that write refuse to start.
pub fn recover(context: &Context) {
    let Some(root) = around(&start(&context.selection), |root| root.join(APPLYING).is_file()) else { return };
    match put_right(context, &root, None) {
        Ok(None) => {}
        Ok(Some(what)) => tracing::warn!(root = %root.display(), "{what}"),
        Err(error) => tracing::warn!(root = %root.display(), %error, "a change to the workspace is still incomplete"),
    }
}

/// Completes an unfinished run, or undoes its steps. Returns a sentence that says what happened, and what could not be
/// undone. Returns `None` if there is no unfinished run, if the run had already ended, or if another process holds the
/// lock. `by_file` is the hash of the steps that a person approved: then this works even if the run's database is gone or
/// does not know the run.
///
/// # Errors
/// `E_WORKSPACE_BUSY` if the run belongs to another database or was not started on this machine, unless `by_file` is
/// set; `E_PLAN_CHANGED` if the steps are not those of `by_file`.
pub fn put_right(context: &Context, root: &Path, by_file: Option<&str>) -> Result<Option<String>> {
    let Some(lock) = Lock::try_take(root)? else { return Ok(None) };
    let Some((applying, sha256)) = read(root)? else {
        // We hold the lock, so the process that made these files has ended.
        clear(root);
        return Ok(None);
    };
    let run = context.store.read(|db| find(db, &applying))?;
    let is_ours = context.database().display().to_string() == applying.database;
    if by_file.is_some_and(|shown| shown != sha256) {
        let what = format!("The steps in `{APPLYING}` have changed since they were shown; nothing was changed");
        return Err(Error::new(Code::PlanChanged, what).hint("look at them again: `mcpkg workspace recover`"));
    }
    if by_file.is_none() && (!is_ours || context.approved.get(Kind::Flow, &sha256)?.is_none()) {
        return Err(unfinished(&applying));
    }
    let never = CancellationToken::new();
    let message = format!("mcpkg: recover {} {}", applying.operation, applying.subject);
    let carrier = Carrier { root, lock: lock.file(), cancelled: &never, message: &message };
    let what = format!("`{} {}`", applying.operation, applying.subject);
    let done = match run.as_ref().map(|run| (run.id, run.state)) {
        // The process was killed before the database recorded the run, so nothing had changed.
        None if is_ours && by_file.is_none() => {
            end(root)?;
            context.approved.withdraw(Kind::Flow, &sha256)?;
            Ok(Some(format!("{what} had not started, and was discarded")))
        }
        Some((id, State::Landed)) => {
            let warnings = tidy(&carrier, &applying.tidy);
            set(context, id, State::Done)?;
            end(root)?;
            let more = warnings.iter().map(|warning| format!("; {warning}")).collect::<String>();
            Ok(Some(format!("{what} was interrupted; mcpkg has now completed it{more}")))
        }
        Some((_, state)) if state.is_over() => {
            end(root)?;
            Ok(None)
        }
        other => {
            // If this database does not know the run, it is unknown whether the run had landed. Assume that it had not, and undo
            // the cleanup steps as well.
            let after: &[Step] = if other.is_none() { &applying.tidy } else { &[] };
            let mut kept = carry::revert(&carrier, after)?;
            kept.extend(carry::put_files_back(&carrier, &applying.land)?);
            kept.extend(carry::revert(&carrier, &applying.land)?);
            if let Some((id, _)) = other {
                set(context, id, if kept.is_empty() { State::Undone } else { State::Kept })?;
            }
            end(root)?;
            context.approved.withdraw(Kind::Flow, &sha256)?;
            let more = kept.iter().map(|kept| format!("; {}: {}", kept.repo, kept.what)).collect::<String>();
            Ok(Some(format!("{what} was interrupted; mcpkg has now undone it{more}")))
        }
    };
    clear(root);
    done
}

/// Removes the temporary files of killed runs. Files that cannot be removed do no harm.
fn clear(root: &Path) {
    if let Some(warning) = carry::clear(&root.join(carry::TEMPORARY)) {
        tracing::warn!("{warning}");
    }
}

/// Returns whether this machine applied the steps of a run.
pub fn is_of_this_machine(context: &Context, run: &FlowRun, steps: &[StepRow]) -> Result<bool> {
    let sha256 = sha256(&run.uuid.to_string(), &run.operation, &run.subject, steps.iter().map(|row| row.step.clone()));
    Ok(context.approved.get(Kind::Flow, &sha256)?.is_some())
}

/// Returns whether this machine started the unfinished run in a workspace.
///
/// # Errors
/// `E_WORKSPACE_BUSY` if the file about the run is damaged.
pub fn is_recorded(context: &Context, root: &Path) -> Result<bool> {
    match read(root)? {
        Some((_, sha256)) => Ok(context.approved.get(Kind::Flow, &sha256)?.is_some()),
        None => Ok(false),
    }
}

/// Returns all steps of the unfinished run in a workspace, including its cleanup steps, and their hash.
pub fn steps(root: &Path) -> Result<Option<(Vec<Step>, String)>> {
    Ok(read(root)?.map(|(applying, sha256)| ([applying.land, applying.tidy].concat(), sha256)))
}

/// Returns the state of the unfinished run in a workspace. `None` if this database does not know the run.
pub fn state(context: &Context, root: &Path) -> Result<Option<State>> {
    let Some((applying, _)) = read(root)? else { return Ok(None) };
    Ok(context.store.read(|db| find(db, &applying))?.map(|run| run.state))
}

/// Returns the workspace's database key; adds the workspace if it is unknown.
pub fn key(context: &Context, db: &Db<'_>, root: &Path, name: &str) -> Result<i64> {
    let machine = machine::id(None);
    let root = disk::posix(root);
    let (uuid, now) = (context.clock.uuid(), context.clock.now());
    workspaces::add(db, &workspaces::New { uuid, machine: &machine, root: &root, name, now })
}

/// Returns the workspace's database key, if the workspace is known.
pub fn known(db: &Db<'_>, root: &Path) -> Result<Option<i64>> {
    workspaces::find(db, &machine::id(None), &disk::posix(root))
}

/// The file that marks a run in progress, relative to the root.
pub const APPLYING: &str = ".smctl/applying";

/// Refuses to write while there is an unfinished run that could not be cleaned up.
fn refuse_unfinished(context: &Context, root: &Path) -> Result<()> {
    let Some((applying, sha256)) = read(root)? else { return Ok(()) };
    // We hold the lock, so the process of that run has ended.
    let over = context.store.read(|db| find(db, &applying))?.is_some_and(|run| run.state.is_over());
    if over && context.approved.get(Kind::Flow, &sha256)?.is_some() {
        return end(root);
    }
    Err(unfinished(&applying))
}

fn unfinished(applying: &Applying) -> Error {
    let Applying { run, database, operation, subject, .. } = applying;
    let command = format!("mcpkg --db {} workspace recover", mcpkg_base::shell::quote(database));
    Error::new(
        Code::WorkspaceBusy,
        format!(
            "`{operation} {subject}` was interrupted in this workspace, and has not been repaired yet; nothing was \
            changed"
        ),
    )
    .with_details(json!({ "run": run, "database": database, "command": command }))
    .hint(format!("repair it: `{command}`"))
}

fn find(db: &Db<'_>, applying: &Applying) -> Result<Option<FlowRun>> {
    Uuid::parse_str(&applying.run).map_or(Ok(None), |uuid| flow_runs::get(db, uuid))
}

fn begin(context: &Context, root: &Path, applying: &Applying) -> Result<String> {
    let steps = applying.land.iter().chain(&applying.tidy).map(|step| json!(step));
    let sha256 = sha256(&applying.run, &applying.operation, &applying.subject, steps);
    let note = json!({ "run": applying.run, "root": root, "database": applying.database });
    context.approved.put(Kind::Flow, &sha256, &note)?;
    let (path, temporary) = (root.join(APPLYING), root.join(OWN).join(format!(".applying-{}", applying.run)));
    disk::write_beside(&path, &temporary, json!(applying).to_string().as_bytes(), 0o600)?;
    disk::put_in_place(&path, &temporary, false)?;
    disk::sync_folder(&root.join(OWN));
    Ok(sha256)
}

fn end(root: &Path) -> Result<()> {
    disk::remove(&root.join(APPLYING))
}

fn read(root: &Path) -> Result<Option<(Applying, String)>> {
    let path = root.join(APPLYING);
    let text = match file::read_text(&path, file::TEXT) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(disk::failed("read", &path, error)),
    };
    let applying: Applying = serde_json::from_str(&text).map_err(|error| {
        Error::new(Code::WorkspaceBusy, format!("`{}` is damaged: {error}", path.display()))
            .hint("check the repositories; if they are intact, delete the file")
    })?;
    let steps = applying.land.iter().chain(&applying.tidy).map(|step| json!(step));
    let sha256 = sha256(&applying.run, &applying.operation, &applying.subject, steps);
    Ok(Some((applying, sha256)))
}

fn sha256(run: &str, operation: &str, subject: &str, steps: impl Iterator<Item = Value>) -> String {
    let steps: Vec<Value> = steps.collect();
    sha256::hex(json!([run, operation, subject, steps]).to_string().as_bytes())
}

fn rows(plan: &Plan) -> Vec<StepRow> {
    let row = |tidies| move |step: &Step| StepRow { repo: step.repo().to_owned(), tidies, step: json!(step) };
    plan.land.iter().map(row(false)).chain(plan.tidy.iter().map(row(true))).collect()
}

fn set(context: &Context, id: i64, state: State) -> Result<()> {
    context.store.write(|db| flow_runs::set_state(db, id, state, context.clock.now()))
}

/// Returns the event kind of a plan: `flow.feature.finish`.
fn event(plan: &Plan) -> String {
    let of =
        if plan.operation.starts_with("workspace") || plan.operation.starts_with("worktree") { "" } else { "flow." };
    format!("{of}{}", plan.operation.replace(' ', "."))
}

/// Records in one transaction that a run has landed, and the new states of earlier runs.
fn landed(context: &Context, id: i64, becomes: &[(i64, State)]) -> Result<()> {
    let now = context.clock.now();
    context.store.write(|db| {
        flow_runs::set_state(db, id, State::Landed, now)?;
        becomes.iter().try_for_each(|(earlier, state)| flow_runs::set_state(db, *earlier, *state, now))
    })
}

fn finished(context: &Context, id: i64, kind: &str, subject: &str) -> Result<()> {
    context.store.write(|db| {
        flow_runs::set_state(db, id, State::Done, context.clock.now())?;
        context.event(db, context.author(), None, kind, subject)
    })
}

/// Applies the cleanup steps of a run that has landed; returns one warning per failed step.
fn tidy(carrier: &Carrier<'_>, steps: &[Step]) -> Vec<String> {
    let (mut warnings, mut stopped) = (Vec::new(), Vec::new());
    for step in steps {
        // If one step of a repository fails, skip its later ones: a work tree may still be on the branch to delete.
        if stopped.contains(&step.repo()) {
            warnings.push(format!("not done: {}", step.shown()));
            continue;
        }
        let applied = carry::apply(carrier, std::slice::from_ref(step), &mut 0);
        // When an interrupted run is completed, the step may already be in place.
        if let Err(error) = applied
            && !carry::is_done(carrier, step).unwrap_or(false)
        {
            warnings.push(format!("not done: {}: {}", step.shown(), error.message()));
            stopped.push(step.repo());
            if may_have_begun(&error) {
                let stays = carry::put_files_back(carrier, std::slice::from_ref(step)).unwrap_or_default();
                warnings.extend(stays.into_iter().map(|kept| format!("{}: {}", kept.repo, kept.what)));
            }
        }
    }
    warnings
}

/// Undoes a run after `error`; returns the error to report.
fn undo(
    context: &Context,
    carrier: &Carrier<'_>,
    id: i64,
    (done, failed): (&[Step], &[Step]),
    error: Error,
) -> Result<Error> {
    // Some of the steps that failed together may have been applied. Reverting skips those that were not.
    carry::revert(carrier, failed)?;
    let mut kept = match failed.first() {
        Some(step) if may_have_begun(&error) => carry::put_files_back(carrier, std::slice::from_ref(step))?,
        _ => Vec::new(),
    };
    kept.extend(carry::revert(carrier, done)?);
    set(context, id, if kept.is_empty() { State::Undone } else { State::Kept })?;
    end(carrier.root)?;
    Ok(with_leftovers(error, &kept))
}

/// Returns whether a failed checkout may have written files. If git refused it because it would overwrite files,
/// nothing was written.
fn may_have_begun(error: &Error) -> bool {
    const REFUSED: [&str; 4] =
        ["would be overwritten", "would be removed", "would lose untracked files", "not uptodate"];
    let said = error.details().and_then(|details| details["stderr"].as_str()).unwrap_or_default();
    error.code() == Code::GitFailed && !REFUSED.iter().any(|words| said.contains(words))
}

fn with_leftovers(error: Error, kept: &[Leftover]) -> Error {
    if kept.is_empty() {
        return error.hint("all repositories are unchanged");
    }
    let rows: Vec<Value> = kept.iter().map(|kept| json!({ "repo": kept.repo, "what": kept.what })).collect();
    let lines = kept.iter().map(|kept| format!("{}: {}", kept.repo, kept.what));
    let undone = Error::new(Code::FlowUndone, format!("{}; only some of the changes could be undone", error.message()));
    lines.fold(undone.with_details(json!({ "kept": rows })), Error::hint).with_source(error)
}

/// Returns the temporary folder of a run.
pub fn temporary(root: &Path, run: Uuid) -> PathBuf {
    root.join(carry::TEMPORARY).join(run.simple().to_string())
}
