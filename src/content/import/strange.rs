//! Configurations of MCP servers where no agent reads them: a copy, a backup, an example. Their values may be secret, so such a file is
//! never served as a document.

use serde_json::{Map, Value};

use super::scan::File;
use crate::error::Result;
use crate::mcp_servers::dialect::DIALECTS;
use crate::mcp_servers::document::{Document, Format};
use crate::mcp_servers::secrets::Secrets;
use crate::redact::holds_token;

/// Bytes of an agent's file that is read for what it holds; a longer one is malformed to its agent as well.
pub(super) const MAX_READ: u64 = 4 << 20;

/// How deep servers may stand in a document, such as in one of the projects of Claude Code's own file.
const DEEPEST: usize = 6;

/// Words of which one stands in each such configuration.
const WORDS: [&str; 5] = ["mcpServers", "mcp_servers", "context_servers", "\"servers\"", "\"mcp\""];

/// Whether a file looks like a configuration of MCP servers with values in it that `secrets` would not keep.
///
/// # Errors
/// `E_FILE_FAILED` where the file is no longer what it was.
pub(super) fn holds_values(file: &File, secrets: &Secrets) -> Result<bool> {
    if !may_be_one(&file.relative) || file.content.size() > MAX_READ || !file.content.is_text() {
        return Ok(false);
    }
    let bytes = file.content.bytes()?;
    let text = String::from_utf8_lossy(&bytes);
    if !WORDS.iter().any(|word| text.contains(word)) {
        return Ok(false);
    }
    let read = |format| Document::new(format, "").value(&text).ok().filter(Value::is_object);
    Ok(match read(Format::Json { comments: true }).or_else(|| read(Format::Toml)) {
        Some(value) => {
            let servers = servers(&value, 0);
            let are_values = |(name, entry): &(&String, &Map<String, Value>)| has_values(name, entry, secrets);
            !servers.is_empty() && (holds_token(&text) || servers.iter().any(are_values))
        }
        // Cut off, or with something that only its own agent reads: nothing tells which of it is a value.
        None => text.trim_start().starts_with(['{', '[']) && text.contains(WORDS[0]) || text.contains("[mcp_servers."),
    })
}

/// Whether a name may be that of a configuration, also with `.bak`, `.example` and the like behind it.
fn may_be_one(relative: &str) -> bool {
    let name = relative.rsplit('/').next().unwrap_or_default().to_lowercase();
    [".json", ".toml", "mcp"].iter().any(|part| name.contains(part)) || !name.trim_start_matches('.').contains('.')
}

/// Returns the entries of servers in a document, by their names.
fn servers(value: &Value, depth: usize) -> Vec<(&String, &Map<String, Value>)> {
    let mut found = Vec::new();
    if depth > DEEPEST {
        return found;
    }
    let within: Vec<(&str, &Value)> = match value {
        Value::Object(object) => object.iter().map(|(key, value)| (key.as_str(), value)).collect(),
        Value::Array(list) => list.iter().map(|value| ("", value)).collect(),
        _ => Vec::new(),
    };
    for (key, value) in within {
        let entries = value.as_object().into_iter().flatten();
        let entries = entries.filter_map(|(name, entry)| Some((name, entry.as_object()?)));
        let here: Vec<_> = entries.filter(|(_, entry)| is_server(key, entry)).collect();
        if here.is_empty() {
            found.extend(servers(value, depth + 1));
        } else {
            found.extend(here);
        }
    }
    found
}

/// Whether an entry below this key is one of a server.
fn is_server(key: &str, entry: &Map<String, Value>) -> bool {
    let is_text = |field: &str| entry.get(field).is_some_and(Value::is_string);
    let starts =
        entry.get("command").is_some_and(|command| command.is_string() || command.is_array() || command.is_object());
    let asks = ["url", "httpUrl", "serverUrl"].iter().any(|field| is_text(field));
    match key {
        // Other documents have servers too, such as AsyncAPI's.
        "servers" | "mcp" => starts || (asks && is_text("type")),
        _ => (starts || asks) && (key.ends_with("mcpServers") || matches!(key, "mcp_servers" | "context_servers")),
    }
}

/// Whether each agent that can read an entry would have something taken out of it.
fn has_values(name: &str, entry: &Map<String, Value>, secrets: &Secrets) -> bool {
    let entry = Value::Object(entry.clone());
    !DIALECTS.iter().filter_map(|dialect| dialect.read(&entry, &[]).ok()).any(|read| {
        let mut definition = read.definition.clone();
        let out = secrets.clone().take_out(name, &mut definition);
        out.notes.is_empty() && definition == read.definition
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(path: &str, text: &str) -> bool {
        let content = text.as_bytes().to_vec().into();
        let file = File { relative: path.to_owned(), content, executable: false, listed: None };
        holds_values(&file, &Secrets::default()).expect("it is read")
    }

    #[test]
    fn a_configuration_with_values_is_known_by_what_it_holds() {
        let env = r#"{ "command": "x", "env": { "API_TOKEN": "tok-SECRET-123" } }"#;
        let header = r#"{ "type": "http", "url": "https://x.example", "headers": { "Authorization": "Bearer tok-SECRET-123" } }"#;
        for text in [
            format!(r#"{{ "mcpServers": {{ "m": {env} }} }}"#),
            format!(r#"{{ "servers": {{ "m": {header} }} }}"#),
            format!(r#"// copied{}{{ "mcp": {{ "servers": {{ "m": {env} }} }} }}"#, "\n"),
            format!(r#"{{ "projects": {{ "/p": {{ "mcpServers": {{ "m": {env}, }} }} }} }}"#),
            format!(r#"{{ "amp.mcpServers": {{ "m": {env} }} }}"#),
            format!(r#"{{ "context_servers": {{ "m": {env} }} }}"#),
            r#"{ "mcp": { "m": { "type": "local", "command": ["x"], "environment": { "API_TOKEN": "tok-SECRET-123" } } } }"#.to_owned(),
            r#"{ "mcpServers": { "m": { "command": "x", "args": ["--api-key", "tok-SECRET-123"] } } }"#.to_owned(),
            r#"{ "mcpServers": { "m": { "url": "https://u:tok-SECRET-123@x.example/" } } }"#.to_owned(),
            // Cut off.
            r#"{ "mcpServers": { "m": { "command": "x", "env": { "API_TOKEN": "tok-SECRET-123""#.to_owned(),
            "[mcp_servers.m]\ncommand = \"x\"\n[mcp_servers.m.env]\nAPI_TOKEN = \"tok-SECRET-123\"\n".to_owned(),
        ] {
            for path in ["docs/servers.json", "mcp.json.bak", "config.toml.old", "backup", ".mcp-copy.txt"] {
                assert!(holds(path, &text), "{path}: {text}");
            }
        }
    }

    #[test]
    fn other_documents_are_not_taken_for_one() {
        for text in [
            r#"{ "mcpServers": {} }"#,
            r#"{ "mcpServers": { "m": { "command": "x", "args": ["-y"] } } }"#,
            r#"{ "mcpServers": { "m": { "command": "x", "env": { "API_TOKEN": "${API_TOKEN}" } } } }"#,
            r#"{ "openapi": "3.1.0", "servers": [{ "url": "https://x.example" }] }"#,
            r#"{ "asyncapi": "2.6.0", "servers": { "p": { "url": "https://x.example", "protocol": "kafka" } } }"#,
            r#"{ "name": "x", "mcp": true }"#,
            "Put this into `mcp.json`: { \"mcpServers\": { \"m\": { \"env\": { \"API_TOKEN\": \"yours\" } } } }",
        ] {
            assert!(!holds("docs/a.json", text), "{text}");
        }
        assert!(!holds("docs/a.md", r#"{ "mcpServers": { "m": { "command": "x", "env": { "A": "b" } } } }"#));
    }
}
