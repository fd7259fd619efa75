//! Detects configurations of MCP servers in places where no agent reads them, such as backups and examples. Their values may
//! be secret, so such a file is never served as a document.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::import::reason::{Note, Reason};
use crate::item::File;
use mcpkg_agents::agents;
use mcpkg_agents::forms::matter;
use mcpkg_agents::servers::document::{Document, Format};
use mcpkg_agents::servers::secrets::Secrets;
use mcpkg_base::error::Result;
use mcpkg_base::process::utf16;
use mcpkg_base::redact::{holds_token, is_secret_name};

/// The maximum size, in bytes, of an agent's file that is read. Agents do not read larger ones either.
pub const MAX_READ: u64 = 4 << 20;

/// The maximum size, in bytes, of a document that is parsed to find a configuration in it. Larger documents are only
/// searched, in pieces of [`BEGINNING`] bytes.
const MAX_DOCUMENT: u64 = 64 << 20;
const BEGINNING: usize = 64 << 10;

/// Every configuration of MCP servers contains at least one of these texts, or begins with `servers:`.
const WORDS: [&str; 8] = [
    "mcpServers",
    "mcp_servers",
    "context_servers",
    "\"servers\"",
    "\nservers:",
    "\n  servers:",
    "\"mcp\"",
    "\"command\"",
];

/// Returns the reason to skip a file that looks like a configuration of MCP servers, and a note that says what the user
/// can do.
pub fn left_out(file: &File) -> (Reason, Note) {
    let text = "was skipped: it looks like an MCP server configuration, but no agent reads it there, and some of \
        its values may be secret; replace these values with references such as ${NAME}, or add the servers with `mcpkg mcp add`";
    (Reason::Secret, Note { path: file.relative.clone(), line: None, text: text.to_owned() })
}

/// Returns whether a file looks like a configuration of MCP servers with values that `secrets` would remove. The file's name
/// does not matter.
pub fn holds_values(file: &File, secrets: &Secrets) -> Result<bool> {
    if !file.content.names_servers() {
        return Ok(false);
    }
    if file.content.size() > MAX_DOCUMENT {
        return begins_like_one(file);
    }
    let bytes = file.content.bytes()?;
    let text = match utf16(&bytes) {
        Some(text) => Cow::Owned(text),
        None if file.content.is_text() => String::from_utf8_lossy(&bytes),
        None => return Ok(false),
    };
    let text = text.trim_start_matches('\u{feff}').trim_start();
    if !WORDS.iter().any(|word| text.contains(word)) && !text.starts_with("servers:") {
        return Ok(false);
    }
    Ok(match read(text) {
        Some(value) => {
            let servers = servers(&value);
            let has_values = |(name, entry): &(&str, &Map<String, Value>)| has_values(name, entry, secrets);
            !servers.is_empty() && (holds_token(text) || names_secret(&value) || servers.iter().any(has_values))
        }
        // The file is incomplete, or has a syntax that only its own agent understands. Any text in it may be a secret value.
        None => is_unreadable(text),
    })
}

/// Returns whether a file that is too large to parse begins like JSON and mentions MCP servers somewhere.
fn begins_like_one(file: &File) -> Result<bool> {
    let mut reader = file.content.reader();
    let mut window = Vec::new();
    let mut is_document = None;
    let mut piece = vec![0; BEGINNING];
    loop {
        let size = std::io::Read::read(&mut reader, &mut piece)
            .map_err(|error| mcpkg_base::error::Error::file("read", std::path::Path::new(&file.relative), error))?;
        if size == 0 {
            return Ok(false);
        }
        window.extend_from_slice(&piece[..size]);
        let text = utf16(&window).unwrap_or_else(|| String::from_utf8_lossy(&window).into_owned());
        let begins = || text.trim_start_matches('\u{feff}').trim_start().starts_with('{');
        if !*is_document.get_or_insert_with(begins) {
            return Ok(false);
        }
        if text.contains(WORDS[0]) || text.contains(WORDS[1]) || text.contains(WORDS[2]) {
            return Ok(true);
        }
        window.drain(..window.len().saturating_sub(64));
    }
}

/// Parses a document as JSON (with or without comments), TOML or YAML.
fn read(text: &str) -> Option<Value> {
    let is_short = text.len() as u64 <= MAX_READ;
    let value = match text.starts_with(['{', '[']) {
        true => serde_json::from_str(text).ok().or_else(|| {
            let document = Document::new(Format::Json { comments: true }, "");
            is_short.then(|| document.value(text).ok()).flatten()
        }),
        false if text.starts_with("//") || text.starts_with("/*") => {
            Document::new(Format::Json { comments: true }, "").value(text).ok()
        }
        false => None,
    };
    let toml = || is_short.then(|| Document::new(Format::Toml, "").value(text).ok()).flatten();
    // Most prose is valid YAML too, but prose does not begin with a key.
    let yaml = || (is_short && is_mapping(text)).then(|| matter::read(text).ok()).flatten();
    let is_whole = |value: &Value| value.is_object() || value.is_array();
    value.or_else(toml).or_else(yaml).filter(is_whole)
}

/// Returns whether the first line that is neither empty nor a comment is a YAML key.
fn is_mapping(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim_end).filter(|line| !line.is_empty() && !line.starts_with(['#', '%']));
    let first = lines.find(|line| *line != "---").unwrap_or_default();
    first.split_once(':').is_some_and(|(key, _)| !key.trim_start_matches("- ").contains(' '))
}

/// Returns whether a document that cannot be parsed looks like a configuration of MCP servers.
fn is_unreadable(text: &str) -> bool {
    let is_template = ["{{", "{%", "{#"].iter().any(|begin| text.starts_with(begin));
    let mut lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let is_toml = lines.next().is_some_and(|line| {
        line.starts_with('[') || line.split_once('=').is_some_and(|(key, _)| !key.trim().contains(' '))
    });
    let is_json = text.starts_with(['{', '[']) && !is_template && WORDS[..3].iter().any(|word| text.contains(word));
    is_json || (is_toml && (text.contains("\n[mcp_servers.") || text.starts_with("[mcp_servers.")))
}

/// Returns all entries of MCP servers in a document, at any depth, with their names. If one entry is a server, the other
/// entries next to it count as servers too.
fn servers(document: &Value) -> Vec<(&str, &Map<String, Value>)> {
    let mut found = Vec::new();
    let mut waiting = vec![("", document)];
    while let Some((key, value)) = waiting.pop() {
        let entries: Vec<(&str, &Value)> = match value {
            Value::Object(object) => object.iter().map(|(name, entry)| (name.as_str(), entry)).collect(),
            Value::Array(list) => list.iter().map(|entry| (name_of(entry), entry)).collect(),
            _ => continue,
        };
        let objects = entries.iter().filter_map(|(name, entry)| Some((*name, entry.as_object()?)));
        let objects: Vec<_> = objects.collect();
        if objects.iter().any(|(_, entry)| is_server(key, entry)) {
            found.extend(objects);
        }
        // Treat elements of a list as if they were below the list's key.
        let below = |name| if value.is_array() { key } else { name };
        waiting.extend(entries.into_iter().map(|(name, entry)| (below(name), entry)));
    }
    found
}

/// Returns the name of an entry in a list.
fn name_of(entry: &Value) -> &str {
    entry.get("name").and_then(Value::as_str).unwrap_or_default()
}

/// Returns whether a document has a key whose name suggests a secret, and whose value is a plain text.
fn names_secret(document: &Value) -> bool {
    let mut waiting = vec![document];
    while let Some(value) = waiting.pop() {
        match value {
            Value::Object(object) => {
                let says = |(name, value): (&String, &Value)| {
                    let text = value.as_str().unwrap_or_default();
                    is_secret_name(name) && !text.is_empty() && !text.contains(['$', '{', '<', ' '])
                };
                if object.iter().any(says) {
                    return true;
                }
                waiting.extend(object.values());
            }
            Value::Array(list) => waiting.extend(list),
            _ => {}
        }
    }
    false
}

/// Returns whether an entry below this key is an MCP server.
fn is_server(key: &str, entry: &Map<String, Value>) -> bool {
    let is_text = |field: &str| entry.get(field).is_some_and(Value::is_string);
    let is_set = |field: &str| entry.get(field).and_then(Value::as_object).is_some_and(|values| !values.is_empty());
    let starts =
        entry.get("command").is_some_and(|command| command.is_string() || command.is_array() || command.is_object());
    let asks = ["url", "httpUrl", "serverUrl"].iter().any(|field| is_text(field));
    match key {
        // Plugins list servers without a key above them. Be strict, because other documents, such as tasks, contain commands
        // too.
        "" => is_text("command") && (is_set("env") || entry.get("args").is_some_and(Value::is_array)),
        // Be strict here as well, because other documents, such as AsyncAPI's, contain `servers` too.
        "servers" | "mcp" => starts || (asks && is_text("type")),
        _ => (starts || asks) && (key.ends_with("mcpServers") || matches!(key, "mcp_servers" | "context_servers")),
    }
}

/// Returns whether an entry contains values that must not be served. It does if no agent's format can read the entry without
/// removing a secret.
fn has_values(name: &str, entry: &Map<String, Value>, secrets: &Secrets) -> bool {
    let entry = Value::Object(entry.clone());
    !agents::ALL.iter().filter_map(|agent| agent.servers.read(&entry, &[]).ok()).any(|read| {
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
    fn configurations_with_values_are_detected_in_any_file() {
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
            // The value is in an entry next to a server, below a server, at the top level, or deeply nested.
            r#"{ "mcpServers": { "a": { "command": "x" }, "m": { "env": { "A": "tok-SECRET-123" } } } }"#.to_owned(),
            format!(r#"{{ "mcpServers": {{ "a": {{ "command": "x", "more": {{ "mcpServers": {{ "m": {env} }} }} }} }} }}"#),
            r#"{ "mcpServers": { "a": { "command": "x" } }, "apiKey": "tok-SECRET-123" }"#.to_owned(),
            format!("{}{{ \"mcpServers\": {{ \"m\": {env} }} }}{}", r#"{ "a":"#.repeat(40), "}".repeat(40)),
            format!("\u{feff}{{ \"mcpServers\": {{ \"m\": {env} }} }}"),
            format!(r#"{{ "m": {env} }}"#),
            "mcpServers:\n  - name: m\n    command: x\n    env:\n      API_TOKEN: tok-SECRET-123\n".to_owned(),
            "mcpServers:\n  m:\n    command: x\n    env: { API_TOKEN: tok-SECRET-123 }\n".to_owned(),
            // The next document is truncated, and the one after it is TOML.
            r#"{ "mcpServers": { "m": { "command": "x", "env": { "API_TOKEN": "tok-SECRET-123""#.to_owned(),
            "[mcp_servers.m]\ncommand = \"x\"\n[mcp_servers.m.env]\nAPI_TOKEN = \"tok-SECRET-123\"\n".to_owned(),
        ] {
            for path in ["docs/servers.json", "mcp.json.bak", "config.toml.old", "backup", ".mcp-copy.txt", "backup.txt", "a.md"] {
                assert!(holds(path, &text), "{path}: {text}");
            }
        }
    }

    #[test]
    fn other_documents_are_not_detected() {
        for text in [
            r#"{ "mcpServers": {} }"#,
            r#"{ "mcpServers": { "m": { "command": "x", "args": ["-y"] } } }"#,
            r#"{ "mcpServers": { "m": { "command": "x", "env": { "API_TOKEN": "${API_TOKEN}" } } } }"#,
            r#"{ "openapi": "3.1.0", "servers": [{ "url": "https://x.example" }] }"#,
            r#"{ "asyncapi": "2.6.0", "servers": { "p": { "url": "https://x.example", "protocol": "kafka" } } }"#,
            r#"{ "name": "x", "mcp": true }"#,
            r#"{ "tasks": [{ "label": "x", "command": "make", "args": ["all"] }] }"#,
            r#"{ "mcpServers": { "m": { "url": "https://x.example", "headers": { "Authorization": "Bearer ${TOKEN}" } } } }"#,
            "mcpServers:\n  - name: m\n    command: x\n    env:\n      API_TOKEN: ${API_TOKEN}\n",
            "# Codex\n\nPut this into `config.toml`:\n\n[mcp_servers.m]\nenv = { API_TOKEN = \"yours\" }\n",
            "The key mcpServers: it holds \"command\" and \"env\"\n",
            "{{ mcpServers }} { \"command\": 1",
            "Put this into `mcp.json`: { \"mcpServers\": { \"m\": { \"env\": { \"API_TOKEN\": \"yours\" } } } }",
        ] {
            assert!(!holds("docs/a.json", text), "{text}");
        }
    }

    #[test]
    fn configurations_are_detected_in_any_encoding_and_size() {
        let text = r#"{ "mcpServers": { "m": { "command": "x", "env": { "API_TOKEN": "tok-SECRET-123" } } } }"#;
        let units: Vec<u16> = std::iter::once(0xfeff).chain(text.encode_utf16()).collect();
        let holds_bytes = |bytes: Vec<u8>| {
            let file = File { relative: "a.txt".to_owned(), content: bytes.into(), executable: false, listed: None };
            holds_values(&file, &Secrets::default()).expect("it is read")
        };
        assert!(holds_bytes(units.iter().flat_map(|unit| unit.to_le_bytes()).collect()));
        assert!(holds_bytes(units.iter().flat_map(|unit| unit.to_be_bytes()).collect()));
        assert!(holds_bytes(units[1..].iter().flat_map(|unit| unit.to_le_bytes()).collect()));
        // The document is larger than an agent's file may be, and the servers are at its end.
        let long = format!("{{ \"history\": [{}0], {}", "\"a line of the past\", ".repeat(300_000), &text[1..]);
        assert!(long.len() as u64 > MAX_READ && holds_bytes(long.clone().into_bytes()));
        assert!(!holds_bytes(long.replace("tok-SECRET-123", "${API_TOKEN}").into_bytes()));
        assert!(!holds_bytes(b"\x7fELF\0\0 mcpServers \"command\" \xff".to_vec()));
    }
}
