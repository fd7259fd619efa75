//! Finds the folder that the paths in an import are relative to. A single file thus becomes the same item as when its whole
//! project is imported.

use std::path::{MAIN_SEPARATOR, Path, PathBuf};

use crate::import::paths::Places;
use crate::import::paths::agents::{self, Role};
use mcpkg_agents::agents::ALL;
use mcpkg_base::error::{Code, Error, Result};

/// Returns the folder that paths are relative to, if `path` is an agent's folder, a folder of a plugin, or inside one
/// of them. For example, `/p/.claude/commands/a.md` -> `/p`.
pub fn base(path: &Path, is_file: bool) -> Option<PathBuf> {
    let is_place = |path: &Path| {
        let names = [path.parent().and_then(name_of), name_of(path)];
        let [Some(folder), Some(name)] = names else { return false };
        agents::in_folder(&[folder, name]).is_some()
            || agents::places().iter().any(|place| place.folder == [folder, name])
    };
    if let Some(place) = path.ancestors().filter(|ancestor| is_place(ancestor)).last() {
        return place.ancestors().nth(2).map(Path::to_path_buf);
    }
    if !is_file && is_agents_folder(path) {
        return path.parent().map(Path::to_path_buf);
    }
    // The path is a plugin's `commands`, `agents` or `hooks` folder, or a file in one of them.
    let of_plugin = |folder: &Path| {
        let (_, known) = agents::in_plugins()?;
        let is_one = [known.commands, known.subagents, known.hooks].contains(&name_of(folder)?);
        folder.parent().filter(|parent| is_one && is_plugin(parent)).map(Path::to_path_buf)
    };
    above_agents_folder(path, is_file).or_else(|| path.ancestors().find_map(of_plugin))
}

/// Returns whether a folder contains an agent's plugin folder, such as `.claude-plugin`.
pub fn is_plugin(folder: &Path) -> bool {
    ALL.iter().flat_map(|agent| agent.imports.plugins).any(|name| folder.join(name).is_dir())
}

fn is_agents_folder(path: &Path) -> bool {
    name_of(path).is_some_and(agents::is_folder)
}

fn name_of(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()
}

/// Finds the innermost agent's folder above `path` that determines what the file becomes, and returns that folder's
/// parent. Returns `None` for a file that is recognized by its name alone, unless the file is directly in an agent's
/// folder.
fn above_agents_folder(path: &Path, is_file: bool) -> Option<PathBuf> {
    // For a folder, check what a text file in it would become.
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
    // Some agents' folders, such as `windsurf`, are recognized only by certain files in them, so check the file itself as
    // well.
    let is_for_agent = |base: &&Path| is_file && place(base).is_some_and(|place| place.for_agent.is_some());
    let mut above = probe.ancestors().skip(1).filter(|folder| is_agents_folder(folder)).filter_map(Path::parent);
    let found = parent.parent().filter(is_for_agent).or_else(|| above.find(|base| is_known(base)));
    found.map(Path::to_path_buf)
}

/// Fails if a link leads the path out of `root`.
pub fn stay_inside(path: &Path, root: &Path) -> Result<()> {
    let real = mcpkg_base::platform::real(path).map_err(|error| Error::file("follow", path, error))?;
    if real.starts_with(root) {
        return Ok(());
    }
    Err(Error::new(
        Code::FileFailed,
        format!("`{}` is a link that leads out of `{}`; nothing was imported", path.display(), root.display()),
    )
    .hint("remove the link, list it in .gitignore, or import a folder that contains both the link and its target"))
}

/// Makes `path` absolute and resolves all links except in its last part.
pub fn absolute(path: &Path) -> std::io::Result<PathBuf> {
    match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) => {
            let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            Ok(mcpkg_base::platform::real(folder)?.join(name))
        }
        _ => mcpkg_base::platform::real(path),
    }
}

/// Returns a path relative to `base`, with `/` separators.
pub fn relative(file: &Path, base: &Path) -> String {
    // Compare as texts first, which is much faster than comparing part by part.
    let texts = (file.to_str(), base.to_str(), MAIN_SEPARATOR);
    if let (Some(file), Some(base), '/') = texts
        && let Some(below) = file.strip_prefix(base).and_then(|below| below.strip_prefix('/'))
        && !below.starts_with('/')
    {
        return below.to_owned();
    }
    let below = file.strip_prefix(base).unwrap_or(file);
    if let (Some(text), '/') = (below.to_str(), MAIN_SEPARATOR) {
        return text.to_owned();
    }
    below.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_to_the_folder_above_the_agents_folder() {
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
    fn a_single_file_is_recognized_by_its_agents_folder() {
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
