//! Collects the files that an agent loads in each session. Follows the agent's own rules for finding them.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::amount::{Budget, Limit, When};
use super::markdown;
use crate::desired::Output;
use crate::desired::layout::hidden;
use crate::plan::prepare::Prepared;
use crate::plan::{After, Change};
use crate::targets::bases::Bases;
use crate::targets::{Target, TargetConfig};
use mcpkg_agents::agents::places::{AgentsMd, OwnInstructions, Reading, Rules};
use mcpkg_agents::forms::skill::Main;
use mcpkg_base::disk::folder::Kind;
use mcpkg_base::disk::{self, RealFolders};
use mcpkg_base::error::Result;
use mcpkg_base::sha256::{self, Sha};
use mcpkg_store::modules::Applies;

const AGENTS_MD: &str = "AGENTS.md";

/// A user's file with more bytes than this is not parsed; all its bytes count.
const MAX_LOOKED_INTO: u64 = 1 << 20;

/// The files as they are now, or as they will be after the deploy.
pub(super) struct Files<'p> {
    prepared: &'p Prepared,
    /// The changes by path; empty for the current state.
    changes: HashMap<&'p Path, &'p Change>,
    when: When,
    folders: RealFolders,
    /// The files that the plan changes.
    planned: HashSet<&'p Path>,
    /// The front matter of skills, commands and subagents by path; each file is read once for all targets.
    mains: HashMap<OsString, Option<Main>>,
    /// The files below folders, by folder and file name ending; each folder is searched once for all targets.
    found: HashMap<(PathBuf, &'static str), Vec<PathBuf>>,
}

/// Returns the folders of rules that a target reads in a project.
fn always_read(target: Target) -> Vec<Rules> {
    let project = &target.facts().project;
    let own = match project.own_instructions {
        Some(OwnInstructions::Rules(rules)) => Some(rules),
        _ => None,
    };
    let all = Target::all().iter().filter_map(|other| other.facts().project.scoped_rules);
    let others = all.filter(|rules| project.also_reads.contains(&rules.folder));
    let mut rules: Vec<Rules> = Vec::new();
    for read in own.into_iter().chain(project.scoped_rules).chain(others) {
        if !rules.iter().any(|known| known.folder == read.folder) {
            rules.push(read);
        }
    }
    rules
}

/// The files collected so far for one agent.
struct Loaded<'r> {
    reading: &'r Reading,
    /// Imports from outside this folder are ignored.
    within: PathBuf,
    files: BTreeMap<PathBuf, u64>,
    /// The texts counted so far, for an agent that loads equal texts only once.
    texts: HashSet<Sha>,
}

impl<'p> Files<'p> {
    /// Returns the files of a plan, before or after it is applied.
    pub(super) fn at(prepared: &'p Prepared, when: When) -> Self {
        let files = Self {
            prepared,
            changes: HashMap::new(),
            when: When::Now,
            folders: RealFolders::default(),
            planned: prepared.plan.changes.iter().map(|change| change.path.as_path()).collect(),
            mains: HashMap::new(),
            found: HashMap::new(),
        };
        if when == When::After { files.deployed() } else { files }
    }

    /// Returns the files after the plan is applied. Front matter that the deploy does not change is not read again.
    pub(super) fn deployed(mut self) -> Self {
        self.when = When::After;
        self.changes = self.prepared.plan.changes.iter().map(|change| (change.path.as_path(), change)).collect();
        self.mains.retain(|path, _| !self.planned.contains(Path::new(path)));
        self.found.clear();
        self
    }

    pub(super) fn budget(&mut self, config: &TargetConfig) -> Result<Budget> {
        let (target, bases) = (config.target, &self.prepared.site.bases);
        let (project, user) = (&target.facts().project, &target.facts().user);
        let mut limit = None;
        let mut files = BTreeMap::new();
        let loaded = |within: &Path| Loaded {
            reading: &target.facts().reading,
            within: within.to_owned(),
            files: BTreeMap::new(),
            texts: HashSet::new(),
        };
        if let (true, Some(root)) = (config.project, &bases.root) {
            let mut loaded = loaded(&self.folders.of(root));
            let is_read = match project.agents_md {
                AgentsMd::Always => true,
                AgentsMd::UnlessHiddenBy(files) => hidden::by(root, &bases.home, files)?.is_none(),
                AgentsMd::ImportedBy(_) | AgentsMd::Never => false,
            };
            if is_read {
                let file = self.of_folder(target, root);
                self.add(&mut loaded, &file, 0);
            }
            for file in project.always_loaded {
                self.add(&mut loaded, &root.join(file), 0);
            }
            for rules in always_read(target) {
                self.add_rules(&mut loaded, rules, root)?;
            }
            limit = project.agents_md_limit.and_then(|bytes| self.limit(target, root, bytes));
            files = loaded.files;
        }
        if config.user {
            let mut loaded = loaded(&bases.home);
            if let Some(file) = user.instructions {
                let path = bases.own(config).join(file);
                self.add(&mut loaded, &path, 0);
                limit = user.max_characters.map(|bytes| self.limit_of(&path, bytes));
            }
            if let Some(rules) = user.scoped_rules {
                self.add_rules(&mut loaded, rules, &bases.home)?;
            }
            files.append(&mut loaded.files);
        }
        let (listed, whole) = self.listed(config);
        files.extend(whole.into_iter().map(|path| (path.clone(), self.size(&path))));
        Ok(Budget { target, files, listed, limit, before: None })
    }

    /// Adds a file and its imports. A file counts once, even if several links lead to it.
    fn add(&mut self, loaded: &mut Loaded<'_>, path: &Path, hops: usize) {
        let real = self.real(path);
        let size = self.size(&real);
        if size == 0 || loaded.files.contains_key(&real) {
            return;
        }
        let text = self.text(&real);
        let Some(text) = text.as_deref().and_then(|bytes| std::str::from_utf8(bytes).ok()) else {
            loaded.files.insert(real, size);
            return;
        };
        if loaded.reading.equal_once && !loaded.texts.insert(sha256::of(text.as_bytes())) {
            return;
        }
        let counted = if loaded.reading.drops_comments { markdown::without_comments(text) } else { text.len() };
        loaded.files.insert(real.clone(), counted as u64);
        self.add_imports(loaded, &real, text, hops);
    }

    /// Adds the files that a text imports. Import paths are relative to the text's file, and must stay in the folder
    /// `loaded.within`.
    fn add_imports(&mut self, loaded: &mut Loaded<'_>, file: &Path, text: &str, hops: usize) {
        let is_ignored = file.file_name().is_some_and(|name| loaded.reading.no_imports_in.iter().any(|no| name == *no));
        if hops >= loaded.reading.import_hops || is_ignored {
            return;
        }
        let folder = file.parent().unwrap_or(file);
        for import in markdown::imports(text) {
            let path = self.real(&folder.join(&import));
            if path.starts_with(&loaded.within) && self.size(&path) > 0 {
                self.add(loaded, &path, hops + 1);
            }
        }
    }

    /// Adds the rules that always apply (deployed ones and the user's own) and the imports of every rule.
    fn add_rules(&mut self, loaded: &mut Loaded<'_>, rules: Rules, base: &Path) -> Result<()> {
        for path in self.below(&base.join(rules.folder), rules.ending, false) {
            let size = self.size(&path);
            let Some(bytes) = self.content(&path) else {
                if size > MAX_LOOKED_INTO {
                    loaded.files.insert(path, size);
                }
                continue;
            };
            if rules.format.applies(&bytes) == Some(Applies::Always) {
                loaded.files.insert(path.clone(), self.counted(loaded, &bytes));
            }
            if let Ok(text) = std::str::from_utf8(&bytes) {
                self.add_imports(loaded, &path, text, 0);
            }
        }
        Ok(())
    }

    /// Returns the files below `folder` with names that end with `ending`. If `links` is set, links directly in `folder`
    /// that lead to folders are followed.
    pub(super) fn below(&mut self, folder: &Path, ending: &'static str, links: bool) -> Vec<PathBuf> {
        let top = self.folders.of(folder);
        if let Some(found) = self.found.get(&(top.clone(), ending)) {
            return found.clone();
        }
        let outputs = &self.prepared.plan.desired.outputs;
        let is_wanted = |path: &Path| path.to_string_lossy().ends_with(ending);
        let mut found: Vec<PathBuf> = Vec::new();
        if self.when == When::After {
            // Compare bytes first: comparing paths part by part is slower.
            let (paths, start) = (outputs.keys(), top.as_os_str().as_encoded_bytes());
            let paths = paths.filter(|path| path.as_encoded_bytes().starts_with(start)).map(Path::new);
            found.extend(paths.filter(|path| is_wanted(path) && path.starts_with(&top)).map(Path::to_path_buf));
        }
        let mut folders = vec![top.clone()];
        while let Some(folder) = folders.pop() {
            for (name, kind) in self.prepared.listings.of(&folder).iter().flat_map(|listing| listing.iter()) {
                let path = folder.join(name);
                if *kind == Kind::Folder || (links && *kind == Kind::Link && folder == top && path.is_dir()) {
                    folders.push(path);
                    continue;
                }
                let is_counted = || self.when == When::After && outputs.contains_key(path.as_os_str());
                let is_file = *kind == Kind::File && is_wanted(&path);
                if is_file && !is_counted() && !self.changes.contains_key(path.as_path()) {
                    found.push(path);
                }
            }
        }
        // Sort, so that if two files have the same name, the same one counts every time.
        found.sort_unstable();
        self.found.insert((top, ending), found.clone());
        found
    }

    pub(super) fn bases(&self) -> &'p Bases {
        &self.prepared.site.bases
    }

    pub(super) fn real_folder(&mut self, folder: &Path) -> PathBuf {
        self.folders.of(folder)
    }

    /// Returns the front matter of a skill, command or subagent. Returns `None` if the file is not text or too long to
    /// parse.
    pub(super) fn main(&mut self, path: &Path) -> Option<Main> {
        if let Some(known) = self.mains.get(path.as_os_str()) {
            return known.clone();
        }
        let bytes = self.content(path);
        let main = bytes.and_then(|bytes| std::str::from_utf8(&bytes).ok().map(Main::read));
        self.mains.insert(path.into(), main.clone());
        main
    }

    /// Returns a file's bytes. If the deploy leaves the file unchanged, the bytes come from the plan and not from disk.
    pub(super) fn content(&self, path: &Path) -> Option<Cow<'p, [u8]>> {
        let output = self.prepared.plan.desired.output(path);
        match output.filter(|output| !output.is_block() && !self.planned.contains(path)) {
            Some(output) => Some(Cow::Borrowed(&*output.bytes)),
            None => self.text(path),
        }
    }

    /// Like [`Files::content`], for a file at `path` in a folder. If the folder was listed before, a missing file is
    /// noticed without asking the disk.
    pub(super) fn content_in(&self, folder: &Path, path: &str) -> Option<Cow<'p, [u8]>> {
        let (first, file) = (path.split('/').next().unwrap_or(path), folder.join(path));
        let is_written =
            self.changes.contains_key(file.as_path()) || self.prepared.plan.desired.output(&file).is_some();
        if !is_written && self.prepared.listings.lacks(folder, first) {
            return None;
        }
        self.content(&file)
    }

    /// Returns how many bytes of a text the agent loads. Comments do not count if the agent drops them.
    fn counted(&self, loaded: &Loaded<'_>, bytes: &[u8]) -> u64 {
        match std::str::from_utf8(bytes) {
            Ok(text) if loaded.reading.drops_comments => markdown::without_comments(text) as u64,
            _ => bytes.len() as u64,
        }
    }

    /// Returns the file that a target reads as the AGENTS.md of a folder.
    fn of_folder(&self, target: Target, folder: &Path) -> PathBuf {
        let over = target.facts().project.agents_md_override.map(|file| folder.join(file));
        over.filter(|file| self.size(file) > 0).unwrap_or_else(|| folder.join(AGENTS_MD))
    }

    /// Measures how close a target comes to its limit for AGENTS.md files. An agent loads those from the root down to
    /// the current folder; this uses the folder with the largest total.
    fn limit(&mut self, target: Target, root: &Path, bytes: u64) -> Option<Limit> {
        let real_root = self.folders.of(root);
        let outputs = &self.prepared.plan.desired.outputs;
        let mut ends: HashSet<&Path> = HashSet::from([real_root.as_path()]);
        let is_agents_md = |output: &&Output| output.targets.contains(&target) && output.path.ends_with(AGENTS_MD);
        ends.extend(outputs.values().filter(is_agents_md).filter_map(|output| output.path.parent()));
        let ways = ends.into_iter().filter(|end| end.starts_with(&real_root)).map(|end| {
            let folders = end.ancestors().take_while(|folder| folder.starts_with(&real_root));
            let files: Vec<PathBuf> = folders.map(|folder| self.of_folder(target, folder)).collect();
            (files.iter().map(|file| self.size(file)).sum::<u64>(), files)
        });
        // If two folders have the same total, use the first by path, so that every plan gives the same result.
        let (used, files) = ways.max_by(|a, b| a.0.cmp(&b.0).then_with(|| b.1.cmp(&a.1)))?;
        let modules = self.largest(&files);
        files.into_iter().next().map(|at| Limit { bytes, used, at, modules })
    }

    /// Measures how close one file comes to its limit.
    fn limit_of(&mut self, path: &Path, bytes: u64) -> Limit {
        let at = self.real(path);
        let modules = self.largest(std::slice::from_ref(&at));
        Limit { bytes, used: self.size(&at), at, modules }
    }

    /// Returns the three largest modules in some files, largest first.
    fn largest(&self, files: &[PathBuf]) -> Vec<String> {
        let desired = &self.prepared.plan.desired;
        let parts = files.iter().filter_map(|file| desired.output(file)).flat_map(|output| &output.parts);
        let mut modules: Vec<(usize, &str)> = parts.map(|part| (part.bytes.len(), part.module_id.as_str())).collect();
        modules.sort_unstable_by(|a, b| b.cmp(a));
        modules.dedup();
        modules.into_iter().take(3).map(|(_, id)| id.to_owned()).collect()
    }

    /// Resolves the links in a path.
    fn real(&mut self, path: &Path) -> PathBuf {
        if let Ok(real) = mcpkg_base::platform::real(path) {
            return real;
        }
        match (path.parent(), path.file_name()) {
            (Some(folder), Some(name)) => self.folders.of(folder).join(name),
            _ => path.to_owned(),
        }
    }

    fn size(&self, path: &Path) -> u64 {
        match self.changes.get(path).map(|change| &change.after) {
            Some(After::File { bytes, .. }) => bytes.len() as u64,
            Some(After::Absent | After::Link(_)) => 0,
            None => path.metadata().ok().filter(std::fs::Metadata::is_file).map_or(0, |metadata| metadata.len()),
        }
    }

    /// Returns a file's bytes, unless it is too long to parse. Skips unreadable files: an agent cannot read them
    /// either.
    fn text(&self, path: &Path) -> Option<Cow<'p, [u8]>> {
        match self.changes.get(path).map(|change| &change.after) {
            Some(After::File { bytes, .. }) => Some(Cow::Borrowed(bytes)),
            Some(After::Absent | After::Link(_)) => None,
            None if self.size(path) > MAX_LOOKED_INTO => None,
            None => disk::read(path).ok().map(Cow::Owned),
        }
    }
}
