//! Finds the folder that paths are relative to, so that a file imported alone becomes the same item as with its whole project.

use std::path::{Path, PathBuf};

use crate::import::paths::agents::{self, Role};
use crate::import::paths::{COPILOT, Places};

/// Returns the folder that paths are relative to, if `path` belongs to an agent's folder. For example, `/p` for
/// `/p/.claude/commands/a.md`.
pub fn base(path: &Path, is_file: bool) -> Option<PathBuf> {
    let is_place = |path: &Path| agents::places().iter().any(|place| path.ends_with(place.folder.join("/")));
    if let Some(place) = path.ancestors().filter(|ancestor| is_place(ancestor)).last() {
        return place.ancestors().nth(2).map(Path::to_path_buf);
    }
    if path.ends_with(COPILOT.join("/")) {
        return path.ancestors().nth(2).map(Path::to_path_buf);
    }
    if !is_file && is_agents_folder(path) {
        return path.parent().map(Path::to_path_buf);
    }
    // A plugin's `commands`, `agents` or `hooks` folder, or a file in it.
    let of_plugin = |folder: &Path| {
        let is_one = folder.file_name().is_some_and(|name| name == "commands" || name == "agents" || name == "hooks");
        folder.parent().filter(|parent| is_one && is_plugin(parent)).map(Path::to_path_buf)
    };
    above_agents_folder(path, is_file).or_else(|| path.ancestors().find_map(of_plugin))
}

/// Returns whether a folder contains the manifest of a plugin.
pub(in crate::import) fn is_plugin(folder: &Path) -> bool {
    [".claude-plugin", ".codex-plugin", ".cursor-plugin"].iter().any(|name| folder.join(name).is_dir())
}

fn is_agents_folder(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(agents::is_folder)
}

/// Returns the parent of the innermost agent's folder above `path` that determines what the file becomes. For a folder, tests
/// a file in it. A file that is recognized by its name alone needs no such folder, unless it is directly in one.
fn above_agents_folder(path: &Path, is_file: bool) -> Option<PathBuf> {
    // For a folder, test how a text file in it would be recognized.
    let probe = if is_file { path.to_path_buf() } else { path.join("a.md") };
    let place = |base: &Path| {
        let parts: Option<Vec<&str>> = probe.strip_prefix(base).ok()?.iter().map(|part| part.to_str()).collect();
        Places::default().of(&parts?.join("/")).ok()
    };
    let is_known = |base: &Path| place(base).is_some_and(|place| place.role != Role::File);
    let parent = path.parent()?;
    if is_file && !is_agents_folder(parent) && is_known(parent) {
        return None;
    }
    // Some agents' folders, such as `windsurf`, are recognized only by certain files in them.
    let is_kept = |base: &&Path| is_file && place(base).is_some_and(|place| place.kept.is_some());
    let mut above = probe.ancestors().skip(1).filter(|folder| is_agents_folder(folder)).filter_map(Path::parent);
    let found = parent.parent().filter(is_kept).or_else(|| above.find(|base| is_known(base)));
    found.map(Path::to_path_buf)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_count_from_above_the_agents_folder() {
        let base = |path: &str| base(Path::new(path), false).map(|base| base.display().to_string());
        for inside in
            ["/p/.claude", "/p/.claude/commands", "/p/.claude/commands/a/b.md", "/p/.claude/skills/x/.cursor/rules"]
        {
            assert_eq!(base(inside).as_deref(), Some("/p"), "{inside}");
        }
        assert_eq!(base("/p/.github/copilot-instructions.md").as_deref(), Some("/p"));
        for inside in
            ["/p/.claude/hooks", "/p/.claude/hooks/lib", "/p/.clinerules/a", "/p/.codex/rules", "/p/.opencode/plugin"]
        {
            assert_eq!(base(inside).as_deref(), Some("/p"), "{inside}");
        }
        for outside in
            ["/p", "/p/docs/a.md", "/home/.claude/worktrees/p", "/p/.github/workflows", "/p/.claude/projects/x"]
        {
            assert_eq!(base(outside), None, "{outside}");
        }
    }

    #[test]
    fn a_file_that_is_named_is_what_its_folder_says() {
        let base = |path: &str| super::base(Path::new(path), true).map(|base| base.display().to_string());
        for path in [
            ".cursor/mcp.json",
            ".vscode/mcp.json",
            ".github/mcp.json",
            ".codex/config.toml",
            ".gemini/settings.json",
            ".claude/settings.local.json",
            ".claude/CLAUDE.md",
            ".claude/hooks/lib/a.sh",
            ".claude/commands/git/go.md",
            ".claude/agents/ag.md",
            ".cursor/rules/r.mdc",
            ".cursor/hooks.json",
            ".windsurf/mcp.json",
            "windsurf/mcp_config.json",
            ".copilot/mcp-config.json",
            ".claude-plugin/plugin.json",
            ".clinerules/a.md",
            ".codex/rules/a.rules",
        ] {
            assert_eq!(
                base(&format!("/home/.claude/worktrees/p/{path}")).as_deref(),
                Some("/home/.claude/worktrees/p"),
                "{path}"
            );
        }
        // These files are recognized by their names alone, or no agent reads them.
        for path in [
            ".mcp.json",
            "claude_desktop_config.json",
            "opencode.json",
            "CLAUDE.md",
            "x.prompt.md",
            "README.md",
            "mcp.json",
        ] {
            assert_eq!(base(&format!("/home/.claude/worktrees/p/{path}")), None, "{path}");
        }
        assert_eq!(base("/p/.github/README.md"), None);
    }
}
