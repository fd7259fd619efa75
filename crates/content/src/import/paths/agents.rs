//! What a file is by its path, from the places where agents read.

use std::sync::LazyLock;

use mcpkg_agents::agents::imports::{Also, At, Kept};
use mcpkg_agents::agents::places::{Commands, OwnInstructions};
use mcpkg_agents::agents::{ALL, Agent};
use mcpkg_store::agent_files::Kind;

pub use mcpkg_agents::agents::imports::{Form, Role};

/// A folder in which an agent looks for something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// The folder of skills that several agents share.
const SHARED: &str = ".agents";

/// Folders of an agent that mcpkg only imports from.
pub const CLINE: &str = ".clinerules";

/// Returns the folders in which agents look. A file that a row's ending leaves to a later one is that one's.
pub fn places() -> &'static [Place] {
    static PLACES: LazyLock<Vec<Place>> = LazyLock::new(|| {
        let shared =
            Place { agent: None, folder: [SHARED, "skills"], role: Role::Skill, form: Form::Plain, ending: "" };
        ALL.iter().flat_map(|agent| of(agent)).chain([shared]).collect()
    });
    &PLACES
}

/// Returns the places in an agent's own folders.
fn of(agent: &'static Agent) -> Vec<Place> {
    let mut places = Vec::new();
    let mut add = |folder: &'static str, role: Role, form: Form, ending: &'static str| {
        let Some((first, second)) = folder.split_once('/') else { return };
        let place = Place { agent: Some(agent.id), folder: [first, second], role, form, ending };
        if agent.imports.folders.contains(&first) && !places.contains(&place) {
            places.push(place);
        }
    };
    let project = &agent.project;
    match project.commands {
        Commands::Files(folder) | Commands::FilesInWords { folder, .. } | Commands::Numbered(folder) => {
            add(folder, Role::Prompt, Form::Plain, ".md");
        }
        Commands::Toml(folder) => add(folder, Role::Prompt, Form::Plain, ".toml"),
        Commands::Skills => {}
    }
    if let Some(folder) = project.prompt_files {
        add(folder, Role::Prompt, Form::Plain, ".prompt.md");
    }
    for folder in std::iter::once(&project.skills).chain(project.also_skills) {
        add(folder, Role::Skill, Form::Plain, "");
    }
    let own = match project.own_instructions {
        Some(OwnInstructions::Rules(rules)) => Some(rules),
        _ => None,
    };
    for rules in own.into_iter().chain(project.scoped_rules) {
        add(rules.folder, Role::Instructions, Form::Rule(rules.format), rules.ending);
    }
    if let Some(subagents) = &agent.subagents {
        // A file there is one under any name, such as VS Code's without its `.agent`.
        let ending = if subagents.ending.ends_with(".md") { ".md" } else { subagents.ending };
        add(subagents.project, Role::Subagent, Form::Plain, ending);
    }
    let also = agent.imports.also.iter();
    places.extend(also.map(|Also(folder, role, form, ending)| Place {
        agent: Some(agent.id),
        folder: *folder,
        role: *role,
        form: *form,
        ending,
    }));
    places
}

/// Whether a folder of this name is an agent's, or contains only files that mcpkg knows.
pub fn is_folder(name: &str) -> bool {
    let known = |agent: &&Agent| agent.imports.folders.contains(&name) || agent.imports.plugins.contains(&name);
    name == SHARED || name == CLINE || ALL.iter().any(known)
}

/// The agent that owns the folder of this name.
pub fn of_folder(name: &str) -> Option<&'static str> {
    places().iter().find(|place| place.folder[0] == name).and_then(|place| place.agent)
}

/// Whether the commands of an agent ask for their arguments in words.
pub fn asks_in_words(agent: Option<&str>) -> bool {
    let asks = |agent: &Agent| matches!(agent.project.commands, Commands::FilesInWords { .. });
    agent.and_then(mcpkg_agents::agents::with_id).is_some_and(asks)
}

/// Returns the agent whose instructions a file of this name is, with when they apply at the root of a project; `None`
/// for any other file.
pub fn instructions(name: &str) -> Option<(Option<&'static str>, Form)> {
    if name == "AGENTS.md" {
        return Some((None, Form::Plain));
    }
    let reads = |agent: &&&Agent| agent.imports.instructions.contains(&name);
    let agent = ALL.iter().find(reads).map(|agent| agent.id).or_else(|| old_rules(name))?;
    Some((Some(agent), Form::Plain))
}

/// Returns the agent that reads the file of this name at the root alone.
pub fn old_rules(name: &str) -> Option<&'static str> {
    let own = ALL.iter().find(|agent| agent.imports.at_root.contains(&name)).map(|agent| agent.id);
    own.or_else(|| (name == CLINE).then_some("cline"))
}

/// Returns what a file is by its ending, wherever it lies, with the agent whose ending that is.
pub fn by_ending(name: &str) -> Option<(Role, Form, &'static str, &'static str)> {
    let known = ALL
        .iter()
        .flat_map(|agent| agent.imports.endings.iter().map(|(role, form, ending)| (*role, *form, agent.id, *ending)));
    known.into_iter().find(|(.., ending)| name.len() > ending.len() && name.ends_with(ending))
}

/// Returns what the file at this path is to one agent alone, and to which, where it is such a file. `in_plugin` says
/// whether its path below the folder of a plugin is `rest`.
pub fn kept(parts: &[&str], in_plugin: impl Fn(&[&str]) -> bool) -> Option<(Kind, &'static str)> {
    let (name, above) = parts.split_last()?;
    let last = above.last().copied().unwrap_or_default();
    let is_below = |folder: &[&str]| above.windows(folder.len()).any(|window| window == folder);
    let lies = |at: At| match at {
        At::Below(folder) => is_below(folder),
        At::In(names, folders) => names.contains(name) && folders.contains(&last),
        At::Anywhere(names) => names.contains(name),
    };
    let find = |is_wanted: &dyn Fn(&Kept) -> bool| {
        ALL.iter().find_map(|agent| {
            let found = agent.imports.kept.iter().find(|kept| is_wanted(kept) && lies(kept.at))?;
            Some((found.kind, agent.id))
        })
    };
    let folder_of = |kind: Kind| find(&|kept| kept.kind == kind && matches!(kept.at, At::Below(_)));
    let manifest = ALL.iter().find(|agent| agent.imports.plugins.iter().any(|folder| above.contains(folder)));
    manifest
        .map(|agent| (Kind::Plugin, agent.id))
        .or_else(|| folder_of(Kind::Plugin))
        .or_else(|| folder_of(Kind::Hook))
        .or_else(|| in_plugin(&["hooks"]).then_some((Kind::Hook, "claude_code")))
        .or_else(|| folder_of(Kind::Permission))
        .or_else(|| find(&|kept| !matches!(kept.at, At::Below(_))))
        .or_else(|| ALL.iter().find(|agent| is_servers(agent, name, last)).map(|agent| (Kind::Servers, agent.id)))
}

/// Whether a file of this name in a folder of that name is an agent's file of MCP servers.
fn is_servers(agent: &Agent, name: &str, folder: &str) -> bool {
    agent.servers.project.is_some_and(|file| match file.rsplit_once('/') {
        Some((own_folder, own_name)) => (own_folder, own_name) == (folder, name),
        None => file == name,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcpkg_agents::forms::rule::CURSOR;

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
