//! Decides by a file's path which rules apply to the file.

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

/// Returns whether a file configures an agent, judging by its path.
pub(super) fn is_settings(path: &str) -> bool {
    const NAMES: [&str; 18] = [
        "settings.json",
        "settings.local.json",
        "managed-settings.json",
        "hooks.json",
        ".mcp.json",
        "mcp.json",
        "mcp_config.json",
        "mcp-config.json",
        "cline_mcp_settings.json",
        "claude_desktop_config.json",
        ".claude.json",
        "plugin.json",
        "gemini-extension.json",
        "opencode.json",
        "opencode.jsonc",
        "permissions.json",
        "config.toml",
        "cli-config.json",
    ];
    let name = path.rsplit('/').next().unwrap_or(path);
    NAMES.contains(&name) || path.split('/').rev().nth(1) == Some("hooks") && extension(path) == "json"
}
