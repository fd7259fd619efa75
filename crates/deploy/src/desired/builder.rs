//! Collects the desired files. Refuses files that would leave their folder or conflict with another file.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;

use super::left_out::{LeftOut, Reason};
use super::output::{Desired, Form, Output, Part, Root, part};
use super::remark::Remark;
use crate::module::{Module, ModuleFile};
use crate::targets::Target;
use crate::targets::bases::innermost;
use mcpkg_agents::commands::words::{self, Spelling};
use mcpkg_agents::forms::sections;
use mcpkg_base::disk::RealFolders;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::hex;
use mcpkg_base::inside::stays_inside;
use mcpkg_base::sha256::{self, Sha};

/// Collects the outputs of all targets.
#[derive(Debug, Default)]
pub struct Builder {
    desired: Desired,
    /// The chosen targets. Errors and warnings that concern only other targets are suppressed.
    selected: Vec<Target>,
    collisions: Collisions,
    /// The folders that files must stay in: the deploy root, the home folder, and targets' own folders.
    bases: Vec<PathBuf>,
    folders: RealFolders,
    /// The root of the last file, and the real path of the folder that its files must stay in.
    last_root: Option<(PathBuf, PathBuf)>,
    /// The parent folder of the last file, and its real path.
    last_folder: Option<(PathBuf, PathBuf)>,
    /// The hashes of bytes that are written more than once, by the address of the bytes. Each entry keeps its bytes
    /// alive, so that no other bytes get the same address.
    hashes: HashMap<*const u8, (Arc<[u8]>, Sha)>,
    /// The texts combined from several modules, by the modules' ids.
    gathered: HashMap<Vec<String>, Arc<[u8]>>,
    /// The skills made from commands, by the address of the command's file. All agents without commands get the same
    /// skill.
    skills: HashMap<*const ModuleFile, Arc<[u8]>>,
}

/// What happens if two modules want to write different content to the same path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Collisions {
    /// The deploy is refused, as in agentpack, the original tool of contract 000. Used for config repos, and for
    /// clients of a server that runs as `agentpack`.
    #[default]
    Refused,
    /// A command that is written as a skill is left out if a skill or another command has its name. Of other files, one
    /// gets a number: `ts.md`, `ts-2.md`. If the agent reads the file only under this name ([`Form::has_a_free_name`]),
    /// the deploy is refused.
    Settled,
}

impl Builder {
    /// Creates a builder. A file must stay in the innermost of the `bases` that contains its root. `selected` are the
    /// chosen targets.
    pub fn below(bases: Vec<PathBuf>, selected: &[Target], collisions: Collisions) -> Self {
        Self { bases, selected: selected.to_vec(), collisions, ..Self::default() }
    }

    pub fn is_chosen(&self, target: Target) -> bool {
        self.selected.contains(&target)
    }

    fn is_any_chosen(&self, targets: &[Target]) -> bool {
        targets.iter().any(|target| self.is_chosen(*target))
    }

    /// Records that a target reads this folder.
    pub fn root(&mut self, target: Target, path: &Path, scan_extras: bool) {
        let root = Root { target, path: path.to_owned(), scan_extras };
        if !self.desired.roots.contains(&root) {
            self.desired.roots.push(root);
        }
    }

    /// Adds a warning if one of the targets is chosen.
    pub fn warn(&mut self, targets: &[Target], warning: String) {
        if self.is_any_chosen(targets) && !self.desired.warnings.contains(&warning) {
            self.desired.warnings.push(warning);
        }
    }

    /// Adds a note about where some targets read their files. A plan shows the note once.
    pub fn note(&mut self, targets: &[Target], note: String) {
        if self.is_any_chosen(targets) && !self.desired.notes.contains(&note) {
            self.desired.notes.push(note);
        }
    }

    /// Adds a remark on a module that a target gets in a changed form.
    pub fn remark(&mut self, module: &Module, target: Target, said: String) {
        self.desired.remarks.push(Remark { module_id: module.id.clone(), target, said });
    }

    /// Records that a module is not written for a target.
    pub fn leave_out(&mut self, module: &Module, target: Target, reason: Reason) {
        self.desired.left_out.push(LeftOut { module_id: module.id.clone(), target, reason });
    }

    /// Records that a target already loads a module's text from the user's own files.
    pub fn hold(&mut self, module: &Module, target: Target) {
        self.desired.held.extend(module.files.first().map(|file| (part(module, file), target)));
    }

    /// Adds an instructions module as a rule. `front_matter` replaces the module's own.
    pub fn rule(
        &mut self,
        targets: &[Target],
        root: &Path,
        relative: &str,
        module: &Module,
        front_matter: &str,
    ) -> Result<()> {
        let Some(file) = module.files.first() else { return Ok(()) };
        let part = part(module, file);
        let between = if front_matter.is_empty() { "" } else { "\n" };
        let text = sections::with_newline(part.body());
        let bytes = [front_matter.as_bytes(), between.as_bytes(), &text].concat();
        self.add(targets, root, relative, Form::Rule, vec![part], bytes.into(), false)
    }

    /// Adds an unchanged module file at `relative` below `root`.
    pub fn copy(
        &mut self,
        target: Target,
        root: &Path,
        relative: &str,
        module: &Module,
        file: &ModuleFile,
    ) -> Result<()> {
        let bytes = Arc::clone(&file.bytes);
        self.add(&[target], root, relative, Form::Copy, vec![part(module, file)], bytes, file.executable)
    }

    /// Returns the skill that replaces a command for agents without commands. Calls `make` only once per file.
    pub fn skill_of(&mut self, file: &ModuleFile, make: impl FnOnce() -> Vec<u8>) -> Arc<[u8]> {
        Arc::clone(self.skills.entry(std::ptr::from_ref(file)).or_insert_with(|| make().into()))
    }

    /// Adds a command for an agent that does not fill in arguments: its placeholders are spelled out in words. A
    /// command without arguments is added unchanged.
    pub fn spelled(
        &mut self,
        target: Target,
        root: &Path,
        relative: &str,
        module: &Module,
        file: &ModuleFile,
        spelling: Spelling,
    ) -> Result<()> {
        let text = std::str::from_utf8(&file.bytes).map(|text| words::spell(text, &file.arguments, spelling));
        match text {
            Ok(text) if text.as_bytes() != &*file.bytes => {
                let bytes = Arc::from(text.into_owned().into_bytes());
                self.add(&[target], root, relative, Form::Spelled(spelling), vec![part(module, file)], bytes, false)
            }
            _ => self.copy(target, root, relative, module, file),
        }
    }

    /// Adds a file. If a chosen target and another target want different bytes at the same path, the chosen target
    /// wins.
    ///
    /// # Errors
    /// `E_IO_INVALID_PATH` if the file would leave its root, by its name or through a link; `E_DESIRED_STATE_CONFLICT`
    /// if two chosen targets want different bytes at the same path, and [`Collisions`] does not settle this.
    #[expect(clippy::too_many_arguments, reason = "one call for each way a module lands, each value with its own word")]
    pub fn add(
        &mut self,
        targets: &[Target],
        root: &Path,
        relative: &str,
        form: Form,
        parts: Vec<Part>,
        bytes: Arc<[u8]>,
        executable: bool,
    ) -> Result<()> {
        let owner = parts.first().map_or("", |part| part.module_id.as_str());
        let path = match self.place(root, relative, owner) {
            Ok(path) => path,
            Err(error) if self.is_any_chosen(targets) => return Err(error),
            Err(_) => return Ok(()),
        };
        let sha256 = self.hash(&bytes);
        let mut targets = targets.to_vec();
        targets.sort_unstable();
        self.put(Output { path, root: root.to_owned(), targets, parts, bytes, sha256, executable, form })
    }

    fn put(&mut self, new: Output) -> Result<()> {
        let is_chosen = self.is_any_chosen(&new.targets);
        let there = match self.desired.outputs.entry(new.path.clone().into()) {
            Entry::Vacant(place) => {
                place.insert(new);
                return Ok(());
            }
            Entry::Occupied(there) => there.into_mut(),
        };
        if there.sha256 == new.sha256 {
            there.take_in(new);
            return Ok(());
        }
        if !is_chosen {
            return Ok(());
        }
        match there.targets.iter().any(|target| self.selected.contains(target)) {
            true => self.settle(new),
            false => {
                *there = new;
                Ok(())
            }
        }
    }

    /// Returns the real path of a file at `relative` below `root`. Errors name the module `owner`.
    fn place(&mut self, root: &Path, relative: &str, owner: &str) -> Result<PathBuf> {
        let leaves = |why: &str| {
            Error::new(
                Code::InvalidPath,
                format!("Module '{owner}' would be written to `{relative}` below `{}`: {why}", root.display()),
            )
            .with_details(json!({ "module_id": owner, "path": relative, "root": root.display().to_string() }))
        };
        if !stays_inside(relative) {
            return Err(leaves("the path leads outside this folder").hint("rename the module or its file"));
        }
        let wanted = root.join(relative);
        let (Some(folder), Some(name)) = (wanted.parent(), wanted.file_name()) else {
            return Err(leaves("the path has no file name"));
        };
        let Some(real) = self.real(root, folder) else {
            return Err(leaves("a link leads outside this folder")
                .hint(format!("check the links above `{}`", wanted.display())));
        };
        let path = real.join(name);
        if path.to_str().is_none() {
            return Err(leaves("the path is not valid UTF-8").hint("rename the folder"));
        }
        Ok(path)
    }

    /// Returns the real path of a folder below a root. Returns `None` if a link leads out of the folder that files
    /// must stay in.
    fn real(&mut self, root: &Path, folder: &Path) -> Option<PathBuf> {
        // Files come folder by folder, so keep the last result: hashing and comparing paths costs more than everything
        // else.
        let is = |last: &Option<(PathBuf, PathBuf)>, path: &Path| {
            last.as_ref().is_some_and(|(last, _)| last.as_os_str() == path.as_os_str())
        };
        if !is(&self.last_root, root) {
            let limit = self.folders.of(innermost(&self.bases, root));
            self.last_root = Some((root.to_owned(), limit));
            self.last_folder = None;
        }
        if !is(&self.last_folder, folder) {
            let real = self.folders.of(folder);
            let (_, limit) = self.last_root.as_ref()?;
            if !real.starts_with(limit) {
                return None;
            }
            self.last_folder = Some((folder.to_owned(), real));
        }
        self.last_folder.as_ref().map(|(_, real)| real.clone())
    }

    /// Adds a file that mcpkg owns completely and that combines several modules. Does nothing without modules.
    pub fn gathered(&mut self, target: Target, root: &Path, relative: &str, modules: &[&Module]) -> Result<()> {
        let parts = parts(modules);
        if parts.is_empty() {
            return Ok(());
        }
        let key = modules.iter().map(|module| module.id.clone()).collect();
        let gathered = self.gathered.entry(key).or_insert_with(|| sections::sections(&texts(&parts)).into());
        let bytes = Arc::clone(gathered);
        self.add(&[target], root, relative, Form::Gathered, parts, bytes, false)
    }

    /// Adds a block with one line for each file that it imports, and with the modules that are in none of those files.
    pub fn import(
        &mut self,
        targets: &[Target],
        root: &Path,
        relative: &str,
        lines: &[&str],
        imported: &[&Module],
        own: &[&Module],
    ) -> Result<()> {
        let own = parts(own);
        let mut inner = format!("{}\n", lines.join("\n")).into_bytes();
        if !own.is_empty() {
            inner.extend_from_slice(b"\n");
            inner.extend(sections::marked(&bodies(&own)));
        }
        let bytes = sections::block(&inner, None);
        let parts = own.into_iter().chain(parts(imported)).collect();
        self.add(targets, root, relative, Form::Import, parts, bytes.into(), false)
    }

    /// Adds a block with the texts of these modules to a file. Does nothing without modules.
    pub fn block(&mut self, targets: &[Target], root: &Path, relative: &str, modules: &[&Module]) -> Result<()> {
        let parts = parts(modules);
        let inner = match parts.as_slice() {
            [] => return Ok(()),
            [only] => sections::escape(only.body()),
            parts => sections::sections(&bodies(parts)),
        };
        let only = parts.first().filter(|_| parts.len() == 1).map(|part| part.module_id.as_str());
        let bytes = sections::block(&inner, only);
        self.add(targets, root, relative, Form::Block, parts, bytes.into(), false)
    }

    /// Adds a file whose path is already taken. [`Collisions`] describes the rules.
    fn settle(&mut self, mut new: Output) -> Result<()> {
        let key = new.path.as_os_str();
        let Some(there) = self.desired.outputs.get_mut(key) else { return self.put(new) };
        if self.collisions == Collisions::Refused {
            return Err(conflict(there, &new));
        }
        let is_command = |output: &Output| output.form == Form::CommandSkill;
        // Decide which file gives way. A command gives way to a skill. Of two commands, the one whose name differs from
        // the folder's gives way. Of two other files, the one that was not imported from this path gives way.
        let goes = match (is_command(there), is_command(&new)) {
            (true, false) => true,
            (true, true) => new.has_its_folders_name() && !there.has_its_folders_name(),
            (false, true) => false,
            (false, false) => new.is_at_home() && !there.is_at_home(),
        };
        if goes {
            std::mem::swap(there, &mut new);
        }
        if is_command(&new) {
            let left_out =
                new.uses().map(|(module_id, target)| LeftOut { module_id, target, reason: Reason::SkillTaken });
            self.desired.left_out.extend(left_out);
            return Ok(());
        }
        if !new.form.has_a_free_name() {
            return Err(conflict(there, &new));
        }
        let (name, by) = (new.name(), there.module_ids().join(", "));
        let (stem, ending) = split_ending(&name);
        let is_free = |path: &PathBuf| {
            let there = self.desired.outputs.get(path.as_os_str());
            there.is_none_or(|there| there.sha256 == new.sha256)
        };
        let numbered = (2..).map(|number| new.path.with_file_name(format!("{stem}-{number}{ending}"))).find(is_free);
        new.path = numbered.unwrap_or_default();
        let said = format!("written as `{}`, because {by} has `{name}`", new.name());
        let remarks = new.uses().map(|(module_id, target)| Remark { module_id, target, said: said.clone() });
        self.desired.remarks.extend(remarks);
        self.put(new)
    }

    fn hash(&mut self, bytes: &Arc<[u8]>) -> Sha {
        let (_, sha256) = self.hashes.entry(bytes.as_ptr()).or_insert_with(|| (Arc::clone(bytes), sha256::of(bytes)));
        *sha256
    }

    /// Returns the desired state for the chosen targets.
    pub fn finish(mut self) -> Desired {
        let selected = self.selected;
        self.desired.outputs.retain(|_, output| output.targets.iter().any(|target| selected.contains(target)));
        self.desired.roots.retain(|root| selected.contains(&root.target));
        self.desired.left_out.retain(|left_out| selected.contains(&left_out.target));
        self.desired.remarks.retain(|remark| selected.contains(&remark.target));
        self.desired.left_out.sort_by(|a, b| (&a.module_id, a.target).cmp(&(&b.module_id, b.target)));
        self.desired.folders = self.folders;
        self.desired
    }
}

fn parts(modules: &[&Module]) -> Vec<Part> {
    modules.iter().filter_map(|module| Some(part(module, module.files.first()?))).collect()
}

fn bodies(parts: &[Part]) -> Vec<(&str, &[u8])> {
    parts.iter().map(|part| (part.module_id.as_str(), part.body())).collect()
}

fn texts(parts: &[Part]) -> Vec<(&str, &[u8])> {
    parts.iter().map(|part| (part.module_id.as_str(), &*part.bytes)).collect()
}

fn conflict(there: &Output, new: &Output) -> Error {
    let path = &there.path;
    let (existing, ids) = (there.module_ids(), new.module_ids());
    Error::new(
        Code::DesiredStateConflict,
        format!("{} and {} would write different content to `{}`", existing.join(", "), ids.join(", "), path.display()),
    )
    .with_details(json!({
        "target": new.targets.first().map(|target| target.name()),
        "path": path.display().to_string(),
        "existing": { "sha256": hex::encode(&there.sha256), "module_ids": existing },
        "new": { "sha256": hex::encode(&new.sha256), "module_ids": ids },
    }))
    .hint("rename one of the modules, disable it, or restrict it to other targets")
}

/// Splits a name before its endings: `ts.instructions.md` -> `ts` and `.instructions.md`.
fn split_ending(name: &str) -> (&str, &str) {
    // A leading dot is part of the name.
    let ending = name.char_indices().skip(1).find(|(_, c)| *c == '.').map_or(name.len(), |(at, _)| at);
    name.split_at(ending)
}
