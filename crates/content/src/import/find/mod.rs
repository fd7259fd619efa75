//! Stage 1 of an import: finds the files at and below the paths that the user named.
//!
//! [`walk`] lists folders, [`links`] follows symbolic links, and [`root`] decides which folder the paths are relative to.
//! This stage does not read the files.

pub mod links;
pub mod only;
pub mod root;
pub mod walk;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::paths::agents;
use super::reason::{LeftOut, Note, Reason};
use crate::item::{Entry, manifest, manifest::Manifest, server::Server};
use links::{Behind, End, Reached};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::git::{self, Git};
use mcpkg_base::process::Limits;
use mcpkg_core::op::Context;
use root::{absolute, relative, stay_inside};
use walk::{Take, Walked};

/// A folder that paths are relative to.
pub struct Root {
    pub base: PathBuf,
    /// Whether the user named this folder itself, as opposed to a path inside it.
    pub is_named: bool,
    /// Whether this folder was written by an export: it has a manifest.
    pub is_export: bool,
}

/// A file that has not been read yet.
pub struct Candidate {
    /// The index of the file's root in [`Inventory::roots`].
    pub root: usize,
    /// The path relative to its root, with `/` separators.
    pub relative: String,
    pub listed: Option<Entry>,
    /// Whether the user named this file, as opposed to a folder that contains it.
    pub is_named: bool,
    /// The real path, if the file was reached through a link.
    pub real: Option<PathBuf>,
}

/// A link to a folder.
pub struct FolderLink {
    pub root: usize,
    pub relative: String,
    pub real: PathBuf,
    /// Whether the target folder was also found without following this link.
    pub is_known: bool,
    pub behind: Vec<Behind>,
}

/// Everything at and below the paths that the user named. Files are sorted by their paths on disk.
#[derive(Default)]
pub struct Inventory {
    pub roots: Vec<Root>,
    pub candidates: BTreeMap<PathBuf, Candidate>,
    pub folder_links: BTreeMap<PathBuf, FolderLink>,
    pub left_out: BTreeMap<PathBuf, LeftOut>,
    /// The MCP servers in manifests.
    pub servers: Vec<Server>,
    /// Notes about ignore files.
    pub notes: Vec<Note>,
}

/// Finds the files at and below `paths`, except mcpkg's own database. If `all` is set, ignored files are found too.
pub fn find(paths: &[PathBuf], all: bool, context: &Context) -> Result<Inventory> {
    let mut found = Inventory::default();
    for path in paths {
        found.gather(path, all, context)?;
    }
    found.leave_out_database(context);
    Ok(found)
}

/// The hint for a malformed manifest.
const BY_PATHS: &str = "if you remove the manifest, mcpkg imports the folder by its paths alone, without the \
    names, URIs and descriptions that the manifest lists";

impl Inventory {
    /// Adds everything at and below `path`. Entries that were added before stay unchanged.
    fn gather(&mut self, path: &Path, all: bool, context: &Context) -> Result<()> {
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
        let real_base = mcpkg_base::platform::real(&base).map_err(failed)?;
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
        if walked.left_out.iter().any(|left| left.reason == Reason::Ignored) {
            walked.take_tracked(&named, &tracked_but_ignored(&named, context), take);
        }
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
        let real_named = mcpkg_base::platform::real(named).map_err(|error| Error::file("read", named, error))?;
        // Convert real paths back to paths below the folder that the user named, which may itself be a link.
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
                    let Reached { mut files, dead } = match is_known && !agents::lies_in_folder(&at) {
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
        // Comparing bytes is much faster than comparing paths part by part. It leaves the list almost sorted, so that few
        // path comparisons are needed later.
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
            // Different named paths share the folders above them, so the same note may be found several times.
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
                // The manifest lists this file, or the user named it, so it is imported although it is ignored or
                // hidden.
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

    /// Skips the database, and the files that SQLite and mcpkg keep next to it, in case they are in the folder.
    fn leave_out_database(&mut self, context: &Context) {
        let database = context.store.location().to_string();
        for (path, candidate) in self.candidates.extract_if(.., |path, _| is_of_database(path, &database)) {
            self.left_out.insert(path, LeftOut::file(candidate.relative, Reason::Database));
        }
    }
}

/// Returns the files below a folder that git tracks although an ignore file excludes them. Without git, such files stay ignored.
fn tracked_but_ignored(folder: &Path, context: &Context) -> BTreeSet<PathBuf> {
    if git::toplevel(folder).is_none() {
        return BTreeSet::new();
    }
    let found = git::status::tracked_but_ignored(&Git::new(folder, Limits::new(git::LOCAL, &context.cancelled)));
    found.unwrap_or_else(|error| {
        tracing::warn!(%error, "git did not report which ignored files it tracks");
        BTreeSet::new()
    })
}

/// Returns whether a file is the database, or one that SQLite or mcpkg keeps next to it.
pub(crate) fn is_of_database(path: &Path, database: &str) -> bool {
    path.to_string_lossy().strip_prefix(database).is_some_and(|suffix| {
        matches!(suffix, "" | "-wal" | "-shm" | "-journal" | ".lock" | ".serving")
            || suffix.starts_with(".before-restore-")
            || suffix.starts_with(".pre-v")
    })
}
