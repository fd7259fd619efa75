//! tools/list and tools/call.

use rmcp::model::{CallToolRequestParams, CallToolResponse, ListToolsResult, PaginatedRequestParams, Tool};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::json;

use super::{Server, consent};
use crate::mcp::reads::Read;
use crate::mcp::{Config, tools};

/// Answers tools/list.
pub(super) async fn list(
    server: &Server,
    page: Option<PaginatedRequestParams>,
    request: &RequestContext<RoleServer>,
) -> Result<ListToolsResult, ErrorData> {
    let cursor = page.and_then(|page| page.cursor).map(Into::into);
    server.answer(request, Read::Tools { cursor }).await
}

/// Returns a tool whose arguments stand in headers too; the operations have none of those.
pub(super) fn get(server: &Server, name: &str) -> Option<Tool> {
    let extension = server.config.extended.for_what("tools/call", name)?;
    extension.tools().into_iter().find(|tool| tool.name == name)
}

/// Answers tools/call.
pub(super) async fn call(
    server: &Server,
    params: CallToolRequestParams,
    request: RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let config = server.config(&request.extensions);
    if let Some(extension) = config.extended.for_what("tools/call", &params.name) {
        return extension.call(params, request).await;
    }
    match tools::find(&params.name, &config) {
        Some(entry) => consent::call(server, entry, params, &config, &request).await,
        None => Err(unknown_tool(&params.name, &config)),
    }
}

fn unknown_tool(name: &str, config: &Config) -> ErrorData {
    let tools = tools::list(config);
    let near = crate::error::nearest(name, tools.iter().map(|tool| tool.name.as_ref()));
    let hint = near.map(|near| format!("; did you mean '{near}'?")).unwrap_or_default();
    ErrorData::invalid_params(format!("Unknown tool '{}'{hint}", name.escape_debug()), Some(json!({ "name": name })))
}
