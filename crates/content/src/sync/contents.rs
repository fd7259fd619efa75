//! Stages 2 to 4 of a sync: reads the files of a folder by the rules of import, which gives the items in it.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;

use super::base::{entry_of, identity, keep_identity};
use super::disk::Disk;
use super::listed::Listed;
use crate::export::layout;
use crate::import::open::{Opened, Opener};
use crate::import::paths::Places;
use crate::import::paths::destination::Destination;
use crate::import::place::servers::Found;
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
use mcpkg_store::new_content::NewContent;
use mcpkg_store::syncs::{self, Base, Duplicates, Known, Texts};

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
    pub(super) fn has_more(&self) -> bool {
        matches!(self.entry.what, What::AgentFile { .. }) && self.content != self.file
    }

    /// Returns whether the file contains conflict markers of an unfinished merge.
    pub(super) fn is_unmerged(&self) -> bool {
        self.file.is_text() && self.file.bytes().is_ok_and(|text| conflict::is_in(&text))
    }
}

/// The contents of a synced folder.
#[derive(Debug, Default)]
pub(super) struct Contents {
    /// The items by path.
    pub(super) items: BTreeMap<String, There>,
    /// The MCP servers that became items, by path.
    pub(super) servers: BTreeMap<String, Found>,
    /// The files that this sync skips, each with the reason.
    pub(super) skipped: BTreeMap<String, (String, File)>,
    /// The duplicates of items' files, even if they are outdated ([`crate::same`]).
    pub(super) duplicates: Duplicates,
    /// Those duplicates that are identical copies, with the path of the item's file.
    pub(super) copies: Texts,
    pub(super) disk: Disk,
    pub(super) listed: Listed,
    /// The time before the first file was read.
    pub(super) looked_at: Millis,
}

impl Contents {
    /// Reads the folder `top`, which must be a real path. `before` is its state at the last sync, and `stored` are the project's
    /// items. Also returns the MCP servers in the folder, each with the file that contains it; [`super::servers::take`] adds
    /// them to the contents.
    ///
    /// By the rules of import, hidden, installed and ignored files are left out, and so are special files. But a file is always
    /// read if the manifest lists it, if it was synced before, or if it is at the original path of an item of the project.
    /// Fails with `E_NOT_FOUND` if none of the synced files exist any more.
    pub(super) fn read(top: &Path, before: &Known, stored: &[Stored], context: &Context) -> Result<(Self, Vec<Found>)> {
        let looked_at = context.clock.now();
        let mut listed = Listed::read(top, &before.bases, stored, context)?;
        let own = stored.iter().flat_map(|stored| layout::own_paths(&stored.entry));
        let known = before.bases.iter().map(|base| base.path.clone()).chain(listed.entries.keys().cloned()).chain(own);
        let known: BTreeSet<String> = known.filter(|path| layout::is_safe(path)).collect();
        let (disk, paths) = Disk::find(top, &known, context)?;
        listed.missing = listed.entries.keys().filter(|path| !paths.contains(*path)).cloned().collect();
        refuse_an_empty_folder(top, &before.bases, &paths, listed.exists)?;
        let mut contents = Self { disk, listed, looked_at, ..Self::default() };
        let files = contents.open(top, paths, before, context)?;
        let servers = contents.take(files, before, &known)?;
        Ok((contents, servers))
    }

    /// Opens the files, and skips those that stand for links.
    fn open(&mut self, top: &Path, paths: BTreeSet<String>, before: &Known, context: &Context) -> Result<Vec<File>> {
        let (mut files, mut opener, total) = (Vec::new(), Opener::default(), paths.len() as u64);
        for (done, relative) in (1..).zip(paths) {
            if context.is_cancelled() {
                return Err(cancelled());
            }
            // Note the metadata first: if the file changes while it is read, it looks newer, and the next sync reads it again.
            self.disk.note(top, &relative, false)?;
            let Opened { content, executable, .. } = opener.open(&top.join(&relative), true)?;
            let listed = self.listed.entries.get(&relative).cloned();
            let link = before.links.get(&relative);
            let link = link.filter(|text| content.size() == text.len() as u64 && listed.is_none());
            if let Some(text) = link
                && *content.bytes()? == *text.as_bytes()
            {
                // Without support for links (`core.symlinks`), git writes a link as a file that contains the target.
                self.disk.links.insert(relative.clone(), text.clone());
                self.disk.others.insert(relative);
                continue;
            }
            files.push(File { relative, content, executable, listed });
            (context.progress)("Reading", done, total);
        }
        Ok(files)
    }

    /// Takes the item in each file, and returns the MCP servers in the files and the manifest. A file that was synced before keeps
    /// its name and URI, whatever files were added since.
    fn take(&mut self, files: Vec<File>, before: &Known, known: &BTreeSet<String>) -> Result<Vec<Found>> {
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
            // After a deploy took over a file, its text is in a managed block in another file.
            if sections::find(&file.content.bytes()?).is_some() {
                why.insert(file.relative.clone(), TAKEN_OVER.to_owned());
                continue;
            }
            // A duplicate is not an item of its own, unless it was one at the last sync.
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

    /// Records the duplicates among the files, except those that were items at the last sync.
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

/// Places the files, except outdated duplicates. Also returns the paths of those.
fn place_current(
    files: &[File],
    bases: &HashMap<&str, &Base>,
    before: &Known,
    known: &BTreeSet<String>,
    listed: &Listed,
) -> Result<(Placed, HashSet<String>)> {
    let places = Places::of_export(files.iter().map(|file| file.relative.as_str()));
    let destination = |file: &File| match known.contains(&file.relative) {
        true => places.named(&file.relative).ok(),
        false => places.of(&file.relative).ok(),
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
        // Try again without these files. Another file that counted as a duplicate of one of them may then become an item.
        outdated.extend(more);
    }
}

/// Returns the items by path. A file with a managed block contains several items: its former item counts, otherwise the text
/// outside the block.
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

/// Returns files that now look like items of their own, but are unchanged duplicates whose originals were changed or
/// deleted. Their text is outdated. The files of a skill count together or not at all.
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

/// Returns the error for a sync that was cancelled before it changed anything.
pub(super) fn cancelled() -> Error {
    Error::new(Code::Cancelled, "The sync was cancelled; nothing was changed")
}
