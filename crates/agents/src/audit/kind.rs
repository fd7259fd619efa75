//! Decides by a file's path which rules apply to the file.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::LazyLock;

use crate::agents;
use crate::agents::homes::Homes;
use crate::agents::imports::At;
use mcpkg_store::agent_files::Kind;

/// Returns a file's extension in lowercase. The result is empty if the file has none: `.cursorrules` has no extension.
fn extension(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    let extension = name.trim_start_matches('.').rsplit_once('.').map_or("", |(_, extension)| extension);
    extension.to_ascii_lowercase()
}

/// Returns whether an agent reads a file as instructions, judging by its name.
pub(super) fn is_prose(path: &str) -> bool {
    const PROSE: [&str; 9] = ["", "md", "mdc", "markdown", "txt", "toml", "yaml", "yml", "prompt"];
    PROSE.contains(&extension(path).as_str())
}

/// The settings files that are in no agent's [`Imports`](crate::agents::imports::Imports): manifests of plugins, and files
/// that import does not read.
const OTHER_SETTINGS: [&str; 5] =
    ["managed-settings.json", "cline_mcp_settings.json", "plugin.json", "permissions.json", "cli-config.json"];

/// The names of all settings files: those in the agents' tables, and [`OTHER_SETTINGS`].
static SETTINGS: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    // Only the names of the users' files matter, not their folders.
    let homes = Homes { home: PathBuf::new(), config: PathBuf::new(), xdg: PathBuf::new() };
    let mut names: BTreeSet<String> = OTHER_SETTINGS.map(str::to_owned).into();
    for agent in agents::ALL {
        let user_file = (agent.client.user_file)(&homes);
        names.extend(user_file.file_name().map(|name| name.to_string_lossy().into_owned()));
        let projects = agent.servers.project.and_then(|file| file.rsplit('/').next());
        names.extend(projects.into_iter().chain(agent.client.other_file).map(str::to_owned));
        for file in agent.imports.kept.iter().filter(|file| file.kind != Kind::Ignore) {
            if let At::In(files, _) | At::Anywhere(files) = file.at {
                names.extend(files.iter().map(|&name| name.to_owned()));
            }
        }
    }
    names
});

/// Returns whether a file configures an agent, judging by its path.
pub(super) fn is_settings(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    SETTINGS.contains(name) || path.split('/').rev().nth(1) == Some("hooks") && extension(path) == "json"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_agents_settings_are_settings() {
        for path in [
            ".claude/settings.local.json",
            ".codex/config.toml",
            ".cursor/cli.json",
            ".cursor/mcp.json",
            ".gemini/settings.json",
            ".github/hooks/check.json",
            ".mcp.json",
            ".vscode/mcp.json",
            "home/.claude.json",
            "kit/.claude-plugin/plugin.json",
            "opencode.jsonc",
        ] {
            assert!(is_settings(path), "{path}");
        }
        for path in ["package.json", ".claudeignore", ".cursor/rules/cli.mdc", "docs/hooks.md"] {
            assert!(!is_settings(path), "{path}");
        }
    }
}
