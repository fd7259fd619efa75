//! Stage 2 of an import: recognizes by each file's path what the file is to an agent, and opens the file.
//!
//! [`Places`] returns a [`Destination`] for each file, or the reason to skip the file. A link that has the same meaning to
//! agents as its target is reported as a duplicate in this stage ([`crate::same`]).

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use super::account::Account;
use super::find::root::{self, relative};
use super::find::{Candidate, FolderLink, Inventory, links, only::Only, only::Parts};
use super::open::{Opened, Opener};
use super::paths::{Kind, Places, destination::Destination};
use super::plugins::place::{MAX_MANIFEST, manifests_at_top};
use super::reason::{LeftOut, Reason};
use crate::item::{Entry, File, server::Server};
use crate::same::Duplicate;
use crate::skills::MAIN;
use mcpkg_agents::agents::open_plugins;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::file;
use mcpkg_core::op::Context;
use mcpkg_store::blobs::NewContent;
use mcpkg_store::links::{Link, Target};

/// The result of stage 2.
#[derive(Clone, Debug, Default)]
pub struct Recognised {
    /// The opened files by relative path. Each has a destination, except those that a manifest lists.
    pub files: Vec<(File, Option<Destination>)>,
    /// The links that are duplicates, as an export writes them.
    pub links: Vec<Link>,
    /// The paths on disk, by relative path.
    pub on_disk: BTreeMap<String, PathBuf>,
    /// The MCP servers that manifests list.
    pub servers: Vec<Server>,
    /// Links that are duplicates, skipped files, and notes about ignore files.
    pub account: Account,
}

/// The user's choices, and facts about the project.
#[derive(Debug, Default)]
pub struct Choice<'c> {
    /// The patterns of `--only` ([`Only`]). Empty means all files.
    pub only: &'c [String],
    pub kind: Option<Kind>,
    /// Whether ignored files are imported too.
    pub all: bool,
    /// Whether files that no agent reads become documents. If not, such a file becomes a document only if it is in an
    /// export, or if the user named it by path or with `only`.
    pub documents: bool,
    /// Whether this is somebody else's repository as a whole. The instructions and settings at its root are meant for
    /// people who work on that repository. So they are imported only if `only` names them without wildcards.
    pub is_foreign: bool,
    /// The parts of the folder to import. `None` means all of it.
    pub parts: Option<&'c Parts>,
    /// The number of resources in the project. If it is similar to the number of files, most files have probably been
    /// imported before. Then plain files are not kept in memory, and those few that have to be stored are read again.
    pub resources: usize,
}

impl Choice<'_> {
    fn takes_documents(&self) -> bool {
        self.documents || self.kind.is_some()
    }

    /// Returns the reason why this file is left out although mcpkg knows what it is.
    fn leaves_out(&self, relative: &str, to: &Destination, only: &Only) -> Option<Reason> {
        if to.is_unread() && !self.takes_documents() && !only.names(relative) {
            return Some(Reason::Unread);
        }
        let is_theirs = self.is_foreign && self.kind.is_none() && to.is_of_repository(relative);
        (is_theirs && !only.names_exactly(relative)).then_some(Reason::Contributors)
    }
}

/// A recognized file that was not opened yet.
pub struct Unopened {
    /// The path on disk.
    pub path: PathBuf,
    /// The path relative to its root, with `/` separators.
    pub relative: String,
    /// The file's entry in the manifest, if it has one.
    pub listed: Option<Entry>,
    pub to: Option<Destination>,
}

impl Recognised {
    /// Leaves out these files and all other files of their skills. Returns the paths of all files that it left out.
    pub fn leave_out(&mut self, paths: &BTreeSet<String>) -> BTreeSet<String> {
        let mains = self.files.iter().filter_map(|(file, _)| file.relative.strip_suffix(MAIN));
        let skills: Vec<String> = mains
            .filter(|folder| folder.ends_with('/') && paths.iter().any(|path| path.starts_with(folder)))
            .map(str::to_owned)
            .collect();
        let is_out = |path: &str| paths.contains(path) || skills.iter().any(|folder| path.starts_with(folder));
        let mut left = BTreeSet::new();
        self.files.retain(|(file, _)| {
            let is_out = is_out(&file.relative);
            if is_out {
                left.insert(file.relative.clone());
            }
            !is_out
        });
        self.account.left_out.extend(left.iter().map(|path| LeftOut::file(path, Reason::Critical)));
        self.account.left_out.sort_by(|a, b| a.path.cmp(&b.path));
        left
    }
}

pub fn recognise(mut found: Inventory, choice: &Choice<'_>, context: &Context) -> Result<Recognised> {
    let only = Only::new(choice.only)?;
    let mut places = places(&mut found, choice);
    let mut recognised = Recognised::default();
    resolve_folder_links(&mut found, &places, &mut recognised);
    let mut unopened = Vec::new();
    let mut named = HashSet::new();
    for (path, candidate) in &found.candidates {
        let Candidate { root, relative, listed, is_named, real } = candidate;
        let mut skip = |reason| recognised.account.left_out.push(LeftOut::file(relative, reason));
        if !only.takes(relative) {
            skip(Reason::NotNamed);
            continue;
        }
        if choice.parts.is_some_and(|parts| !parts.takes(relative)) {
            skip(Reason::NotChosen);
            continue;
        }
        let to = match (listed, *is_named) {
            (Some(_), _) => Ok(None),
            (None, true) => places[*root].named(relative).map(Some),
            (None, false) => places[*root].of(relative).map(Some),
        };
        let left = match &to {
            Ok(Some(to)) if !*is_named && !found.roots[*root].is_export => choice.leaves_out(relative, to, &only),
            _ => None,
        };
        let to = match left.map_or(to, Err) {
            Ok(to) => to,
            Err(reason) => {
                skip(reason);
                continue;
            }
        };
        let plugin = real.as_ref().and_then(|_| places[*root].open_plugin(relative));
        if plugin.is_some_and(|plugin| !lies_below(path, &found.roots[*root].base.join(plugin))) {
            skip(Reason::LinkOut);
            continue;
        }
        let end = real.as_ref().and_then(|real| found.candidates.get(real));
        match (end, &to) {
            (Some(end), Some(to))
                if is_same(&places[end.root], &end.relative, to)
                    && only.takes(&end.relative)
                    && choice.parts.is_none_or(|parts| parts.takes(&end.relative)) =>
            {
                // Only a link with a relative target can be written to another place. For any other link, an export writes a
                // copy of the target.
                let of = end.relative.clone();
                let target = links::text(path, relative).map_or_else(|| Target::Copy(of.clone()), Target::Link);
                recognised.links.push(Link { path: relative.clone(), target });
                recognised.account.same.push(Duplicate { path: relative.clone(), of });
            }
            _ => {
                if *is_named {
                    named.insert(relative.clone());
                }
                let (path, relative, listed) = (path.clone(), relative.clone(), listed.clone());
                unopened.push(Unopened { path, relative, listed, to });
            }
        }
    }
    found.notes.extend(places.iter_mut().flat_map(Places::take_notes));
    recognised.on_disk = unopened.iter().map(|file| (file.relative.clone(), file.path.clone())).collect();
    let are_known = choice.resources >= unopened.len().div_ceil(2);
    let (mut files, mut unmerged) = open(unopened, are_known, context)?;
    // Commands whose text is in a manifest are imported only with the whole plugin. If the user named only a part of a
    // plugin, the manifest is read too, but the user did not ask for these commands.
    let whole = places.iter_mut().zip(&found.roots).filter(|(_, root)| root.is_named && !root.is_export);
    for (places, _) in whole {
        for (relative, text) in places.take_inline() {
            let is_taken = only.takes(&relative) && choice.parts.is_none_or(|parts| parts.takes(&relative));
            let at = files.binary_search_by(|(file, _)| file.relative.cmp(&relative));
            if let (true, Err(at), Ok(to)) = (is_taken, at, places.of(&relative)) {
                let content = NewContent::from(text.into_bytes());
                files.insert(at, (File { relative, content, executable: false, listed: None }, Some(to)));
            }
        }
    }
    // A file that the user named on the command line is imported even with conflict markers.
    unmerged.retain(|relative| !named.contains(relative));
    files.retain(|(file, _)| !unmerged.contains(&file.relative));
    let account = &mut recognised.account;
    account.left_out.extend(found.left_out.into_values());
    account.left_out.extend(unmerged.into_iter().map(|relative| LeftOut::file(relative, Reason::Unmerged)));
    account.left_out.sort_by(|a, b| a.path.cmp(&b.path));
    account.notes = found.notes;
    Ok(Recognised { files, servers: found.servers, ..recognised })
}

/// Returns the places for each root. If a root as a whole is a skill, the paths of its files get the skill's name as a
/// prefix.
fn places(found: &mut Inventory, choice: &Choice<'_>) -> Vec<Places> {
    let mut all = Vec::new();
    for (at, root) in found.roots.iter().enumerate() {
        let files = found.candidates.values().filter(|file| file.root == at).map(|file| file.relative.as_str());
        let links = found.folder_links.values().filter(|link| link.root == at);
        let shown = links.flat_map(|link| link.behind.iter().map(|file| relative(&file.shown, &root.base)));
        let shown: Vec<String> = shown.collect();
        let mut paths: Vec<&str> = files.chain(shown.iter().map(String::as_str)).collect();
        let known: HashSet<&str> = paths.iter().copied().collect();
        // If only a part of a plugin is imported, its manifest is not among the files.
        let above: Vec<String> = match root.is_named {
            true => Vec::new(),
            false => manifests_at_top().filter(|path| !known.contains(path.as_str())).collect(),
        };
        let read = |path: &str| {
            let file = root.base.join(path);
            // The manifest of an Agent Plugin must be inside the plugin, even if it is a link.
            let is_top = file.file_name().is_some_and(|name| name == open_plugins::MANIFEST);
            let is_found =
                known.contains(path) && (!is_top || file.parent().is_some_and(|plugin| lies_below(&file, plugin)));
            let is_above = || above.iter().any(|known| known == path) && is_file_below(&root.base, path);
            (is_found || is_above()).then(|| file::read(&file, MAX_MANIFEST).ok())?
        };
        paths.extend(above.iter().map(String::as_str).filter(|path| is_file_below(&root.base, path)));
        paths.sort_unstable();
        if root.is_export {
            all.push(Places::of_export(paths.into_iter(), &read));
            continue;
        }
        let folder = root.base.file_name().unwrap_or_default().to_string_lossy();
        // In a folder of skills, a skill's folder has the name of the skill.
        let is_among = || root.base.parent().and_then(Path::file_name).is_some_and(|above| above == "skills");
        let name = Some(()).filter(|()| root.is_named && !is_among()).and_then(|()| Places::name_of_root(&read));
        let name = name.unwrap_or_else(|| folder.into_owned());
        let mut places = Places::of_folder(paths.iter().copied(), choice.kind, (&name, root.is_named), &read);
        if !root.is_named {
            // Drop the notes: the manifest only seems to be wrong, because the rest of the plugin is not among the
            // files.
            places.take_notes();
            if root::is_plugin(&root.base) {
                places.add_plugin("");
            }
        }
        for file in found.candidates.values_mut().filter(|file| file.root == at) {
            file.relative.insert_str(0, places.prefix());
        }
        all.push(places);
    }
    all
}

/// Returns whether the target of a link is in a folder, with all links resolved.
fn lies_below(link: &Path, folder: &Path) -> bool {
    matches!((mcpkg_base::platform::real(link), mcpkg_base::platform::real(folder)), (Ok(real), Ok(folder)) if real.starts_with(&folder))
}

/// Returns whether there is a file at a path below a folder, without a link on the way.
fn is_file_below(folder: &Path, path: &str) -> bool {
    let mut at = folder.to_path_buf();
    let mut is_file = false;
    for part in path.split('/') {
        at.push(part);
        let Ok(metadata) = at.symlink_metadata() else { return false };
        if metadata.is_symlink() {
            return false;
        }
        is_file = metadata.is_file();
    }
    is_file
}

/// Reports a link to a folder as a duplicate if it has the same meaning to agents as its target. For any other link, adds the
/// files in the target folder.
fn resolve_folder_links(found: &mut Inventory, places: &[Places], recognised: &mut Recognised) {
    for (at, link) in std::mem::take(&mut found.folder_links) {
        let FolderLink { root, relative: path, real, is_known, behind } = link;
        let base = &found.roots[root].base;
        let here = &places[root];
        let path_of = |path: &Path| here.prefix().to_owned() + &relative(path, base);
        let differs = |file: &links::Behind| match found.candidates.get(&file.real) {
            Some(end) => here.of(&path_of(&file.shown)).is_ok_and(|to| !is_same(&places[end.root], &end.relative, &to)),
            None => true,
        };
        if is_known && !behind.iter().any(differs) {
            let path = here.prefix().to_owned() + &path;
            recognised.account.same.push(Duplicate { path: path.clone(), of: path_of(&real) });
            recognised.links.extend(links::text(&at, &path).map(|text| Link { path, target: Target::Link(text) }));
            continue;
        }
        for links::Behind { shown, real } in behind {
            let candidate =
                Candidate { root, relative: path_of(&shown), listed: None, is_named: false, real: Some(real) };
            found.candidates.entry(shown).or_insert(candidate);
        }
    }
}

/// Returns whether a link and its target have the same role for agents.
fn is_same(places: &Places, end: &str, to: &Destination) -> bool {
    places.of(end).is_ok_and(|other| other.role == to.role)
}

/// Files with their destinations.
type Files = Vec<(File, Option<Destination>)>;

/// Opens the files. Returns them by relative path, and the paths of files with conflict markers. If `are_known` says that the
/// project already has most of the files, plain files are not kept in memory.
pub fn open(unopened: Vec<Unopened>, are_known: bool, context: &Context) -> Result<(Files, HashSet<String>)> {
    let total = unopened.len() as u64;
    let (mut files, mut unmerged) = (Vec::with_capacity(unopened.len()), HashSet::new());
    let mut opener = Opener::default();
    for (done, Unopened { path, relative, listed, to }) in (1..).zip(unopened) {
        if context.is_cancelled() {
            return Err(cancelled());
        }
        let is_held = !(are_known && to.as_ref().is_some_and(Destination::is_unread));
        let Opened { content, executable, is_unmerged } = opener.open(&path, is_held)?;
        if is_unmerged {
            unmerged.insert(relative.clone());
        }
        let file = File { relative, content, executable, listed };
        let to = to.map(|to| to.named_by(&file));
        files.push((file, to));
        (context.progress)("Importing", done, total);
    }
    files.sort_by(|(a, _), (b, _)| a.relative.cmp(&b.relative));
    Ok((files, unmerged))
}

/// A folder whose paths are known, but not the contents of its files. Its files can be read one by one, as long as none
/// of them decides what others become ([`plugins::decides`](super::plugins::place::decides)).
pub struct Listing {
    places: Places,
    /// The prefix that makes a path in the folder relative to the import root.
    above: String,
}

impl Listing {
    /// Creates the listing of a folder `named` that contains files at `paths`. `named` must be an absolute path, but need not
    /// exist.
    pub fn new<'p>(named: &Path, paths: impl Iterator<Item = &'p str>, kind: Option<Kind>) -> Self {
        let base = root::base(named, false).unwrap_or_else(|| named.to_path_buf());
        let above = relative(named, &base);
        let above = if above.is_empty() { above } else { above + "/" };
        let paths: Vec<String> = paths.map(|path| format!("{above}{path}")).collect();
        let name = base.file_name().unwrap_or_default().to_string_lossy();
        let place = (&*name, base == named);
        let places = Places::of_folder(paths.iter().map(String::as_str), kind, place, &|_| None);
        Self { places, above }
    }

    /// Returns the file at `path` with its destination; `None` if it is skipped.
    pub fn file(&self, path: &str, content: NewContent, executable: bool) -> Option<(File, Destination)> {
        let relative = format!("{}{}{path}", self.places.prefix(), self.above);
        let file = File { relative, content, executable, listed: None };
        let to = self.places.of_file(&file).ok()?;
        Some((file, to))
    }
}

/// Returns the error for an import that the user cancelled.
pub fn cancelled() -> Error {
    Error::new(Code::Cancelled, "The import was cancelled; nothing was imported")
}
