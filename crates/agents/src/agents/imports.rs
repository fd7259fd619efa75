//! What import knows of an agent beyond the places where a deploy writes.

use crate::forms::RuleFormat;
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

/// What else is known of an agent's files.
pub struct Imports {
    /// The agent's folders in a project. What agents read in one of them is this agent's, whoever else reads it too.
    pub folders: &'static [&'static str],
    /// The folders of its plugins' manifests.
    pub plugins: &'static [&'static str],
    /// The folders in a plugin, if the agent's plugins have a layout that others follow too.
    pub in_plugins: Option<InPlugins>,
    /// Places in its folders where a deploy writes nothing: older ones, other names of the same folder, files that it does not
    /// read.
    pub also: &'static [Also],
    /// Whether its commands number their arguments from one, also in the older folders among `also`.
    pub counts_from_one: bool,
    /// Whether it does not load a subagent without a name and a description.
    pub needs_subagent_name: bool,
    /// Files of instructions in its folders that are not in a folder of rules.
    pub files: &'static [InFolder],
    /// The names of files of instructions that it reads in any folder.
    pub instructions: &'static [&'static str],
    /// The names of files of instructions that it reads at the root alone.
    pub at_root: &'static [&'static str],
    /// What a file is by its ending, wherever it lies.
    pub endings: &'static [(Role, Form, &'static str)],
    /// The files that are its alone, next to its file of MCP servers.
    pub kept: &'static [Kept],
}

impl Imports {
    /// Of an agent that has nothing of its own in a project.
    pub const NONE: Self = Self {
        folders: &[],
        plugins: &[],
        in_plugins: None,
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

/// A place that no deploy writes to: the folder, what the agent takes there, and how the files' names end.
pub struct Also(pub [&'static str; 2], pub Role, pub Form, pub &'static str);

/// The folders in a plugin.
pub struct InPlugins {
    pub commands: &'static str,
    pub subagents: &'static str,
    pub hooks: &'static str,
}

/// A file of instructions in an agent's folder.
pub struct InFolder {
    pub folder: &'static str,
    pub name: &'static str,
    /// Whether the folder is a part of the item's name, because a file at the root may have the same name.
    pub names_folder: bool,
}

/// A file of one agent alone.
pub struct Kept {
    pub kind: Kind,
    pub at: At,
}

/// Where a file of one agent alone lies.
#[derive(Clone, Copy)]
pub enum At {
    /// Anywhere below a folder that ends so.
    Below(&'static [&'static str]),
    /// Under one of these names in a folder of one of these names.
    In(&'static [&'static str], &'static [&'static str]),
    /// Under one of these names in any folder.
    Anywhere(&'static [&'static str]),
}
