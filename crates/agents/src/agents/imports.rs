//! Describes which files of an agent import reads, beyond the places that a deploy writes to.

use crate::forms::RuleFormat;
use mcpkg_store::agent_files::Kind;

/// The role of a file for an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// A slash command or prompt.
    Prompt,
    /// A file of a skill, including `SKILL.md`.
    Skill,
    /// Text that an agent loads automatically.
    Instructions,
    Subagent,
    /// A file that only one agent understands: MCP servers, hooks, settings.
    Kept,
    File,
}

/// How an agent decides when instructions apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The agent always loads the instructions.
    Plain,
    Rule(&'static RuleFormat),
    /// No agent reads instructions at this place.
    Unread,
}

/// The facts about an agent's files that import needs.
pub struct Imports {
    /// The agent's folders in a project. A file in one of them belongs to this agent, even if other agents read it too.
    pub folders: &'static [&'static str],
    /// The folders that contain the manifests of plugins.
    pub plugins: &'static [&'static str],
    /// The folders of commands, subagents and hooks in a plugin. Set for only one agent, because all agents use the
    /// same folders.
    pub in_plugins: Option<InPlugins>,
    /// The agent's rules for reading the manifest in one of the folders of `plugins`.
    pub manifest: Option<Manifest>,
    /// The agent's own folder in an Agent Plugin: a domain name in reverse order, such as `com.github.copilot`.
    pub namespace: Option<&'static str>,
    /// Places that import reads but a deploy does not write to: older folders, second names of a folder, and places
    /// whose files the agent does not read.
    pub also: &'static [Also],
    /// Whether arguments in the agent's commands are numbered from one, including commands in the older folders of `also`.
    pub counts_from_one: bool,
    /// Whether the agent ignores a subagent that lacks a name or a description.
    pub needs_subagent_name: bool,
    /// Files of instructions in the agent's folders, outside of any folder of rules.
    pub files: &'static [InFolder],
    /// The names of instruction files that the agent reads in any folder.
    pub instructions: &'static [&'static str],
    /// The names of instruction files that the agent reads only at the root.
    pub at_root: &'static [&'static str],
    /// Endings of file names that decide a file's role, in any folder.
    pub endings: &'static [(Role, Form, &'static str)],
    /// Files that only this agent understands, in addition to its file of MCP servers.
    pub kept: &'static [AgentOnlyFile],
}

impl Imports {
    /// The value for an agent without files of its own in a project. Other agents start from this value and list only
    /// what differs.
    pub const NONE: Self = Self {
        folders: &[],
        plugins: &[],
        in_plugins: None,
        manifest: None,
        namespace: None,
        also: &[],
        counts_from_one: false,
        needs_subagent_name: false,
        files: &[],
        instructions: &[],
        at_root: &[],
        endings: &[],
        kept: &[],
    };
}

/// A place that no deploy writes to: the two parts of the folder's path, the role and form of its files, and the ending of their
/// names.
pub struct Also(pub [&'static str; 2], pub Role, pub Form, pub &'static str);

/// The folders inside a plugin.
pub struct InPlugins {
    pub commands: &'static str,
    pub subagents: &'static str,
    pub hooks: &'static str,
}

/// An agent's rules for reading the lists in a plugin's manifest, as measured in November 2026.
#[derive(Debug)]
pub struct Manifest {
    pub lists: &'static [List],
    /// Whether a path that is not valid makes the agent reject the whole plugin. If false, the agent ignores only that
    /// path.
    pub is_strict: bool,
    /// Whether each path must begin with `./`.
    pub needs_dot: bool,
    /// Whether a subagent is called by the `name` in its front matter, rather than by its file's name.
    pub front_names: bool,
}

/// A list of files in a plugin's manifest, such as `agents`.
#[derive(Debug)]
pub struct List {
    pub key: &'static str,
    pub holds: Holds,
    /// Whether the list may name folders too.
    pub takes_folders: bool,
    /// The default folder that the agent no longer reads if the manifest has this list.
    pub replaces: Option<&'static str>,
    /// A file in the plugin that makes the agent ignore this list.
    pub hidden_by: Option<&'static str>,
}

/// The kind of the files in a manifest's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    Subagents,
    Commands,
    Skills,
    Rules,
    Hooks,
    Servers,
}

impl List {
    /// Returns a list of files and folders that adds to the default folder.
    pub(super) const fn adds(key: &'static str, holds: Holds) -> Self {
        Self { key, holds, takes_folders: true, replaces: None, hidden_by: None }
    }

    /// Returns a list of files and folders that replaces the default folder.
    pub(super) const fn replaces(key: &'static str, holds: Holds) -> Self {
        Self { replaces: Some(key), ..Self::adds(key, holds) }
    }
}

/// A file of instructions in an agent's folder.
pub struct InFolder {
    pub folder: &'static str,
    pub name: &'static str,
    /// Whether the folder becomes part of the item's name, because a file at the root may have the same name.
    pub names_folder: bool,
}

/// A file that only one agent understands.
pub struct AgentOnlyFile {
    pub kind: Kind,
    pub at: At,
}

/// The location of an [`AgentOnlyFile`].
#[derive(Clone, Copy)]
pub enum At {
    /// Anywhere below a folder whose path ends with these parts.
    Below(&'static [&'static str]),
    /// A file with one of the first names, in a folder that has one of the second names.
    In(&'static [&'static str], &'static [&'static str]),
    /// With one of these names, in any folder.
    Anywhere(&'static [&'static str]),
}
