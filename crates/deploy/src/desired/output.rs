//! Describes a file of the desired state and the module files that it is made of.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::left_out::LeftOut;
use super::remark::Remark;
use crate::module::{Layer, Module, ModuleFile};
use crate::targets::Target;
use mcpkg_agents::commands::inert::Acts;
use mcpkg_agents::commands::skill::split_front;
use mcpkg_agents::commands::words::Spelling;
use mcpkg_base::disk::RealFolders;
use mcpkg_base::sha256::Sha;
use mcpkg_store::prompts::Argument;

/// How a file is made from modules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A module's file, unchanged.
    Copy,
    /// Several modules combined in a file that mcpkg owns completely.
    Gathered,
    /// Several modules combined in a block; the rest of the file belongs to the user.
    Block,
    /// A block with lines that import other files, and with the modules that are in none of those files.
    Import,
    /// A Cursor rule: mcpkg's front matter before the module's text.
    CursorRule,
    /// MCP server entries in an agent's configuration file; the rest of the file belongs to the user.
    Servers,
    /// A rule: mcpkg's front matter instead of the module's own.
    Rule,
    /// A subagent as TOML, with the module's text but not its front matter.
    Toml,
    /// A rewritten SKILL.md, for agents that would reject the module's own.
    Skill,
    /// A policy file that stops Codex from using a skill unasked. Written if the SKILL.md forbids that.
    SkillPolicy,
    /// A command as a skill: mcpkg's front matter, then the command's text with its arguments spelled out.
    CommandSkill,
    /// A command with its arguments spelled out.
    Spelled(Spelling),
    /// Like [`Form::Spelled`], but with mcpkg's front matter.
    Converted(Spelling),
    /// A command as TOML, with its arguments spelled out.
    CommandToml(Spelling),
    /// A subagent, converted from TOML to Markdown: mcpkg's front matter, then the subagent's text.
    OfToml,
    /// A command or skill, rewritten so that no agent runs what is plain text for the agent that it was written for.
    Inert(Acts),
}

impl Form {
    /// Whether agents read such a file under any name, because the folder alone determines its purpose.
    pub const fn has_a_free_name(self) -> bool {
        match self {
            Self::Copy
            | Self::CursorRule
            | Self::Rule
            | Self::Toml
            | Self::Spelled(_)
            | Self::Converted(_)
            | Self::CommandToml(_)
            | Self::OfToml
            | Self::Inert(_) => true,
            Self::Gathered
            | Self::Block
            | Self::Import
            | Self::Servers
            | Self::Skill
            | Self::SkillPolicy
            | Self::CommandSkill => false,
        }
    }
}

/// A module's file that is part of an output.
#[derive(Clone, Debug)]
pub struct Part {
    pub module_id: String,
    /// The path of the file inside the module.
    pub file: String,
    pub bytes: Arc<[u8]>,
    pub layer: Layer,
    /// Facts about a command's arguments that its file does not contain.
    pub arguments: Arc<[Argument]>,
    /// The path from which the module was imported, relative to the imported folder.
    pub home: Option<String>,
}

impl Part {
    /// Returns the text without its front matter, which only describes how one agent loads the rule.
    pub fn body(&self) -> &[u8] {
        split_front(&self.bytes).1
    }

    /// Returns this file's front matter, followed by another text.
    pub fn with_body(&self, body: &[u8]) -> Vec<u8> {
        let head = self.bytes.strip_suffix(self.body()).unwrap_or_default();
        [head, body].concat()
    }
}

#[derive(Clone, Debug)]
pub struct Output {
    /// The absolute path of the file.
    pub path: PathBuf,
    /// The target's folder that the file is written below.
    pub root: PathBuf,
    /// The targets that want the file, sorted by name.
    pub targets: Vec<Target>,
    /// The module files that the output is made of, in order.
    pub parts: Vec<Part>,
    /// The bytes of the file or of its block, or the entries as JSON.
    pub bytes: Arc<[u8]>,
    pub sha256: Sha,
    pub executable: bool,
    pub form: Form,
}

impl Output {
    pub fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Whether the first module was imported from this very path.
    pub fn is_at_home(&self) -> bool {
        let home = self.parts.first().and_then(|part| part.home.as_ref());
        home.is_some_and(|home| self.path.ends_with(home))
    }

    /// Whether the module's file has the name of the output's folder: `a.md` in `skills/a/SKILL.md`.
    pub fn has_its_folders_name(&self) -> bool {
        let folder = self.path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
        let file = self.parts.first().map_or("", |part| part.file.as_str());
        file.strip_suffix(".md").unwrap_or(file) == folder
    }

    /// Returns each module with each target that wants the file.
    pub fn uses(&self) -> impl Iterator<Item = (String, Target)> {
        let of = |part: &Part| self.targets.iter().map(|target| (part.module_id.clone(), *target)).collect::<Vec<_>>();
        self.parts.iter().flat_map(of)
    }

    /// Adds the targets and modules of another output with the same path and bytes.
    pub fn take_in(&mut self, other: Self) {
        self.targets.extend(other.targets);
        self.targets.sort_unstable();
        self.targets.dedup();
        for part in other.parts {
            if !self.parts.iter().any(|known| known.module_id == part.module_id) {
                self.parts.push(part);
            }
        }
        self.executable |= other.executable;
    }

    /// Returns the ids of the output's modules, sorted and without duplicates.
    pub fn module_ids(&self) -> Vec<String> {
        let mut ids: Vec<String> = self.parts.iter().map(|part| part.module_id.clone()).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// Whether the output is made of exactly these modules. `ids` must be sorted like [`Output::module_ids`].
    pub fn is_made_of(&self, ids: &[String]) -> bool {
        match (self.parts.as_slice(), ids) {
            ([part], [id]) => part.module_id == *id,
            _ => self.module_ids() == ids,
        }
    }

    /// Whether mcpkg manages only part of the file: a block, or entries.
    pub fn is_block(&self) -> bool {
        matches!(self.form, Form::Block | Form::Import | Form::Servers)
    }
}

/// A folder that a target reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    pub target: Target,
    pub path: PathBuf,
    /// Whether `status` reports files in the folder that are not mcpkg's.
    pub scan_extras: bool,
}

#[derive(Debug, Default)]
pub struct Desired {
    /// The files by their real paths. The map is unordered and its keys are text, because comparing paths part by part
    /// costs more than everything else.
    pub outputs: HashMap<OsString, Output>,
    /// The real paths of the folders that were looked up.
    pub folders: RealFolders,
    /// The folders that targets read.
    pub roots: Vec<Root>,
    pub warnings: Vec<String>,
    /// Modules that one of their targets does not get.
    pub left_out: Vec<LeftOut>,
    /// Modules whose text a target already loads from the user's own files.
    pub held: Vec<(Part, Target)>,
    /// Remarks for the user about modules that a target gets in a changed form.
    pub remarks: Vec<Remark>,
    /// Notes for the user about where targets read their files. A plan shows each note once.
    pub notes: Vec<String>,
}

impl Desired {
    pub fn output(&self, path: &Path) -> Option<&Output> {
        self.outputs.get(path.as_os_str())
    }
}

/// Returns a module's file as part of an output.
pub fn part(module: &Module, file: &ModuleFile) -> Part {
    Part {
        module_id: module.id.clone(),
        file: file.path.clone(),
        bytes: Arc::clone(&file.bytes),
        layer: file.layer,
        arguments: Arc::clone(&file.arguments),
        home: module.about.path.clone(),
    }
}
