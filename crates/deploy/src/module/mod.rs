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

/// A file of a module.
#[derive(Clone, Debug)]
pub struct ModuleFile {
    /// Its path in the module, `/` between.
    pub path: String,
    /// Its bytes.
    pub bytes: Arc<[u8]>,
    /// Whether it is a program.
    pub executable: bool,
    /// Where it comes from.
    pub layer: Layer,
    /// Further facts about a command's arguments that its file does not hold.
    pub arguments: Arc<[Argument]>,
    /// The file that a command was imported from, if it is not one of Claude Code's.
    pub own: Option<Arc<[u8]>>,
}

/// A project's settings for a module, apart from its files; a config repo has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// When its instructions apply.
    pub applies: Applies,
    pub description: Option<String>,
    /// The agent whose form its file had when it was imported.
    pub agent: Option<String>,
    /// The path of that file below what was imported.
    pub path: Option<String>,
}

impl About {
    /// Whether its file has the form of `target`.
    pub fn is_of(&self, target: Target) -> bool {
        self.agent.as_deref().is_some_and(|agent| target.is_called(agent))
    }
}

/// One deployable asset, composed: overlays are laid over it, and it is checked.
#[derive(Clone, Debug)]
pub struct Module {
    /// Its id, such as `skill:review`.
    pub id: String,
    pub kind: Kind,
    /// Its targets; empty means all of them.
    pub targets: Vec<Target>,
    /// Its files by path; only a skill has more than one.
    pub files: Vec<ModuleFile>,
    /// What its project says of it.
    pub about: About,
}

impl Module {
    /// Whether it is for `target`.
    pub fn is_for(&self, target: Target) -> bool {
        self.targets.is_empty() || self.targets.contains(&target)
    }

    /// The part of the id after the first `:`, or the id: the name of a skill's folder.
    pub fn name(&self) -> &str {
        self.id.split_once(':').map_or(self.id.as_str(), |(_, name)| name)
    }
}
