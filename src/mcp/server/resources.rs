//! Answers resources/list, resources/templates/list and resources/read.

use rmcp::model::{
    ListResourceTemplatesResult, ListResourcesResult, PaginatedRequestParams, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};

use super::{Server, era, lasting};
use crate::mcp::methods::only_page;
use crate::mcp::reads::Read;
use crate::mcp::{by_uri, live};

pub(super) async fn list(
    server: &Server,
    page: Option<PaginatedRequestParams>,
    request: &RequestContext<RoleServer>,
) -> Result<ListResourcesResult, ErrorData> {
    let cursor = page.and_then(|page| page.cursor);
    if live::only(&server.config) {
        return super::live::list(server, cursor, request).await;
    }
    let cursor = cursor.map(Into::into);
    server.answer(request, Read::Resources { cursor }).await
}

pub(super) async fn list_templates(
    server: &Server,
    page: Option<PaginatedRequestParams>,
    request: &RequestContext<RoleServer>,
) -> Result<ListResourceTemplatesResult, ErrorData> {
    only_page(page.and_then(|page| page.cursor))?;
    let templates = server.read(request, by_uri::templates).await?;
    Ok(lasting!(request, ListResourceTemplatesResult::with_all_items(templates)))
}

pub(super) async fn read(
    server: &Server,
    params: ReadResourceRequestParams,
    request: &RequestContext<RoleServer>,
) -> Result<ReadResourceResponse, ErrorData> {
    let config = server.config(&request.extensions);
    match live::find(&config, &params.uri) {
        Some(found) => return super::live::read(server, found, params.uri, request).await,
        None if live::only(&config) => return Err(live::failure(&live::not_found(&params.uri), era(request))),
        None => {}
    }
    let read = Read::Resource { uri: params.uri.into() };
    server.answer::<ReadResourceResult>(request, read).await.map(Into::into)
}
