//! Finds the MCP servers in the entries of a marketplace: `"plugins": [{ "name": "kit", "mcpServers": { ... } }]`.

use std::ops::Range;

use mcpkg_agents::servers::dialect::Dialect;

/// The text before the servers in a file that [`opened`] creates.
const OPENED: &str = "{\"mcpServers\":";
const CLOSED: char = '}';

/// Returns the plugins whose entries contain servers, each with the position of these servers in the text.
pub fn places(dialect: &Dialect, text: &str) -> Vec<(String, Range<usize>)> {
    dialect.document.in_list(text, "plugins")
}

/// Returns the name of a plugin's server among all servers of the file: plugin `kit` and server `db` -> `kit/db`.
pub fn name(plugin: &str, server: &str) -> String {
    format!("{plugin}/{server}")
}

/// Returns the text of a file that contains only these servers.
pub fn opened(servers: &str) -> String {
    format!("{OPENED}{servers}{CLOSED}")
}

/// Returns the servers in a text that [`opened`] created; `None` if the text no longer has this form.
pub fn closed(text: &str) -> Option<&str> {
    text.strip_prefix(OPENED)?.strip_suffix(CLOSED)
}
