//! Describes Agent Plugins 1.0, the plugin format that several agents load. Its files belong to no single agent, so it is not in
//! [`super::ALL`].

use crate::servers::dialect::Dialect;

/// The id of the format. A file of a plugin has this id instead of the id of an agent.
pub const ID: &str = "agent_plugins";

/// The manifest, in the plugin's folder.
pub const MANIFEST: &str = "plugin.json";

/// The file of MCP servers, in the plugin's folder.
pub const SERVERS: &str = "mcp.json";

/// The format of a plugin's MCP servers. Agents replace only `${PLUGIN_ROOT}` and `${PLUGIN_DATA}`, which mcpkg keeps
/// as ordinary text.
pub const DIALECT: Dialect = Dialect { types: (Some("stdio"), true), cwd: true, ..Dialect::COMMON };

/// The variables with which agents pass the folders of a plugin to its MCP servers.
pub const VARIABLES: [&str; 6] =
    ["PLUGIN_ROOT", "PLUGIN_DATA", "CLAUDE_PLUGIN_ROOT", "CLAUDE_PLUGIN_DATA", "COPILOT_PLUGIN_ROOT", "extensionPath"];
