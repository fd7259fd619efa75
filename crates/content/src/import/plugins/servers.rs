//! Validates the `mcp.json` of an Agent Plugin, and finds the servers that need their plugin's folder.

use serde_json::{Map, Value};

use super::open::other_version;
use mcpkg_agents::agents::open_plugins::VARIABLES;
use mcpkg_base::inside::stays_inside;
use mcpkg_store::servers::{Definition, Part, Text};

const SCHEMA: &str = "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json";

/// Checks an `mcp.json`. Returns the names of servers that agents skip, with the reasons.
///
/// # Errors
/// The reason, for people, why agents load no server of the file.
pub fn check(text: &str) -> Result<Vec<(String, String)>, String> {
    let value = serde_json::from_str(text).map_err(|error| format!("it is not valid JSON ({error})"))?;
    let Value::Object(file) = value else { return Err("it is not a JSON object".to_owned()) };
    match file.get("$schema") {
        Some(Value::String(schema)) if schema == SCHEMA => {}
        Some(Value::String(schema)) => return Err(other_version(schema, "mcp")),
        Some(_) => return Err("its `$schema` is not a string".to_owned()),
        None => return Err("it has no `$schema`".to_owned()),
    }
    if let Some(unknown) = file.keys().find(|key| !matches!(key.as_str(), "$schema" | "mcpServers")) {
        return Err(format!("it has the unknown field `{}`", unknown.escape_debug()));
    }
    let Some(Value::Object(servers)) = file.get("mcpServers") else {
        return Err("it has no object `mcpServers`".to_owned());
    };
    let bad = servers.iter().filter_map(|(name, server)| Some((name.clone(), check_server(server).err()?)));
    Ok(bad.collect())
}

fn check_server(server: &Value) -> Result<(), String> {
    let Value::Object(server) = server else { return Err("is not an object".to_owned()) };
    let fields: &[&str] = match server.get("type").and_then(Value::as_str) {
        Some("stdio") => &["type", "command", "args", "env", "cwd"],
        Some("streamable-http" | "sse") => &["type", "url", "headers"],
        Some(_) => return Err("has a `type` other than stdio, streamable-http and sse".to_owned()),
        None => return Err("has no `type`".to_owned()),
    };
    if let Some(unknown) = server.keys().find(|key| !fields.contains(&key.as_str())) {
        return Err(format!("has the field `{}`, which its type does not have", unknown.escape_debug()));
    }
    if fields.contains(&"command") { check_program(server) } else { check_remote(server) }
}

fn check_program(server: &Map<String, Value>) -> Result<(), String> {
    let command = text(server, "command")?.ok_or("has no `command`")?;
    let is_path = command.strip_prefix("./").is_some_and(stays_inside);
    let is_bare = !command.contains(['/', '\\', '$', '\0'])
        && !command.contains(char::is_whitespace)
        && !matches!(command, "" | "." | "..");
    if !is_path && !is_bare {
        return Err("has a `command` that is neither a program's name nor a path in the plugin that begins with `./`"
            .to_owned());
    }
    if server.get("args").is_some_and(|args| !args.as_array().is_some_and(|args| args.iter().all(Value::is_string))) {
        return Err("has `args` that are not a list of strings".to_owned());
    }
    let env = texts(server, "env")?;
    if env.iter().any(|(name, _)| matches!(*name, "PLUGIN_ROOT" | "PLUGIN_DATA")) {
        return Err("sets PLUGIN_ROOT or PLUGIN_DATA in `env`".to_owned());
    }
    let Some(cwd) = text(server, "cwd")? else { return Ok(()) };
    let below = ["./", "${PLUGIN_ROOT}/", "${PLUGIN_DATA}/"].iter().find_map(|root| cwd.strip_prefix(root));
    let is_root = matches!(cwd, "${PLUGIN_ROOT}" | "${PLUGIN_DATA}");
    let is_inside = |below: &str| {
        let below = below.strip_suffix('/').unwrap_or(below);
        below.is_empty() || stays_inside(below)
    };
    match is_root || below.is_some_and(is_inside) {
        true => Ok(()),
        false => Err("has a `cwd` outside of the plugin's folder and its data".to_owned()),
    }
}

fn check_remote(server: &Map<String, Value>) -> Result<(), String> {
    let url = text(server, "url")?.ok_or("has no `url`")?;
    check_url(url)?;
    let headers = texts(server, "headers")?;
    let is_name = |name: &str| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
    };
    let is_value = |value: &str| {
        let is_edge = |c: char| c == ' ' || c == '\t';
        !value.contains(|c: char| c.is_control() && c != '\t')
            && !value.starts_with(is_edge)
            && !value.ends_with(is_edge)
    };
    if !headers.iter().all(|(name, value)| is_name(name) && is_value(value)) {
        return Err("has an invalid header".to_owned());
    }
    let mut names: Vec<String> = headers.iter().map(|(name, _)| name.to_ascii_lowercase()).collect();
    names.sort_unstable();
    match names.windows(2).any(|pair| pair[0] == pair[1]) {
        true => Err("has a header twice".to_owned()),
        false => Ok(()),
    }
}

fn check_url(url: &str) -> Result<(), String> {
    let wrong = |why: &str| Err(format!("has a `url` {why}"));
    let lower = url.to_ascii_lowercase();
    let (is_plain, rest) = match (lower.strip_prefix("https://"), lower.strip_prefix("http://")) {
        (Some(rest), _) => (false, rest),
        (None, Some(rest)) => (true, rest),
        (None, None) => return wrong("that is not an absolute http or https URL"),
    };
    if url.contains(|c: char| c.is_whitespace() || c.is_control() || c == '\\') {
        return wrong("that is not valid");
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return wrong("with a user name");
    }
    if url.contains('#') {
        return wrong("with a fragment");
    }
    let (host, port) = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, port)) => (host, port),
        None => authority.split_once(':').map_or((authority, ""), |(host, _)| (host, &authority[host.len()..])),
    };
    let is_port =
        port.is_empty() || port.strip_prefix(':').is_some_and(|port| port.is_empty() || port.parse::<u16>().is_ok());
    let is_ip6 = authority.starts_with('[');
    let is_host = match is_ip6 {
        true => host.parse::<std::net::Ipv6Addr>().is_ok(),
        false => !host.is_empty() && !host.contains(['$', '{', '}', '<', '>', '"', '^', '|', '`', '[', ']', '%']),
    };
    if !is_port || !is_host {
        return wrong("that is not valid");
    }
    let is_loopback =
        host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    if is_plain && !is_loopback {
        return wrong("with http to another computer; it must be https");
    }
    Ok(())
}

fn text<'s>(server: &'s Map<String, Value>, key: &str) -> Result<Option<&'s str>, String> {
    match server.get(key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("has a `{key}` that is not a string")),
    }
}

fn texts<'s>(server: &'s Map<String, Value>, key: &str) -> Result<Vec<(&'s str, &'s str)>, String> {
    let failed = || format!("has a `{key}` that is not an object of strings");
    match server.get(key) {
        None => Ok(Vec::new()),
        Some(Value::Object(values)) => {
            values.iter().map(|(name, value)| Ok((name.as_str(), value.as_str().ok_or_else(failed)?))).collect()
        }
        Some(_) => Err(failed()),
    }
}

/// Returns whether a server needs its plugin's folder: its definition contains a variable for one of the plugin's
/// folders or, in a plugin, a relative path. Outside a plugin, relative paths start in the project's folder.
pub fn needs_plugin(definition: &Definition, is_in_plugin: bool) -> bool {
    let is_variable = |name: &str| VARIABLES.contains(&name);
    let refers = |part: &Part| match part {
        Part::Env { env, .. } => is_variable(env),
        Part::Text(text) => VARIABLES.iter().any(|name| text.contains(&format!("${{{name}}}"))),
        Part::Input { .. } | Part::File { .. } => false,
    };
    let starts_there = |text: &Text| matches!(text.parts().first(), Some(Part::Text(plain)) if plain.starts_with("./") || plain.starts_with("../"));
    definition.texts().flat_map(Text::parts).any(refers)
        || is_in_plugin && definition.command.iter().chain(&definition.args).chain(&definition.cwd).any(starts_there)
}

/// Returns a server's definition with one spelling for each variable of a plugin, to compare servers from files in
/// different formats.
pub fn with_one_spelling(definition: &Definition) -> Definition {
    let root = |name: &str| match name {
        "CLAUDE_PLUGIN_ROOT" | "COPILOT_PLUGIN_ROOT" | "extensionPath" => Some("PLUGIN_ROOT"),
        "CLAUDE_PLUGIN_DATA" => Some("PLUGIN_DATA"),
        "PLUGIN_ROOT" => Some("PLUGIN_ROOT"),
        "PLUGIN_DATA" => Some("PLUGIN_DATA"),
        _ => None,
    };
    let spelled = |text: &Text| {
        let parts = text.parts().iter().map(|part| match part {
            Part::Env { env, .. } => root(env).map_or_else(|| part.clone(), |name| Part::Text(format!("${{{name}}}"))),
            Part::Text(plain) => {
                let named = |text: String, name: &&str| match root(name) {
                    Some(one) => text.replace(&format!("${{{name}}}"), &format!("${{{one}}}")),
                    None => text,
                };
                Part::Text(VARIABLES.iter().fold(plain.clone(), named))
            }
            other => other.clone(),
        });
        Text::new(parts)
    };
    let mut one = definition.clone();
    one.command = one.command.as_ref().map(spelled);
    one.cwd = one.cwd.as_ref().map(spelled);
    one.url = one.url.as_ref().map(spelled);
    one.args = one.args.iter().map(spelled).collect();
    for (_, value) in one.env.iter_mut().chain(&mut one.headers) {
        *value = spelled(value);
    }
    one
}
