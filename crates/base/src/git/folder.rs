//! Finds the folders of a repository without starting git.

use std::path::{Path, PathBuf};

use super::paths::path;
use crate::file;

/// The largest file that names another folder; git reads no larger one.
const LARGEST_LINK: u64 = 1 << 20;

/// The bytes of HEAD that git looks at.
const HEAD: usize = 255;

/// The folders that git may keep a repository in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Kept {
    /// The folder of one work tree's own files, such as its index.
    pub own: PathBuf,
    /// The folder that all work trees share, with the configuration among others.
    pub shared: PathBuf,
    /// The top of the work tree; `None` if there is none or it is not known.
    pub top: Option<PathBuf>,
    /// Whether it was found as a submodule of another repository.
    pub is_submodule: bool,
}

impl Kept {
    fn at(own: PathBuf, top: Option<PathBuf>) -> Option<Self> {
        own.join("HEAD").symlink_metadata().ok()?;
        let shared = match file::read(&own.join("commondir"), LARGEST_LINK) {
            Ok(bytes) => own.join(named(&bytes)),
            Err(_) => own.clone(),
        };
        Some(Self { own, shared, top, is_submodule: false })
    }

    /// Returns the folders of the repository that may have its work tree here.
    pub(super) fn below(top: &Path) -> Option<Self> {
        let git = top.join(".git");
        if git.is_dir() {
            return Self::at(git, Some(top.to_owned()));
        }
        let bytes = file::read(&git, LARGEST_LINK).ok()?;
        Self::at(top.join(named(bytes.strip_prefix(b"gitdir: ")?)), Some(top.to_owned()))
    }

    /// Returns the folders of a submodule whose own folder this may be.
    pub(super) fn of_submodule(own: &Path) -> Option<Self> {
        Self::at(own.to_owned(), None).map(|kept| Self { is_submodule: true, ..kept })
    }

    /// Returns the repositories that git may find from a folder, the innermost first. Git uses the last one if it uses any. It most
    /// likely skips those before, which look incomplete.
    pub(super) fn found_from(folder: &Path) -> Vec<Self> {
        let mut found: Vec<Self> = Vec::new();
        let Ok(folder) = folder.canonicalize() else { return found };
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

    /// Whether git takes this for a repository. This never says yes if git says no.
    fn is_whole(&self) -> bool {
        // The dot asks for the right to look into the folder.
        is_head(&self.own.join("HEAD")) && ["objects/.", "refs/."].iter().all(|name| self.shared.join(name).exists())
    }
}

/// Whether git takes a file for the HEAD of a repository: a link to a ref, the name of one, or a commit.
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

/// Returns the path in a file that names a folder, as git reads it: blanks count, and a NUL ends it.
fn named(bytes: &[u8]) -> PathBuf {
    let end = bytes.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r')).map_or(0, |at| at + 1);
    path(bytes[..end].split(|byte| *byte == 0).next().unwrap_or_default())
}

/// Returns the top of the git work tree that `folder` is in, without links.
pub fn toplevel(folder: &Path) -> Option<PathBuf> {
    let folder = folder.canonicalize().ok()?;
    folder.ancestors().find(|top| Kept::below(top).is_some()).map(Path::to_path_buf)
}

/// Returns the folder where git keeps what all work trees of the repository share.
pub fn folder(toplevel: &Path) -> Option<PathBuf> {
    Kept::below(toplevel).map(|kept| kept.shared)
}

/// Returns the folder where git keeps what belongs to this work tree alone, such as its index.
pub fn own_folder(toplevel: &Path) -> Option<PathBuf> {
    Kept::below(toplevel).map(|kept| kept.own)
}

/// Returns the branch that HEAD names, if its refs are files; `own` is the [`own_folder`] of a work tree. `None` means that git has to
/// be asked.
pub fn head_branch(own: &Path) -> Option<String> {
    let head = own.join("HEAD");
    // Git of twenty years ago wrote a link.
    let is_file = head.symlink_metadata().is_ok_and(|metadata| metadata.is_file());
    let text = file::read_text(&head, file::TEXT).ok().filter(|_| is_file)?;
    let branch = text.strip_prefix("ref: refs/heads/")?.strip_suffix('\n')?;
    // A placeholder, if refs are kept in tables.
    (branch != ".invalid").then(|| branch.to_owned())
}

/// An operation that somebody began in a work tree and has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Merge,
    /// A rebase, or a series of patches.
    Rebase,
    /// A commit that is copied from another branch.
    CherryPick,
    /// A commit that is reverted.
    Revert,
    /// A search for the commit that broke something.
    Bisect,
}

impl Operation {
    /// The files and folders that show each operation.
    const SIGNS: [(&'static str, Operation); 6] = [
        ("rebase-merge", Operation::Rebase),
        ("rebase-apply", Operation::Rebase),
        ("MERGE_HEAD", Operation::Merge),
        ("CHERRY_PICK_HEAD", Operation::CherryPick),
        ("REVERT_HEAD", Operation::Revert),
        ("BISECT_LOG", Operation::Bisect),
    ];

    /// The name that git's commands give it.
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

/// Returns the operation that is unfinished in a work tree; `own` is its [`own_folder`].
pub fn operation(own: &Path) -> Option<Operation> {
    let found = Operation::SIGNS.iter().find(|(sign, _)| own.join(sign).symlink_metadata().is_ok());
    found.map(|(_, operation)| *operation)
}

/// Returns the lock file of a work tree's index, if another git holds it or was killed while it did.
pub fn index_lock(toplevel: &Path) -> Option<PathBuf> {
    let lock = own_folder(toplevel)?.join("index.lock");
    lock.symlink_metadata().is_ok().then_some(lock)
}

/// Returns the branches to which a rebase or a bisect returns, by their full names, each with its work tree. Git does not list such a
/// branch as checked out. `shared` is the repository's [`folder`].
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
