//! Runs long calls as tasks (an extension of 2026-07-28): a call is answered at once, and its outcome is stored.
//!
//! Only the requester can poll, follow or cancel a task. The server that runs a task keeps its state ([`RunningTask`])
//! and a lock. The outcome is stored in the database, so that it survives a reconnect and a restart. If a row says
//! "working" but the lock is free, the server has died.

mod change;
mod followed;
mod outcome;
mod running;

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use rmcp::ErrorData;
use rmcp::model::{DetailedTask, InputResponses};
use serde_json::json;
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::asker::Asker;
use super::error::error_data;
use change::Change;
use mcpkg_base::clock::{Clock, Millis};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_store::tasks::{self, End, Status, Task};
use mcpkg_store::{Holding, Store, TaskRunner};
use outcome::{CancelledBy, Ended, SERVER_ENDED, UNSEEN};

pub(super) use followed::{Followed, TaskIds, notification};
pub(super) use outcome::Answered;
pub use running::RunningTask;

/// The tasks of one server.
pub(super) struct Tasks {
    store: Store,
    clock: Clock,
    /// Locked while this server registers as a runner of tasks, which may take as long as connecting to the database.
    starting: Mutex<()>,
    state: Mutex<State>,
    /// Notified when a task has ended.
    ended: Condvar,
    changes: broadcast::Sender<Change>,
}

#[derive(Default)]
struct State {
    /// Registered with the first task.
    runner: Option<TaskRunner>,
    running: HashMap<Uuid, Arc<RunningTask>>,
    /// Outcomes that are not, or not completely, in the database, because they contain a confirm token or could not be
    /// written.
    kept: HashMap<Uuid, Unstored>,
    /// Set when the server ends, so that no further task begins.
    closing: bool,
}

struct Unstored {
    asker: Asker,
    task: DetailedTask,
    expires_at: Millis,
}

impl Tasks {
    pub(super) fn new(store: Store) -> Self {
        Self {
            store,
            clock: Clock::system(),
            starting: Mutex::default(),
            state: Mutex::default(),
            ended: Condvar::new(),
            changes: change::channel(),
        }
    }

    /// Creates a task. Cancelling the task cancels `cancelled`. Returns `None` if the server is ending, or if the
    /// requester has reached its limit.
    pub(super) fn begin(
        &self,
        asker: &Asker,
        tool: &str,
        cancelled: &CancellationToken,
    ) -> Result<Option<Arc<RunningTask>>> {
        let Some(runner) = self.runner()? else { return Ok(None) };
        let now = self.clock.now();
        let row = Task {
            id: self.clock.uuid(),
            asker: asker.as_str().to_owned(),
            tool: tool.to_owned(),
            runner,
            status: Status::Working,
            message: None,
            outcome: None,
            created_at: now,
            updated_at: now,
            expires_at: self.kept_until(now),
        };
        let inserted = self.store.write(|db| {
            for dead in tasks::working(db)?.into_iter().filter(|task| self.runs(task, runner) == Holding::Free) {
                self.end_row(db, dead.id, &Ended::failed(SERVER_ENDED))?;
            }
            tasks::insert(db, &row)
        })?;
        if !inserted {
            return Ok(None);
        }
        let task = Arc::new(RunningTask::new(row, asker.clone(), cancelled.clone(), self.changes.clone()));
        let mut state = self.state();
        state.kept.retain(|_, kept| kept.expires_at >= now);
        state.running.insert(task.id(), Arc::clone(&task));
        if state.closing {
            task.cancel(CancelledBy::Server);
        }
        Ok(Some(task))
    }

    /// Stores the outcome of a task, and notifies the streams of its requester.
    pub(super) fn finish(&self, task: &RunningTask, answered: Answered) {
        let ended = Ended::of(answered, task.cancelled_by());
        let is_closing = self.state().closing;
        let stored = match is_closing {
            true => self.store.write(|db| self.end_row(db, task.id(), &ended)),
            false => self.store.write_patiently(|db| self.end_row(db, task.id(), &ended)),
        };
        let now = self.clock.now();
        let expires_at = self.kept_until(now);
        let told = task.ended(&ended, now, expires_at);
        let mut state = self.state();
        match stored {
            Ok(true) if ended.is_whole() => {}
            Ok(false) => tracing::info!(task = %task.id(), "a task's row was deleted or marked as ended before the \
                task ended"),
            Ok(true) | Err(_) => {
                let kept = Unstored { asker: task.asker().clone(), task: told.clone(), expires_at };
                state.kept.insert(task.id(), kept);
            }
        }
        if let Err(error) = stored {
            tracing::warn!(task = %task.id(), %error, "cannot store a task's outcome");
        }
        state.running.remove(&task.id());
        drop(state);
        self.ended.notify_all();
        let _ = self.changes.send(Change { asker: task.asker().clone(), task: Arc::new(told) });
    }

    /// Returns a task of `asker`.
    ///
    /// # Errors
    /// -32602 if `asker` has no such task.
    pub(super) fn get(&self, asker: &Asker, id: &str) -> Result<DetailedTask, ErrorData> {
        let id = known(id)?;
        {
            let state = self.state();
            if let Some(task) = state.running.get(&id).filter(|task| task.asker() == asker) {
                return Ok(task.detailed());
            }
            if let Some(kept) = state.kept.get(&id).filter(|kept| &kept.asker == asker) {
                return Ok(kept.task.clone());
            }
        }
        self.row(asker, id).map(|row| outcome::detailed(&row))
    }

    /// Cancels a task of `asker`. A task that has ended does not change.
    ///
    /// # Errors
    /// -32602 if `asker` has no such task; `E_INVALID_ARGUMENT` if another server runs it.
    pub(super) fn cancel(&self, asker: &Asker, id: &str) -> Result<(), ErrorData> {
        if let Some(task) = self.running(asker, known(id)?)? {
            task.cancel(CancelledBy::Asker);
        }
        Ok(())
    }

    /// Passes the client's answers to a task of `asker`. Answers that the task did not ask for are ignored.
    pub(super) fn update(&self, asker: &Asker, id: &str, responses: InputResponses) -> Result<(), ErrorData> {
        if let Some(task) = self.running(asker, known(id)?)? {
            task.answer(responses);
        }
        Ok(())
    }

    /// Ends the running tasks: waits until `give_up`, then cancels them and waits until `deadline`. A task that has not
    /// ended by then is recorded as failed, or as cancelled if its requester cancelled it.
    pub(super) fn end(&self, give_up: Instant, deadline: Instant) {
        self.state().closing = true;
        self.wait_until_idle(give_up);
        self.give_up();
        self.wait_until_idle(deadline);
        let left: Vec<_> = self.state().running.values().cloned().collect();
        for task in left {
            self.finish(&task, Answered::Nothing);
        }
        // Releasing the runner's lock queries the database, so the state must not be locked meanwhile.
        let runner = self.state().runner.take();
        drop(runner);
    }

    /// Cancels the running tasks, because the server is ending.
    pub(super) fn give_up(&self) {
        let mut state = self.state();
        state.closing = true;
        state.running.values().for_each(|task| task.cancel(CancelledBy::Server));
    }

    fn wait_until_idle(&self, deadline: Instant) {
        let mut state = self.state();
        while !state.running.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.ended.wait_timeout(state, left);
            state = waited.map(|(state, _)| state).unwrap_or_else(|poisoned| poisoned.into_inner().0);
        }
    }

    /// Returns the task if this server runs it, or `None` if it has ended.
    fn running(&self, asker: &Asker, id: Uuid) -> Result<Option<Arc<RunningTask>>, ErrorData> {
        {
            let state = self.state();
            if let Some(task) = state.running.get(&id).filter(|task| task.asker() == asker) {
                return Ok(Some(Arc::clone(task)));
            }
            if state.kept.get(&id).is_some_and(|kept| &kept.asker == asker) {
                return Ok(None);
            }
        }
        if self.row(asker, id)?.status == Status::Working {
            let why = format!(
                "Task '{id}' is running on another server that uses the same database; send the request \
                to that server"
            );
            return Err(error_data(&Error::new(Code::InvalidArgument, why)));
        }
        Ok(None)
    }

    /// Returns the row of a task. If the server that ran it has died, the row is that of a failed task.
    fn row(&self, asker: &Asker, id: Uuid) -> Result<Task, ErrorData> {
        let look = || self.store.read(|db| tasks::get(db, asker.as_str(), id, self.clock.now()));
        let found = look().map_err(|error| error_data(&error))?;
        let mut row = found.ok_or_else(|| unknown(&id.to_string()))?;
        let own = self.state().runner.as_ref().map(TaskRunner::id);
        if row.status != Status::Working {
            return Ok(row);
        }
        match self.runs(&row, own.unwrap_or_default()) {
            Holding::Held => {}
            Holding::Unknown => row.message = Some(UNSEEN.to_owned()),
            Holding::Free => {
                let ended = Ended::failed(SERVER_ENDED);
                match self.store.write(|db| self.end_row(db, id, &ended)) {
                    // The task ended between the two reads.
                    Ok(false) => {
                        return look().map_err(|error| error_data(&error))?.ok_or_else(|| unknown(&id.to_string()));
                    }
                    Ok(true) => {}
                    Err(error) => tracing::info!(%error, "cannot store the failure of a task"),
                }
                row.status = ended.status;
                row.message.clone_from(&ended.message);
                row.outcome.clone_from(&ended.outcome);
            }
        }
        Ok(row)
    }

    /// Returns whether the server that runs a task is still running, as far as that is known.
    fn runs(&self, task: &Task, own: Uuid) -> Holding {
        if task.runner == own { Holding::Held } else { self.store.runs_tasks(task.runner) }
    }

    fn end_row(&self, db: &mcpkg_store::Db<'_>, id: Uuid, ended: &Ended) -> Result<bool> {
        let now = self.clock.now();
        let end = End {
            status: ended.status,
            message: ended.message.as_deref(),
            outcome: ended.outcome.as_deref(),
            at: now,
            expires_at: tasks::kept_until(db, now)?,
        };
        tasks::end(db, id, end)
    }

    /// Returns when to delete a task that begins or ends `now`. If the limit cannot be read, the default applies.
    fn kept_until(&self, now: Millis) -> Millis {
        let usual = || now.saturating_add(tasks::GROWING.usual.age.unwrap_or_default());
        self.store.read(|db| tasks::kept_until(db, now)).unwrap_or_else(|_| usual())
    }

    /// Returns this server's id as a runner of tasks, or `None` if the server is ending.
    fn runner(&self) -> Result<Option<Uuid>> {
        if let Some(known) = self.known_runner() {
            return Ok(known);
        }
        let _starting = self.starting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = self.known_runner() {
            return Ok(known);
        }
        // The state is not locked here, so that other requests for tasks do not wait for the database.
        let runner = self.store.begin_tasks()?;
        let id = runner.id();
        let mut state = self.state();
        if state.closing {
            drop(state);
            return Ok(None);
        }
        state.runner = Some(runner);
        Ok(Some(id))
    }

    /// Returns the result of [`Tasks::runner`] if it is known without querying the database.
    fn known_runner(&self) -> Option<Option<Uuid>> {
        let state = self.state();
        if state.closing { Some(None) } else { state.runner.as_ref().map(|runner| Some(runner.id())) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn known(id: &str) -> Result<Uuid, ErrorData> {
    id.parse().map_err(|_| unknown(id))
}

/// Returns the error for a task that does not exist, was deleted, or belongs to another requester. It is the same for
/// all three, so that a requester cannot learn about the tasks of others.
fn unknown(id: &str) -> ErrorData {
    let why = format!("You have no task '{}'; ended tasks are deleted after some time", id.escape_debug());
    ErrorData::invalid_params(why, Some(json!({ "taskId": id })))
}
