//! resources/list, resources/templates/list and resources/read.

use rmcp::model::{
    ListResourceTemplatesResult, ListResourcesResult, PaginatedRequestParams, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};

use super::{Server, lasting};
use crate::mcp::by_uri;
use crate::mcp::methods::only_page;
use crate::mcp::reads::Read;

/// Answers resources/list.
pub(super) async fn list(
    server: &Server,
    page: Option<PaginatedRequestParams>,
    request: &RequestContext<RoleServer>,
) -> Result<ListResourcesResult, ErrorData> {
    let cursor = page.and_then(|page| page.cursor).map(Into::into);
    server.answer(request, Read::Resources { cursor }).await
}

/// Answers resources/templates/list.
pub(super) fn list_templates(
    server: &Server,
    page: Option<PaginatedRequestParams>,
    request: &RequestContext<RoleServer>,
) -> Result<ListResourceTemplatesResult, ErrorData> {
    only_page(page.and_then(|page| page.cursor))?;
    let templates = by_uri::templates(&server.config(&request.extensions));
    Ok(lasting!(request, ListResourceTemplatesResult::with_all_items(templates)))
}

/// Answers resources/read.
pub(super) async fn read(
    server: &Server,
    params: ReadResourceRequestParams,
    request: &RequestContext<RoleServer>,
) -> Result<ReadResourceResponse, ErrorData> {
    let read = Read::Resource { uri: params.uri.into() };
    server.answer::<ReadResourceResult>(request, read).await.map(Into::into)
}
