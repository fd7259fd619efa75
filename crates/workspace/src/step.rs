//! What a change of a workspace consists of. A step says from what to what it goes, so that it can be taken back, and a
//! look at the repository tells whether it was done.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::keep;

/// A step. Folders are relative to the root of the workspace, or absolute where a work tree lies outside of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Step {
    /// Moves a ref that no work tree has checked out; `None` stands for a ref that is not there.
    Ref { repo: String, folder: String, name: String, old: Option<String>, new: Option<String> },
    /// Moves a branch forward together with the work tree that has it checked out.
    Forward { repo: String, folder: String, branch: String, old: String, new: String },
    /// Moves a branch back together with the work tree that has it checked out.
    Back { repo: String, folder: String, branch: String, old: String, new: String },
    /// Checks something else out in a work tree.
    Switch { repo: String, folder: String, from: Head, to: Head },
    /// Makes a linked work tree in `path` for a branch that is there.
    AddWorktree { repo: String, folder: String, path: String, branch: String },
    /// Takes a linked work tree away; what it holds beside its commits is in the commit `kept`.
    RemoveWorktree { repo: String, folder: String, path: String, branch: String, kept: Option<String> },
    /// Moves a linked work tree beside, in one step that a crash leaves done or not: [`Step::RemoveWorktree`] comes when the
    /// change has landed.
    PutAside { repo: String, path: String, aside: String },
    /// Moves it back, where it is still there.
    BringBack { repo: String, path: String, aside: String },
    /// Makes a linked work tree again that was removed, with the files of the commit `kept`; `branch` is empty where a commit
    /// was checked out by itself.
    RestoreWorktree { repo: String, folder: String, path: String, branch: String, kept: String },
    /// Sets what the configuration says of a branch, such as which one it follows.
    SetConfig { repo: String, folder: String, branch: String, values: Vec<(String, String)> },
    /// Takes that out of the configuration.
    UnsetConfig { repo: String, folder: String, branch: String, values: Vec<(String, String)> },
    /// Puts a clone in its place that was made beside; `mark` is what the clone is known by until the change has landed.
    Place { repo: String, temporary: String, path: String, mark: String },
    /// Takes such a mark away.
    Unmark { repo: String, path: String, mark: String },
    /// Writes a text file of the workspace's own; `None` stands for a file that is not there.
    Write { path: String, old: Option<String>, new: Option<String> },
}

/// What a work tree has checked out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Head {
    /// A branch, by its name without `refs/heads/`.
    Branch(String),
    Detached(String),
}

impl Step {
    /// The repository; empty where it is about the workspace itself.
    pub fn repo(&self) -> &str {
        match self {
            Step::Ref { repo, .. }
            | Step::Forward { repo, .. }
            | Step::Back { repo, .. }
            | Step::Switch { repo, .. }
            | Step::AddWorktree { repo, .. }
            | Step::RemoveWorktree { repo, .. }
            | Step::PutAside { repo, .. }
            | Step::BringBack { repo, .. }
            | Step::RestoreWorktree { repo, .. }
            | Step::SetConfig { repo, .. }
            | Step::UnsetConfig { repo, .. }
            | Step::Place { repo, .. }
            | Step::Unmark { repo, .. } => repo,
            Step::Write { .. } => "",
        }
    }

    /// Returns the step that takes this one back.
    pub fn inverse(self) -> Self {
        match self {
            Step::Ref { repo, folder, name, old, new } => Step::Ref { repo, folder, name, old: new, new: old },
            Step::Forward { repo, folder, branch, old, new } => Step::Back { repo, folder, branch, old: new, new: old },
            Step::Back { repo, folder, branch, old, new } => Step::Forward { repo, folder, branch, old: new, new: old },
            Step::Switch { repo, folder, from, to } => Step::Switch { repo, folder, from: to, to: from },
            Step::AddWorktree { repo, folder, path, branch } => {
                Step::RemoveWorktree { repo, folder, path, branch, kept: None }
            }
            Step::RemoveWorktree { repo, folder, path, branch, kept: Some(kept) } => {
                Step::RestoreWorktree { repo, folder, path, branch, kept }
            }
            Step::RemoveWorktree { repo, folder, path, branch, kept: None } => {
                Step::AddWorktree { repo, folder, path, branch }
            }
            Step::RestoreWorktree { repo, folder, path, branch, kept } => {
                Step::RemoveWorktree { repo, folder, path, branch, kept: Some(kept) }
            }
            Step::PutAside { repo, path, aside } => Step::BringBack { repo, path, aside },
            Step::BringBack { repo, path, aside } => Step::PutAside { repo, path, aside },
            Step::SetConfig { repo, folder, branch, values } => Step::UnsetConfig { repo, folder, branch, values },
            Step::UnsetConfig { repo, folder, branch, values } => Step::SetConfig { repo, folder, branch, values },
            // A clone that users may have worked in is never deleted.
            Step::Place { repo, path, mark, .. } | Step::Unmark { repo, path, mark } => {
                Step::Unmark { repo, path, mark }
            }
            Step::Write { path, old, new } => Step::Write { path, old: new, new: old },
        }
    }

    /// Returns one line for people: what moves, from where to where.
    pub fn shown(&self) -> String {
        let id = |id: &Option<String>| id.as_deref().map_or("nothing".to_owned(), short);
        match self {
            Step::Ref { repo, name, old: None, new, .. } => match keep::what(name) {
                Some(what) => format!("{repo}: keep {what} at {}", id(new)),
                None => format!("{repo}: create {} at {}", plain(name), id(new)),
            },
            Step::Ref { repo, name, old, new: None, .. } => format!("{repo}: delete {} (was {})", plain(name), id(old)),
            Step::Ref { repo, name, old, new, .. } => {
                format!("{repo}: move {} from {} to {}", plain(name), id(old), id(new))
            }
            Step::Forward { repo, folder, branch, old, new } | Step::Back { repo, folder, branch, old, new } => {
                format!("{repo}: move {branch} from {} to {}, with the files in {folder}", short(old), short(new))
            }
            Step::Switch { repo, folder, from, to } => format!("{repo}: switch {folder} from {from} to {to}"),
            Step::AddWorktree { repo, path, branch, .. } => format!("{repo}: create the worktree {path} for {branch}"),
            Step::RemoveWorktree { repo, path, .. } => format!("{repo}: remove the worktree {path}"),
            Step::PutAside { repo, path, .. } => format!("{repo}: move the worktree {path} aside"),
            Step::BringBack { repo, path, .. } => format!("{repo}: move the worktree {path} back"),
            Step::RestoreWorktree { repo, path, kept, .. } => {
                format!("{repo}: create the worktree {path} again, with the files of {}", short(kept))
            }
            Step::SetConfig { repo, branch, .. } => format!("{repo}: set the configuration of {branch}"),
            Step::UnsetConfig { repo, branch, .. } => format!("{repo}: remove the configuration of {branch}"),
            Step::Place { repo, path, .. } => format!("{repo}: put the clone in {path}"),
            Step::Unmark { repo, path, .. } => format!("{repo}: keep the clone in {path}"),
            Step::Write { path, new, .. } => {
                if new.is_some() {
                    format!("write {path}")
                } else {
                    format!("delete {path}")
                }
            }
        }
    }
}

impl std::fmt::Display for Head {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Head::Branch(branch) => f.write_str(branch),
            Head::Detached(commit) => f.write_str(&short(commit)),
        }
    }
}

/// Returns a folder of a step where it really is.
pub fn whole(root: &Path, folder: &str) -> PathBuf {
    if folder == "." { root.to_owned() } else { root.join(folder) }
}

/// Returns a folder as steps name it: relative to the root where it lies below.
pub fn relative(root: &Path, folder: &Path) -> String {
    let below = folder.strip_prefix(root).unwrap_or(folder);
    let below = mcpkg_base::disk::posix(below);
    if below.is_empty() { ".".to_owned() } else { below }
}

/// Returns the first digits of an id.
pub fn short(id: &str) -> String {
    id.get(..9).unwrap_or(id).to_owned()
}

/// Returns the name of a branch or tag without `refs/heads/` or `refs/tags/`.
pub fn plain(name: &str) -> &str {
    ["refs/heads/", "refs/tags/"].iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name)
}
