//! Finds the files in a synced folder, and everything else in it that affects the sync.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::export::layout;
use crate::import::find::walk::{self, Take};
use crate::import::find::{is_of_database, links};
use crate::import::paths::Places;
use crate::import::reason::Reason;
use crate::item::manifest;
use mcpkg_base::disk;
use mcpkg_base::error::Result;
use mcpkg_base::git::{self, Git};
use mcpkg_base::process::Limits;
use mcpkg_core::op::Context;
use mcpkg_store::syncs::{Seen, Texts};

/// The prefix of names of temporary files.
pub(super) const TEMPORARY: &str = ".mcpkg-";

/// The contents of the folder, except the files to read, which [`Disk::find`] returns separately.
#[derive(Debug, Default)]
pub(super) struct Disk {
    /// The paths of everything that is not a file to read, such as links, and files and folders that an import skips.
    pub(super) others: BTreeSet<String>,
    /// The links in `others` that lead to a place inside the folder, with their targets.
    pub(super) links: Texts,
    /// The paths of files that cannot become items because of their names, escaped for display.
    pub(super) unnamed: Vec<String>,
    /// The paths of files that git lists as unmerged.
    pub(super) unmerged: BTreeSet<String>,
    /// The metadata of files and folders.
    pub(super) seen: Vec<Seen>,
    /// Temporary files that killed syncs left behind.
    pub(super) leftovers: Vec<PathBuf>,
}

impl Disk {
    /// Finds everything in the folder `top`. Also returns the paths of the files to read: those that an import would read,
    /// and those `known` paths at which there is a file.
    pub(super) fn find(top: &Path, known: &BTreeSet<String>, context: &Context) -> Result<(Self, BTreeSet<String>)> {
        let mut disk = Self { unmerged: unmerged(top, context), ..Self::default() };
        let paths = disk.paths(top, known, context)?;
        Ok((disk, paths))
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
                let shown = path.strip_prefix(top).unwrap_or(&path).display().to_string();
                self.unnamed.push(shown.escape_debug().to_string());
                continue;
            };
            let name = relative.rsplit('/').next().unwrap_or_default();
            let is_own = relative == manifest::FILE;
            if name.starts_with(TEMPORARY) {
                self.leftovers.push(path);
            } else if !is_own && layout::is_safe(&relative) && !is_of_database(&path, &database) {
                paths.insert(relative);
            } else if is_own || !is_of_database(&path, &database) {
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
        // Record skipped files and ignored folders. Folders that are skipped only because of their names are not recorded,
        // because the project may have items with files in them.
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
        let places = Places::of_export(paths.iter().map(String::as_str), &|_| None);
        let is_hidden = |path: &String| !known.contains(path) && places.of(path) == Err(Reason::Hidden);
        let (hidden, paths): (BTreeSet<String>, BTreeSet<String>) = paths.iter().cloned().partition(is_hidden);
        for relative in hidden {
            self.note(top, &relative, false)?;
            self.others.insert(relative);
        }
        Ok(paths)
    }

    /// Records the metadata of a file or folder.
    pub(super) fn note(&mut self, top: &Path, relative: &str, is_folder: bool) -> Result<()> {
        let stat = disk::metadata(&top.join(relative))?.and_then(|metadata| disk::stat(&metadata));
        self.seen.extend(stat.map(|stat| Seen { path: relative.to_owned(), is_folder, stat }));
        Ok(())
    }
}

/// Returns the files that git lists as unmerged, if the folder is in a work tree. Without git, such files are recognized only
/// by their conflict markers.
fn unmerged(top: &Path, context: &Context) -> BTreeSet<String> {
    if git::toplevel(top).is_none() {
        return BTreeSet::new();
    }
    let found = git::status::unmerged(&Git::new(top, Limits::new(git::LOCAL, &context.cancelled)));
    let found = found.inspect_err(|error| tracing::warn!(%error, "git did not report which files are unmerged"));
    let paths = found.unwrap_or_default().into_iter();
    paths.filter_map(|path| path.to_str().map(str::to_owned)).collect()
}

/// Returns whether there is a file at `relative` below `top`, without a link on the way.
pub(super) fn is_file_below(top: &Path, relative: &str) -> Result<bool> {
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
