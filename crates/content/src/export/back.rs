//! Checks that an export's files import back to the same items, by running the rules of import on them.

use std::collections::{BTreeMap, HashSet};
use std::mem;

use super::layout;
use crate::import;
use crate::import::paths::Places;
use crate::import::place::Placed;
use crate::import::place::servers::ServerInFile;
use crate::item::{Entry, File};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_store::blobs::NewContent;
use mcpkg_store::links::Link;

/// A copy or variant (see [`crate::same`]) that may be written: its record in the database, and its file.
pub type Candidate = (Link, File);

/// Copies and variants that can only be written together, because they belong to one skill. Any other copy or variant is a
/// group of its own.
pub type Group = Vec<Candidate>;

/// Returns `files` and `others` together. Of two files at the same path, the file in `others` wins, unless the manifest
/// lists the file in `files`.
pub fn beside<'a>(files: &'a [File], others: impl Iterator<Item = &'a File> + Clone) -> impl Iterator<Item = &'a File> {
    let paths: HashSet<&str> = others.clone().map(|file| file.relative.as_str()).collect();
    let stays = move |file: &&File| file.listed.is_some() || !paths.contains(file.relative.as_str());
    let listed: HashSet<&str> =
        files.iter().filter(|file| file.listed.is_some()).map(|file| file.relative.as_str()).collect();
    files.iter().filter(stays).chain(others.filter(move |file| !listed.contains(file.relative.as_str())))
}

pub fn files_of(groups: &[Group]) -> impl Iterator<Item = &File> + Clone {
    groups.iter().flatten().map(|(_, file)| file)
}

/// The item that an import should read from a file; `None` if only the file's name matters.
pub(crate) type Expected<'e> = Option<&'e (Entry, NewContent)>;

/// Changes `files` until an import of them and `others` restores each expected item. Also returns the MCP servers that
/// the import would find. A file that would not be restored exactly is listed in the manifest. Listing a file can free
/// a name that another file prefers, so the check is repeated. Fails with `E_IMPORT_CONFLICT` if an import would not
/// restore even a listed file.
pub(crate) fn importable(
    mut files: Vec<File>,
    others: &[Group],
    expected: &[Expected<'_>],
) -> Result<(Vec<File>, Vec<ServerInFile>)> {
    loop {
        let placed = imported(beside(&files, files_of(others)))?;
        let back: Vec<bool> = comes_back(&placed, &files, expected).collect();
        if !back.contains(&false) {
            return Ok((files, placed.servers));
        }
        for ((file, expected), _) in files.iter_mut().zip(expected).zip(back).filter(|(_, back)| !*back) {
            let Some((entry, content)) = expected else { continue };
            if file.listed.is_some() {
                let what = format!("an import of `{}` would not restore '{}'", file.relative, entry.name);
                return Err(Error::new(Code::ImportConflict, what)
                    .hint("another file uses the same name or URI; rename one of the two items"));
            }
            *file = layout::file(mem::take(&mut file.relative), entry, content, Some(entry.clone()))?;
        }
    }
}

/// Returns what an import would read from the files.
pub(super) fn imported<'f>(files: impl Iterator<Item = &'f File>) -> Result<Placed> {
    let mut order: Vec<&File> = files.collect();
    order.sort_by(|a, b| a.relative.cmp(&b.relative));
    let places = Places::of_files(&order);
    let place = |file: &&File| places.of_file(file).ok().filter(|_| places.reaches(&file.relative));
    let places: Vec<_> = order.iter().map(place).collect();
    import::items(order.into_iter().zip(places.iter().map(Option::as_ref)), Vec::new())
}

/// Returns for each file whether an import would restore the expected item from it.
pub(super) fn comes_back<'a>(
    placed: &'a Placed,
    files: &'a [File],
    expected: &'a [Expected<'_>],
) -> impl Iterator<Item = bool> {
    let back: BTreeMap<_, _> = placed.items.iter().map(|item| (item.path.as_str(), item)).collect();
    files.iter().zip(expected).map(move |(file, expected)| {
        expected.is_none_or(|(entry, content)| {
            let item = back.get(file.relative.as_str());
            item.is_some_and(|item| is_as_exported(&item.entry, entry) && item.content == *content)
        })
    })
}

/// Returns whether an import would restore the expected item from any file.
pub(super) fn is_restored(placed: &Placed, expected: &Expected<'_>) -> bool {
    let Some((entry, content)) = expected else { return true };
    placed.items.iter().any(|item| is_as_exported(&item.entry, entry) && item.content == *content)
}

/// Returns whether an imported item equals the exported one. If the exported item has an original path, the paths and
/// agents of both items must be equal too.
fn is_as_exported(read: &Entry, entry: &Entry) -> bool {
    let placed = entry.origin.path.is_none()
        || (read.origin.path == entry.origin.path && read.origin.agent == entry.origin.agent);
    placed && read.name == entry.name && read.what == entry.what && read.origin.applies == entry.origin.applies
}
