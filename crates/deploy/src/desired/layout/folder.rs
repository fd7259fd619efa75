//! Describes the places from which agents load instructions in each session, and what the user's own files there
//! contain.

use std::collections::BTreeMap;
use std::path::Path;

use super::hidden;
use super::importing::{AGENTS_MD, Import};
use crate::module::Module;
use crate::targets::Target;
use mcpkg_agents::agents::places::{AgentsMd, OwnInstructions, Rules};
use mcpkg_agents::forms::sections;
use mcpkg_base::disk;
use mcpkg_base::error::Result;
use mcpkg_base::inside::stays_inside;
use mcpkg_base::platform;
use mcpkg_store::modules::Applies;

/// The user's private file, which is not part of the project. mcpkg never writes to it.
const PRIVATE: &str = "CLAUDE.local.md";

/// A place from which agents load instructions in each session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// A file, by its path. All texts that mcpkg writes there are in one block.
    File(&'static str),
    /// A folder of rules, with a file for each text.
    Rules(&'static str),
}

impl Place {
    pub(super) const fn path(self) -> &'static str {
        match self {
            Self::File(path) | Self::Rules(path) => path,
        }
    }
}

/// The decisions that concern the whole folder, and not only one text.
#[derive(Clone, Debug, Default)]
pub(super) struct Mode {
    /// Whether targets such as Codex read AGENTS.override.md instead of AGENTS.md.
    pub overrides: bool,
    /// The import lines that mcpkg may write.
    pub imports: Vec<Import>,
}

/// The deploy root as its agents see it.
#[derive(Clone)]
pub(super) struct Folder {
    /// The targets that instructions are laid out for.
    pub targets: Vec<Target>,
    /// The targets that do not read AGENTS.md, because one of the user's files hides it.
    pub hidden: Vec<Target>,
    /// The files that at least one of the targets may load.
    files: BTreeMap<&'static str, Found>,
}

/// A file on disk.
#[derive(Clone)]
struct Found {
    /// The user's text, without mcpkg's block and surrounding white space.
    text: Vec<u8>,
    has_block: bool,
    /// The file that a link leads to, if that is one of the known files; otherwise the file itself.
    real: &'static str,
    /// Whether mcpkg may write to the file. It never writes through a link to an unknown file.
    is_writable: bool,
}

impl Folder {
    pub(super) fn read(root: &Path, home: &Path, targets: &[Target]) -> Result<Self> {
        let mut folder = Self { targets: targets.to_vec(), hidden: Vec::new(), files: BTreeMap::new() };
        for target in targets {
            let project = &target.facts().project;
            if let AgentsMd::UnlessHiddenBy(files) = project.agents_md
                && hidden::by_user(root, home, files)?.is_some()
            {
                folder.hidden.push(*target);
            }
            let others = project.always_loaded.iter().copied().chain(project.agents_md_override);
            for file in others.chain([AGENTS_MD]) {
                folder.files.insert(file, Found::at(root, file)?);
            }
        }
        let names: Vec<&'static str> = folder.files.keys().copied().collect();
        for (name, found) in &mut folder.files {
            let path = root.join(name);
            if !path.is_symlink() {
                continue;
            }
            let real = platform::real(&path).ok();
            let same = |other: &&&str| *other != name && platform::real(&root.join(other)).ok() == real;
            let known = real.is_some().then(|| names.iter().filter(|other| !root.join(other).is_symlink()).find(same));
            found.is_writable = false;
            found.real = known.flatten().copied().unwrap_or(found.real);
        }
        Ok(folder)
    }

    /// Returns the same folder with only these targets.
    pub(super) fn with_targets(&self, targets: Vec<Target>) -> Self {
        Self { targets, ..self.clone() }
    }

    /// Whether a target loads what a place contains.
    pub(super) fn reads(&self, target: Target, place: Place, mode: &Mode) -> bool {
        match place {
            Place::File(file) => {
                self.files.iter().any(|(name, found)| found.real == file && self.loads(target, name, mode))
            }
            Place::Rules(folder) => {
                let project = &target.facts().project;
                let own = project.scoped_rules.into_iter().chain(own_rules(target));
                own.map(|rules| rules.folder).chain(project.also_reads.iter().copied()).any(|known| known == folder)
            }
        }
    }

    fn loads(&self, target: Target, file: &str, mode: &Mode) -> bool {
        let project = &target.facts().project;
        let over = project.agents_md_override.filter(|_| mode.overrides);
        let directly = match (file, project.agents_md) {
            (AGENTS_MD, AgentsMd::Always) => over.is_none(),
            (AGENTS_MD, AgentsMd::UnlessHiddenBy(_)) => !self.hidden.contains(&target),
            (AGENTS_MD, AgentsMd::ImportedBy(_) | AgentsMd::Never) => false,
            _ => over == Some(file) || project.always_loaded.contains(&file),
        };
        directly || mode.imports.iter().any(|import| import.target == target && import.of == file)
    }

    /// Returns the places where the user's own files contain exactly the module's text. AGENTS.md does not count if a
    /// deploy replaces it with its block.
    pub(super) fn holding(&self, module: &Module, root: &Path) -> Result<Vec<Place>> {
        let Some(text) = module.files.first().map(|file| file.bytes.trim_ascii()).filter(|text| !text.is_empty())
        else {
            return Ok(Vec::new());
        };
        let is_held = |name: &str, found: &Found| found.real == name && found.text == text;
        let files = self.files.iter().filter(|(name, found)| is_held(name, found));
        let mut places: Vec<Place> = files.map(|(name, _)| Place::File(name)).collect();
        if self.is_agents_md(module) {
            places.retain(|place| *place != Place::File(AGENTS_MD));
        }
        if let Some(rules) = home(module)
            && let Some(path) = module.about.path.as_deref()
            && users_text(&root.join(path))?.0 == text
        {
            places.push(Place::Rules(rules.folder));
        }
        Ok(places)
    }

    /// Whether a module's text is the user's AGENTS.md, which a deploy replaces with its block.
    pub(super) fn is_agents_md(&self, module: &Module) -> bool {
        let Some(found) = self.files.get(AGENTS_MD).filter(|found| found.is_writable) else { return false };
        let is_same = module.files.first().is_some_and(|file| file.bytes.trim_ascii() == found.text);
        is_same && !found.text.is_empty() || found.has_block && module.about.path.as_deref() == Some(AGENTS_MD)
    }

    /// Returns the places that mcpkg may write to, in order of preference.
    pub(super) fn places(&self, mode: &Mode) -> Vec<Place> {
        let over = self.targets.iter().filter_map(|target| target.facts().project.agents_md_override);
        let rules = self.targets.iter().filter_map(|target| own_rules(*target)).map(|rules| rules.folder);
        let own = self.targets.iter().filter_map(|target| own_file(*target));
        let hiding = self.hidden.iter().flat_map(|target| target.facts().project.always_loaded.iter().rev().copied());
        // A file such as `.claude/CLAUDE.md` hides AGENTS.md unless it imports AGENTS.md. In this mode it does, so
        // mcpkg may write to it.
        let importing = mode.imports.iter().filter(|import| self.hides(import)).map(|import| import.from);
        let files = [AGENTS_MD].into_iter().chain(over.filter(|_| mode.overrides)).map(Place::File);
        let all = files.chain(rules.map(Place::Rules)).chain(own.chain(hiding).chain(importing).map(Place::File));
        let mut places: Vec<Place> = Vec::new();
        for place in all.filter_map(|place| self.written(place)) {
            if !places.contains(&place) {
                places.push(place);
            }
        }
        places
    }

    /// Returns the place itself, or if it is a link, the file that it leads to. `None` if mcpkg may not write there.
    pub(super) fn written(&self, place: Place) -> Option<Place> {
        let Place::File(file) = place else { return Some(place) };
        let real = self.files.get(file)?.real;
        (real != PRIVATE && self.files.get(real)?.is_writable).then_some(Place::File(real))
    }

    /// Whether the import's target reads AGENTS.md now, and would stop if mcpkg wrote the file `import.from` without a
    /// line that imports AGENTS.md.
    pub(super) fn hides(&self, import: &Import) -> bool {
        let reads_it = !self.hidden.contains(&import.target);
        reads_it && matches!(import.target.facts().project.agents_md, AgentsMd::UnlessHiddenBy(_))
    }

    /// Whether a block would be added to a file that contains the user's own text. AGENTS.md does not count, because a
    /// block is usual there.
    pub(super) fn is_users(&self, place: Place) -> bool {
        matches!(place, Place::File(file) if file != AGENTS_MD && self.files.get(file).is_some_and(|found| !found.text.is_empty()))
    }

    /// Returns the modes to choose from, the usual mode first.
    pub(super) fn modes(&self, always: &[&Module], held: &[Vec<Place>]) -> Vec<Mode> {
        let empty = |file: &str| self.files.get(file).is_some_and(|found| found.is_writable && found.text.is_empty());
        // An agent may get the text of AGENTS.md from another file only if a module contains the whole text.
        let text = self.files.get(AGENTS_MD).map_or(&[][..], |found| &found.text);
        let is_known = |module: &&Module| module.files.first().is_some_and(|file| file.bytes.trim_ascii() == text);
        let is_known = text.is_empty() || always.iter().any(is_known);
        let over: Option<&'static str> =
            self.targets.iter().find_map(|target| target.facts().project.agents_md_override);
        let over = over.filter(|file| is_known && empty(file));
        let mut modes = vec![Mode::default()];
        if over.is_some() {
            modes.push(Mode { overrides: true, ..Mode::default() });
        }
        for target in &self.targets {
            let options = self.imports(*target, is_known, over, held);
            if options.is_empty() {
                continue;
            }
            modes = modes
                .iter()
                .flat_map(|mode| {
                    options.iter().map(|more| Mode { imports: [&mode.imports[..], more].concat(), ..mode.clone() })
                })
                .collect();
        }
        let is_possible = |mode: &Mode| mode.overrides || mode.imports.iter().all(|import| Some(import.of) != over);
        modes.retain(is_possible);
        // The usual mode comes first, and modes without AGENTS.override.md come before modes with it.
        modes.sort_by_key(|mode| mode.overrides);
        modes
    }

    /// Returns the sets of files that a target may import, beginning with the usual set.
    fn imports(
        &self,
        target: Target,
        is_known: bool,
        over: Option<&'static str>,
        held: &[Vec<Place>],
    ) -> Vec<Vec<Import>> {
        let project = &target.facts().project;
        let can_write = |file: &str| self.files.get(file).is_some_and(|found| found.is_writable);
        let (from, is_usual) = match project.agents_md {
            AgentsMd::ImportedBy(from) => (Some(from), true),
            AgentsMd::UnlessHiddenBy(_) => {
                (project.always_loaded.iter().copied().find(|file| file.contains('/')), false)
            }
            AgentsMd::Always | AgentsMd::Never => (None, false),
        };
        let Some(from) = from.filter(|from| can_write(from)) else { return Vec::new() };
        let import = |of| Import::of(target, from, of);
        let holds = |file: &str| held.iter().flatten().any(|place| matches!(place, Place::File(held) if *held == file));
        let others = self.files.keys().copied().filter(|file| {
            *file != AGENTS_MD && holds(file) && !project.always_loaded.contains(file) && self.real(file) == *file
        });
        let mut sets = vec![Vec::new()];
        for other in others.filter_map(import) {
            sets.extend(sets.clone().into_iter().map(|set| [&set[..], &[other]].concat()));
        }
        let Some(agents_md) = import(AGENTS_MD) else { return sets };
        let with: Vec<Vec<Import>> = sets.iter().map(|set| [&[agents_md], &set[..]].concat()).collect();
        if is_usual {
            if self.files.get(from).is_some_and(|found| hidden::imports_agents_md(&found.text)) {
                return with;
            }
            let over = over.and_then(import).map(|import| vec![import]);
            return with.into_iter().chain(sets).chain(over).collect();
        }
        match self.hidden.contains(&target) {
            true if is_known => sets.into_iter().chain(with).collect(),
            true => sets,
            false => [Vec::new()].into_iter().chain(with).collect(),
        }
    }

    /// Returns the file that a link leads to, or the file itself.
    pub(super) fn real(&self, file: &'static str) -> &'static str {
        self.files.get(file).map_or(file, |found| found.real)
    }
}

impl Found {
    fn at(root: &Path, file: &'static str) -> Result<Self> {
        let (text, has_block) = users_text(&root.join(file))?;
        Ok(Self { text, has_block, real: file, is_writable: true })
    }
}

/// Returns the folder of a target's own rules.
pub(super) fn own_rules(target: Target) -> Option<Rules> {
    match target.facts().project.own_instructions {
        Some(OwnInstructions::Rules(rules)) => Some(rules),
        _ => None,
    }
}

/// Returns the file in which a target has a block of its own, if the target always loads that file.
pub(super) fn own_file(target: Target) -> Option<&'static str> {
    let project = &target.facts().project;
    let Some(OwnInstructions::Block { folder, file }) = project.own_instructions else { return None };
    let is_it = |path: &&&str| path.rsplit_once('/').unwrap_or(("", path)) == (folder, file);
    project.always_loaded.iter().find(is_it).copied()
}

/// Returns the folder of rules that the module was imported from, if the module is a rule that always applies.
fn home(module: &Module) -> Option<Rules> {
    let (path, file) = (module.about.path.as_deref()?, module.files.first()?);
    let all = Target::all()
        .iter()
        .flat_map(|target| target.facts().project.scoped_rules.into_iter().chain(own_rules(*target)));
    let is_in = |rules: &Rules| path.strip_prefix(rules.folder).is_some_and(|rest| rest.starts_with('/'));
    let mut all = all.filter(|rules| is_in(rules) && path.ends_with(rules.ending) && stays_inside(path));
    all.find(|rules| rules.format.applies(&file.bytes) == Some(Applies::Always))
}

/// Returns the user's own text in a file, without mcpkg's block, and whether there is such a block. Empty if there is no
/// such file.
fn users_text(path: &Path) -> Result<(Vec<u8>, bool)> {
    if !path.is_file() {
        return Ok((Vec::new(), false));
    }
    let text = disk::read(path)?;
    let users = sections::take_out(&text).unwrap_or_default().trim_ascii().to_vec();
    Ok((users, sections::find(&text).is_some()))
}
