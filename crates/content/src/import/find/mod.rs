//! Finds the files at the given paths, and determines what each one is to an agent, or why it is skipped.

pub mod links;
pub mod only;
pub mod root;
pub mod walk;

use std::collections::{BTreeMap, HashSet};
use std::path::{MAIN_SEPARATOR, Path, PathBuf};

use crate::import::find::links::{End, Reached};
use crate::import::find::only::Only;
use crate::import::find::walk::{Take, Walked};
use crate::import::note::Note;
use crate::import::paths::agents;
use crate::import::paths::folders::Folders;
use crate::import::paths::{Destination, Kind, Places};
use crate::import::reading::{Look, Reading};
use crate::import::reason::{LeftOut, Reason};
use crate::item::Entry;
use crate::item::File;
use crate::item::manifest::{self, Manifest};
use crate::item::server::Server;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::Context;
use mcpkg_store::links::{Link, Target};
use mcpkg_store::new_content::NewContent;

#[derive(Debug, Default)]
pub struct Scanned {
    /// The files by relative path. Each has a place, except those that a manifest lists.
    pub files: Vec<(File, Option<Destination>)>,
    /// Links that are the same to agents as their targets: the path of the link, and of the target.
    pub same: Vec<(String, String)>,
    /// The entries of `same` in the form that an export needs.
    pub links: Vec<Link>,
    pub left_out: Vec<LeftOut>,
    /// The paths on disk, by relative path.
    pub on_disk: BTreeMap<String, PathBuf>,
    pub servers: Vec<Server>,
    /// Notes about ignore files.
    pub notes: Vec<Note>,
}

/// The user's choices, and what the scan has to know about the project.
#[derive(Debug, Default)]
pub struct Choice<'c> {
    /// Patterns of which at least one must match each file.
    pub only: &'c [String],
    pub kind: Option<Kind>,
    /// Whether ignored files are imported too.
    pub all: bool,
    /// The number of resources in the project. If it is about the number of files, most files are probably imported already. Then
    /// plain files are not kept in memory, and the few that have to be stored are read again.
    pub resources: usize,
}

/// A folder that paths are relative to.
struct Root {
    base: PathBuf,
    /// Whether the user named this folder, and not one inside it.
    is_named: bool,
    /// Whether it is an exported folder.
    is_export: bool,
}

/// A file that has not been read yet.
pub(in crate::import) struct Candidate {
    pub(in crate::import) root: usize,
    pub(in crate::import) relative: String,
    pub(in crate::import) listed: Option<Entry>,
    /// Whether the user named this file itself.
    pub(in crate::import) is_named: bool,
    /// The real path, if it was reached through a link.
    pub(in crate::import) real: Option<PathBuf>,
}

struct FolderLink {
    root: usize,
    relative: String,
    real: PathBuf,
    /// Whether the target folder was also found without this link.
    is_known: bool,
    behind: Vec<links::Behind>,
}

/// Everything at and below the paths that the user named.
#[derive(Default)]
struct Gathered {
    roots: Vec<Root>,
    candidates: BTreeMap<PathBuf, Candidate>,
    folder_links: BTreeMap<PathBuf, FolderLink>,
    left_out: BTreeMap<PathBuf, LeftOut>,
    servers: Vec<Server>,
    notes: Vec<Note>,
}

/// Finds and reads the files at and below `paths`.
pub fn scan(paths: &[PathBuf], choice: &Choice<'_>, context: &Context) -> Result<Scanned> {
    let only = Only::new(choice.only)?;
    let mut gathered = Gathered::default();
    for path in paths {
        gathered.gather(path, choice.all)?;
    }
    gathered.leave_out_database(context);
    let places = gathered.places(choice.kind);
    let mut found = Scanned::default();
    gathered.resolve_folder_links(&places, &mut found);
    let relative_of = |path: &Path, candidates: &BTreeMap<PathBuf, Candidate>| {
        candidates.get(path).map(|candidate| (candidate.root, candidate.relative.clone()))
    };
    let mut taken = Vec::new();
    for (path, candidate) in &gathered.candidates {
        let Candidate { root, relative, listed, is_named, real } = candidate;
        if !only.takes(relative) {
            found.left_out.push(LeftOut::file(relative, Reason::NotNamed));
            continue;
        }
        if listed.is_some() {
            taken.push((path, candidate, None));
            continue;
        }
        let places_here = &places[*root];
        let place = match if *is_named { places_here.named(relative) } else { places_here.of(relative) } {
            Ok(place) => place,
            Err(reason) => {
                found.left_out.push(LeftOut::file(relative, reason));
                continue;
            }
        };
        let end = real.as_deref().and_then(|real| relative_of(real, &gathered.candidates));
        match end {
            Some((root, end)) if is_same(&places[root], &end, &place) && only.takes(&end) => {
                // Only a real link with a relative target can be written elsewhere. For the others, an export writes a copy.
                let target = links::text(path, relative).map_or_else(|| Target::Copy(end.clone()), Target::Link);
                found.links.push(Link { path: relative.clone(), target });
                found.same.push((relative.clone(), end));
            }
            _ => taken.push((path, candidate, Some(place))),
        }
    }
    found.on_disk = taken.iter().map(|(path, candidate, _)| (candidate.relative.clone(), (*path).clone())).collect();
    found.servers = std::mem::take(&mut gathered.servers);
    found.notes = std::mem::take(&mut gathered.notes);
    found.left_out.extend(gathered.left_out.values().cloned());
    let named: HashSet<String> =
        taken.iter().filter(|(_, file, _)| file.is_named).map(|(_, file, _)| file.relative.clone()).collect();
    let are_known = choice.resources >= taken.len().div_ceil(2);
    let (files, mut unmerged) = look_through(taken, are_known, context)?;
    found.files = files;
    unmerged.retain(|relative| !named.contains(relative));
    if !unmerged.is_empty() {
        found.files.retain(|(file, _)| !unmerged.contains(&file.relative));
        found.left_out.extend(unmerged.into_iter().map(|relative| LeftOut::file(relative, Reason::Unmerged)));
    }
    found.left_out.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// The hint for a malformed manifest.
const BY_PATHS: &str = "if you remove the manifest, mcpkg imports the folder by its paths alone, without the \
    names, URIs and descriptions that the manifest lists";

/// Returns whether the target of a link has the same role for agents as the link itself.
fn is_same(places: &Places, end: &str, place: &Destination) -> bool {
    places.of(end).is_ok_and(|other| other.role == place.role)
}

impl Gathered {
    /// Adds everything at and below `path`. Files that were found before stay unchanged.
    fn gather(&mut self, path: &Path, all: bool) -> Result<()> {
        let failed = |error| Error::file("read", path, error);
        let named = absolute(path).map_err(failed)?;
        let metadata = std::fs::metadata(&named).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                failed(error).hint("pass a file or folder; for a git repository, use `mcpkg source add OWNER/REPO`")
            }
            _ => failed(error),
        })?;
        if !metadata.is_dir() && !metadata.is_file() {
            return Err(Error::new(
                Code::InvalidArgument,
                format!("`{}` is neither a file nor a folder", path.display()),
            ));
        }
        let manifest = if metadata.is_dir() { Manifest::read(&named, BY_PATHS)? } else { None };
        let is_export = manifest.is_some();
        let base = match (is_export, metadata.is_dir()) {
            (true, _) => named.clone(),
            (false, true) => root::base(&named, false).unwrap_or_else(|| named.clone()),
            (false, false) => root::base(&named, true)
                .or_else(|| named.parent().map(Path::to_path_buf))
                .ok_or_else(|| Error::internal("a file's path has no parent folder"))?,
        };
        let real_base = base.canonicalize().map_err(failed)?;
        stay_inside(&named, &real_base)?;
        let root = self.root(base.clone(), base == named, is_export);
        let Manifest { files, servers, .. } = manifest.unwrap_or_else(|| Manifest::new(BTreeMap::new(), Vec::new()));
        self.servers.extend(servers);
        for (relative, entry) in files {
            let file = named.join(&relative);
            stay_inside(&file, &real_base)?;
            if !file.is_file() {
                return Err(Error::new(
                    Code::NotFound,
                    format!("`{}` lists `{relative}`, which is not a file", manifest::FILE),
                ));
            }
            let candidate = Candidate { root, relative, listed: Some(entry), is_named: false, real: None };
            self.candidates.entry(file).or_insert(candidate);
        }
        if metadata.is_file() {
            if named.strip_prefix(&base).unwrap_or(&named).to_str().is_none() {
                let left = LeftOut::file(relative(&named, &base), Reason::NotTextName);
                self.left_out.insert(named, left);
                return Ok(());
            }
            let relative = relative(&named, &base);
            let candidate = Candidate { root, relative, listed: None, is_named: true, real: None };
            self.candidates.entry(named).or_insert(candidate);
            return Ok(());
        }
        let take = if all { Take::Ignored } else { Take::Project };
        let mut walked = walk::walk(&named, take)?;
        if is_export {
            walked.files.retain(|file| *file != named.join(manifest::FILE));
        }
        self.add(walked, root, &named, &base, &real_base, take)
    }

    fn root(&mut self, base: PathBuf, is_named: bool, is_export: bool) -> usize {
        match self.roots.iter().position(|root| root.base == base && root.is_export == is_export) {
            Some(at) => {
                self.roots[at].is_named |= is_named;
                at
            }
            None => {
                self.roots.push(Root { base, is_named, is_export });
                self.roots.len() - 1
            }
        }
    }

    /// Adds what was found below the folder `named`.
    fn add(
        &mut self,
        walked: Walked,
        root: usize,
        named: &Path,
        base: &Path,
        real_base: &Path,
        take: Take,
    ) -> Result<()> {
        let walked = self.without_odd_names(walked, base);
        let real_named = named.canonicalize().map_err(|error| Error::file("read", named, error))?;
        // Real paths are mapped back to the path that the user named, which may itself be a link.
        let found_at = |real: &Path| real.strip_prefix(&real_named).map(|rest| named.join(rest)).ok();
        for link in walked.links {
            let at = relative(&link, base);
            match links::follow(&link, real_base)? {
                End::None(reason) => {
                    self.left_out.entry(link).or_insert_with(|| LeftOut::file(at, reason));
                }
                End::File(real) => {
                    let real = Some(found_at(&real).unwrap_or(real));
                    let candidate = Candidate { root, relative: at, listed: None, is_named: false, real };
                    self.candidates.entry(link).or_insert(candidate);
                }
                End::Folder(real) => {
                    let is_known = found_at(&real).is_some_and(|path| walked.folders.contains(&path));
                    let Reached { mut files, dead } = match is_known && !lies_in_agents_folder(&at) {
                        true => Reached::default(),
                        false => links::behind(&link, &real, real_base, take)?,
                    };
                    for file in &mut files {
                        if let Some(found) = found_at(&file.real) {
                            file.real = found;
                        }
                    }
                    if !is_known {
                        let dead = dead.into_iter().map(|(path, reason)| {
                            let at = relative(&path, base);
                            (path, LeftOut::file(at, reason))
                        });
                        self.left_out.extend(dead);
                    }
                    let real = found_at(&real).unwrap_or(real);
                    let link_to = FolderLink { root, relative: at, real, is_known, behind: files };
                    self.folder_links.entry(link).or_insert(link_to);
                }
            }
        }
        let mut files = walked.files;
        // Comparing bytes is much faster than comparing paths part by part, and an almost sorted list needs few comparisons
        // later.
        files.sort_unstable_by(|a, b| a.as_os_str().cmp(b.as_os_str()));
        let found = files.into_iter().map(|file| {
            let relative = relative(&file, base);
            (file, Candidate { root, relative, listed: None, is_named: false, real: None })
        });
        let before = std::mem::replace(&mut self.candidates, found.collect());
        self.candidates.extend(before);
        for bad in walked.bad_lines {
            let path = match bad.file.strip_prefix(base) {
                Ok(_) => relative(&bad.file, base),
                Err(_) => bad.file.display().to_string(),
            };
            let text = format!("has an invalid pattern, which was ignored: {}", bad.what);
            let note = Note { path, line: bad.line, text };
            // The folders above are shared by all named paths, so the same note may appear several times.
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        for left in walked.left_out {
            let mut path = relative(&left.path, base);
            if left.below.is_some() {
                path.push('/');
            }
            if self.candidates.contains_key(&left.path) {
                // The manifest lists this file, so it is imported although it is ignored or hidden.
                continue;
            }
            let files = left.below.unwrap_or(1);
            self.left_out.entry(left.path).or_insert(LeftOut { path, reason: left.reason, files });
        }
        Ok(())
    }

    /// Skips files and links whose paths are not UTF-8.
    fn without_odd_names(&mut self, mut walked: Walked, base: &Path) -> Walked {
        let odd = |path: &Path| path.strip_prefix(base).unwrap_or(path).to_str().is_none();
        for paths in [&mut walked.files, &mut walked.links] {
            for path in paths.extract_if(.., |path| odd(path)) {
                let left = LeftOut::file(relative(&path, base), Reason::NotTextName);
                self.left_out.insert(path, left);
            }
        }
        walked
    }

    /// Skips the database, which may be in the folder, and SQLite's files next to it.
    fn leave_out_database(&mut self, context: &Context) {
        let database = context.store.location().to_string();
        for (path, candidate) in self.candidates.extract_if(.., |path, _| is_of_database(path, &database)) {
            self.left_out.insert(path, LeftOut::file(candidate.relative, Reason::Database));
        }
    }

    /// Returns the places for each root. If a root as a whole is a skill, the skill's name becomes the prefix of its paths.
    fn places(&mut self, kind: Option<Kind>) -> Vec<Places> {
        let mut all = Vec::new();
        for (at, root) in self.roots.iter().enumerate() {
            let files = || self.candidates.values().filter(|file| file.root == at).map(|file| file.relative.as_str());
            let shown: Vec<String> = self
                .folder_links
                .values()
                .filter(|link| link.root == at)
                .flat_map(|link| link.behind.iter().map(|file| relative(&file.shown, &root.base)))
                .collect();
            let paths = || files().chain(shown.iter().map(String::as_str));
            if root.is_export {
                all.push(Places::of_export(paths().collect::<Vec<_>>().into_iter()));
                continue;
            }
            let name = root.base.file_name().unwrap_or_default().to_string_lossy();
            let mut places = places_of(paths().collect::<Vec<_>>().into_iter(), kind, &name, root.is_named);
            if !root.is_named && root::is_plugin(&root.base) {
                places.folders.add_plugin();
            }
            for file in self.candidates.values_mut().filter(|file| file.root == at) {
                file.relative.insert_str(0, &places.prefix);
            }
            all.push(places);
        }
        all
    }

    /// Reports links to folders that are the same to agents as their targets. For other links, adds the files behind them.
    fn resolve_folder_links(&mut self, places: &[Places], found: &mut Scanned) {
        for (at, link) in std::mem::take(&mut self.folder_links) {
            let base = &self.roots[link.root].base;
            let here = &places[link.root];
            let path_of = |path: &Path| here.prefix.clone() + &relative(path, base);
            let differs = |file: &links::Behind| match self.candidates.get(&file.real) {
                Some(end) => {
                    here.of(&path_of(&file.shown)).is_ok_and(|place| !is_same(&places[end.root], &end.relative, &place))
                }
                None => true,
            };
            if link.is_known && !link.behind.iter().any(differs) {
                let path = here.prefix.clone() + &link.relative;
                found.same.push((path.clone(), path_of(&link.real)));
                found.links.extend(links::text(&at, &path).map(|text| Link { path, target: Target::Link(text) }));
                continue;
            }
            for links::Behind { shown, real } in link.behind {
                let relative = path_of(&shown);
                let candidate =
                    Candidate { root: link.root, relative, listed: None, is_named: false, real: Some(real) };
                self.candidates.entry(shown).or_insert(candidate);
            }
        }
    }
}

/// Returns the places of the files at `paths` in a folder with this name; `is_named` means that the user named the folder.
fn places_of<'p>(
    paths: impl Iterator<Item = &'p str> + Clone,
    kind: Option<Kind>,
    name: &str,
    is_named: bool,
) -> Places {
    let mut folders = Folders::of(paths);
    let mut prefix = String::new();
    if kind == Some(Kind::Skill) || (is_named && folders.is_one_skill()) {
        prefix = format!("{name}/");
        folders = Folders::one_skill(name);
    }
    Places { folders, kind, name: name.to_owned(), prefix }
}

/// A folder of which only the paths are known. With it, some files can be read without the others.
pub struct Listing {
    places: Places,
    /// The prefix that turns a path in the folder into a path relative to the import root.
    above: String,
}

impl Listing {
    /// Creates the listing of the folder `named` with files at `paths`. It must be an absolute path, but need not exist.
    pub fn new<'p>(named: &Path, paths: impl Iterator<Item = &'p str>, kind: Option<Kind>) -> Self {
        let base = root::base(named, false).unwrap_or_else(|| named.to_path_buf());
        let above = relative(named, &base);
        let above = if above.is_empty() { above } else { above + "/" };
        let paths: Vec<String> = paths.map(|path| format!("{above}{path}")).collect();
        let name = base.file_name().unwrap_or_default().to_string_lossy();
        let places = places_of(paths.iter().map(String::as_str), kind, &name, base == named);
        Self { places, above }
    }

    /// Returns the file at `path` with its place; `None` if it is skipped.
    pub fn file(&self, path: &str, content: NewContent, executable: bool) -> Option<(File, Destination)> {
        let relative = format!("{}{}{path}", self.places.prefix, self.above);
        let place = self.places.of(&relative).ok()?;
        Some((File { relative, content, executable, listed: None }, place))
    }
}

/// Returns whether agents may read something at this path.
pub fn lies_in_agents_folder(relative: &str) -> bool {
    relative.split('/').any(agents::is_folder)
}

/// Files that were read, with their places.
type Files = Vec<(File, Option<Destination>)>;

/// Reads the files. Returns them by relative path, and the paths of files with conflict markers. If most files `are_known`
/// already, plain files are not kept in memory.
pub(in crate::import) fn look_through(
    taken: Vec<(&PathBuf, &Candidate, Option<Destination>)>,
    are_known: bool,
    context: &Context,
) -> Result<(Files, HashSet<String>)> {
    let total = taken.len() as u64;
    let (mut files, mut unmerged) = (Vec::with_capacity(taken.len()), HashSet::new());
    let mut reading = Reading::default();
    for (done, (path, candidate, place)) in (1..).zip(taken) {
        if context.is_cancelled() {
            return Err(cancelled());
        }
        let Candidate { relative, listed, .. } = candidate;
        let is_held = !(are_known && place.as_ref().is_some_and(Destination::is_unread));
        let Look { content, executable, is_unmerged } = reading.read(path, is_held)?;
        if is_unmerged {
            unmerged.insert(relative.clone());
        }
        files.push((File { relative: relative.clone(), content, executable, listed: listed.clone() }, place));
        (context.progress)("Importing", done, total);
    }
    files.sort_by(|(a, _), (b, _)| a.relative.cmp(&b.relative));
    Ok((files, unmerged))
}

/// Returns whether a file is the database, or one that SQLite or mcpkg keeps next to it.
pub(crate) fn is_of_database(path: &Path, database: &str) -> bool {
    path.to_string_lossy().strip_prefix(database).is_some_and(|suffix| {
        matches!(suffix, "" | "-wal" | "-shm" | "-journal" | ".lock" | ".serving")
            || suffix.starts_with(".before-restore-")
            || suffix.starts_with(".pre-v")
    })
}

/// Fails if a link leads the path out of `root`.
pub(in crate::import) fn stay_inside(path: &Path, root: &Path) -> Result<()> {
    let real = path.canonicalize().map_err(|error| Error::file("follow", path, error))?;
    if real.starts_with(root) {
        return Ok(());
    }
    Err(Error::new(
        Code::FileFailed,
        format!("`{}` is a link that leads out of `{}`; nothing was imported", path.display(), root.display()),
    )
    .hint("remove the link, list it in .gitignore, or import a folder that contains both the link and its target"))
}

/// Makes `path` absolute and resolves all links except in its last part.
fn absolute(path: &Path) -> std::io::Result<PathBuf> {
    match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) => {
            let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            Ok(folder.canonicalize()?.join(name))
        }
        _ => path.canonicalize(),
    }
}

pub(in crate::import) fn relative(file: &Path, base: &Path) -> String {
    // Compare as texts first, which is much faster than comparing part by part.
    let texts = (file.to_str(), base.to_str(), MAIN_SEPARATOR);
    if let (Some(file), Some(base), '/') = texts
        && let Some(below) = file.strip_prefix(base).and_then(|below| below.strip_prefix('/'))
        && !below.starts_with('/')
    {
        return below.to_owned();
    }
    let below = file.strip_prefix(base).unwrap_or(file);
    if let (Some(text), '/') = (below.to_str(), MAIN_SEPARATOR) {
        return text.to_owned();
    }
    below.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}

/// Returns the error for an import that the user cancelled.
pub(in crate::import) fn cancelled() -> Error {
    Error::new(Code::Cancelled, "The import was cancelled; nothing was imported")
}
