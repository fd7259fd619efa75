//! Reads a synced folder: its items, and everything else that a sync has to know about.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use crate::export::layout;
use crate::import::find::links;
use crate::import::find::walk::{self, Take};
use crate::import::open::{Opened, Opener};
use crate::import::paths::Places;
use crate::import::paths::destination::Destination;
use crate::import::place::servers::Found;
use crate::import::place::{self, Placed};
use crate::import::reason::Reason;
use crate::import::{find, read};
use crate::item::File;
use crate::item::conflict;
use crate::item::manifest::{self, Manifest};
use crate::item::server;
use crate::item::server::Server;
use crate::item::{Entry, Origin, What};
use crate::same::Duplicate;
use crate::stored::{Item, Stored};
use mcpkg_agents::forms::sections;
use mcpkg_agents::servers::secrets::Secrets;
use mcpkg_base::clock::Millis;
use mcpkg_base::disk;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::git::{self, Git};
use mcpkg_base::process::Limits;
use mcpkg_core::op::Context;
use mcpkg_store::blobs;
use mcpkg_store::new_content::NewContent;
use mcpkg_store::syncs::{Base, Form, Forms, Known, Seen, Texts};

/// The prefix of the names of temporary files.
pub(super) const TEMPORARY: &str = ".mcpkg-";

/// The hint for a malformed manifest.
pub(super) const ANEW: &str = "remove the file; `mcpkg sync` writes it again from the data of the last sync";

/// An item as read from the folder.
#[derive(Clone, Debug)]
pub(super) struct There {
    pub(super) entry: Entry,
    pub(super) content: NewContent,
    /// The bytes of the whole file. For a prompt, they include the front matter.
    pub(super) file: NewContent,
    pub(super) executable: bool,
    /// Whether the manifest lists the file.
    pub(super) listed: bool,
}

impl There {
    /// Returns whether the file contains more than the project stores, such as values of variables. Writing the project's version
    /// would lose them.
    pub(super) fn says_more(&self) -> bool {
        matches!(self.entry.what, What::AgentFile { .. }) && self.content != self.file
    }

    /// Returns whether the file contains conflict markers of an unfinished merge.
    pub(super) fn is_unmerged(&self) -> bool {
        self.file.is_text() && self.file.bytes().is_ok_and(|text| conflict::is_in(&text))
    }
}

/// The content of a synced folder.
#[derive(Debug, Default)]
pub(super) struct Look {
    /// The items by path.
    pub(super) items: BTreeMap<String, There>,
    /// The files that this sync skips, each with the reason.
    pub(super) skipped: BTreeMap<String, (String, File)>,
    /// The paths of everything that is not an item.
    pub(super) others: BTreeSet<String>,
    /// Those links in `others` that lead to a place in the folder, with their targets.
    pub(super) links: Texts,
    /// Those files in `others` that are identical copies of an item's file, with the path of that file.
    pub(super) copies: Texts,
    /// Those files in `others` that are copies of an item's file, or the same item in another agent's format, even if outdated.
    pub(super) forms: Forms,
    /// Files that cannot become items because of their names, escaped for display.
    pub(super) unnamed: Vec<String>,
    /// The paths of files that git lists as unmerged.
    pub(super) unmerged: BTreeSet<String>,
    /// The metadata of files and folders on disk.
    pub(super) seen: Vec<Seen>,
    /// The time before the first file was read.
    pub(super) looked_at: Millis,
    pub(super) has_manifest: bool,
    /// The manifest's entries without a file.
    pub(super) stale: Vec<String>,
    /// Files that were listed at the last sync, and that the manifest no longer lists.
    pub(super) lost: BTreeSet<String>,
    /// Whether lost entries must be written to the manifest again.
    pub(super) is_restored: bool,
    /// Temporary files that killed syncs left behind.
    pub(super) leftovers: Vec<PathBuf>,
    /// The MCP servers in the folder, each with the file that contains it. `servers::take` moves them to `servers`.
    pub(super) found_servers: Vec<Found>,
    /// The MCP servers that became items, by path.
    pub(super) servers: BTreeMap<String, Found>,
    /// The MCP servers in the manifest.
    pub(super) listed_servers: Vec<Server>,
}

/// Reads the folder `top`, which must be a real path. `before` is its state at the last sync, and `stored` are the project's
/// items.
///
/// By the rules of import, hidden, installed and ignored files are left out, and so are special files. But a file is always
/// read if the manifest lists it, if it was synced before, or if it is at the original path of an item of the project.
/// Fails with `E_NOT_FOUND` if none of the synced files exist any more.
pub(super) fn look(top: &Path, before: &Known, stored: &[Stored], context: &Context) -> Result<Look> {
    let bases = &before.bases;
    let mut look = Look { looked_at: context.clock.now(), ..Look::default() };
    let manifest = Manifest::read(top, ANEW)?;
    look.has_manifest = manifest.is_some();
    let (mut listed, servers) = manifest.map(|manifest| (manifest.files, manifest.servers)).unwrap_or_default();
    servers.iter().try_for_each(server::check)?;
    look.listed_servers = servers;
    look.restore(top, bases, stored, &mut listed, context)?;
    let own = stored.iter().flat_map(|stored| layout::own_paths(&stored.entry));
    let known = bases.iter().map(|base| base.path.clone()).chain(listed.keys().cloned()).chain(own);
    let known: BTreeSet<String> = known.filter(|path| layout::is_safe(path)).collect();
    let paths = look.paths(top, &known, context)?;
    look.unmerged = unmerged(top, context);
    look.stale = listed.keys().filter(|path| !paths.contains(*path)).cloned().collect();
    refuse_an_empty_folder(top, bases, &paths, look.has_manifest)?;
    let mut files = Vec::new();
    let (mut opener, total) = (Opener::default(), paths.len() as u64);
    for (done, relative) in (1..).zip(paths) {
        if context.is_cancelled() {
            return Err(cancelled());
        }
        // Note the metadata first: if the file changes while it is read, it looks newer, and the next sync reads it again.
        look.note(top, &relative, false)?;
        let Opened { content, executable, .. } = opener.open(&top.join(&relative), true)?;
        let listed = listed.remove(&relative);
        let link = before.links.get(&relative).filter(|text| content.size() == text.len() as u64 && listed.is_none());
        if let Some(text) = link
            && *content.bytes()? == *text.as_bytes()
        {
            // Without support for links (`core.symlinks`), git writes a link as a file that contains the target.
            look.links.insert(relative.clone(), text.clone());
            look.others.insert(relative);
            continue;
        }
        files.push(File { relative, content, executable, listed });
        (context.progress)("Reading", done, total);
    }
    look.found_servers = look.understand(files, before, &known)?;
    Ok(look)
}

/// Returns the error for a sync that was cancelled before it changed anything.
pub(super) fn cancelled() -> Error {
    Error::new(Code::Cancelled, "The sync was cancelled; nothing was changed")
}

/// Fails if none of the synced files exist: this is probably the wrong folder, or its disk is not mounted.
fn refuse_an_empty_folder(top: &Path, bases: &[Base], paths: &BTreeSet<String>, has_manifest: bool) -> Result<()> {
    let mut known = bases.iter().filter(|base| base.version.is_some()).peekable();
    if has_manifest || known.peek().is_none() || known.any(|base| paths.contains(&base.path)) {
        return Ok(());
    }
    Err(Error::new(Code::NotFound, format!("None of the synced files are in `{}` any more", top.display()))
        .hint("nothing was deleted; check that this is the right folder and that its disk is mounted")
        .hint("to write the project to the folder again, as if never synced: `mcpkg sync DIR --again`"))
}

impl Look {
    /// Restores entries that the manifest lost, for example when somebody resolved a conflict in it by taking one side. These are
    /// entries of files that still exist and, if the manifest itself is missing, the MCP servers that it listed.
    fn restore(
        &mut self,
        top: &Path,
        bases: &[Base],
        stored: &[Stored],
        listed: &mut BTreeMap<String, Entry>,
        context: &Context,
    ) -> Result<()> {
        let stored: HashMap<String, &Stored> = stored.iter().map(|stored| (stored.key(), stored)).collect();
        // Take the origin from the project: the base does not contain the original path.
        let entry = |base: &Base| {
            let entry = entry_of(base)?;
            let origin = stored.get(&base.item).map(|stored| stored.entry.origin.clone()).unwrap_or_default();
            Some(Entry { origin: Origin { applies: entry.origin.applies.clone(), ..origin }, ..entry })
        };
        for base in bases {
            let Some(entry) = entry(base) else { continue };
            if server::is_path(&base.path) {
                let version = base.version.as_ref().filter(|_| !self.has_manifest && base.proposal.is_none());
                let Some((_, blob)) = version else { continue };
                let content = context.store.read(|db| blobs::get(db, *blob))?;
                let enabled = stored
                    .get(&base.item)
                    .is_some_and(|stored| matches!(&stored.item, Item::Server(server) if server.enabled));
                self.listed_servers.push(Server { enabled, ..server::read(&entry, &content.into())? });
                self.is_restored = true;
            } else if base.listed && !listed.contains_key(&base.path) && is_file_below(top, &base.path)? {
                self.lost.insert(base.path.clone());
                listed.insert(base.path.clone(), entry);
                self.is_restored = true;
            }
        }
        Ok(())
    }

    /// Returns the paths of the files to read, and records what else is in the folder.
    fn paths(&mut self, top: &Path, known: &BTreeSet<String>, context: &Context) -> Result<BTreeSet<String>> {
        let walked = walk::walk(top, Take::Project)?.whole()?;
        for folder in &walked.folders {
            if let Some(relative) = relative(top, folder) {
                self.note(top, &relative, true)?;
            }
        }
        let database = context.store.location().to_string();
        let mut paths = BTreeSet::new();
        for path in walked.files {
            let Some(relative) = relative(top, &path) else {
                self.unnamed.push(path.strip_prefix(top).unwrap_or(&path).display().to_string());
                continue;
            };
            let name = relative.rsplit('/').next().unwrap_or_default();
            let is_own = relative == manifest::FILE;
            if name.starts_with(TEMPORARY) {
                self.leftovers.push(path);
            } else if !is_own && layout::is_safe(&relative) && !find::is_of_database(&path, &database) {
                paths.insert(relative);
            } else if is_own || !find::is_of_database(&path, &database) {
                self.note(top, &relative, false)?;
                if !is_own {
                    self.unnamed.push(relative.escape_debug().to_string());
                }
                self.others.insert(relative);
            }
        }
        for link in walked.links {
            if let Some(relative) = relative(top, &link) {
                self.note(top, &relative, false)?;
                if let Some(text) = links::text(&link, &relative) {
                    self.links.insert(relative.clone(), text);
                }
                self.others.insert(relative);
            }
        }
        // A folder that is left out because of its name may still contain files of the project's items.
        let is_closed = |left: &walk::Left| left.below.is_none() || left.reason == Reason::Ignored;
        for left in walked.left_out.into_iter().filter(is_closed) {
            self.others.extend(relative(top, &left.path));
        }
        for relative in known {
            if !paths.contains(relative) && is_file_below(top, relative)? {
                self.others.remove(relative);
                paths.insert(relative.clone());
            }
        }
        let places = Places::of_export(paths.iter().map(String::as_str));
        let is_hidden = |path: &String| !known.contains(path) && places.of(path) == Err(Reason::Hidden);
        let (hidden, paths): (BTreeSet<String>, BTreeSet<String>) = paths.iter().cloned().partition(is_hidden);
        for relative in hidden {
            self.note(top, &relative, false)?;
            self.others.insert(relative);
        }
        Ok(paths)
    }

    /// Records the metadata of a file or folder.
    fn note(&mut self, top: &Path, relative: &str, is_folder: bool) -> Result<()> {
        let stat = disk::metadata(&top.join(relative))?.and_then(|metadata| disk::stat(&metadata));
        self.seen.extend(stat.map(|stat| Seen { path: relative.to_owned(), is_folder, stat }));
        Ok(())
    }

    /// Determines the item in each file, and returns the MCP servers in the files and the manifest. A file that was synced before
    /// keeps its name and URI, whatever files were added since.
    fn understand(&mut self, files: Vec<File>, before: &Known, known: &BTreeSet<String>) -> Result<Vec<Found>> {
        let bases: HashMap<&str, &Base> = before.bases.iter().map(|base| (base.path.as_str(), base)).collect();
        let places = Places::of_export(files.iter().map(|file| file.relative.as_str()));
        let place = |file: &File| match known.contains(&file.relative) {
            true => places.named(&file.relative).ok(),
            false => places.of(&file.relative).ok(),
        };
        let places: Vec<_> = files.iter().map(place).collect();
        let is_base = |file: &File| bases.contains_key(file.relative.as_str());
        let mut stale = HashSet::new();
        let understood = loop {
            let rest = files.iter().zip(&places).filter(|(file, _)| !stale.contains(file.relative.as_str()));
            let understood = self.understood(is_base, rest)?;
            let more = stale_forms(&understood, &files, &places, before);
            if more.is_empty() {
                break understood;
            }
            // Try again without these files. Another file that counted as a duplicate of one of them may then become an item.
            stale.extend(more);
        };
        let Placed { items, servers, clashes, account, .. } = understood;
        let mut found: HashMap<String, (Entry, NewContent)> = HashMap::new();
        for item in items {
            // A file with a managed block contains several items. Its former item counts, otherwise the text outside the block.
            let is_better = |(other, _): &(Entry, NewContent)| {
                let base = bases.get(item.path.as_str()).and_then(|base| entry_of(base));
                let is_base = |entry: &Entry| base.as_ref().is_some_and(|base| base.what.uri() == entry.what.uri());
                let rank = |entry: &Entry| (is_base(entry), entry.origin.path.is_some());
                rank(&item.entry) > rank(other)
            };
            if found.get(&item.path).is_none_or(is_better) {
                found.insert(item.path, (item.entry, item.content));
            }
        }
        let same: HashMap<String, String> = account.same.into_iter().map(|Duplicate { path, of }| (path, of)).collect();
        let by_path: HashMap<&str, &File> = files.iter().map(|file| (file.relative.as_str(), file)).collect();
        for (path, of) in same.iter().filter(|(path, _)| !bases.contains_key(path.as_str())) {
            let (Some(file), Some(original)) = (by_path.get(path.as_str()), by_path.get(of.as_str())) else { continue };
            if file.content == original.content && file.executable == original.executable {
                self.copies.insert(path.clone(), of.clone());
            }
            self.forms.insert(path.clone(), Form { of: of.clone(), sha256: file.content.sha256() });
        }
        self.forms.extend(
            stale
                .iter()
                .filter_map(|path| before.forms.get_key_value(*path))
                .map(|(path, form)| (path.clone(), form.clone())),
        );
        let mut why: HashMap<String, String> = account
            .left_out
            .into_iter()
            .map(|left| match left.reason.is_known() {
                true => (left.path, left.reason.text().to_owned()),
                false => (left.path, format!("contains {}", left.reason.text())),
            })
            .chain(clashes.into_iter().map(|clash| {
                let why = format!("needs the name '{}', which is already used by another file", clash.wanted);
                (clash.path, why)
            }))
            .collect();
        for file in &files {
            let Some(twin) = same.get(&file.relative) else { continue };
            // After a deploy took over a file, its text is in a managed block in another file.
            if bases.contains_key(file.relative.as_str()) && sections::find(&file.content.bytes()?).is_some() {
                why.insert(file.relative.clone(), TAKEN_OVER.to_owned());
                continue;
            }
            // A copy is not an item of its own, unless it was one at the last sync.
            let base = bases.get(file.relative.as_str()).and_then(|base| entry_of(base));
            if let (Some(base), Some((_, content))) = (base, found.get(twin).cloned()) {
                found.insert(file.relative.clone(), (base, content));
            }
        }
        for file in files {
            let File { relative, content: bytes, executable, listed } = file;
            match found.remove(&relative) {
                Some((mut entry, content)) => {
                    let base = bases.get(relative.as_str()).filter(|base| listed.is_none() && !base.listed);
                    if let Some(base) = base.and_then(|base| identity(base, before)) {
                        keep_identity(&mut entry, base);
                    }
                    let listed = listed.is_some();
                    self.items.insert(relative, There { entry, content, file: bytes, executable, listed });
                }
                None => match why.get(&relative) {
                    Some(why) => {
                        let file = File { relative: relative.clone(), content: bytes, executable, listed };
                        self.skipped.insert(relative, (why.clone(), file));
                    }
                    None => drop(self.others.insert(relative)),
                },
            }
        }
        Ok(servers)
    }

    /// Reads the files by the rules of import. Files that were synced before stay what they were.
    fn understood<'f>(
        &self,
        is_base: impl Fn(&File) -> bool,
        files: impl Iterator<Item = (&'f File, &'f Option<Destination>)>,
    ) -> Result<Placed> {
        let drafts = read::read(files.map(|(file, to)| (file, to.as_ref())), is_base, Secrets::default())?;
        place::place(drafts, self.listed_servers.clone())
    }
}

/// The reason to skip a file that a deploy has replaced with an import of another file.
const TAKEN_OVER: &str = "contains only an import, because a deploy moved its text to another file; edit the text in the project, and \
        deploy again";

/// Returns files that now look like items of their own, but are unchanged copies or forms whose originals were changed or
/// deleted. Their text is outdated. The files of a skill count together or not at all.
fn stale_forms<'f>(
    understood: &Placed,
    files: &'f [File],
    places: &[Option<Destination>],
    before: &Known,
) -> HashSet<&'f str> {
    if before.forms.is_empty() {
        return HashSet::new();
    }
    let items: HashSet<&str> = understood.items.iter().map(|item| item.path.as_str()).collect();
    let is_stale = |file: &File| {
        let form = before.forms.get(&file.relative);
        file.listed.is_none() && form.is_some_and(|form| form.sha256 == file.content.sha256())
    };
    let skill = |place: &Option<Destination>| Some(place.as_ref()?.skill.as_ref()?.folder.clone());
    let of_items = || files.iter().zip(places).filter(|(file, _)| items.contains(file.relative.as_str()));
    let own: HashSet<String> =
        of_items().filter(|(file, _)| !is_stale(file)).filter_map(|(_, place)| skill(place)).collect();
    let stale =
        of_items().filter(|(file, place)| is_stale(file) && skill(place).is_none_or(|skill| !own.contains(&skill)));
    stale.map(|(file, _)| file.relative.as_str()).collect()
}

/// Returns the name and URI of a file that was synced before. A proposal about the file comes first, because the file may have
/// been moved before the proposal was made; otherwise the base counts.
fn identity(base: &Base, before: &Known) -> Option<Entry> {
    let proposed = before.proposed.get(&base.path).and_then(|entry| serde_json::from_str(entry).ok());
    proposed.or_else(|| entry_of(base))
}

/// Gives an entry the name and URI of its base.
fn keep_identity(entry: &mut Entry, base: Entry) {
    match (&mut entry.what, base.what) {
        (What::Prompt(_), What::Prompt(_)) => entry.name = base.name,
        (What::Resource(attributes), What::Resource(before)) => {
            entry.name = base.name;
            attributes.uri = before.uri;
        }
        _ => {}
    }
}

/// Returns the name and attributes of a base. A malformed row counts as no base.
pub(super) fn entry_of(base: &Base) -> Option<Entry> {
    serde_json::from_str(&base.version.as_ref()?.0).ok()
}

/// Returns an entry without its original path, because databases record different ones.
pub(super) fn plain(entry: &Entry) -> Entry {
    let origin = Origin { applies: entry.origin.applies.clone(), agent: None, path: None };
    Entry { origin, ..entry.clone() }
}

/// Returns the files that git lists as unmerged, if the folder is in a work tree. Without git, mcpkg notices such files only by
/// their conflict markers.
fn unmerged(top: &Path, context: &Context) -> BTreeSet<String> {
    if git::toplevel(top).is_none() {
        return BTreeSet::new();
    }
    let found = git::status::unmerged(&Git::new(top, Limits::new(git::LOCAL, &context.cancelled)));
    let found = found.inspect_err(|error| tracing::warn!(%error, "git did not report which files are unmerged"));
    let paths = found.unwrap_or_default().into_iter();
    paths.filter_map(|path| path.to_str().map(str::to_owned)).collect()
}

/// Returns whether `relative` is a file below `top`, with no link on the way.
fn is_file_below(top: &Path, relative: &str) -> Result<bool> {
    let mut path = top.to_path_buf();
    let mut parts = relative.split('/').peekable();
    while let Some(part) = parts.next() {
        path.push(part);
        let Some(metadata) = disk::metadata(&path)? else { return Ok(false) };
        let fits = if parts.peek().is_some() { metadata.is_dir() } else { metadata.is_file() };
        if !fits {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns a path relative to `top`, with `/` separators; `None` if it is not UTF-8.
fn relative(top: &Path, path: &Path) -> Option<String> {
    let parts: Option<Vec<&str>> = path.strip_prefix(top).ok()?.iter().map(|part| part.to_str()).collect();
    Some(parts?.join("/"))
}
