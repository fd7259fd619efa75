//! Answers prompts/list, prompts/get and completion/complete.

use std::collections::BTreeMap;

use rmcp::model::{
    CompleteRequestParams, CompleteResult, GetPromptRequestParams, GetPromptResponse, GetPromptResult,
    ListPromptsResult, PaginatedRequestParams,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;

use super::{Server, era, live};
use crate::mcp::era::Era;
use crate::mcp::error::error_data;
use crate::mcp::reads::Read;
use crate::mcp::{completion, words};
use mcpkg_base::error::{Code, Error};

pub(super) async fn list(
    server: &Server,
    page: Option<PaginatedRequestParams>,
    request: &RequestContext<RoleServer>,
) -> Result<ListPromptsResult, ErrorData> {
    let cursor = page.and_then(|page| page.cursor).map(Into::into);
    // In older revisions, a client sends its name only in initialize, and the fast path (`front`) does not read it
    // there. This handler must answer like the fast path, so it ignores the name too.
    let splits =
        era(request) == Era::Modern && request.client_info().is_some_and(|client| client.name == words::SPLITS);
    server.answer(request, Read::Prompts { cursor, splits }).await
}

pub(super) async fn get(
    server: &Server,
    params: GetPromptRequestParams,
    request: RequestContext<RoleServer>,
) -> Result<GetPromptResponse, ErrorData> {
    if let Some(answer) = server.config(&request.extensions).providers.prompt(&params.name) {
        return answer(params, request).await;
    }
    let mut arguments = BTreeMap::new();
    for (name, value) in params.arguments.unwrap_or_default() {
        let Value::String(value) = value else {
            let why = format!("Invalid params for prompts/get: `arguments.{name}` must be a string");
            return Err(error_data(&Error::new(Code::InvalidArgument, why)));
        };
        arguments.insert(name, value);
    }
    let read = Read::Prompt { name: params.name.into(), arguments };
    server.answer::<GetPromptResult>(&request, read).await.map(Into::into)
}

pub(super) async fn complete(
    server: &Server,
    params: CompleteRequestParams,
    request: &RequestContext<RoleServer>,
) -> Result<CompleteResult, ErrorData> {
    if let Some(completed) = live::complete(server, &params, request).await {
        return completed;
    }
    server.read(request, move |db, config| completion::complete(db, config, &params)).await
}
