//! A module: one deployable asset, from a config repo or from a project.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::disk;
use crate::store::prompts::Argument;

/// A coding agent's place on disk.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    clap::ValueEnum,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum Target {
    /// Claude Code
    ClaudeCode,
    /// Codex
    Codex,
    /// Cursor
    Cursor,
    /// VS Code
    Vscode,
}

impl Target {
    /// Every target, by name.
    pub const ALL: [Target; 4] = [Target::ClaudeCode, Target::Codex, Target::Cursor, Target::Vscode];

    /// The name that contract 000 gives it.
    pub const fn name(self) -> &'static str {
        match self {
            Target::ClaudeCode => "claude_code",
            Target::Codex => "codex",
            Target::Cursor => "cursor",
            Target::Vscode => "vscode",
        }
    }

    /// Returns the target called `name`.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|target| target.name() == name)
    }
}

/// What a module is.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, clap::ValueEnum, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum Kind {
    /// Text that an agent reads at the start of each session.
    Instructions,
    /// A folder with SKILL.md.
    Skill,
    /// A prompt file, as Codex and VS Code had them.
    Prompt,
    /// A slash command.
    Command,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 4] = [Kind::Instructions, Kind::Skill, Kind::Prompt, Kind::Command];

    /// Returns the kind with this word.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }

    /// The word of contract 000.
    pub const fn word(self) -> &'static str {
        match self {
            Kind::Instructions => "instructions",
            Kind::Skill => "skill",
            Kind::Prompt => "prompt",
            Kind::Command => "command",
        }
    }
}

/// Where a file of a module comes from: the module itself, or the highest overlay that changes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// The module's source.
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
    /// What is known of a command's arguments beside what its file says.
    pub arguments: Arc<[Argument]>,
}

/// One deployable asset, composed: overlays are laid over it, and it is checked.
#[derive(Clone, Debug)]
pub struct Module {
    /// Its id, such as `skill:review`.
    pub id: String,
    /// What it is.
    pub kind: Kind,
    /// The targets it is for; all of them where there is none.
    pub targets: Vec<Target>,
    /// Its files by path: one, but for a skill.
    pub files: Vec<ModuleFile>,
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

/// Returns an id as a part of a file's name: all but letters, digits, `_` and `-` is `_`.
pub fn sanitise(id: &str) -> String {
    let name: String =
        id.chars().map(|c| if c.is_ascii_alphanumeric() || "_-".contains(c) { c } else { '_' }).collect();
    if name.is_empty() { "module".to_owned() } else { name }
}

/// Returns the name of a module's files in contract 000's original: its id, made safe and short, and the begin of the
/// id's SHA-256.
pub fn fs_key(id: &str) -> String {
    let name = sanitise(id);
    format!("{}--{}", &name[..name.len().min(64)], short_hash(id))
}

/// As [`fs_key`], as the original wrote it at first: however long the id is.
pub fn unbounded_fs_key(id: &str) -> String {
    format!("{}--{}", sanitise(id), short_hash(id))
}

fn short_hash(id: &str) -> String {
    disk::hex(&disk::sha256(id.as_bytes())[..5])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_those_of_the_original() {
        assert_eq!(fs_key("instructions:a"), "instructions_a--1b59cb31ea");
        assert_eq!(fs_key(&"é".repeat(90)).len(), 64 + 2 + 10);
        assert!(fs_key("").starts_with("module--"));
    }
}
