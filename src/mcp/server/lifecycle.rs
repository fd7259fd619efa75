//! Answers initialize, server/discover and logging/setLevel, and requests that rmcp cannot read.

#![expect(deprecated, reason = "the newest protocol revision has no logging, but older revisions do")]

use std::sync::Arc;
use std::sync::atomic::Ordering;

use rmcp::model::{
    CacheScope, ClientCapabilities, CustomRequest, DiscoverResult, Implementation, InitializeRequestParams,
    InitializeResult, LoggingLevel, ProtocolVersion, ServerCapabilities, ServerConfig, SetLevelRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};

use super::{Server, era};
use crate::mcp::era::Era;
use crate::mcp::era::LASTING;
use crate::mcp::methods::{LEGACY_ONLY, no_method, refuse};
use crate::mcp::{Config, Identity};
use mcpkg_core::op::PLUGIN_OF;

/// Returns the server's name, capabilities and instructions.
pub(super) fn info(server: &Server) -> ServerConfig {
    let identity = server.config.identity;
    let capabilities = match identity {
        Identity::Agentpack | Identity::Enact | Identity::Assistant => {
            ServerCapabilities::builder().enable_tools().enable_tool_list_changed().build()
        }
        Identity::Smctl => ServerCapabilities::builder()
            .enable_logging()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_resources_subscribe()
            .enable_tools()
            .build(),
        Identity::Mcpkg => ServerCapabilities::builder()
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
            .enable_tasks()
            .build(),
    };
    let info = ServerConfig::new(capabilities)
        // The version offered to a client that requests an unsupported one.
        .with_protocol_version(ProtocolVersion::V_2025_06_18)
        .with_server_info(Implementation::new(identity.server_name(), env!("CARGO_PKG_VERSION")));
    match instructions(&server.config) {
        none if none.is_empty() => info,
        told => info.with_instructions(told),
    }
}

/// Answers initialize, with instructions for one client. They depend on the client, because its access key may allow
/// less than the server offers.
pub(super) fn initialize(
    server: &Server,
    params: &InitializeRequestParams,
    request: &RequestContext<RoleServer>,
) -> Result<InitializeResult, ErrorData> {
    refuse_self(server, Some(&params.capabilities))?;
    request.peer.set_peer_info(params.clone());
    let mut result = server.negotiate_initialize(params)?;
    if let Some(agreed) = ProtocolVersion::KNOWN_VERSIONS.iter().find(|known| **known == result.protocol_version) {
        let _ = server.session.revision.set(agreed.as_str());
    }
    let instructions = instructions(&server.config(&request.extensions));
    result.instructions = Some(instructions).filter(|told| !told.is_empty());
    Ok(result)
}

/// The instructions for clients that may run commands.
const OTHER_OPERATIONS: &str = "For other operations and API commands use search_commands, then execute; get_command_spec \
    shows a command's arguments.";

/// Returns the instructions for a client that connects: the purpose of each served group, and how to run operations
/// that are not listed. Agents do not call tools that are not listed, so without this hint they could not run these
/// operations.
fn instructions(config: &Config) -> String {
    let groups = crate::DOMAINS.iter().flat_map(|domain| domain.groups);
    let served = groups.filter(|group| config.surface.serves_group(group.name) && (group.holds)(&config.selection));
    let mut sentences: Vec<&str> = served.map(|group| group.instructions).collect();
    if crate::DOMAINS.operations().any(|entry| entry.runs_commands && config.serves(entry))
        && !config.surface.no_execute
    {
        sentences.push(OTHER_OPERATIONS);
    }
    sentences.join(" ")
}

/// Refuses a client that is mcpkg itself and runs this server as a plugin of the same database. Otherwise mcpkg would offer
/// its own commands a second time, as commands of the plugin.
pub(super) fn refuse_self(server: &Server, capabilities: Option<&ClientCapabilities>) -> Result<(), ErrorData> {
    let experimental = capabilities.and_then(|capabilities| capabilities.experimental.as_ref());
    let Some(of) = experimental.and_then(|experimental| experimental.get(PLUGIN_OF)?.get("database")?.as_str()) else {
        return Ok(());
    };
    // If the database cannot be read, the first request reports it.
    if server.store.mark().is_ok_and(|mark| mark == of) {
        let why = "this is mcpkg itself, with the same database; mcpkg cannot be its own plugin";
        return Err(ErrorData::invalid_request(why, None));
    }
    Ok(())
}

pub(super) fn discover(server: &Server, config: &Config) -> DiscoverResult {
    let mut info = info(server);
    info.instructions = Some(instructions(config)).filter(|told| !told.is_empty());
    if server.config.identity == Identity::Smctl {
        // Only revision 2026-07-28 has `server/discover`, and that revision has no logging.
        info.capabilities.logging = None;
    }
    DiscoverResult::from_server_info(server.supported_protocol_versions().into_owned(), info)
        .with_ttl_ms(LASTING)
        .with_cache_scope(CacheScope::Private)
}

/// Starts notifying the client of changes.
pub(super) fn initialized(server: &Server, notification: NotificationContext<RoleServer>) {
    if !server.session.notified.swap(true, Ordering::Relaxed) {
        let subscriber = Arc::clone(server.subscriber(&notification.extensions));
        server.hub.notify(notification.peer, subscriber, server.session.ended.clone());
    }
}

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

/// Returns the minimum level of log messages for the client of a request.
pub(super) fn level(server: &Server, request: &RequestContext<RoleServer>) -> Option<LoggingLevel> {
    match era(request) {
        Era::Modern => request.meta.log_level(),
        Era::Legacy => Some(server.session.level().unwrap_or(LoggingLevel::Info)),
    }
}

/// Returns the error for a request that rmcp could not read: an unknown method, or invalid parameters.
pub(super) fn unreadable(custom: &CustomRequest, request: &RequestContext<RoleServer>) -> ErrorData {
    if era(request) == Era::Modern && LEGACY_ONLY.contains(&custom.method.as_str()) {
        return no_method(&custom.method);
    }
    refuse(&custom.method, custom.params.as_ref())
}
