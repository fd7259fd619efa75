//! Finds the folders of a repository without starting git.

use std::path::{Path, PathBuf};

use super::paths::path;
use crate::file;

/// The largest `.git` or `gitdir` file that is read, in bytes. git does not read larger ones.
const LARGEST_LINK: u64 = 1 << 20;

/// How many bytes of HEAD git reads.
const HEAD: usize = 255;

/// The folders of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Folders {
    /// The folder for files of one work tree, such as its index.
    pub own: PathBuf,
    /// The folder that all work trees share; it contains the configuration.
    pub shared: PathBuf,
    /// The top folder of the work tree; `None` if there is no work tree, or if its folder is unknown.
    pub top: Option<PathBuf>,
    /// Whether the repository was found as a submodule of another one.
    pub is_submodule: bool,
}

impl Folders {
    fn at(own: PathBuf, top: Option<PathBuf>) -> Option<Self> {
        own.join("HEAD").symlink_metadata().ok()?;
        let shared = match file::read(&own.join("commondir"), LARGEST_LINK) {
            Ok(bytes) => own.join(named(&bytes)),
            Err(_) => own.clone(),
        };
        Some(Self { own, shared, top, is_submodule: false })
    }

    /// Returns the repository with a work tree at `top`, if there seems to be one.
    pub(super) fn below(top: &Path) -> Option<Self> {
        let git = top.join(".git");
        if git.is_dir() {
            return Self::at(git, Some(top.to_owned()));
        }
        let bytes = file::read(&git, LARGEST_LINK).ok()?;
        Self::at(top.join(named(bytes.strip_prefix(b"gitdir: ")?)), Some(top.to_owned()))
    }

    /// Returns the submodule with the git folder `own`, if there seems to be one.
    pub(super) fn of_submodule(own: &Path) -> Option<Self> {
        Self::at(own.to_owned(), None).map(|kept| Self { is_submodule: true, ..kept })
    }

    /// Returns the repositories that git may find from a folder, innermost first. If git uses any of them, it is the
    /// last one. The others look incomplete, so git probably skips them.
    pub(super) fn found_from(folder: &Path) -> Vec<Self> {
        let mut found: Vec<Self> = Vec::new();
        let Ok(folder) = crate::platform::real(folder) else { return found };
        for top in folder.ancestors() {
            for kept in [Self::below(top), Self::at(top.to_owned(), None)].into_iter().flatten() {
                let is_whole = kept.is_whole();
                found.push(kept);
                if is_whole {
                    return found;
                }
            }
        }
        found
    }

    /// True only if git accepts this as a repository. May be false although git accepts it.
    fn is_whole(&self) -> bool {
        // The dot checks that the folder may be entered.
        is_head(&self.own.join("HEAD")) && ["objects/.", "refs/."].iter().all(|name| self.shared.join(name).exists())
    }
}

/// Whether git accepts a file as the HEAD of a repository: a link to a ref, the name of a ref, or a commit.
fn is_head(head: &Path) -> bool {
    if head.is_symlink() {
        return head.read_link().is_ok_and(|to| to.as_os_str().as_encoded_bytes().starts_with(b"refs/"));
    }
    let Ok(bytes) = file::read(head, file::TEXT) else { return false };
    let bytes = &bytes[..bytes.len().min(HEAD)];
    match bytes.strip_prefix(b"ref:") {
        Some(name) => name.trim_ascii_start().starts_with(b"refs/"),
        None => bytes.len() >= 40 && bytes[..40].iter().all(u8::is_ascii_hexdigit),
    }
}

/// Returns the path in a file that points to a folder. Like git, keeps blanks and stops at a NUL.
fn named(bytes: &[u8]) -> PathBuf {
    let end = bytes.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r')).map_or(0, |at| at + 1);
    path(bytes[..end].split(|byte| *byte == 0).next().unwrap_or_default())
}

/// Returns the top folder of the git work tree that contains `folder`, with links resolved.
pub fn toplevel(folder: &Path) -> Option<PathBuf> {
    let folder = crate::platform::real(folder).ok()?;
    folder.ancestors().find(|top| Folders::below(top).is_some()).map(Path::to_path_buf)
}

/// Returns the git folder that all work trees of the repository share.
pub fn folder(toplevel: &Path) -> Option<PathBuf> {
    Folders::below(toplevel).map(|kept| kept.shared)
}

/// Returns the git folder for files of this work tree, such as its index.
pub fn own_folder(toplevel: &Path) -> Option<PathBuf> {
    Folders::below(toplevel).map(|kept| kept.own)
}

/// Reads the branch from HEAD. `own` is the [`own_folder`] of a work tree. `None` means that only git can tell, for
/// example because HEAD is detached or refs are not stored as files.
pub fn head_branch(own: &Path) -> Option<String> {
    let head = own.join("HEAD");
    // Very old versions of git made HEAD a link.
    let is_file = head.symlink_metadata().is_ok_and(|metadata| metadata.is_file());
    let text = file::read_text(&head, file::TEXT).ok().filter(|_| is_file)?;
    let branch = text.strip_prefix("ref: refs/heads/")?.strip_suffix('\n')?;
    // With the reftable format, HEAD contains only this placeholder.
    (branch != ".invalid").then(|| branch.to_owned())
}

/// A git operation in a work tree that has not been completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Merge,
    /// A rebase, or applying a series of patches.
    Rebase,
    /// Copying a commit from another branch.
    CherryPick,
    /// Reverting a commit.
    Revert,
    /// Searching for the commit that introduced a bug.
    Bisect,
}

impl Operation {
    /// The files and folders that reveal each operation.
    const SIGNS: [(&'static str, Operation); 6] = [
        ("rebase-merge", Operation::Rebase),
        ("rebase-apply", Operation::Rebase),
        ("MERGE_HEAD", Operation::Merge),
        ("CHERRY_PICK_HEAD", Operation::CherryPick),
        ("REVERT_HEAD", Operation::Revert),
        ("BISECT_LOG", Operation::Bisect),
    ];

    /// Returns the name of the git command for the operation.
    pub const fn name(self) -> &'static str {
        match self {
            Operation::Merge => "merge",
            Operation::Rebase => "rebase",
            Operation::CherryPick => "cherry-pick",
            Operation::Revert => "revert",
            Operation::Bisect => "bisect",
        }
    }
}

/// Returns the unfinished operation of a work tree. `own` is its [`own_folder`].
pub fn operation(own: &Path) -> Option<Operation> {
    let found = Operation::SIGNS.iter().find(|(sign, _)| own.join(sign).symlink_metadata().is_ok());
    found.map(|(_, operation)| *operation)
}

/// Returns the lock file of a work tree's index, if it exists: another git process holds it, or was killed while
/// holding it.
pub fn index_lock(toplevel: &Path) -> Option<PathBuf> {
    let lock = own_folder(toplevel)?.join("index.lock");
    lock.symlink_metadata().is_ok().then_some(lock)
}

/// Returns the branches that a running rebase or bisect will return to: full name, operation and work tree. git does
/// not list them as checked out. `shared` is the repository's [`folder`].
pub fn in_progress(shared: &Path) -> Vec<(String, Operation, PathBuf)> {
    let linked = std::fs::read_dir(shared.join("worktrees")).into_iter().flatten().flatten();
    let all = std::iter::once(shared.to_owned()).chain(linked.map(|entry| entry.path()));
    all.flat_map(|own| {
        let place = match file::read_text(&own.join("gitdir"), file::TEXT) {
            Ok(file) => PathBuf::from(file.trim()).parent().map(Path::to_owned).unwrap_or_default(),
            Err(_) => shared.parent().map(Path::to_owned).unwrap_or_default(),
        };
        let signs = [
            ("rebase-merge/head-name", Operation::Rebase),
            ("rebase-apply/head-name", Operation::Rebase),
            ("BISECT_START", Operation::Bisect),
        ];
        signs.map(|(sign, operation)| {
            let name = file::read_text(&own.join(sign), file::TEXT).ok()?;
            let name = name.trim();
            let full = if name.starts_with("refs/") { name.to_owned() } else { format!("refs/heads/{name}") };
            Some((full, operation, place.clone()))
        })
    })
    .flatten()
    .collect()
}
