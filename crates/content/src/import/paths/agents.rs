//! Recognizes by a file's path what the file is to an agent: a command, a skill, a rule and so on.

use std::sync::LazyLock;

use mcpkg_agents::agents::imports::{AgentOnlyFile, Also, At, InPlugins};
use mcpkg_agents::agents::places::{Commands, OwnInstructions};
use mcpkg_agents::agents::{ALL, Agent, cline};
use mcpkg_store::agent_files::Kind;

pub use mcpkg_agents::agents::imports::{Form, Role};

/// A folder in which an agent looks for files of one kind, such as `.claude/commands`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The agent, if the folder belongs to one.
    pub agent: Option<&'static str>,
    /// The parts of the folder's path: the agent's own folder and usually one subfolder.
    pub folder: Vec<&'static str>,
    /// What the files in the folder are to the agent.
    pub role: Role,
    pub form: Form,
    pub ending: &'static str,
    /// Whether the agent's commands count their arguments from one.
    pub counts_from_one: bool,
}

/// The folder of skills that several agents share.
const SHARED: &str = ".agents";

/// Returns all folders in which agents look. If a file does not have the ending that a place requires, a later place with the
/// same folder may match.
pub fn places() -> &'static [Place] {
    static PLACES: LazyLock<Vec<Place>> = LazyLock::new(|| {
        let plain = |folder: &[&'static str], role| Place {
            agent: None,
            folder: folder.to_vec(),
            role,
            form: Form::Plain,
            ending: "",
            counts_from_one: false,
        };
        let shared = plain(&[SHARED, "skills"], Role::Skill);
        let cline = Place {
            agent: Some(cline::ID),
            form: cline::FORM,
            ending: cline::ENDING,
            ..plain(&[cline::RULES], Role::Instructions)
        };
        ALL.iter().flat_map(|agent| of(agent)).chain([shared, cline]).collect()
    });
    &PLACES
}

fn of(agent: &'static Agent) -> Vec<Place> {
    let mut places = Vec::new();
    let mut add = |folder: &'static str, role: Role, form: Form, ending: &'static str| {
        let Some((first, second)) = folder.split_once('/') else { return };
        let counts_from_one = agent.imports.counts_from_one;
        let place = Place { agent: Some(agent.id), folder: vec![first, second], role, form, ending, counts_from_one };
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
        // The agent accepts any file name in its folder. For example, VS Code also reads files without `.agent` in their
        // names.
        let ending = if subagents.ending.ends_with(".md") { ".md" } else { subagents.ending };
        add(subagents.project, Role::Subagent, Form::Plain, ending);
    }
    let also = agent.imports.also.iter();
    places.extend(also.map(|Also(folder, role, form, ending)| Place {
        agent: Some(agent.id),
        folder: folder.to_vec(),
        role: *role,
        form: *form,
        ending,
        counts_from_one: agent.imports.counts_from_one,
    }));
    places
}

/// Returns whether a folder of this name belongs to one or several agents, or contains the manifest of a plugin.
pub fn is_folder(name: &str) -> bool {
    let known = |agent: &&Agent| agent.imports.folders.contains(&name) || agent.imports.plugins.contains(&name);
    name == SHARED || name == cline::RULES || ALL.iter().any(known)
}

/// Returns whether a folder of this name contains a plugin's manifest.
pub fn is_plugin(name: &str) -> bool {
    ALL.iter().any(|agent| agent.imports.plugins.contains(&name))
}

/// Returns the agent whose folder in Agent Plugins has this name, such as `com.github.copilot`.
pub fn with_namespace(name: &str) -> Option<&'static str> {
    ALL.iter().find(|agent| agent.imports.namespace == Some(name)).map(|agent| agent.id)
}

/// Returns the layout of plugins, and the agent that defined this layout.
pub fn in_plugins() -> Option<(&'static str, &'static InPlugins)> {
    ALL.iter().find_map(|agent| Some((agent.id, agent.imports.in_plugins.as_ref()?)))
}

/// A file of instructions in an agent's folder, but not in a folder of rules. For example, `.github/copilot-instructions.md`.
pub struct OwnFile {
    pub agent: &'static str,
    /// Whether the folder's name becomes a part of the item's name.
    pub names_folder: bool,
}

/// Returns the file of instructions at this path, which begins with the agent's folder.
pub fn in_folder(path: &[&str]) -> Option<OwnFile> {
    let [folder, name] = path else { return None };
    ALL.iter().find_map(|agent| {
        let file = agent.imports.files.iter().find(|file| (file.folder, file.name) == (*folder, *name))?;
        Some(OwnFile { agent: agent.id, names_folder: file.names_folder })
    })
}

/// Returns whether a part of the path is the name of an agent's folder ([`is_folder`]).
pub fn lies_in_folder(relative: &str) -> bool {
    relative.split('/').any(is_folder)
}

pub fn of_folder(name: &str) -> Option<&'static str> {
    places().iter().find(|place| place.folder.len() > 1 && place.folder[0] == name).and_then(|place| place.agent)
}

/// Returns whether the agent's commands ask for their arguments in words, because the agent does not fill in placeholders.
pub fn asks_in_words(agent: Option<&str>) -> bool {
    let asks = |agent: &Agent| matches!(agent.project.commands, Commands::FilesInWords { .. });
    agent.and_then(mcpkg_agents::agents::with_id).is_some_and(asks)
}

/// Returns the agent that reads instructions from files with this name, and how the agent applies them; `None` for any
/// other name. For `AGENTS.md`, which many agents read, the agent is `None`.
pub fn instructions(name: &str) -> Option<(Option<&'static str>, Form)> {
    if name == "AGENTS.md" {
        return Some((None, Form::Plain));
    }
    let reads = |agent: &&&Agent| agent.imports.instructions.contains(&name);
    let agent = ALL.iter().find(reads).map(|agent| agent.id).or_else(|| at_root(name))?;
    Some((Some(agent), Form::Plain))
}

/// Returns the agent that reads a file with this name, but only at the root of a project.
pub fn at_root(name: &str) -> Option<&'static str> {
    let own = ALL.iter().find(|agent| agent.imports.at_root.contains(&name)).map(|agent| agent.id);
    own.or_else(|| (name == cline::RULES).then_some(cline::ID))
}

/// Recognizes a file by its ending, in whatever folder it is: `a.prompt.md` is a prompt. Returns its role and format,
/// the agent that uses the ending, and the ending.
pub fn by_ending(name: &str) -> Option<(Role, Form, &'static str, &'static str)> {
    let known = ALL
        .iter()
        .flat_map(|agent| agent.imports.endings.iter().map(|(role, form, ending)| (*role, *form, agent.id, *ending)));
    known.into_iter().find(|(.., ending)| name.len() > ending.len() && name.ends_with(ending))
}

/// Returns the kind of a file that only one agent reads, and that agent. `in_plugin` returns whether the file is in the given
/// folder of a plugin.
pub fn for_agent(parts: &[&str], in_plugin: impl Fn(&[&str]) -> bool) -> Option<(Kind, &'static str)> {
    let (name, above) = parts.split_last()?;
    let last = above.last().copied().unwrap_or_default();
    let is_below = |folder: &[&str]| above.windows(folder.len()).any(|window| window == folder);
    let lies = |at: At| match at {
        At::Below(folder) => is_below(folder),
        At::In(names, folders) => names.contains(name) && folders.contains(&last),
        At::Anywhere(names) => names.contains(name),
    };
    let find = |is_wanted: &dyn Fn(&AgentOnlyFile) -> bool| {
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
        .or_else(|| {
            let (agent, folders) = in_plugins()?;
            in_plugin(&[folders.hooks]).then_some((Kind::Hook, agent))
        })
        .or_else(|| folder_of(Kind::Permission))
        .or_else(|| find(&|kept| !matches!(kept.at, At::Below(_))))
        .or_else(|| ALL.iter().find(|agent| is_servers(agent, name, last)).map(|agent| (Kind::Servers, agent.id)))
}

/// Returns whether an agent lists its MCP servers in the file `name` in `folder`.
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
    fn files_of_one_agent_are_recognized_by_their_paths() {
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
            let found = for_agent(&parts, |rest| parts[0] == "x" && parts[1..].starts_with(rest));
            assert_eq!(found, Some((kind, agent)), "{path}");
        }
        for path in ["mcp.json", "hooks/a.json", "settings.json", "config.toml", "docs/plugin/a.md"] {
            assert_eq!(for_agent(&path.split('/').collect::<Vec<_>>(), |_| false), None, "{path}");
        }
    }

    #[test]
    fn endings_identify_files_in_any_folder() {
        assert_eq!(by_ending("a.prompt.md").map(|found| found.0), Some(Role::Prompt));
        assert_eq!(by_ending("a.agent.md").map(|found| found.0), Some(Role::Subagent));
        assert_eq!(by_ending("a.mdc").map(|found| found.1), Some(Form::Rule(&CURSOR)));
        for no in [".mdc", "mdc", "a.md", ".agent.md"] {
            assert!(by_ending(no).is_none(), "{no}");
        }
    }
}
