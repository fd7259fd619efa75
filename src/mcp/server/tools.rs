//! Answers tools/list and tools/call.

use rmcp::model::{CallToolRequestParams, CallToolResponse, ListToolsResult, PaginatedRequestParams, Tool as Listed};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::json;

use super::read::let_others_read;
use super::{Server, consent, tasks};
use crate::mcp::Config;
use crate::mcp::limits::limited;
use crate::mcp::provider::Answer;
use crate::mcp::reads::Read;
use crate::mcp::tools::{self, Tool};

pub(super) async fn list(
    server: &Server,
    page: Option<PaginatedRequestParams>,
    request: &RequestContext<RoleServer>,
) -> Result<ListToolsResult, ErrorData> {
    let cursor = page.and_then(|page| page.cursor).map(Into::into);
    server.answer(request, Read::Tools { cursor }).await
}

/// Returns the tool with this name, if it comes from a provider (a domain's rows or an embedding program) rather than
/// from an operation. rmcp calls this to find out which arguments HTTP clients repeat in headers; no operation has such
/// arguments.
pub(super) fn get(server: &Server, name: &str) -> Option<Listed> {
    if tools::operation(name, &server.config).is_some() || server.config.providers.all().next().is_none() {
        return None;
    }
    let store = limited(&server.store, &server.config, Default::default());
    match store.read(|db| tools::find(db, &server.config, name)) {
        Ok(Some(Tool::Projected(tool))) => Some(tool.listed),
        _ => None,
    }
}

/// Finds the tool and passes the request to the code that answers it.
pub(super) async fn dispatch(
    server: &Server,
    params: CallToolRequestParams,
    request: RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let config = server.config(&request.extensions);
    let tool = match tools::operation(&params.name, &config) {
        Some(entry) => Some(Tool::Operation(entry)),
        None if config.providers.all().next().is_none() => None,
        None => {
            let name = params.name.clone();
            server.read(&request, move |db, config| tools::find(db, config, &name)).await?
        }
    };
    let Some(tool) = tool else { return Err(unknown_tool(&params.name, &config)) };
    // A provider's tool may count towards an operation's rate limit. Its arguments are not that operation's, so do not
    // pass them to the check.
    let arguments = params.arguments.as_ref().filter(|_| matches!(tool, Tool::Operation(_)));
    if let Some(entry) = tool.counts_as()
        && let Err(error) = server.rates.check(entry, arguments, &config)
    {
        return Ok(tools::failed(entry, error).into());
    }
    if let Tool::Projected(projected) = &tool
        && let Answer::Talk(talk) = &projected.answer
    {
        if !projected.effect.changes() {
            let_others_read(&request);
        }
        return talk(params, request).await;
    }
    if let Tool::Projected(projected) = &tool
        && let Answer::Task(long) = &projected.answer
    {
        let_others_read(&request);
        return tasks::begin_or_talk(server, long, params, &config, request).await;
    }
    consent::with_consent(server, tool, params, &config, &request).await
}

fn unknown_tool(name: &str, config: &Config) -> ErrorData {
    let near = mcpkg_base::error::nearest(name, tools::names(config));
    let hint = near.map(|near| format!("; did you mean '{near}'?")).unwrap_or_default();
    ErrorData::invalid_params(format!("Unknown tool '{}'{hint}", name.escape_debug()), Some(json!({ "name": name })))
}
