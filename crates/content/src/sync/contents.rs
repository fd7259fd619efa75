//! Reads the items in a synced folder by the same rules as an import.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;

use super::base::{entry_of, identity, keep_identity};
use super::disk::Disk;
use super::listed::Listed;
use crate::export::layout;
use crate::ignored::Accepted;
use crate::import::open::{Opened, Opener};
use crate::import::paths::Places;
use crate::import::paths::destination::Destination;
use crate::import::place::servers::ServerInFile;
use crate::import::place::{self, Placed};
use crate::import::read;
use crate::item::{Entry, File, What, conflict};
use crate::same::Duplicate;
use crate::stored::Stored;
use mcpkg_agents::forms::sections;
use mcpkg_agents::servers::secrets::Secrets;
use mcpkg_base::clock::Millis;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::Context;
use mcpkg_store::blobs::NewContent;
use mcpkg_store::syncs::{self, Base, Duplicates, Known, Texts};

/// An item as read from the folder.
#[derive(Clone, Debug)]
pub(super) struct There {
    pub(super) entry: Entry,
    pub(super) content: NewContent,
    /// The bytes of the whole file, including a prompt's front matter.
    pub(super) file: NewContent,
    pub(super) executable: bool,
    /// Whether the manifest lists the file.
    pub(super) listed: bool,
}

impl There {
    /// Returns whether the file contains more than the project stores, such as values of variables. Overwriting the file
    /// would lose them.
    pub(super) fn has_more(&self) -> bool {
        matches!(self.entry.what, What::AgentFile { .. }) && self.content != self.file
    }

    /// Returns whether the file contains git's conflict markers.
    pub(super) fn is_unmerged(&self) -> bool {
        self.file.is_text() && self.file.bytes().is_ok_and(|text| conflict::is_in(&text))
    }
}

/// The contents of a synced folder.
#[derive(Debug, Default)]
pub(super) struct Contents {
    /// The items by path.
    pub(super) items: BTreeMap<String, There>,
    /// The MCP servers in the folder, by the path of their item.
    pub(super) servers: BTreeMap<String, ServerInFile>,
    /// The files that this sync skips, with the reasons.
    pub(super) skipped: BTreeMap<String, (String, File)>,
    /// The duplicates of items' files, including outdated ones ([`crate::same`]).
    pub(super) duplicates: Duplicates,
    /// The identical copies among the duplicates, each with the path of its original.
    pub(super) copies: Texts,
    pub(super) disk: Disk,
    /// Whether a person accepted the critical audit findings in the folder.
    pub(super) accepts_critical: bool,
    /// The critical findings that a person accepted before.
    pub(super) accepted: Accepted,
    pub(super) listed: Listed,
    /// When reading began, before the first file was opened.
    pub(super) looked_at: Millis,
}

impl Contents {
    /// Reads the folder `top`, which must be a real path. `before` is the folder's state at the last sync, and `stored`
    /// contains the project's items. Also returns the MCP servers in the folder, each with the file that contains it;
    /// [`super::servers::take`] adds them to the contents.
    ///
    /// As in an import, hidden, installed, ignored and special files are left out. But a file is always read if the
    /// manifest lists it, if it was synced before, or if it is at a path where an export would write an item. Fails
    /// with `E_NOT_FOUND` if none of the synced files exists any more and there is no manifest.
    pub(super) fn read(
        top: &Path,
        before: &Known,
        stored: &[Stored],
        context: &Context,
    ) -> Result<(Self, Vec<ServerInFile>)> {
        let looked_at = context.clock.now();
        let mut listed = Listed::read(top, &before.bases, stored, context)?;
        let own = stored.iter().flat_map(|stored| layout::own_paths(&stored.entry));
        let known = before.bases.iter().map(|base| base.path.clone()).chain(listed.entries.keys().cloned()).chain(own);
        let known: BTreeSet<String> = known.filter(|path| layout::is_safe(path)).collect();
        let (disk, paths) = Disk::find(top, &known, context)?;
        listed.missing = listed.entries.keys().filter(|path| !paths.contains(*path)).cloned().collect();
        refuse_an_empty_folder(top, &before.bases, &paths, listed.exists)?;
        let mut contents = Self { disk, listed, looked_at, accepted: Accepted::of(context), ..Self::default() };
        let files = contents.open(top, paths, before, context)?;
        let servers = contents.take(files, before, &known)?;
        Ok((contents, servers))
    }

    /// Opens the files. Skips a file that git wrote instead of a link.
    fn open(&mut self, top: &Path, paths: BTreeSet<String>, before: &Known, context: &Context) -> Result<Vec<File>> {
        let (mut files, mut opener, total) = (Vec::new(), Opener::default(), paths.len() as u64);
        for (done, relative) in (1..).zip(paths) {
            if context.is_cancelled() {
                return Err(cancelled());
            }
            // Record the metadata before reading. If the file changes in between, its metadata is newer, so the next sync
            // reads it again.
            self.disk.note(top, &relative, false)?;
            let Opened { content, executable, .. } = opener.open(&top.join(&relative), true)?;
            let listed = self.listed.entries.get(&relative).cloned();
            let link = before.links.get(&relative);
            let link = link.filter(|text| content.size() == text.len() as u64 && listed.is_none());
            if let Some(text) = link
                && *content.bytes()? == *text.as_bytes()
            {
                // If git does not support links here (`core.symlinks`), it writes a file that contains the link's target.
                self.disk.links.insert(relative.clone(), text.clone());
                self.disk.others.insert(relative);
                continue;
            }
            files.push(File { relative, content, executable, listed });
            (context.progress)("Reading", done, total);
        }
        Ok(files)
    }

    /// Adds the items of the files. Returns the MCP servers in the files and the manifest. A file that was synced
    /// before keeps its name and URI, even if new files would claim them.
    fn take(&mut self, files: Vec<File>, before: &Known, known: &BTreeSet<String>) -> Result<Vec<ServerInFile>> {
        let bases: HashMap<&str, &Base> = before.bases.iter().map(|base| (base.path.as_str(), base)).collect();
        let (placed, outdated) = place_current(&files, &bases, before, known, &self.listed)?;
        let Placed { items, servers, clashes, account, .. } = placed;
        let same: HashMap<String, String> = account.same.into_iter().map(|Duplicate { path, of }| (path, of)).collect();
        self.keep_duplicates(&files, &same, &bases);
        let outdated = outdated.iter().filter_map(|path| before.duplicates.get_key_value(path));
        self.duplicates.extend(outdated.map(|(path, duplicate)| (path.clone(), duplicate.clone())));
        let mut found = by_path(items, &bases);
        let left_out = account.left_out.into_iter().map(|left| match left.reason.is_known() {
            true => (left.path, left.reason.text().to_owned()),
            false => (left.path, format!("contains {}", left.reason.text())),
        });
        let clashing = clashes.into_iter().map(|clash| {
            let why = format!("needs the name '{}', which is already used by another file", clash.wanted);
            (clash.path, why)
        });
        let mut why: HashMap<String, String> = left_out.chain(clashing).collect();
        for file in &files {
            let Some(original) = same.get(&file.relative) else { continue };
            let Some(base) = bases.get(file.relative.as_str()) else { continue };
            // A deploy moved this file's text to another file, and left only a managed block with an import.
            if sections::find(&file.content.bytes()?).is_some() {
                why.insert(file.relative.clone(), TAKEN_OVER.to_owned());
                continue;
            }
            // A duplicate does not become an item, unless it was one at the last sync.
            if let (Some(entry), Some((_, content))) = (entry_of(base), found.get(original).cloned()) {
                found.insert(file.relative.clone(), (entry, content));
            }
        }
        for file in files {
            let path = file.relative.clone();
            match (found.remove(&path), why.remove(&path)) {
                (Some((mut entry, content)), _) => {
                    let base = bases.get(path.as_str()).filter(|base| file.listed.is_none() && !base.listed);
                    if let Some(base) = base.and_then(|base| identity(base, before)) {
                        keep_identity(&mut entry, base);
                    }
                    let File { content: bytes, executable, listed, .. } = file;
                    let listed = listed.is_some();
                    self.items.insert(path, There { entry, content, file: bytes, executable, listed });
                }
                (None, Some(why)) => drop(self.skipped.insert(path, (why, file))),
                (None, None) => drop(self.disk.others.insert(path)),
            }
        }
        Ok(servers)
    }

    /// Records which files are duplicates, except those that were items at the last sync.
    fn keep_duplicates(&mut self, files: &[File], same: &HashMap<String, String>, bases: &HashMap<&str, &Base>) {
        let by_path: HashMap<&str, &File> = files.iter().map(|file| (file.relative.as_str(), file)).collect();
        for (path, of) in same.iter().filter(|(path, _)| !bases.contains_key(path.as_str())) {
            let (Some(file), Some(original)) = (by_path.get(path.as_str()), by_path.get(of.as_str())) else { continue };
            if file.content == original.content && file.executable == original.executable {
                self.copies.insert(path.clone(), of.clone());
            }
            self.duplicates.insert(path.clone(), syncs::Duplicate { of: of.clone(), sha256: file.content.sha256() });
        }
    }
}

/// Places the files ([`place::place`]), without outdated duplicates. Also returns the paths of the outdated duplicates.
fn place_current(
    files: &[File],
    bases: &HashMap<&str, &Base>,
    before: &Known,
    known: &BTreeSet<String>,
    listed: &Listed,
) -> Result<(Placed, HashSet<String>)> {
    let places = Places::of_files(&files.iter().collect::<Vec<_>>());
    let destination = |file: &File| match known.contains(&file.relative) {
        true => places.named(&file.relative).ok().map(|to| to.named_by(file)),
        false => places.of_file(file).ok(),
    };
    let destinations: Vec<_> = files.iter().map(destination).collect();
    let is_base = |file: &File| bases.contains_key(file.relative.as_str());
    let mut outdated = HashSet::new();
    loop {
        let current = files.iter().zip(&destinations).filter(|(file, _)| !outdated.contains(&file.relative));
        let drafts = read::read(current.map(|(file, to)| (file, to.as_ref())), is_base, Secrets::default())?;
        let placed = place::place(drafts, listed.servers.clone())?;
        let more = outdated_duplicates(&placed, files, &destinations, before);
        if more.is_empty() {
            return Ok((placed, outdated));
        }
        // Try again without these files. A file that was a duplicate of one of them may then become an item.
        outdated.extend(more);
    }
}

/// Returns the items by path. If a file with a managed block contains several items, takes the item that the file had
/// at the last sync, or else the text outside the block.
fn by_path(items: Vec<crate::item::Item>, bases: &HashMap<&str, &Base>) -> HashMap<String, (Entry, NewContent)> {
    let mut found: HashMap<String, (Entry, NewContent)> = HashMap::new();
    for item in items {
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
    found
}

/// The reason to skip a file that a deploy has replaced with an import of another file.
const TAKEN_OVER: &str = "contains only an import, because a deploy moved its text to another file; edit the text in the project, and \
        deploy again";

/// Returns files that would become items, but are unchanged duplicates of originals that were changed or deleted. Their
/// text is outdated. If one file of a skill is not outdated, the others do not count as outdated either.
fn outdated_duplicates(
    placed: &Placed,
    files: &[File],
    destinations: &[Option<Destination>],
    before: &Known,
) -> HashSet<String> {
    if before.duplicates.is_empty() {
        return HashSet::new();
    }
    let items: HashSet<&str> = placed.items.iter().map(|item| item.path.as_str()).collect();
    let is_outdated = |file: &File| {
        let known = before.duplicates.get(&file.relative);
        file.listed.is_none() && known.is_some_and(|known| known.sha256 == file.content.sha256())
    };
    let skill = |place: &Option<Destination>| Some(place.as_ref()?.skill.as_ref()?.folder.clone());
    let of_items = || files.iter().zip(destinations).filter(|(file, _)| items.contains(file.relative.as_str()));
    let own: HashSet<String> =
        of_items().filter(|(file, _)| !is_outdated(file)).filter_map(|(_, place)| skill(place)).collect();
    let outdated =
        of_items().filter(|(file, place)| is_outdated(file) && skill(place).is_none_or(|skill| !own.contains(&skill)));
    outdated.map(|(file, _)| file.relative.clone()).collect()
}

/// Fails if none of the synced files exists and there is no manifest. Then this is probably the wrong folder, or its
/// disk is not mounted.
fn refuse_an_empty_folder(top: &Path, bases: &[Base], paths: &BTreeSet<String>, has_manifest: bool) -> Result<()> {
    let mut known = bases.iter().filter(|base| base.version.is_some()).peekable();
    if has_manifest || known.peek().is_none() || known.any(|base| paths.contains(&base.path)) {
        return Ok(());
    }
    Err(Error::new(Code::NotFound, format!("None of the synced files are in `{}` any more", top.display()))
        .hint("nothing was deleted; check that this is the right folder and that its disk is mounted")
        .hint("to write the project to the folder again, as if never synced: `mcpkg sync DIR --again`"))
}

/// Returns the error for a sync that was cancelled before it changed anything.
pub(super) fn cancelled() -> Error {
    Error::new(Code::Cancelled, "The sync was cancelled; nothing was changed")
}
