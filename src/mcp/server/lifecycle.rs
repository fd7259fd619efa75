//! initialize, server/discover, logging/setLevel, and what rmcp cannot read.

#![expect(deprecated, reason = "the newest revision gave up logging; the others have it")]

use std::sync::Arc;
use std::sync::atomic::Ordering;

use rmcp::model::{
    CacheScope, CustomRequest, DiscoverResult, Implementation, LoggingLevel, ProtocolVersion, ServerCapabilities,
    ServerConfig, SetLevelRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};

use super::{Server, era};
use crate::mcp::Identity;
use crate::mcp::era::Era;
use crate::mcp::era::LASTING;
use crate::mcp::methods::{LEGACY_ONLY, no_method, refuse};

/// What a client is told about this server when it connects.
const INSTRUCTIONS: &str = "mcpkg serves the prompts, documents, images and skills that the user keeps for the \
    selected project. Read them with prompts/get and resources/read, or with the tools get_prompt, read_resource \
    and search_content; a skill stands at skill://NAME/SKILL.md, and list_skills names them. Keep what is worth reusing \
    with create_prompt and create_resource; every change keeps a revision. The user selects the project with `mcpkg project select NAME`.";

/// What a client of the deploy tools alone is told.
const DEPLOY_INSTRUCTIONS: &str = "mcpkg deploys prompts, skills and instructions to where Codex, Claude Code, Cursor and VS \
    Code read them. Look with plan, diff, preview, status, doctor and explain. To write, call deploy, show the plan to the \
    user, and pass its confirm_token to deploy_apply with yes=true; rollback takes it back. evolve_propose takes changes \
    made on disk back to their source.";

/// Returns the server's name, its capabilities and its instructions.
pub(super) fn info(server: &Server) -> ServerConfig {
    let identity = server.config.identity;
    let (capabilities, instructions) = match identity {
        Identity::Agentpack => {
            (ServerCapabilities::builder().enable_tools().enable_tool_list_changed().build(), DEPLOY_INSTRUCTIONS)
        }
        Identity::Mcpkg => (
            ServerCapabilities::builder()
                .enable_completions()
                .enable_logging()
                .enable_prompts()
                .enable_prompts_list_changed()
                .enable_resources()
                .enable_resources_list_changed()
                .enable_resources_subscribe()
                .enable_tools()
                .enable_tool_list_changed()
                .enable_skills_with_directory_read()
                .build(),
            INSTRUCTIONS,
        ),
    };
    ServerConfig::new(capabilities)
        // What an unsupported version is answered with (contract 000).
        .with_protocol_version(ProtocolVersion::V_2025_06_18)
        .with_server_info(Implementation::new(identity.name(), env!("CARGO_PKG_VERSION")))
        .with_instructions(instructions)
}

/// Answers server/discover.
pub(super) fn discover(server: &Server) -> DiscoverResult {
    DiscoverResult::from_server_info(server.supported_protocol_versions().into_owned(), info(server))
        .with_ttl_ms(LASTING)
        .with_cache_scope(CacheScope::Private)
}

/// Tells the client of changes from now on.
pub(super) fn initialized(server: &Server, notification: NotificationContext<RoleServer>) {
    if !server.session.told.swap(true, Ordering::Relaxed) {
        let subscriber = Arc::clone(server.subscriber(&notification.extensions));
        server.hub.tell(notification.peer, subscriber, server.session.ended.clone());
    }
}

/// Answers logging/setLevel.
pub(super) fn set_level(
    server: &Server,
    params: &SetLevelRequestParams,
    request: &RequestContext<RoleServer>,
) -> Result<(), ErrorData> {
    if era(request) == Era::Modern {
        return Err(no_method("logging/setLevel"));
    }
    *server.session.level() = Some(params.level);
    Ok(())
}

/// Returns the least level of what the client of a request is logged.
pub(super) fn level(server: &Server, request: &RequestContext<RoleServer>) -> Option<LoggingLevel> {
    match era(request) {
        Era::Modern => request.meta.log_level(),
        Era::Legacy => Some(server.session.level().unwrap_or(LoggingLevel::Info)),
    }
}

/// Returns the failure of a request that rmcp could not read: an unknown method, or parameters that do not fit it.
pub(super) fn unreadable(custom: &CustomRequest, request: &RequestContext<RoleServer>) -> ErrorData {
    if era(request) == Era::Modern && LEGACY_ONLY.contains(&custom.method.as_str()) {
        return no_method(&custom.method);
    }
    refuse(&custom.method, custom.params.as_ref())
}
