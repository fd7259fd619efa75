//! Answers the methods of the skills extension: skills/list, skills/get and resources/directory/read.

use rmcp::model::{
    GetSkillRequestParams, GetSkillResult, ListSkillsResult, PaginatedRequestParams,
    ReadResourceDirectoryRequestParams, ReadResourceDirectoryResult,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};

use super::Server;
use crate::mcp::methods::only_page;
use crate::mcp::skills;

pub(super) async fn list(
    server: &Server,
    page: Option<PaginatedRequestParams>,
    request: &RequestContext<RoleServer>,
) -> Result<ListSkillsResult, ErrorData> {
    let cursor = page.and_then(|page| page.cursor);
    server.read(request, move |db, config| skills::list(db, config, cursor.as_deref())).await
}

pub(super) async fn get(
    server: &Server,
    params: GetSkillRequestParams,
    request: &RequestContext<RoleServer>,
) -> Result<GetSkillResult, ErrorData> {
    server.read(request, move |db, config| skills::get(db, config, &params.uri)).await
}

pub(super) async fn read_directory(
    server: &Server,
    params: ReadResourceDirectoryRequestParams,
    request: &RequestContext<RoleServer>,
) -> Result<ReadResourceDirectoryResult, ErrorData> {
    only_page(params.cursor)?;
    server.read(request, move |db, config| skills::directory(db, config, &params.uri)).await
}
