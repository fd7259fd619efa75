//! A file of the desired state, and the module files that it is made of.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::left_out::LeftOut;
use super::remark::Remark;
use crate::module::{Layer, Module, ModuleFile};
use crate::targets::Target;
use mcpkg_base::disk::{RealFolders, Sha};
use mcpkg_content::command::skill::split_front;
use mcpkg_content::command::words::Spelling;
use mcpkg_store::prompts::Argument;

/// How a file is made of its modules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// An unchanged file of a module.
    Copy,
    /// Several modules, the whole file ours.
    Gathered,
    /// Several modules in a block; the rest of the file is the user's.
    Block,
    /// A block that imports AGENTS.md, with sections for the modules that are only in this file.
    Import,
    /// A Cursor rule: front matter of ours before the module's text.
    CursorRule,
    /// Entries of MCP servers in an agent's file; the rest of the file is the user's.
    Servers,
    /// A rule: front matter of ours instead of the module's own.
    Rule,
    /// A subagent as TOML: its text is the module's without the front matter.
    Toml,
    /// A SKILL.md as agents load it that would reject the module's own.
    Skill,
    /// The file that keeps Codex from using a skill unasked, for what its SKILL.md says.
    SkillPolicy,
    /// A command as a skill: its front matter is ours, its text the command's with its arguments spelled out.
    CommandSkill,
    /// A command with its arguments spelled out.
    Spelled(Spelling),
    /// As [`Form::Spelled`], below front matter of ours.
    Converted(Spelling),
    /// A command as TOML with its arguments spelled so.
    CommandToml(Spelling),
    /// A subagent whose file is TOML, as Markdown: front matter of ours before its text.
    OfToml,
}

/// A module's file that went into an output.
#[derive(Clone, Debug)]
pub struct Part {
    pub module_id: String,
    /// The file in it.
    pub file: String,
    /// Its bytes.
    pub bytes: Arc<[u8]>,
    /// Where they come from.
    pub layer: Layer,
    /// Further facts about a command's arguments that its file does not hold.
    pub arguments: Arc<[Argument]>,
}

impl Part {
    /// Its text without the front matter, which says how one agent loads a rule of its own.
    pub fn body(&self) -> &[u8] {
        split_front(&self.bytes).1
    }

    /// Its bytes with another text after the same front matter.
    pub fn with_body(&self, body: &[u8]) -> Vec<u8> {
        let head = self.bytes.strip_suffix(self.body()).unwrap_or_default();
        [head, body].concat()
    }
}

/// A file of the desired state.
#[derive(Clone, Debug)]
pub struct Output {
    /// Where, absolute.
    pub path: PathBuf,
    /// The target's folder that contains it.
    pub root: PathBuf,
    /// The targets that want it, by name.
    pub targets: Vec<Target>,
    /// What it is made of, by module.
    pub parts: Vec<Part>,
    /// Its bytes, or those of its block, or the desired entries.
    pub bytes: Arc<[u8]>,
    /// Their SHA-256.
    pub sha256: Sha,
    /// Whether it is a program.
    pub executable: bool,
    /// How it is made.
    pub form: Form,
}

impl Output {
    /// The modules it is made of, by id.
    pub fn module_ids(&self) -> Vec<String> {
        let mut ids: Vec<String> = self.parts.iter().map(|part| part.module_id.clone()).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// Whether these are the modules it is made of, as [`Output::module_ids`] has them.
    pub fn is_made_of(&self, ids: &[String]) -> bool {
        match (self.parts.as_slice(), ids) {
            ([part], [id]) => part.module_id == *id,
            _ => self.module_ids() == ids,
        }
    }

    /// Whether it keeps a part of the file only: a block, or entries.
    pub fn is_block(&self) -> bool {
        matches!(self.form, Form::Block | Form::Import | Form::Servers)
    }
}

/// A folder that a target reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    pub target: Target,
    pub path: PathBuf,
    /// Whether status reports files in it that are not ours.
    pub scan_extras: bool,
}

/// The whole desired state.
#[derive(Debug, Default)]
pub struct Desired {
    /// The files by path, where folders really are; in no order and by their texts, since comparing paths part by part costs more
    /// than all else.
    pub outputs: HashMap<OsString, Output>,
    /// The real paths of the folders that were looked up.
    pub folders: RealFolders,
    /// The folders that the targets read.
    pub roots: Vec<Root>,
    /// What the user should know.
    pub warnings: Vec<String>,
    /// Modules that are not written for one of their targets.
    pub left_out: Vec<LeftOut>,
    /// Remarks for a person on modules that a target gets in another form.
    pub remarks: Vec<Remark>,
    /// Notes for a person on where targets read things, shown once per plan.
    pub notes: Vec<String>,
}

impl Desired {
    /// Returns the desired file at a path.
    pub fn output(&self, path: &Path) -> Option<&Output> {
        self.outputs.get(path.as_os_str())
    }
}

/// Returns a module's file as a part.
pub fn part(module: &Module, file: &ModuleFile) -> Part {
    Part {
        module_id: module.id.clone(),
        file: file.path.clone(),
        bytes: Arc::clone(&file.bytes),
        layer: file.layer,
        arguments: Arc::clone(&file.arguments),
    }
}
