//! Defines a module: one deployable asset of a config repo or a project.

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

/// Where a module's file comes from: the module itself, or the highest overlay that changes the file.
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
    /// The path inside the module, separated by `/`.
    pub path: String,
    pub bytes: Arc<[u8]>,
    pub executable: bool,
    pub layer: Layer,
    /// Facts about a command's arguments that its file does not contain.
    pub arguments: Arc<[Argument]>,
    /// The original file of a command that was imported from an agent other than Claude Code.
    pub own: Option<Arc<[u8]>>,
}

/// The facts that a project stores about a module. A module of a config repo has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// When the module's instructions apply.
    pub applies: Applies,
    pub description: Option<String>,
    /// The agent that the file was imported from. The file is in that agent's format.
    pub agent: Option<String>,
    /// The path that the file had in the imported folder.
    pub path: Option<String>,
}

impl About {
    /// Whether the module's file is in the format of `target`.
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
    /// The module's targets. Empty means all targets.
    pub targets: Vec<Target>,
    /// The files, sorted by path. Only a skill has more than one.
    pub files: Vec<ModuleFile>,
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
