//! Lays out MCP servers: `.mcp.json` for Claude Code, `mcp.json` for Codex and Copilot CLI, and Gemini CLI's manifest.

use std::collections::{BTreeSet, HashSet};

use serde_json::{Map, Value, json};

use super::about::About;
use super::making::{CLAUDE, CODEX, COPILOT, GEMINI, Making, numbered, word};
use super::portable::{self, DATA, Folders, PORTABLE, Portable, ROOTS};
use crate::item::server::Server;
use mcpkg_agents::agents;
use mcpkg_base::error::Result;
use mcpkg_store::servers::{Definition, Part, Text};

const OF_CLAUDE: Folders = Folders { root: ROOTS[0], data: Some(DATA[0]) };
const OF_GEMINI: Folders = Folders { root: ROOTS[2], data: None };

/// Adds the servers. Returns the paths in the plugin's folder that the servers refer to.
pub(super) fn add(making: &mut Making, about: &About, servers: &[Server]) -> Result<BTreeSet<String>> {
    let (mut claude, mut common, mut gemini) = (Map::new(), Map::new(), Map::new());
    let (mut names, mut paths) = (HashSet::new(), BTreeSet::new());
    for server in servers {
        let Server { name: known, definition, .. } = server;
        let below = with_folders(definition, PORTABLE).texts().filter_map(path_below).collect::<BTreeSet<_>>();
        // Leave out a disabled server, unless it needs its plugin's folder: an import disables such a server, but in
        // the exported plugin it works.
        if !server.enabled && below.is_empty() {
            making.left_out(
                &[],
                word::SERVER,
                known,
                "it is disabled; to enable it, use `mcpkg mcp set NAME --enabled true`",
            );
            continue;
        }
        if !server.enabled {
            making.changed(
                &[],
                word::SERVER,
                known,
                "it is disabled in the project, because it needs the plugin's folder, but not in the plugin",
            );
        }
        let name = numbered(&carrying(&about.name, known), |name| !names.contains(name));
        names.insert(name.clone());
        if name != *known {
            let why = "Codex, Copilot CLI and Gemini CLI do not prefix servers with the plugin's name";
            making.renamed(word::SERVER, known, &name, why);
        }
        paths.extend(below);
        let before = claude.len() + common.len() + gemini.len();
        if let Some(entry) = entry(making, CLAUDE, OF_CLAUDE, server) {
            claude.insert(name.clone(), entry);
        }
        if let Some(entry) = entry(making, GEMINI, OF_GEMINI, server) {
            gemini.insert(name.clone(), entry);
        }
        match portable::entry(&with_folders(definition, PORTABLE)) {
            Ok(Portable { entry, lost }) => {
                common.insert(name, entry.into());
                for (what, why) in lost {
                    making.changed(&[CODEX, COPILOT], word::SERVER, &format!("{known}: {what}"), why);
                }
            }
            Err(why) => making.left_out(&[CODEX, COPILOT], word::SERVER, known, why),
        }
        making.servers += usize::from(claude.len() + common.len() + gemini.len() > before);
    }
    if !claude.is_empty() {
        making.json(".mcp.json", &json!({ "mcpServers": claude }))?;
    }
    if !common.is_empty() {
        making.json("mcp.json", &json!({ "$schema": portable::SCHEMA, "mcpServers": common }))?;
    }
    making.json("gemini-extension.json", &about.gemini(gemini))?;
    Ok(paths)
}

/// Returns the entry of a server in an agent's own format.
fn entry(making: &mut Making, agent: &'static str, folders: Folders, server: &Server) -> Option<Value> {
    let dialect = agents::dialect_of(agent)?;
    let definition = with_folders(&server.definition, folders);
    if folders.data.is_none() && definition.texts().any(|text| text.parts().iter().any(|part| is_one_of(part, &DATA))) {
        making.left_out(&[agent], word::SERVER, &server.name, "it has no folder where a plugin may write");
        return None;
    }
    match dialect.write(&definition, server.origin.agent.as_deref() == Some(agent)) {
        Ok(written) => {
            for lost in written.lost {
                making.changed(&[agent], word::SERVER, &server.name, &format!("it does not support {}", lost.text()));
            }
            Some(Value::Object(written.fields.into_iter().collect()))
        }
        Err(why) => {
            making.left_out(&[agent], word::SERVER, &server.name, why.text());
            None
        }
    }
}

/// Returns a server's name with the plugin's name as a prefix, unless the name already contains it. Characters other
/// than ASCII letters, digits, `_` and `-` are replaced, because agents do not accept them.
fn carrying(plugin: &str, server: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() || "_-".contains(c) { c } else { '-' };
    let server: String = server.chars().map(letter).collect();
    if server.to_ascii_lowercase().contains(plugin) { server } else { format!("{plugin}-{server}") }
}

/// Replaces the variables for the plugin's folders with the names that one agent uses.
fn with_folders(definition: &Definition, folders: Folders) -> Definition {
    let part = |part: &Part| match part {
        part if is_one_of(part, &ROOTS) => Part::env(folders.root),
        part if is_one_of(part, &DATA) => folders.data.map_or_else(|| part.clone(), Part::env),
        part => part.clone(),
    };
    let text = |text: &mut Text| *text = Text::new(text.parts().iter().flat_map(references).map(|read| part(&read)));
    let mut definition = definition.clone();
    let Definition { command, args, env, cwd, url, headers, .. } = &mut definition;
    let named = env.iter_mut().chain(headers).map(|(_, text)| text);
    command.iter_mut().chain(args).chain(cwd).chain(url).chain(named).for_each(text);
    definition
}

/// Splits a part into plain text and references to the plugin's folders. In a server that was imported from `mcp.json`,
/// such references are still plain text.
fn references(part: &Part) -> Vec<Part> {
    let Part::Text(plain) = part else { return vec![part.clone()] };
    let (mut parts, mut rest) = (Vec::new(), plain.as_str());
    while let Some((at, name)) = first_folder(rest) {
        parts.extend([Part::Text(rest[..at].to_owned()), Part::env(name)]);
        rest = &rest[at + name.len() + "${}".len()..];
    }
    parts.push(Part::Text(rest.to_owned()));
    parts
}

/// Returns the first reference to one of the plugin's folders in a text: its position, and the folder's name.
fn first_folder(text: &str) -> Option<(usize, &'static str)> {
    let names = [PORTABLE.root, PORTABLE.data.unwrap_or_default()];
    names.into_iter().filter_map(|name| Some((text.find(&format!("${{{name}}}"))?, name))).min()
}

fn is_one_of(part: &Part, variables: &[&str]) -> bool {
    matches!(part, Part::Env { env, default: None } if variables.contains(&env.as_str()))
}

/// Returns the path that a text names in the plugin's folder: `${CLAUDE_PLUGIN_ROOT}/bin/run` -> `bin/run`.
fn path_below(text: &Text) -> Option<String> {
    match text.parts() {
        [root, Part::Text(path)] if is_one_of(root, &ROOTS) => path.strip_prefix('/').map(str::to_owned),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_the_name_that_the_agent_knows() {
        let of = |text: Text, folders: Folders| {
            let definition = Definition { args: vec![text], ..Definition::stdio(Text::plain("x")) };
            with_folders(&definition, folders).args.remove(0)
        };
        let meant = |root: &str| Text::new([Part::Text("a=".to_owned()), Part::env(root), Part::Text("/b".to_owned())]);
        for text in [meant("CLAUDE_PLUGIN_ROOT"), meant("extensionPath"), Text::plain("a=${PLUGIN_ROOT}/b")] {
            assert_eq!(of(text.clone(), OF_CLAUDE), meant("CLAUDE_PLUGIN_ROOT"));
            assert_eq!(of(text.clone(), PORTABLE), meant("PLUGIN_ROOT"));
            assert_eq!(of(text, OF_GEMINI), meant("extensionPath"));
        }
        assert_eq!(of(Text::plain("${HOME}"), OF_CLAUDE), Text::plain("${HOME}"));
        assert_eq!(
            path_below(&Text::new([Part::env("PLUGIN_ROOT"), Part::Text("/x/y".to_owned())])).as_deref(),
            Some("x/y")
        );
    }

    #[test]
    fn a_server_carries_the_plugins_name() {
        let cases = [
            ("uni", "unim", "unim"),
            ("web", "github", "web-github"),
            ("web", "My.Web", "My-Web"),
            ("web", "a b", "web-a-b"),
        ];
        for (plugin, server, expected) in cases {
            assert_eq!(carrying(plugin, server), expected);
        }
    }
}
