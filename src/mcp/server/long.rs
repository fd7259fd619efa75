//! Runs an operation that may take minutes on its own thread, and as a task if the client has the tasks extension.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use rmcp::model::{CallToolResponse, CallToolResult, CreateTaskResult};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::call::Call;
use super::read::{acquire_permit, blocking, or_cancelled, release_permit};
use super::{Server, tasks};
use crate::mcp::Config;
use crate::mcp::asker::Asker;
use crate::mcp::error::error_data;
use crate::mcp::long_calls;
use crate::mcp::notes::Sending;
use crate::mcp::tasks::{Answered, RunningTask, Tasks};
use mcpkg_base::error::{Code, Error};

/// How long to wait before a call becomes a task. Most calls end sooner, so that their clients do not have to poll.
const DIRECTLY: Duration = Duration::from_millis(250);

/// The request that made the call.
pub(super) struct Request<'a> {
    pub(super) asker: Asker,
    pub(super) cancelled: CancellationToken,
    /// Set once the call has become a task.
    pub(super) task: Arc<OnceLock<Arc<RunningTask>>>,
    pub(super) config: &'a Config,
    pub(super) context: &'a RequestContext<RoleServer>,
}

/// Runs a long call. Later requests of its client wait until the call ends, becomes a task, has to wait for a thread,
/// or calls `Context::step_aside` before a slow step. The call holds no permit to run and no thread of the blocking
/// pool.
pub(super) async fn schedule(
    server: &Server,
    call: Call,
    origin: Request<'_>,
    sending: Sending,
) -> Result<CallToolResponse, ErrorData> {
    let Request { asker, cancelled, task, config, context: request } = origin;
    release_permit(request);
    let (tool, notes, held) = (call.tool.name().to_owned(), call.notes.clone(), Arc::clone(&call.held));
    let (sender, mut answered) = oneshot::channel();
    let delivery = Delivery::to_request(sender);
    start(server, call, asker.clone(), cancelled.clone(), delivery.clone());
    let outcome = {
        let working = or_cancelled(request, &server.ending, &cancelled, &mut answered);
        match tasks::may_have(server, config, request) {
            true => tokio::time::timeout(DIRECTLY, working).await.ok(),
            false => Some(working.await),
        }
    };
    let outcome = match outcome {
        Some(outcome) => outcome,
        None => match begin(server, &asker, &tool, &cancelled).await {
            Some(begun) => {
                notes.mute();
                held.release();
                let created = CreateTaskResult::new(begun.task());
                let _ = task.set(Arc::clone(&begun));
                delivery.to_task(Arc::clone(&server.tasks), begun, &mut answered);
                return Ok(CallToolResponse::Task(created));
            }
            // Without a task, the call is answered like any other.
            None => or_cancelled(request, &server.ending, &cancelled, &mut answered).await,
        },
    };
    drop(notes);
    sending.end().await;
    // Like every answer, this one waits until the client has read enough of the earlier ones.
    acquire_permit(request).await;
    let ended_abnormally = |_| Err(error_data(&Error::internal("a handler crashed")));
    outcome.unwrap_or_else(ended_abnormally).map(Into::into)
}

/// Creates a task for a running call. Returns `None` if the server cannot create one.
async fn begin(server: &Server, asker: &Asker, tool: &str, cancelled: &CancellationToken) -> Option<Arc<RunningTask>> {
    let (tasks, asker, cancelled) = (Arc::clone(&server.tasks), asker.clone(), cancelled.clone());
    let name = tool.to_owned();
    match blocking(move || tasks.begin(&asker, &name, &cancelled)).await {
        Ok(Ok(begun)) => begun,
        Ok(Err(error)) => {
            tracing::warn!(tool, %error, "could not store a task; the response is sent when the call is done");
            None
        }
        Err(_) => None,
    }
}

/// Runs a call as soon as a thread is free. Until then, later requests of its client continue.
fn start(server: &Server, call: Call, asker: Asker, cancelled: CancellationToken, delivery: Delivery) {
    let deliver = move |answered| delivery.deliver(answered);
    let tool = call.tool.name().to_owned();
    if let Some(permit) = server.long.try_take(&asker, &tool) {
        return long_calls::run(permit, move || call.answer(), deliver);
    }
    call.held.release();
    let long = Arc::clone(&server.long);
    tokio::spawn(async move {
        let permit = tokio::select! {
            permit = long.take(&asker, &tool) => permit,
            () = cancelled.cancelled() => None,
        };
        match permit {
            Some(permit) => long_calls::run(permit, move || call.answer(), deliver),
            None => {
                drop(call);
                deliver(Err(error_data(&Error::new(Code::Cancelled, "The call was cancelled before it started"))));
            }
        }
    });
}

type Answer = Result<CallToolResult, ErrorData>;

/// Delivers an answer to the waiting request, or to the task that the call has become.
#[derive(Clone)]
struct Delivery(Arc<Mutex<Receiver>>);

enum Receiver {
    Request(oneshot::Sender<Answer>),
    Task(Arc<Tasks>, Arc<RunningTask>),
    /// The answer was delivered.
    Nobody,
}

impl Delivery {
    fn to_request(request: oneshot::Sender<Answer>) -> Self {
        Self(Arc::new(Mutex::new(Receiver::Request(request))))
    }

    /// Delivers the answer. This runs on the call's own thread, so a task ends even after the async runtime has
    /// stopped.
    fn deliver(&self, answer: Answer) {
        match std::mem::replace(&mut *self.receiver(), Receiver::Nobody) {
            Receiver::Request(request) => drop(request.send(answer)),
            Receiver::Task(tasks, task) => tasks.finish(&task, answered(answer)),
            Receiver::Nobody => {}
        }
    }

    /// Redirects the answer to `task`, unless the request already received it while the task's row was being written.
    fn to_task(&self, tasks: Arc<Tasks>, task: Arc<RunningTask>, request: &mut oneshot::Receiver<Answer>) {
        let mut receiver = self.receiver();
        if let Receiver::Request(_) = &*receiver {
            *receiver = Receiver::Task(tasks, task);
        } else if let Ok(answer) = request.try_recv() {
            drop(tokio::task::spawn_blocking(move || tasks.finish(&task, answered(answer))));
        }
    }

    fn receiver(&self) -> MutexGuard<'_, Receiver> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn answered(answer: Answer) -> Answered {
    answer.map_or_else(Answered::Error, |result| Answered::Result(Box::new(result)))
}
