//! Answers tasks/get, tasks/update and tasks/cancel of the tasks extension, and runs an embedding program's tools as
//! tasks.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, ClientCapabilities, CreateTaskResult, GetTaskParams,
    GetTaskResult, UpdateTaskParams,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use tokio_util::sync::CancellationToken;

use super::Server;
use super::read::{acquire_permit, blocking};
use crate::mcp::asker::Asker;
use crate::mcp::error::error_data;
use crate::mcp::provider::{TaskSupport, TaskTool};
use crate::mcp::tasks::{Answered, Tasks};
use crate::mcp::{Config, Identity};
use mcpkg_base::error::{Code, Error};

/// Returns whether a call may become a task: the client has the extension, the client may write (a task is a database
/// row), and the server does not present itself as another program.
pub(super) fn may_have(server: &Server, config: &Config, request: &RequestContext<RoleServer>) -> bool {
    server.config.identity == Identity::Mcpkg
        && !config.surface.read_only
        && request.client_capabilities().is_some_and(|client| client.supports_tasks())
}

pub(super) async fn get(
    server: &Server,
    params: GetTaskParams,
    request: &RequestContext<RoleServer>,
) -> Result<GetTaskResult, ErrorData> {
    with_tasks(server, request, move |tasks, asker| tasks.get(asker, &params.task_id)).await.map(GetTaskResult::new)
}

pub(super) async fn update(
    server: &Server,
    params: UpdateTaskParams,
    request: &RequestContext<RoleServer>,
) -> Result<(), ErrorData> {
    let UpdateTaskParams { task_id, input_responses, .. } = params;
    with_tasks(server, request, move |tasks, asker| tasks.update(asker, &task_id, input_responses)).await
}

pub(super) async fn cancel(
    server: &Server,
    params: CancelTaskParams,
    request: &RequestContext<RoleServer>,
) -> Result<(), ErrorData> {
    with_tasks(server, request, move |tasks, asker| tasks.cancel(asker, &params.task_id)).await
}

/// Runs `f` on the blocking pool with the tasks and the requester.
async fn with_tasks<T: Send + 'static>(
    server: &Server,
    request: &RequestContext<RoleServer>,
    f: impl FnOnce(&Tasks, &Asker) -> Result<T, ErrorData> + Send + 'static,
) -> Result<T, ErrorData> {
    acquire_permit(request).await;
    let (tasks, asker) = (Arc::clone(&server.tasks), server.config(&request.extensions).asker());
    blocking(move || f(&tasks, &asker)).await?
}

/// Runs an embedding program's tool, as a task if the tool and the client support that.
pub(super) async fn begin_or_talk(
    server: &Server,
    tool: &TaskTool,
    params: CallToolRequestParams,
    config: &Config,
    request: RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let may = may_have(server, config, &request);
    match (tool.support)(&params) {
        TaskSupport::Optional | TaskSupport::Required if may => {}
        TaskSupport::Never | TaskSupport::Optional => return (tool.talk)(params, request).await,
        TaskSupport::Required => {
            let required = ClientCapabilities::builder().enable_tasks().build();
            return Err(ErrorData::missing_required_client_capability(required));
        }
    }
    let (tasks, asker, cancelled) = (Arc::clone(&server.tasks), config.asker(), CancellationToken::new());
    let (of_task, name) = (Arc::clone(&tasks), params.name.clone());
    let begun =
        blocking(move || of_task.begin(&asker, &name, &cancelled)).await?.map_err(|error| error_data(&error))?;
    let Some(task) = begun else {
        let why = "Too many tasks: wait until some of them have ended and expired";
        return Err(error_data(&Error::new(Code::InvalidArgument, why)));
    };
    let created = CreateTaskResult::new(task.task());
    let working = (tool.run)(params, Arc::clone(&task));
    tokio::spawn(async move {
        let answered = working.await.map_or_else(Answered::Error, |result| Answered::Result(Box::new(result)));
        let _ = blocking(move || tasks.finish(&task, answered)).await;
    });
    Ok(CallToolResponse::Task(created))
}
