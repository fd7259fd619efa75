//! Schedules a tool call: waits for the client's earlier writes and for permits, and then runs the tool.

#![allow(deprecated, reason = "the newest protocol revision has no logging, but older revisions do")]

use std::sync::{Arc, OnceLock};

use rmcp::model::{CallToolResponse, JsonObject, LoggingLevel};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::call::{Call, HeldResources};
use super::read::{blocking, or_cancelled, wait_for_earlier_writes};
use super::{Server, era, lifecycle, long};
use crate::mcp::limits::limited;
use crate::mcp::notes::Notes;
use crate::mcp::tasks::RunningTask;
use crate::mcp::tools::Tool;
use crate::mcp::{Config, call_log, tools};
use mcpkg_core::op::{Context, Elicit, Progress};

/// How a call can get its user's consent.
#[derive(Default)]
pub(super) struct Asking {
    /// Called with the consent request that the client should show its user. `None` if the client cannot show one.
    pub(super) elicit: Option<Arc<Elicit>>,
    /// The consent request that the client has already shown its user.
    pub(super) answered: Option<Uuid>,
}

/// Starts a tool for an agent after the client's earlier writes, and waits for its result.
pub(super) async fn schedule(
    server: &Server,
    tool: Tool,
    arguments: Option<JsonObject>,
    config: &Config,
    request: &RequestContext<RoleServer>,
    asking: Asking,
) -> Result<CallToolResponse, ErrorData> {
    let changes = tool.effect().changes();
    let held = HeldResources::new(wait_for_earlier_writes(request).await);
    let client = request.client_info().map(|client| client.name.clone());
    let (notes, sending) = Notes::to(request, lifecycle::level(server, request));
    let cancelled = CancellationToken::new();
    let task: Arc<OnceLock<Arc<RunningTask>>> = Arc::default();
    // A write may read without a time limit, so that it can finish or undo what it changed.
    let store = match changes {
        true => server.store.clone(),
        false => limited(&server.store, config, cancelled.clone()),
    };
    let context = Context {
        progress: progress(&notes, &task, request),
        say: Arc::new({
            let notes = notes.clone();
            move |what: &str| notes.log(LoggingLevel::Info, what.into())
        }),
        cancelled: cancelled.clone(),
        step_aside: Arc::new({
            let held = Arc::clone(&held);
            move || held.release()
        }),
        elicit: asking.elicit,
        answered: asking.answered,
        connection: server.session.id.clone(),
        ..tools::context(store, config, client.as_deref())
    };
    let asker = config.asker();
    let record = call_log::record(&request.extensions);
    let call = Call { tool, arguments, context, notes, era: era(request), held, record };
    if call.tool.is_long() {
        return long::schedule(
            server,
            call,
            long::Request { asker, cancelled, task, config, context: request },
            sending,
        )
        .await;
    }
    let working = async {
        let _permit = if call.tool.one_at_a_time() { server.searching.take(&asker).await } else { None };
        // Only reads need a permit. Writes already wait for each other in the database.
        if !changes {
            call.held.keep(Arc::clone(&**server.reading).acquire_owned().await.ok());
        }
        blocking(move || call.answer()).await
    };
    let result = or_cancelled(request, &server.ending, &cancelled, working).await?;
    sending.end().await;
    result.map(Into::into)
}

/// Returns the function that reports progress: to the waiting client, or to the task once the call has become one.
fn progress(
    notes: &Notes,
    task: &Arc<OnceLock<Arc<RunningTask>>>,
    request: &RequestContext<RoleServer>,
) -> Arc<Progress> {
    let (task, tell) = (Arc::clone(task), notes.progress(request));
    Arc::new(move |what, done, total| match task.get() {
        Some(task) if total > 0 => task.say(format!("{what}: {done} of {total}")),
        Some(task) => task.say(what.to_owned()),
        None => tell(what, done, total),
    })
}
