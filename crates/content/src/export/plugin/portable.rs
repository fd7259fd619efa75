//! Writes a server for `mcp.json` of the Agent Plugins specification 1.0. The format is closed: agents skip a server
//! with a field that the specification does not define, and replace only the variables for the plugin's two folders.

use serde_json::{Map, Value};

use mcpkg_agents::servers::secrets::has_secret_word;
use mcpkg_base::inside::stays_inside;
use mcpkg_base::redact::holds_token;
use mcpkg_store::servers::{Definition, Named, Part, Text, Transport};

pub(super) const SCHEMA: &str = "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json";

/// The variables that stand for the plugin's folder. Each agent replaces only its own.
pub(super) const ROOTS: [&str; 3] = ["CLAUDE_PLUGIN_ROOT", "PLUGIN_ROOT", "extensionPath"];
/// The variables that stand for a folder where the plugin may write.
pub(super) const DATA: [&str; 2] = ["CLAUDE_PLUGIN_DATA", "PLUGIN_DATA"];

/// An agent's names for the variables of the plugin's two folders.
#[derive(Clone, Copy)]
pub(super) struct Folders {
    pub root: &'static str,
    pub data: Option<&'static str>,
}

/// The names in the specification.
pub(super) const PORTABLE: Folders = Folders { root: ROOTS[1], data: Some(DATA[1]) };

#[derive(Debug)]
pub(super) struct Portable {
    pub entry: Map<String, Value>,
    /// The settings that the entry cannot express, with the reasons.
    pub lost: Vec<(String, &'static str)>,
}

/// Returns the entry of a server. `definition` must already use the specification's names for the plugin's folders. The
/// error is the reason why the server cannot have an entry.
pub(super) fn entry(definition: &Definition) -> Result<Portable, &'static str> {
    let mut portable = Portable { entry: Map::new(), lost: Vec::new() };
    match definition.transport {
        Transport::Stdio => portable.program(definition)?,
        Transport::Http => portable.address("streamable-http", definition)?,
        Transport::Sse => portable.address("sse", definition)?,
    }
    Ok(portable)
}

const NO_VARIABLES: &str = "the file cannot refer to variables";

impl Portable {
    fn put(&mut self, key: &str, value: impl Into<Value>) {
        self.entry.insert(key.to_owned(), value.into());
    }

    fn program(&mut self, definition: &Definition) -> Result<(), &'static str> {
        self.put("type", "stdio");
        let command = definition.command.as_ref().and_then(token);
        self.put("command", command.ok_or("its program must be a name on PATH, or a file of the plugin")?);
        let args =
            definition.args.iter().map(|text| written(text).ok_or(NO_VARIABLES)).collect::<Result<Vec<_>, _>>()?;
        if !args.is_empty() {
            self.put("args", args);
        }
        let mut env = Map::new();
        for (name, text) in &definition.env {
            let is_ours = [Some(PORTABLE.root), PORTABLE.data].contains(&Some(name.as_str()));
            match written(text).filter(|_| !is_ours) {
                Some(text) => drop(env.insert(name.clone(), text.into())),
                None => self.lost.push((
                    format!("variable {name}"),
                    "mcp.json cannot contain references; set the variable where the agent starts",
                )),
            }
        }
        if !env.is_empty() {
            self.put("env", env);
        }
        if let Some(cwd) = &definition.cwd {
            match folder(cwd) {
                Some(cwd) => self.put("cwd", cwd),
                None => self.lost.push(("working folder".to_owned(), "it must be inside the plugin")),
            }
        }
        Ok(())
    }

    fn address(&mut self, kind: &str, definition: &Definition) -> Result<(), &'static str> {
        self.put("type", kind);
        let url = definition.url.as_ref().and_then(Text::literal).ok_or(NO_VARIABLES)?;
        if !is_allowed(url) {
            return Err("its address must be https, without a user and a fragment");
        }
        self.put("url", url);
        let mut headers = Map::new();
        let mut secret = Vec::new();
        for (name, text) in without_doubles(&definition.headers) {
            let plain = text.literal().filter(|text| !has_secret_word(name) && !holds_token(text));
            match plain.filter(|_| !name.eq_ignore_ascii_case("cookie")) {
                Some(plain) => drop(headers.insert(name.clone(), plain.into())),
                None => secret.push(name),
            }
        }
        if !headers.is_empty() {
            self.put("headers", headers);
        }
        for name in secret {
            self.lost
                .push((format!("header {name}"), "mcp.json must not contain secrets; sign in when the agent asks"));
        }
        Ok(())
    }
}

/// Returns the first header of each name, ignoring case.
fn without_doubles(headers: &Named) -> impl Iterator<Item = &(String, Text)> {
    let is_first = |at: usize, name: &str| !headers[..at].iter().any(|(other, _)| other.eq_ignore_ascii_case(name));
    headers.iter().enumerate().filter(move |(at, (name, _))| is_first(*at, name)).map(|(_, header)| header)
}

/// Writes a text whose only references are to the plugin's folders. Returns `None` if the text refers to something
/// else, or if an agent would take plain text in it for such a reference.
fn written(text: &Text) -> Option<String> {
    let Folders { root, data } = PORTABLE;
    let is_folder = |env: &str| env == root || Some(env) == data;
    let mut written = String::new();
    for part in text.parts() {
        match part {
            Part::Text(plain) => written.push_str(plain),
            Part::Env { env, default: None } if is_folder(env) => written.extend(["${", env, "}"]),
            Part::Env { .. } | Part::Input { .. } | Part::File { .. } => return None,
        }
    }
    let count = |word: &str| written.matches(&format!("${{{word}}}")).count();
    let meant = text.parts().iter().filter(|part| !matches!(part, Part::Text(_))).count();
    let found = count(root) + data.map_or(0, count);
    (found == meant).then_some(written)
}

/// Returns a program as one token: a bare name, or a path that begins with `./`.
fn token(command: &Text) -> Option<String> {
    match command.parts() {
        [Part::Text(name)] => {
            let is_bare = |c: char| !c.is_whitespace() && !c.is_control() && !r#"/\$"'"#.contains(c);
            (name.chars().all(is_bare) && !matches!(name.as_str(), "." | "..")).then(|| name.clone())
        }
        [Part::Env { env, default: None }, Part::Text(path)] if env == PORTABLE.root => {
            let path = path.strip_prefix('/').filter(|path| stays_inside(path) && !path.contains("${"))?;
            Some(format!("./{path}"))
        }
        _ => None,
    }
}

/// Returns a working folder; `None` if it is not inside one of the plugin's two folders.
fn folder(cwd: &Text) -> Option<String> {
    let written = written(cwd)?;
    let below = |folder: &str| {
        written.strip_prefix(&format!("${{{folder}}}")).map(|rest| rest.strip_prefix('/').unwrap_or(rest))
    };
    let below = below(PORTABLE.root).or_else(|| PORTABLE.data.and_then(below))?;
    (below.is_empty() || stays_inside(below)).then_some(written)
}

/// Returns whether the specification accepts an address: absolute, http only to this machine, no user, no fragment.
fn is_allowed(url: &str) -> bool {
    let Some((scheme, rest)) = url.split_once("://") else { return false };
    let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    let is_local = || {
        host.eq_ignore_ascii_case("localhost")
            || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
    };
    let is_plain = !url.contains(['#', '@', '$']) && !url.chars().any(|c| c.is_whitespace() || c.is_control());
    is_plain && !host.is_empty() && (scheme == "https" || scheme == "http" && is_local())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(parts: &[&str]) -> Text {
        Text::new(parts.iter().map(|part| match part.strip_prefix('$') {
            Some(name) => Part::env(name),
            None => Part::Text((*part).to_owned()),
        }))
    }

    #[test]
    fn a_program_is_one_token() {
        let good = [(vec!["npx"], "npx"), (vec!["$PLUGIN_ROOT", "/bin/run"], "./bin/run"), (vec!["run.sh"], "run.sh")];
        for (parts, expected) in good {
            assert_eq!(token(&text(&parts)).as_deref(), Some(expected));
        }
        let bad = [
            vec!["npx -y"],
            vec!["/usr/bin/run"],
            vec!["./run"],
            vec![""],
            vec![".."],
            vec!["$HOME", "/run"],
            vec!["$PLUGIN_ROOT"],
            vec!["$PLUGIN_ROOT", "/../run"],
            vec!["$PLUGIN_ROOT", "/a/${PLUGIN_DATA}"],
            vec!["a", "$PLUGIN_ROOT"],
            vec!["C:\\run.exe"],
        ];
        for parts in bad {
            assert_eq!(token(&text(&parts)), None, "{parts:?}");
        }
    }

    #[test]
    fn only_the_plugins_folders_are_references() {
        assert_eq!(written(&text(&["--root=", "$PLUGIN_ROOT", "/x"])).as_deref(), Some("--root=${PLUGIN_ROOT}/x"));
        assert_eq!(written(&text(&["costs $5 or ${HOME}"])).as_deref(), Some("costs $5 or ${HOME}"));
        assert_eq!(written(&text(&["${PLUGIN_ROOT}"])), None, "it must stay text");
        assert_eq!(written(&text(&["Bearer ", "$TOKEN"])), None);
        for (cwd, expected) in [
            (vec!["$PLUGIN_ROOT"], Some("${PLUGIN_ROOT}")),
            (vec!["$PLUGIN_DATA", "/a"], Some("${PLUGIN_DATA}/a")),
            (vec!["$PLUGIN_ROOT", "/.."], None),
            (vec!["$PLUGIN_ROOT", "/a/../.."], None),
            (vec!["/tmp"], None),
            (vec!["./data"], None),
        ] {
            assert_eq!(folder(&text(&cwd)).as_deref(), expected, "{cwd:?}");
        }
    }

    #[test]
    fn an_address_is_absolute_and_safe() {
        for good in
            ["https://h/mcp", "https://h:8443/mcp?a=b", "http://localhost:1/", "http://127.0.0.1/x", "http://[::1]:2/"]
        {
            assert!(is_allowed(good), "{good}");
        }
        for bad in [
            "",
            "h/mcp",
            "ftp://h",
            "http://h/mcp",
            "https://u:p@h/",
            "https://h/#a",
            "https://",
            "http://127.0.0.1.evil.example/",
            "https://h/ b",
        ] {
            assert!(!is_allowed(bad), "{bad}");
        }
    }

    #[test]
    fn secrets_stay_out_of_the_headers() {
        let mut definition = Definition::remote(Transport::Http, Text::plain("https://h/mcp"));
        definition.headers = vec![
            ("X-Team".to_owned(), Text::plain("web")),
            ("x-team".to_owned(), Text::plain("other")),
            ("Authorization".to_owned(), text(&["Bearer ", "$TOKEN"])),
            ("X-Api-Key".to_owned(), Text::plain("abc")),
            ("Cookie".to_owned(), Text::plain("a=b")),
        ];
        let Portable { entry, lost } = entry(&definition).unwrap();
        let expected =
            serde_json::json!({ "type": "streamable-http", "url": "https://h/mcp", "headers": { "X-Team": "web" } });
        assert_eq!(Value::from(entry), expected);
        let lost: Vec<&str> = lost.iter().map(|(what, _)| what.as_str()).collect();
        assert_eq!(lost, ["header Authorization", "header X-Api-Key", "header Cookie"]);
    }
}
