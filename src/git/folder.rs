//! The folders of a repository, found without starting git.

use std::path::{Path, PathBuf};

use crate::file;

/// Returns the top of the git work tree that `folder` is in, without links.
pub fn toplevel(folder: &Path) -> Option<PathBuf> {
    let folder = folder.canonicalize().ok()?;
    folder.ancestors().find(|top| self::folder(top).is_some()).map(Path::to_path_buf)
}

/// Returns the folder where git keeps what all work trees of the repository share.
pub fn folder(toplevel: &Path) -> Option<PathBuf> {
    let own = own_folder(toplevel)?;
    match file::read_text(&own.join("commondir"), file::TEXT) {
        Ok(common) => Some(own.join(common.trim())),
        Err(_) => Some(own),
    }
}

/// Returns the folder where git keeps what is of this work tree alone, such as its index.
pub fn own_folder(toplevel: &Path) -> Option<PathBuf> {
    let git = toplevel.join(".git");
    let own = if git.is_dir() {
        git
    } else {
        let said = file::read_text(&git, file::TEXT).ok()?;
        toplevel.join(said.strip_prefix("gitdir:")?.trim())
    };
    own.join("HEAD").exists().then_some(own)
}

/// Returns the branch that HEAD names, where `own` is the [`own_folder`] of a work tree and its refs are files; `None` where
/// git has to be asked.
pub fn head_branch(own: &Path) -> Option<String> {
    let head = own.join("HEAD");
    // A link is how git wrote it twenty years ago.
    let is_file = head.symlink_metadata().is_ok_and(|metadata| metadata.is_file());
    let text = file::read_text(&head, file::TEXT).ok().filter(|_| is_file)?;
    let branch = text.strip_prefix("ref: refs/heads/")?.strip_suffix('\n')?;
    // What stands in for it where refs are kept in tables.
    (branch != ".invalid").then(|| branch.to_owned())
}

/// What somebody began in a work tree and has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A merge.
    Merge,
    /// A rebase, or a series of patches.
    Rebase,
    /// A commit that is taken over from elsewhere.
    CherryPick,
    /// A commit that is taken back.
    Revert,
    /// A search for the commit that broke something.
    Bisect,
}

impl Operation {
    /// The files and folders that tell of each.
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

/// Returns what was begun and not ended in a work tree, where `own` is its [`own_folder`].
pub fn operation(own: &Path) -> Option<Operation> {
    let found = Operation::SIGNS.iter().find(|(sign, _)| own.join(sign).symlink_metadata().is_ok());
    found.map(|(_, operation)| *operation)
}

/// Returns the lock of the index of a work tree, where another git holds it or was killed with it.
pub fn index_lock(toplevel: &Path) -> Option<PathBuf> {
    let lock = own_folder(toplevel)?.join("index.lock");
    lock.symlink_metadata().is_ok().then_some(lock)
}

/// Returns the branches that a rebase or a bisect in some work tree of the repository goes back to, by their full names, each
/// with that work tree: git names no such branch as checked out. `shared` is the repository's [`folder`].
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
