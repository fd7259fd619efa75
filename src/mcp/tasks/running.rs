//! Tracks the state of a task that runs in this server.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rmcp::model::{DetailedTask, InputRequest, InputRequests, InputResponses, TaskPayload};
use serde_json::Value;
use tokio::sync::{broadcast, oneshot};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::change::Change;
use super::outcome::{self, CancelledBy, Ended};
use crate::mcp::asker::Asker;
use mcpkg_base::clock::{Clock, Millis};
use mcpkg_store::tasks::Task;

pub struct RunningTask {
    asker: Asker,
    given_up: CancellationToken,
    changes: broadcast::Sender<Change>,
    clock: Clock,
    state: Mutex<State>,
    id: Uuid,
}

struct State {
    row: Task,
    cancelled: Option<CancelledBy>,
    /// The open questions to the client, by key, each with the channel for its answer.
    asked: BTreeMap<String, (InputRequest, oneshot::Sender<Value>)>,
}

impl RunningTask {
    pub(super) fn new(
        row: Task,
        asker: Asker,
        cancelled: CancellationToken,
        changes: broadcast::Sender<Change>,
    ) -> Self {
        let (id, clock) = (row.id, Clock::system());
        let state = Mutex::new(State { row, cancelled: None, asked: BTreeMap::new() });
        Self { asker, given_up: cancelled, changes, clock, state, id }
    }

    /// Returns the id by which the requester knows the task.
    pub fn id(&self) -> Uuid {
        self.id
    }

    /// Waits until the task is cancelled by its requester or because the server ends.
    pub async fn cancelled(&self) {
        self.given_up.cancelled().await;
    }

    /// Sets the progress message.
    pub fn say(&self, message: String) {
        let mut state = self.state();
        state.row.message = Some(message);
        state.row.updated_at = self.clock.now();
    }

    /// Asks the client a question. The client gets it with its next poll, or on a stream that follows the task. Returns
    /// the answer, or `None` if the task was cancelled.
    pub async fn ask(&self, key: &str, request: InputRequest) -> Option<Value> {
        let (sender, receiver) = oneshot::channel();
        {
            let mut state = self.state();
            if state.cancelled.is_some() {
                return None;
            }
            state.asked.insert(key.to_owned(), (request, sender));
            state.row.updated_at = self.clock.now();
        }
        self.tell();
        receiver.await.ok()
    }

    pub(in crate::mcp) fn asker(&self) -> &Asker {
        &self.asker
    }

    /// Passes the client's answers to the parts of the task that wait for them.
    pub(super) fn answer(&self, responses: InputResponses) {
        {
            let mut state = self.state();
            for (key, value) in responses {
                if let Some((_, waiting)) = state.asked.remove(&key) {
                    let _ = waiting.send(value);
                    state.row.updated_at = self.clock.now();
                }
            }
        }
        self.tell();
    }

    /// Cancels the task and drops its open questions.
    pub(super) fn cancel(&self, by: CancelledBy) {
        {
            let mut state = self.state();
            state.cancelled.get_or_insert(by);
            state.asked.clear();
        }
        self.given_up.cancel();
    }

    /// Returns who cancelled the task.
    pub(super) fn cancelled_by(&self) -> Option<CancelledBy> {
        self.state().cancelled
    }

    /// Returns the task without its questions, for the answer to the call that created it.
    pub(in crate::mcp) fn task(&self) -> rmcp::model::Task {
        outcome::task(&self.state().row)
    }

    /// Returns the task's current state.
    pub(in crate::mcp) fn detailed(&self) -> DetailedTask {
        let state = self.state();
        let task = outcome::task(&state.row);
        if state.asked.is_empty() {
            return DetailedTask::new(task, TaskPayload::Working);
        }
        let asked: InputRequests = state.asked.iter().map(|(key, (asked, _))| (key.clone(), asked.clone())).collect();
        DetailedTask::new(task, TaskPayload::InputRequired { input_requests: asked })
    }

    /// Returns the task in its final state.
    pub(super) fn ended(&self, ended: &Ended, at: Millis, expires_at: Millis) -> DetailedTask {
        let mut row = self.state().row.clone();
        row.status = ended.status;
        row.message.clone_from(&ended.message);
        row.outcome = ended.whole.clone().or_else(|| ended.outcome.clone());
        row.updated_at = at;
        row.expires_at = expires_at;
        outcome::detailed(&row)
    }

    fn tell(&self) {
        let task = std::sync::Arc::new(self.detailed());
        let _ = self.changes.send(Change { asker: self.asker.clone(), task });
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
