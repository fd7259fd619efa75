//! A module: one deployable asset, from a config repo or from a project.

mod file_name;
mod kind;
mod server_file;

use std::sync::Arc;

use serde::Serialize;

use crate::targets::Target;
use mcpkg_store::modules::Applies;
use mcpkg_store::prompts::Argument;

pub use file_name::{fs_key, sanitise, unbounded_fs_key};
pub use kind::Kind;
pub use server_file::ServerFile;

/// The origin of a module's file: the module itself, or the highest overlay that changes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    Upstream,
    /// An overlay for every machine and project.
    Global,
    /// An overlay for this machine.
    Machine,
    /// An overlay for this project.
    Project,
}

#[derive(Clone, Debug)]
pub struct ModuleFile {
    /// The path in the module, separated by `/`.
    pub path: String,
    pub bytes: Arc<[u8]>,
    /// Whether the file is executable.
    pub executable: bool,
    /// The layer that the file comes from.
    pub layer: Layer,
    /// Further facts about a command's arguments that its file does not contain.
    pub arguments: Arc<[Argument]>,
    /// The file that a command was imported from, if it is not one of Claude Code's.
    pub own: Option<Arc<[u8]>>,
}

/// A project's settings for a module, apart from its files; a config repo has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// When the module's instructions apply.
    pub applies: Applies,
    pub description: Option<String>,
    /// The agent that the file was imported from; the file has that agent's form.
    pub agent: Option<String>,
    /// The path of that file below the imported folder.
    pub path: Option<String>,
}

impl About {
    /// Whether the module's file has the form of `target`.
    pub fn is_of(&self, target: Target) -> bool {
        self.agent.as_deref().is_some_and(|agent| target.is_called(agent))
    }
}

/// One deployable asset, with its overlays applied and its files checked.
#[derive(Clone, Debug)]
pub struct Module {
    /// The id, such as `skill:review`.
    pub id: String,
    pub kind: Kind,
    /// The targets; empty means all of them.
    pub targets: Vec<Target>,
    /// The files by path; only a skill has more than one.
    pub files: Vec<ModuleFile>,
    /// The project's settings for the module.
    pub about: About,
}

impl Module {
    pub fn is_for(&self, target: Target) -> bool {
        self.targets.is_empty() || self.targets.contains(&target)
    }

    /// Returns the part of the id after the first `:`, or the whole id. It is the name of a skill's folder.
    pub fn name(&self) -> &str {
        self.id.split_once(':').map_or(self.id.as_str(), |(_, name)| name)
    }
}
