//! `mcpkg mcp ...`: the MCP servers that a project gives to agents. The commands are modelled on `claude mcp` and `codex
//! mcp`.

mod add;
mod arguments;
mod list;
mod remove;
mod set;
mod show;

use serde_json::{Map, Value, json};

use mcpkg_agents::agents;
use mcpkg_agents::servers::dialect::Dialect;
use mcpkg_base::clock::rfc3339;
use mcpkg_core::op::Entry;
use mcpkg_store::servers::{Named, Part, Server, Text};

pub use arguments::ServerArguments;

pub const OPS: &[Entry] = &[
    Entry::of::<add::Add>(),
    Entry::of::<list::List>(),
    Entry::of::<show::Show>(),
    Entry::of::<set::Set>(),
    Entry::of::<remove::Remove>(),
];

fn data(project: &str, server: &Server) -> Value {
    let Server { uuid, name, definition, origin, enabled, revision, created_at, updated_at, id: _ } = server;
    let named = |named: &Named| -> Map<String, Value> {
        named.iter().map(|(name, text)| (name.clone(), json!(text))).collect()
    };
    let mut data = json!({
        "project": project,
        "id": uuid.to_string(),
        "name": name,
        "enabled": enabled,
        "transport": definition.transport.word(),
        "revision": revision,
        "created_at": rfc3339(*created_at),
        "updated_at": rfc3339(*updated_at),
    });
    let mut put = |key: &str, value: Value| {
        let is_empty = value.is_null()
            || value.as_array().is_some_and(Vec::is_empty)
            || value.as_object().is_some_and(Map::is_empty);
        if !is_empty {
            data[key] = value;
        }
    };
    put("description", json!(definition.description));
    put("command", json!(definition.command));
    put("args", json!(definition.args));
    put("env", named(&definition.env).into());
    put("cwd", json!(definition.cwd));
    put("url", json!(definition.url));
    put("headers", named(&definition.headers).into());
    put("inputs", json!(definition.inputs));
    put("extra", json!(definition.extra));
    put("agent", json!(origin.agent));
    put("path", json!(origin.path));
    put("entry", json!(origin.entry));
    data
}

/// Formats a text for people, with references as `${NAME}`.
pub fn shown(text: &Text) -> String {
    let part = |part: &Part| match part {
        Part::Text(plain) => plain.clone(),
        Part::Env { env, default: None } => format!("${{{env}}}"),
        Part::Env { env, default: Some(default) } => format!("${{{env}:-{default}}}"),
        Part::Input { input } => format!("${{input:{input}}}"),
        Part::File { file } => format!("{{file:{file}}}"),
    };
    text.parts().iter().map(part).collect()
}

/// Returns the command line that starts a server, or its URL.
pub fn runs(server: &Server) -> String {
    let definition = &server.definition;
    match (&definition.command, &definition.url) {
        (Some(command), _) => {
            let words = std::iter::once(command).chain(&definition.args);
            words.map(|word| mcpkg_base::shell::quote(&shown(word))).collect::<Vec<_>>().join(" ")
        }
        (None, url) => url.as_ref().map(shown).unwrap_or_default(),
    }
}

/// Returns the environment variables that a server needs.
fn variables(server: &Server) -> Vec<&str> {
    let mut names: Vec<&str> = server
        .definition
        .texts()
        .flat_map(Text::parts)
        .filter_map(|part| match part {
            Part::Env { env, .. } => Some(env.as_str()),
            _ => None,
        })
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The agent whose syntax is used for references on the command line.
const FORM: &str = "claude_code";

fn form() -> Option<&'static Dialect> {
    agents::dialect_of(FORM)
}
