//! Finds the MCP servers in the entries of a marketplace: `"plugins": [{ "name": "kit", "mcpServers": { ... } }]`.

use std::ops::Range;

use mcpkg_agents::servers::dialect::Dialect;

/// What stands before and after the servers of an entry in a file that has only those.
const OPENED: &str = "{\"mcpServers\":";
const CLOSED: char = '}';

/// Returns the plugins whose entries have servers, and the places of the servers in the text.
pub fn places(dialect: &Dialect, text: &str) -> Vec<(String, Range<usize>)> {
    dialect.document.in_list(text, "plugins")
}

/// Returns the name of a plugin's server among all servers of the file.
pub fn name(plugin: &str, server: &str) -> String {
    format!("{plugin}/{server}")
}

/// Returns a file that has only these servers.
pub fn opened(servers: &str) -> String {
    format!("{OPENED}{servers}{CLOSED}")
}

/// Returns the servers in a file of [`opened`]; `None` if the file has another form now.
pub fn closed(text: &str) -> Option<&str> {
    text.strip_prefix(OPENED)?.strip_suffix(CLOSED)
}
