//! Defines what a file becomes, judging by its path, and which name it should get.

use super::agents::{self, Form, Role};
use crate::item::File;
use crate::item::name::letters;
use crate::uri::encode;
use mcpkg_agents::commands::dialect::Dialect;
use mcpkg_agents::forms::matter;
use mcpkg_store::agent_files;

/// What a file becomes, judging by its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    pub role: Role,
    /// The path from which the item's name is made.
    pub label: String,
    /// For a prompt in a folder of commands, the path within that folder.
    pub file: Option<String>,
    /// The placeholder syntax of a prompt.
    pub dialect: Dialect,
    /// The agent that the file's format or folder belongs to.
    pub agent: Option<&'static str>,
    /// For instructions, the format of the front matter that says when they apply.
    pub form: Form,
    /// For instructions, the folder that they apply to; empty for the whole project.
    pub scope: String,
    /// For a skill's file, the skill.
    pub skill: Option<InSkill>,
    /// For a file that only one agent reads, what the agent uses it for.
    pub for_agent: Option<ForAgent>,
    /// For a marketplace's file, the plugins whose MCP servers an agent loads from their entries.
    pub entries: Vec<String>,
    /// Whether the `name` in the file's front matter, if it has one, replaces the label.
    pub front_name: bool,
    /// A note for people about files at this path.
    pub note: Option<&'static str>,
}

/// The meaning of a file for the only agent that reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForAgent {
    /// The kind of file, judging by its path.
    pub kind: agent_files::Kind,
    /// Whether an agent that is started in the root reads the file. Files of plugins and files in subfolders are not
    /// read then.
    pub is_own: bool,
    pub plugin: PluginFile,
}

/// Whether a file is a part of a plugin, which decides how its MCP servers are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PluginFile {
    No,
    /// A part of a plugin in a vendor's format.
    Vendor,
    /// A part of an Agent Plugin.
    Open,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct InSkill {
    /// Whether no agent looks for skills in this folder. Such skills are read last.
    pub is_unread: bool,
    /// The skill's folder, relative to the import root; empty for the root itself.
    pub folder: String,
    /// The name of the skill's folder.
    pub name: String,
}

/// Names of folders that only describe the folder's content, and do not help to distinguish items.
const GENERIC: &[&str] = &[
    "agent",
    "agents",
    "chatmodes",
    "command",
    "commands",
    "instructions",
    "packages",
    "plugins",
    "prompts",
    "rules",
    "skill",
    "skills",
    "src",
    "workflows",
];

impl Destination {
    pub(crate) fn plain(role: Role, label: String) -> Self {
        Self {
            role,
            label,
            file: None,
            dialect: Dialect::Claude,
            agent: None,
            form: Form::Plain,
            scope: String::new(),
            skill: None,
            for_agent: None,
            entries: Vec::new(),
            front_name: false,
            note: None,
        }
    }

    /// Returns the destination of a file that only one agent reads.
    pub(crate) fn kept(kind: agent_files::Kind, agent: &'static str, path: &str, plugin: PluginFile) -> Self {
        let (first, name) = (path.split('/').next().unwrap_or_default(), path.rsplit('/').next().unwrap_or_default());
        let is_own = first == path || agents::is_folder(first);
        let for_agent = Some(ForAgent { kind, is_own, plugin });
        Self { for_agent, agent: Some(agent), ..Self::plain(Role::Kept, name.to_owned()) }
    }

    /// Replaces the label with the name in the file's front matter, if the agent takes the name from there.
    #[must_use]
    pub fn named_by(self, file: &File) -> Self {
        let name = self.front_name.then(|| front_name(file)).flatten();
        match name {
            Some(label) => Self { label, ..self },
            None => self,
        }
    }

    /// Returns the destination of a file that is imported as a plain file, no matter in which folder it is.
    pub fn as_file(relative: &str) -> Self {
        Self::plain(Role::File, relative.to_owned())
    }

    /// Returns whether no agent reads files at this path, whatever they contain.
    pub fn is_unread(&self) -> bool {
        self.role == Role::File && self.skill.is_none() && self.for_agent.is_none()
    }

    /// Returns whether the file, at `relative` in a repository, is instructions or settings for the repository as a whole:
    /// `CLAUDE.md`, `.github/copilot-instructions.md`, `.claude/settings.json`.
    pub fn is_of_repository(&self, relative: &str) -> bool {
        use agent_files::Kind::{Hook, Ignore, Permission, Settings};
        let parts: Vec<&str> = relative.split('/').collect();
        let is_named = match parts[..] {
            [name] => agents::instructions(name).is_some(),
            _ => agents::in_folder(&parts).is_some(),
        };
        let is_settings = |file: ForAgent| file.is_own && matches!(file.kind, Hook | Ignore | Permission | Settings);
        (self.role == Role::Instructions && is_named) || self.for_agent.is_some_and(is_settings)
    }

    /// Returns whether a file at this path may contain MCP servers that an agent reads.
    pub fn may_hold_servers(&self) -> bool {
        self.for_agent.is_some_and(|file| matches!(file.kind, agent_files::Kind::Servers | agent_files::Kind::Plugin))
    }

    /// Returns the preferred name for the item. It may be taken, too long or invalid.
    pub fn wanted_name(&self) -> String {
        letters(&self.label)
    }

    /// Returns the URI of a resource with this name.
    pub fn uri(&self, name: &str) -> String {
        match self.role {
            Role::File => format!("file:///{}", encode(&self.label)),
            Role::Subagent => format!("subagent://{name}"),
            _ => format!("instructions://{name}"),
        }
    }

    /// Returns names of folders above the file that help to distinguish it from a file with the same name, the nearest folder
    /// first.
    pub fn origins(&self, relative: &str) -> Vec<String> {
        if self.role == Role::File {
            return Vec::new();
        }
        let top = self.skill.as_ref().map_or(relative, |skill| skill.folder.as_str());
        let mut above: Vec<&str> = top.split('/').collect();
        above.pop();
        let in_label = |part: &&str| self.skill.is_none() && self.label.split('/').any(|word| word == *part);
        let words = above.into_iter().filter(|part| !GENERIC.contains(part)).filter(|part| !in_label(part));
        let words = words.map(|part| agents::with_namespace(part).unwrap_or(part));
        let words = words.map(|part| letters(part.trim_start_matches('.'))).filter(|word| !word.is_empty());
        words.collect::<Vec<_>>().into_iter().rev().collect()
    }
}

/// The maximum size, in bytes, of a file whose front matter is read for a name.
const MAX_NAMED: u64 = 16 << 20;

/// Returns the `name` in a file's front matter.
fn front_name(file: &File) -> Option<String> {
    let content = Some(&file.content).filter(|content| content.is_text() && content.size() <= MAX_NAMED)?;
    name_in(&content.bytes().ok()?)
}

/// Returns the `name` in the front matter of a text.
pub(super) fn name_in(text: &[u8]) -> Option<String> {
    let keys = keys_in(text)?;
    let name = keys.map.get("name")?.as_str()?.trim();
    (!name.is_empty()).then(|| name.to_owned())
}

/// Parses the front matter of a text; `None` if it has none.
pub(crate) fn keys_in(text: &[u8]) -> Option<matter::Keys> {
    let (yaml, _) = matter::split(std::str::from_utf8(text).ok()?).ok()??;
    matter::keys(yaml).ok()
}
