//! The tables of import: what each agent reads, and from where.

use mcpkg_agents::forms::RuleFormat;
use mcpkg_agents::forms::rule::{CLAUDE_CODE, COPILOT, CURSOR, WINDSURF};
use mcpkg_store::agent_files::Kind;

/// What a file is to an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// A slash command or prompt.
    Prompt,
    /// A file of a skill, `SKILL.md` among them.
    Skill,
    /// Text that an agent loads by itself.
    Instructions,
    Subagent,
    /// A file of one agent alone: MCP servers, hooks, settings.
    Kept,
    File,
}

/// How an agent finds out when instructions apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// It loads them always.
    Plain,
    Rule(&'static RuleFormat),
    /// No agent reads them there.
    Unread,
}

/// A folder in which an agent looks for something.
pub struct Place {
    /// The agent, if the folder belongs to one.
    pub agent: Option<&'static str>,
    /// The agent's folder, and the one in it.
    pub folder: [&'static str; 2],
    /// What it takes there.
    pub role: Role,
    pub form: Form,
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

/// Agents' folders, and other folders that contain only files that mcpkg knows.
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

/// The agent that owns the folder of this name.
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

/// Returns what the file at this path is to one agent alone, and to which, where it is such a file. `in_plugin` says
/// whether its path below the folder of a plugin is `rest`.
pub fn kept(parts: &[&str], in_plugin: impl Fn(&[&str]) -> bool) -> Option<(Kind, &'static str)> {
    let (name, above) = parts.split_last()?;
    let last = above.last().copied().unwrap_or_default();
    let lies_in = |folder: &[&str]| above.windows(folder.len()).any(|window| window == folder);
    let lies_below = |folder: &'static str| above.contains(&folder);
    let manifests = [(".claude-plugin", "claude_code"), (".codex-plugin", "codex"), (".cursor-plugin", "cursor")];
    if let Some((_, agent)) = manifests.into_iter().find(|(folder, _)| lies_below(folder)) {
        return Some((Kind::Plugin, agent));
    }
    if lies_in(&[".github", "plugin"]) {
        return Some((Kind::Plugin, "copilot"));
    }
    let hooks: [(&[&str], &str); 5] = [
        (&[".claude", "hooks"], "claude_code"),
        (&[".cursor", "hooks"], "cursor"),
        (&[".github", "hooks"], "vscode"),
        (&[".opencode", "plugin"], "opencode"),
        (&[".opencode", "plugins"], "opencode"),
    ];
    if let Some((_, agent)) = hooks.into_iter().find(|(folder, _)| lies_in(folder)) {
        return Some((Kind::Hook, agent));
    }
    if in_plugin(&["hooks"]) {
        return Some((Kind::Hook, "claude_code"));
    }
    if lies_in(&[".codex", "rules"]) {
        return Some((Kind::Permission, "codex"));
    }
    if lies_in(&[".gemini", "policies"]) {
        return Some((Kind::Permission, "gemini"));
    }
    Some(match (*name, last) {
        ("gemini-extension.json", _) => (Kind::Plugin, "gemini"),
        ("hooks.json", ".cursor") => (Kind::Hook, "cursor"),
        ("hooks.json", ".windsurf" | ".devin") => (Kind::Hook, "windsurf"),
        ("hooks.json", ".codex") => (Kind::Hook, "codex"),
        ("hooks.json", ".claude") => (Kind::Hook, "claude_code"),
        ("cli.json", ".cursor") => (Kind::Permission, "cursor"),
        (".mcp.json" | ".claude.json", _) => (Kind::Servers, "claude_code"),
        ("claude_desktop_config.json", _) => (Kind::Servers, "claude_desktop"),
        ("mcp.json", ".vscode") => (Kind::Servers, "vscode"),
        ("mcp.json", ".cursor") => (Kind::Servers, "cursor"),
        ("mcp.json", ".github") | ("mcp-config.json", ".copilot") => (Kind::Servers, "copilot"),
        ("mcp.json" | "mcp_config.json", ".windsurf" | ".devin" | "windsurf") => (Kind::Servers, "windsurf"),
        ("opencode.json" | "opencode.jsonc", _) => (Kind::Servers, "opencode"),
        ("settings.json", ".gemini") => (Kind::Servers, "gemini"),
        ("config.toml", ".codex") => (Kind::Servers, "codex"),
        ("settings.json" | "settings.local.json", ".claude") => (Kind::Settings, "claude_code"),
        (".cursorignore" | ".cursorindexingignore", _) => (Kind::Ignore, "cursor"),
        (".geminiignore", _) => (Kind::Ignore, "gemini"),
        (".codeiumignore" | ".devinignore", _) => (Kind::Ignore, "windsurf"),
        (".claudeignore", _) => (Kind::Ignore, "claude_code"),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_one_agents_alone_is_known_by_its_path() {
        let cases = [
            (".mcp.json", Kind::Servers, "claude_code"),
            ("web/.vscode/mcp.json", Kind::Servers, "vscode"),
            (".cursor/mcp.json", Kind::Servers, "cursor"),
            (".github/mcp.json", Kind::Servers, "copilot"),
            (".codeium/windsurf/mcp_config.json", Kind::Servers, "windsurf"),
            ("opencode.json", Kind::Servers, "opencode"),
            (".claude/settings.local.json", Kind::Settings, "claude_code"),
            (".claude/hooks/a.sh", Kind::Hook, "claude_code"),
            (".github/hooks/x.json", Kind::Hook, "vscode"),
            ("x/hooks/y.json", Kind::Hook, "claude_code"),
            (".opencode/plugin/a.js", Kind::Hook, "opencode"),
            (".codex/rules/a.rules", Kind::Permission, "codex"),
            (".cursorignore", Kind::Ignore, "cursor"),
            ("plugins/a/.claude-plugin/plugin.json", Kind::Plugin, "claude_code"),
        ];
        for (path, kind, agent) in cases {
            let parts: Vec<&str> = path.split('/').collect();
            let found = kept(&parts, |rest| parts[0] == "x" && parts[1..].starts_with(rest));
            assert_eq!(found, Some((kind, agent)), "{path}");
        }
        for path in ["mcp.json", "hooks/a.json", "settings.json", "config.toml", "docs/plugin/a.md"] {
            assert_eq!(kept(&path.split('/').collect::<Vec<_>>(), |_| false), None, "{path}");
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
