//! A file of the desired state, and the module files that it is made of.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::left_out::LeftOut;
use super::remark::Remark;
use crate::module::{Layer, Module, ModuleFile};
use crate::targets::Target;
use mcpkg_agents::commands::skill::split_front;
use mcpkg_agents::commands::words::Spelling;
use mcpkg_base::disk::RealFolders;
use mcpkg_base::sha256::Sha;
use mcpkg_store::prompts::Argument;

/// How a file is made from its modules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// An unchanged file of a module.
    Copy,
    /// Several modules in a file that mcpkg owns completely.
    Gathered,
    /// Several modules in a block; the rest of the file is the user's.
    Block,
    /// A block that imports AGENTS.md, with sections for the modules that are only in this file.
    Import,
    /// A Cursor rule: mcpkg's front matter before the module's text.
    CursorRule,
    /// Entries of MCP servers in an agent's file; the rest of the file is the user's.
    Servers,
    /// A rule: mcpkg's front matter instead of the module's own.
    Rule,
    /// A subagent as TOML: its text is the module's without the front matter.
    Toml,
    /// A SKILL.md that was rewritten for agents that would reject the module's own.
    Skill,
    /// The file that keeps Codex from using a skill unasked, if the skill's SKILL.md forbids that.
    SkillPolicy,
    /// A command as a skill: mcpkg's front matter, and the command's text with its arguments spelled out.
    CommandSkill,
    /// A command with its arguments spelled out.
    Spelled(Spelling),
    /// Like [`Form::Spelled`], with mcpkg's front matter.
    Converted(Spelling),
    /// A command as TOML, with its arguments spelled out.
    CommandToml(Spelling),
    /// A subagent from a TOML file, as Markdown: mcpkg's front matter before its text.
    OfToml,
}

/// A module's file that went into an output.
#[derive(Clone, Debug)]
pub struct Part {
    pub module_id: String,
    /// The path of the file in the module.
    pub file: String,
    pub bytes: Arc<[u8]>,
    /// The layer that the bytes come from.
    pub layer: Layer,
    /// Further facts about a command's arguments that its file does not contain.
    pub arguments: Arc<[Argument]>,
}

impl Part {
    /// Returns the text without the front matter, which only says how one agent loads its own rule.
    pub fn body(&self) -> &[u8] {
        split_front(&self.bytes).1
    }

    /// Returns the bytes with another text after the same front matter.
    pub fn with_body(&self, body: &[u8]) -> Vec<u8> {
        let head = self.bytes.strip_suffix(self.body()).unwrap_or_default();
        [head, body].concat()
    }
}

#[derive(Clone, Debug)]
pub struct Output {
    /// The absolute path.
    pub path: PathBuf,
    /// The target's folder that contains the file.
    pub root: PathBuf,
    /// The targets that want the file, by name.
    pub targets: Vec<Target>,
    /// The module files that it is made of, by module.
    pub parts: Vec<Part>,
    /// The bytes of the file, or those of its block, or the desired entries.
    pub bytes: Arc<[u8]>,
    /// The SHA-256 of `bytes`.
    pub sha256: Sha,
    /// Whether the file is executable.
    pub executable: bool,
    pub form: Form,
}

impl Output {
    /// Returns the ids of its modules, sorted.
    pub fn module_ids(&self) -> Vec<String> {
        let mut ids: Vec<String> = self.parts.iter().map(|part| part.module_id.clone()).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// Whether its modules have exactly these ids, in the order of [`Output::module_ids`].
    pub fn is_made_of(&self, ids: &[String]) -> bool {
        match (self.parts.as_slice(), ids) {
            ([part], [id]) => part.module_id == *id,
            _ => self.module_ids() == ids,
        }
    }

    /// Whether mcpkg manages only a part of the file: a block, or entries.
    pub fn is_block(&self) -> bool {
        matches!(self.form, Form::Block | Form::Import | Form::Servers)
    }
}

/// A folder that a target reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    pub target: Target,
    pub path: PathBuf,
    /// Whether `status` reports files in it that are not mcpkg's.
    pub scan_extras: bool,
}

#[derive(Debug, Default)]
pub struct Desired {
    /// The files by their real paths. The map is unordered and keyed by text, since comparing paths part by part costs
    /// more than everything else.
    pub outputs: HashMap<OsString, Output>,
    /// The real paths of the folders that were looked up.
    pub folders: RealFolders,
    /// The folders that the targets read.
    pub roots: Vec<Root>,
    /// Warnings for the user.
    pub warnings: Vec<String>,
    /// Modules that are not written for one of their targets.
    pub left_out: Vec<LeftOut>,
    /// Remarks for a person on modules that a target gets in another form.
    pub remarks: Vec<Remark>,
    /// Notes for a person on where targets read things, shown once per plan.
    pub notes: Vec<String>,
}

impl Desired {
    pub fn output(&self, path: &Path) -> Option<&Output> {
        self.outputs.get(path.as_os_str())
    }
}

/// Returns a module's file as a part of an output.
pub fn part(module: &Module, file: &ModuleFile) -> Part {
    Part {
        module_id: module.id.clone(),
        file: file.path.clone(),
        bytes: Arc::clone(&file.bytes),
        layer: file.layer,
        arguments: Arc::clone(&file.arguments),
    }
}
