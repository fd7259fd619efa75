//! What a program may add to the face: tools, prompts and resources that it answers itself, beside the operations and the
//! rows. The conformance suite's fixtures are one.

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, GetPromptRequestParams, GetPromptResponse,
    ReadResourceRequestParams, ReadResourceResponse, ResourceTemplate, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::value::RawValue;

use super::tasks::RunningTask;

/// What is being answered.
pub type Answer<'a, T> = BoxFuture<'a, Result<T, ErrorData>>;

/// Whether a call is a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskSupport {
    /// Never.
    Never,
    /// Where its client has the tasks extension.
    Optional,
    /// Always: a client without the extension is refused.
    Required,
}

/// Tools, prompts and resources of a program's own, in rmcp's types.
pub trait Extension: Send + Sync + 'static {
    /// Returns the tools that tools/list shows after the operations.
    fn tools(&self) -> Vec<Tool>;

    /// Returns the templates that resources/templates/list shows after the face's own.
    fn templates(&self) -> Vec<ResourceTemplate>;

    /// Whether it answers `method` for what is called `name`: the name of a tool or a prompt, or a resource's URI. What
    /// it answers nobody else does.
    fn answers(&self, method: &str, name: &str) -> bool;

    /// Answers tools/call.
    fn call(&self, request: CallToolRequestParams, context: RequestContext<RoleServer>)
    -> Answer<'_, CallToolResponse>;

    /// Whether this call is a task.
    fn task_support(&self, _request: &CallToolRequestParams) -> TaskSupport {
        TaskSupport::Never
    }

    /// Answers tools/call as a task.
    fn run_task(&self, request: CallToolRequestParams, _task: Arc<RunningTask>) -> Answer<'static, CallToolResult> {
        let why = format!("The tool '{}' is no task", request.name);
        Box::pin(std::future::ready(Err(ErrorData::invalid_params(why, None))))
    }

    /// Answers prompts/get.
    fn prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Answer<'_, GetPromptResponse>;

    /// Answers resources/read.
    fn read(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Answer<'_, ReadResourceResponse>;
}

/// The extension of a server, if it has one.
#[derive(Clone, Default)]
pub struct Extended(pub Option<Arc<dyn Extension>>);

impl Extended {
    /// Returns the extension where it answers this.
    pub(super) fn for_what(&self, method: &str, name: &str) -> Option<&dyn Extension> {
        self.0.as_deref().filter(|extension| extension.answers(method, name))
    }

    /// Whether it answers a request with these parameters.
    pub(super) fn takes(&self, method: &str, parameters: Option<&RawValue>) -> bool {
        #[derive(serde::Deserialize)]
        struct Named {
            name: Option<String>,
            uri: Option<String>,
        }
        let Some(extension) = &self.0 else { return false };
        let named = parameters.and_then(|raw| serde_json::from_str::<Named>(raw.get()).ok());
        named.and_then(|named| named.name.or(named.uri)).is_some_and(|name| extension.answers(method, &name))
    }
}

impl fmt::Debug for Extended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Extended" } else { "-" })
    }
}
