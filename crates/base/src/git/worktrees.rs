//! Lists, adds and removes the work trees of a repository.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::command::Git;
use super::paths::{parts, path, text};
use super::refs;
use super::trees::says;
use crate::error::{Code, Error, Result};

/// A work tree that is registered in a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Worktree {
    /// The folder, which may be missing.
    pub path: PathBuf,
    /// The commit that is checked out; `None` in a bare repository, or before the first commit.
    pub head: Option<String>,
    /// The full name of the checked-out branch; `None` if HEAD is detached.
    pub branch: Option<String>,
    /// Whether this is a bare repository, which has no files.
    pub is_bare: bool,
    /// The reason why the work tree is locked against removal; empty if none was given. `None` if it is not locked.
    pub locked: Option<String>,
    /// The reason why git would remove the work tree's entry, for example because the folder is missing.
    pub prunable: Option<String>,
}

/// The branch or commit that a new work tree checks out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checkout<'a> {
    /// An existing branch, without `refs/heads/`.
    Branch(&'a str),
    /// A new branch that starts at a commit or another branch.
    New {
        /// The new branch's name, without `refs/heads/`.
        branch: &'a str,
        /// The starting point, as a commit id or full ref name.
        start: &'a str,
        /// Whether `start` becomes the upstream of the new branch. Then `start` must be a remote branch.
        follows: bool,
    },
    /// A commit, with a detached HEAD.
    Commit(&'a str),
}

/// Returns the work trees, the main one first.
pub fn list(git: &Git<'_>) -> Result<Vec<Worktree>> {
    let printed = git.run(&["worktree", "list", "--porcelain", "-z"])?;
    parse(&printed).ok_or_else(|| Error::new(Code::GitFailed, "git worktree list: cannot parse its output"))
}

pub fn add(git: &Git<'_>, path: &Path, checkout: Checkout<'_>) -> Result<()> {
    let mut args: Vec<&OsStr> = ["worktree", "add", "--quiet"].iter().map(OsStr::new).collect();
    let end = match checkout {
        Checkout::Branch(branch) => branch,
        Checkout::New { branch, start, follows } => {
            let track = if follows { "--track" } else { "--no-track" };
            args.extend([track, "-b", branch].map(OsStr::new));
            start
        }
        Checkout::Commit(commit) => {
            args.push(OsStr::new("--detach"));
            commit
        }
    };
    args.extend([OsStr::new("--"), path.as_os_str(), OsStr::new(end)]);
    git.change(&args).map(drop)
}

/// Removes a work tree with its folder and all uncommitted changes. Callers must save the changes first.
pub fn remove(git: &Git<'_>, path: &Path) -> Result<()> {
    let args = ["worktree", "remove", "--force", "--"].map(OsStr::new);
    git.change(&[&args[..], &[path.as_os_str()]].concat()).map(drop)
}

/// Fast-forwards the checked-out branch and its files to a commit. Does not overwrite ignored files.
///
/// # Errors
/// `E_GIT_FAILED` if the branch did not move.
pub fn forward(git: &Git<'_>, branch: &str, commit: &str) -> Result<()> {
    // `branch.NAME.mergeOptions` could ask for another kind of merge, which does not move the branch or creates a
    // commit. The branch name may contain `=`, so `-c` cannot override it.
    let options = format!("--config-env=branch.{branch}.mergeOptions={NOTHING}");
    let mut said = vec!["merge", "--quiet", "--ff-only", "--no-autostash", "--no-overwrite-ignore"];
    // With this setting, git runs a program to verify signatures. `change` checks only the arguments, so pass the
    // setting as an argument. Then `change` can refuse before the merge.
    if says(git, "merge.verifySignatures")? {
        said.push("--verify-signatures");
    }
    git.clone().variable(NOTHING, "").change(&[&[options.as_str()], &said[..], &[commit]].concat())?;
    match refs::commit(git, "HEAD")? {
        Some(head) if head == commit => Ok(()),
        _ => Err(Error::new(
            Code::GitFailed,
            format!("git merge: the merge succeeded but did not move {branch} to {commit}"),
        )),
    }
}

/// An empty environment variable, used to override a setting.
const NOTHING: &str = "MCPKG_NOTHING";

/// Removes git's entries for work trees whose folder is missing.
pub fn prune(git: &Git<'_>) -> Result<()> {
    git.change(&["worktree", "prune"]).map(drop)
}

fn parse(printed: &[u8]) -> Option<Vec<Worktree>> {
    let mut found: Vec<Worktree> = Vec::new();
    for part in parts(printed).filter(|part| !part.is_empty()) {
        if let Some(at) = part.strip_prefix(b"worktree ") {
            found.push(Worktree { path: path(at), ..Worktree::default() });
            continue;
        }
        let worktree = found.last_mut()?;
        let line = text(part);
        let (key, value) = line.split_once(' ').unwrap_or((line.as_str(), ""));
        match key {
            // The id of a branch without commits is all zeros.
            "HEAD" => worktree.head = Some(value.to_owned()).filter(|id| id.bytes().any(|byte| byte != b'0')),
            "branch" => worktree.branch = Some(value.to_owned()),
            "bare" => worktree.is_bare = true,
            "locked" => worktree.locked = Some(value.to_owned()),
            "prunable" => worktree.prunable = Some(value.to_owned()),
            // Ignore `detached` and any keys of newer releases.
            _ => {}
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_field_of_a_worktree_is_read() {
        let printed = b"worktree /w/main\0HEAD 11\0branch refs/heads/main\0\0worktree /w/a\nb c\0HEAD 22\0detached\0\
            locked on a stick\0\0worktree /w/gone\0HEAD 00\0branch refs/heads/x\0locked\0prunable it is gone\0\0";
        let found = parse(printed).unwrap();
        assert_eq!(found.len(), 3);
        assert_eq!(found[0].branch.as_deref(), Some("refs/heads/main"));
        assert_eq!((found[1].path.as_path(), found[1].locked.as_deref()), (Path::new("/w/a\nb c"), Some("on a stick")));
        assert_eq!((found[1].branch.as_deref(), found[1].head.as_deref()), (None, Some("22")));
        assert_eq!((found[2].locked.as_deref(), found[2].prunable.as_deref()), (Some(""), Some("it is gone")));
        assert_eq!(found[2].head, None);
        assert!(parse(b"worktree /w\0bare\0\0").unwrap()[0].is_bare);
        assert_eq!(parse(b"HEAD 11\0"), None);
    }
}
