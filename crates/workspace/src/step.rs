//! Defines the steps of a change to a workspace. Most steps contain the old and the new state, so that mcpkg can undo
//! them, and can tell from the repository whether they were applied.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::keep;

/// A step. Folders are relative to the workspace's root, or absolute for work trees outside of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Step {
    /// Moves a ref that no work tree has checked out; `None` means that the ref does not exist.
    Ref { repo: String, folder: String, name: String, old: Option<String>, new: Option<String> },
    /// Moves a branch forward together with the work tree that has it checked out.
    Forward { repo: String, folder: String, branch: String, old: String, new: String },
    /// Moves a branch back together with the work tree that has it checked out.
    Back { repo: String, folder: String, branch: String, old: String, new: String },
    /// Switches a work tree to another branch or commit.
    Switch { repo: String, folder: String, from: Head, to: Head },
    /// Creates a linked work tree at `path` for an existing branch.
    AddWorktree { repo: String, folder: String, path: String, branch: String },
    /// Removes a linked work tree. The commit `kept`, if there is one, holds the work tree's files.
    RemoveWorktree { repo: String, folder: String, path: String, branch: String, kept: Option<String> },
    /// Renames a linked work tree to a temporary folder, so that a crash leaves this step either done or not done.
    /// [`Step::RemoveWorktree`] follows once the change has landed.
    PutAside { repo: String, path: String, aside: String },
    /// Undoes [`Step::PutAside`]: moves the work tree back to its place, if it still exists.
    BringBack { repo: String, path: String, aside: String },
    /// Recreates a removed work tree with the files of the commit `kept`. `branch` is empty if the work tree was on a
    /// commit without a branch.
    RestoreWorktree { repo: String, folder: String, path: String, branch: String, kept: String },
    /// Sets git settings of a branch, such as its upstream.
    SetConfig { repo: String, folder: String, branch: String, values: Vec<(String, String)> },
    /// Removes git settings of a branch.
    UnsetConfig { repo: String, folder: String, branch: String, values: Vec<(String, String)> },
    /// Moves a new clone from its temporary folder to its final path. `mark` identifies the clone until the change has
    /// landed.
    Place { repo: String, temporary: String, path: String, mark: String },
    /// Removes the mark of a clone that [`Step::Place`] moved.
    Unmark { repo: String, path: String, mark: String },
    /// Writes one of mcpkg's own text files in the workspace; `None` means that the file does not exist.
    Write { path: String, old: Option<String>, new: Option<String> },
}

/// The branch or commit that a work tree has checked out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Head {
    /// The branch's name without `refs/heads/`.
    Branch(String),
    Detached(String),
}

impl Step {
    /// Returns the repository; empty if the step concerns the workspace itself.
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

    /// Returns the step that undoes this one. A clone is not undone: its steps become [`Step::Unmark`].
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
            // Never delete a clone: someone may have worked in it.
            Step::Place { repo, path, mark, .. } | Step::Unmark { repo, path, mark } => {
                Step::Unmark { repo, path, mark }
            }
            Step::Write { path, old, new } => Step::Write { path, old: new, new: old },
        }
    }

    /// Describes the step in one line for people: what changes, from what to what.
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

/// Resolves a step's folder to its full path.
pub fn whole(root: &Path, folder: &str) -> PathBuf {
    if folder == "." { root.to_owned() } else { root.join(folder) }
}

/// Returns a folder in the form that steps use: relative to the root if it is below the root.
pub fn relative(root: &Path, folder: &Path) -> String {
    let below = folder.strip_prefix(root).unwrap_or(folder);
    let below = mcpkg_base::disk::posix(below);
    if below.is_empty() { ".".to_owned() } else { below }
}

/// Shortens an object id to 9 digits.
pub fn short(id: &str) -> String {
    id.get(..9).unwrap_or(id).to_owned()
}

/// Returns the name of a branch or tag without `refs/heads/` or `refs/tags/`.
pub fn plain(name: &str) -> &str {
    ["refs/heads/", "refs/tags/"].iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name)
}
