//! Recognizes the files in a client's own folder of an Agent Plugin, such as `com.github.copilot/`.

use crate::import::paths::agents::{self, Role};
use crate::import::paths::destination::{Destination, PluginFile};
use mcpkg_store::agent_files::Kind;

/// Returns whether a folder at the top of an Agent Plugin belongs to one client: `com.vendor.client`.
pub(super) fn is_namespace(folder: &str) -> bool {
    let is_word = |word: &str| {
        !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    };
    folder.matches('.').count() >= 2 && folder.split('.').all(is_word)
}

/// Returns what a file in a client's folder becomes. If mcpkg does not know the client, all its files are plain files.
pub(super) fn of_client(path: &str, namespace: &str, below: &str) -> Destination {
    let client = agents::with_namespace(namespace);
    let (Some(agent), Some((_, folders))) = (client, agents::in_plugins()) else { return Destination::as_file(path) };
    let agent_file = |role, folder: &str, endings: &[&str]| {
        let label = below.strip_prefix(folder)?.strip_prefix('/')?;
        let ending = endings.iter().find(|ending| label.ends_with(**ending))?;
        Some(Destination {
            agent: Some(agent),
            ..Destination::plain(role, label[..label.len() - ending.len()].to_owned())
        })
    };
    if let Some(to) = agent_file(Role::Subagent, folders.subagents, &[".agent.md", ".md"]) {
        return to;
    }
    if let Some(to) = agent_file(Role::Prompt, folders.commands, &[".md"]) {
        return Destination { file: Some(format!("{}.md", to.label)), ..to };
    }
    match below.strip_prefix(folders.hooks) {
        Some("/hooks.json") => Destination::kept(Kind::Hook, agent, path, PluginFile::Vendor),
        _ => Destination::as_file(path),
    }
}
