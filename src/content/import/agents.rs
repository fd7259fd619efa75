//! What each agent reads, and from where: the tables that import goes by.

use super::reason::Reason;
use crate::content::formats::RuleFormat;
use crate::content::formats::rule::{CLAUDE_CODE, COPILOT, CURSOR, WINDSURF};

/// What a file is to an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// A slash command or prompt.
    Prompt,
    /// A file of a skill, `SKILL.md` among them.
    Skill,
    /// Text that an agent loads by itself.
    Instructions,
    /// A subagent.
    Subagent,
    /// Anything else.
    File,
}

/// How an agent finds out when instructions apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// It loads them always.
    Plain,
    /// By front matter.
    Rule(&'static RuleFormat),
    /// No agent reads them where they lie.
    Unread,
}

/// A folder in which an agent looks for something.
pub struct Place {
    /// The agent, where the folder is one's own.
    pub agent: Option<&'static str>,
    /// The agent's folder, and the one in it.
    pub folder: [&'static str; 2],
    /// What it takes there.
    pub role: Role,
    /// When instructions apply.
    pub form: Form,
    /// By which ending.
    pub ending: &'static str,
}

const fn place(agent: &'static str, folder: [&'static str; 2], role: Role, form: Form, ending: &'static str) -> Place {
    Place { agent: Some(agent), folder, role, form, ending }
}

const fn prompts(agent: &'static str, folder: [&'static str; 2], ending: &'static str) -> Place {
    place(agent, folder, Role::Prompt, Form::Plain, ending)
}

const fn skills(agent: &'static str, folder: [&'static str; 2]) -> Place {
    place(agent, folder, Role::Skill, Form::Plain, "")
}

const fn rules(agent: &'static str, folder: [&'static str; 2], form: Form, ending: &'static str) -> Place {
    place(agent, folder, Role::Instructions, form, ending)
}

const fn subagents(agent: &'static str, folder: [&'static str; 2]) -> Place {
    place(agent, folder, Role::Subagent, Form::Plain, ".md")
}

/// The folders in which agents look. A file that a row's ending leaves to a later one is that one's.
pub const PLACES: &[Place] = &[
    prompts("claude_code", [".claude", "commands"], ".md"),
    prompts("opencode", [".opencode", "command"], ".md"),
    prompts("opencode", [".opencode", "commands"], ".md"),
    prompts("codex", [".codex", "prompts"], ".md"),
    prompts("cursor", [".cursor", "commands"], ".md"),
    prompts("vscode", [".github", "prompts"], ".prompt.md"),
    prompts("windsurf", [".windsurf", "workflows"], ".md"),
    skills("claude_code", [".claude", "skills"]),
    Place { agent: None, folder: [".agents", "skills"], role: Role::Skill, form: Form::Plain, ending: "" },
    skills("codex", [".codex", "skills"]),
    skills("cursor", [".cursor", "skills"]),
    skills("vscode", [".github", "skills"]),
    skills("gemini", [".gemini", "skills"]),
    skills("opencode", [".opencode", "skill"]),
    skills("opencode", [".opencode", "skills"]),
    skills("windsurf", [".windsurf", "skills"]),
    skills("windsurf", [".devin", "skills"]),
    rules("claude_code", [".claude", "rules"], Form::Rule(&CLAUDE_CODE), ".md"),
    rules("claude_code", [".claude", "rules"], Form::Unread, ".mdc"),
    rules("cursor", [".cursor", "rules"], Form::Rule(&CURSOR), ".mdc"),
    rules("cursor", [".cursor", "rules"], Form::Unread, ".md"),
    rules("windsurf", [".windsurf", "rules"], Form::Rule(&WINDSURF), ".md"),
    rules("windsurf", [".devin", "rules"], Form::Rule(&WINDSURF), ".md"),
    rules("vscode", [".github", "instructions"], Form::Rule(&COPILOT), ".instructions.md"),
    subagents("claude_code", [".claude", "agents"]),
    subagents("cursor", [".cursor", "agents"]),
    subagents("vscode", [".github", "agents"]),
    subagents("vscode", [".github", "chatmodes"]),
    subagents("opencode", [".opencode", "agent"]),
    subagents("opencode", [".opencode", "agents"]),
    subagents("gemini", [".gemini", "agents"]),
    prompts("gemini", [".gemini", "commands"], ".toml"),
    place("codex", [".codex", "agents"], Role::Subagent, Form::Plain, ".toml"),
];

/// Agents' folders, and those beside them that hold nothing but what mcpkg knows.
const FOLDERS: &[&str] = &[
    ".agents",
    ".claude",
    ".claude-plugin",
    ".clinerules",
    ".codex",
    ".codex-plugin",
    ".copilot",
    ".cursor",
    ".cursor-plugin",
    ".devin",
    ".gemini",
    ".github",
    ".opencode",
    ".vscode",
    ".windsurf",
];

/// Whether a folder of this name is an agent's.
pub fn is_folder(name: &str) -> bool {
    FOLDERS.contains(&name)
}

/// The agent whose own folder of this name is.
pub fn of_folder(name: &str) -> Option<&'static str> {
    PLACES.iter().find(|place| place.folder[0] == name).and_then(|place| place.agent)
}

/// Returns the agent whose instructions a file of this name is, with when they apply at the root of a project; `None`
/// for any other file.
pub fn instructions(name: &str) -> Option<(Option<&'static str>, Form)> {
    Some(match name {
        "AGENTS.md" => (None, Form::Plain),
        "AGENTS.override.md" => (Some("codex"), Form::Plain),
        "CLAUDE.md" | "CLAUDE.local.md" => (Some("claude_code"), Form::Plain),
        "GEMINI.md" => (Some("gemini"), Form::Plain),
        _ => (Some(old_rules(name)?), Form::Plain),
    })
}

/// Returns the agent that reads the file of this name at the root alone.
pub fn old_rules(name: &str) -> Option<&'static str> {
    match name {
        ".cursorrules" => Some("cursor"),
        ".windsurfrules" => Some("windsurf"),
        ".clinerules" => Some("cline"),
        _ => None,
    }
}

/// Returns what a file is by its ending, wherever it lies, with the agent whose ending that is.
pub fn by_ending(name: &str) -> Option<(Role, Form, &'static str, &'static str)> {
    [
        (Role::Prompt, Form::Plain, "vscode", ".prompt.md"),
        (Role::Instructions, Form::Rule(&COPILOT), "vscode", ".instructions.md"),
        (Role::Subagent, Form::Plain, "vscode", ".agent.md"),
        (Role::Subagent, Form::Plain, "vscode", ".chatmode.md"),
        (Role::Instructions, Form::Rule(&CURSOR), "cursor", ".mdc"),
    ]
    .into_iter()
    .find(|(.., ending)| name.len() > ending.len() && name.ends_with(ending))
}

/// Returns why the file at this path is left out, where it is one that mcpkg knows and does not take yet. `in_plugin`
/// says whether its path below the folder of a plugin is `rest`.
pub fn not_yet(parts: &[&str], in_plugin: impl Fn(&[&str]) -> bool) -> Option<Reason> {
    let (name, above) = parts.split_last()?;
    let last = above.last().copied().unwrap_or_default();
    let lies_in = |folder: &[&str]| above.windows(folder.len()).any(|window| window == folder);
    let manifest = [".claude-plugin", ".codex-plugin", ".cursor-plugin"].iter().any(|folder| above.contains(folder));
    if manifest || lies_in(&[".github", "plugin"]) || *name == "gemini-extension.json" {
        return Some(Reason::Manifest);
    }
    if lies_in(&[".claude", "hooks"])
        || lies_in(&[".cursor", "hooks"])
        || lies_in(&[".github", "hooks"])
        || (*name == "hooks.json" && matches!(last, ".cursor" | ".windsurf" | ".devin" | ".codex" | ".claude"))
        || in_plugin(&["hooks"])
    {
        return Some(Reason::Hooks);
    }
    if lies_in(&[".opencode", "plugin"]) || lies_in(&[".opencode", "plugins"]) {
        return Some(Reason::Plugin);
    }
    if lies_in(&[".codex", "rules"]) || lies_in(&[".gemini", "policies"]) || (last == ".cursor" && *name == "cli.json")
    {
        return Some(Reason::Permissions);
    }
    match (*name, last) {
        (".mcp.json" | "claude_desktop_config.json", _) => Some(Reason::McpServers),
        ("mcp.json" | "mcp_config.json" | "mcp-config.json", folder) if is_folder(folder) => Some(Reason::McpServers),
        ("opencode.json" | "opencode.jsonc", _) | ("settings.json", ".gemini") | ("config.toml", ".codex") => {
            Some(Reason::McpServers)
        }
        ("settings.json" | "settings.local.json", ".claude") => Some(Reason::Settings),
        (
            ".cursorignore"
            | ".cursorindexingignore"
            | ".geminiignore"
            | ".codeiumignore"
            | ".devinignore"
            | ".claudeignore",
            _,
        ) => Some(Reason::IgnoreFile),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_and_not_taken_yet_has_its_reason() {
        let cases = [
            (".mcp.json", Reason::McpServers),
            ("web/.vscode/mcp.json", Reason::McpServers),
            (".cursor/mcp.json", Reason::McpServers),
            ("opencode.json", Reason::McpServers),
            (".claude/settings.local.json", Reason::Settings),
            (".claude/hooks/a.sh", Reason::Hooks),
            (".github/hooks/x.json", Reason::Hooks),
            ("x/hooks/y.json", Reason::Hooks),
            (".opencode/plugin/a.js", Reason::Plugin),
            (".codex/rules/a.rules", Reason::Permissions),
            (".cursorignore", Reason::IgnoreFile),
            ("plugins/a/.claude-plugin/plugin.json", Reason::Manifest),
        ];
        for (path, reason) in cases {
            let parts: Vec<&str> = path.split('/').collect();
            let found = not_yet(&parts, |rest| parts[0] == "x" && parts[1..].starts_with(rest));
            assert_eq!(found, Some(reason), "{path}");
        }
        for path in ["mcp.json", "hooks/a.json", "settings.json", "config.toml", "docs/plugin/a.md"] {
            assert_eq!(not_yet(&path.split('/').collect::<Vec<_>>(), |_| false), None, "{path}");
        }
    }

    #[test]
    fn endings_say_what_a_file_is_wherever_it_lies() {
        assert_eq!(by_ending("a.prompt.md").map(|found| found.0), Some(Role::Prompt));
        assert_eq!(by_ending("a.agent.md").map(|found| found.0), Some(Role::Subagent));
        assert_eq!(by_ending("a.mdc").map(|found| found.1), Some(Form::Rule(&CURSOR)));
        for no in [".mdc", "mdc", "a.md", ".agent.md"] {
            assert!(by_ending(no).is_none(), "{no}");
        }
    }
}
