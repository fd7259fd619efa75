//! How a repository is before a flow changes it: refs, work trees, what stands in the way.

use std::path::{Path, PathBuf};

use tokio_util::sync::CancellationToken;

use crate::error::{Code, Error, Result};
use crate::git::refs::{self, Ref};
use crate::git::status::{self, Extra, State};
use crate::git::{self, Git};
use crate::workspace::carry;
use crate::workspace::manifest::Repo;
use crate::workspace::root::Workspace;
use crate::workspace::step::Head;

/// A repository as it is.
pub struct Seen<'w> {
    /// Its entry in the manifest.
    pub repo: &'w Repo,
    /// Its folder.
    pub folder: PathBuf,
    /// Its branches, those of `origin`, and its tags.
    pub refs: Vec<Ref>,
    /// What its own work tree has checked out.
    pub head: Option<Head>,
}

impl<'w> Seen<'w> {
    /// Looks at a repository.
    ///
    /// # Errors
    /// `E_NOT_FOUND` where it is not there, `E_FLOW_DIRTY` where something of git's is in progress, `E_BRANCH_NOT_FOUND`
    /// where it has no commit; `E_GIT_FAILED`, `E_GIT_NOT_FOUND`.
    pub fn look(workspace: &Workspace, repo: &'w Repo, cancelled: &CancellationToken) -> Result<Self> {
        let folder = workspace.folder(repo)?;
        let Some(own) = git::own_folder(&folder) else {
            return Err(Error::new(
                Code::NotFound,
                format!("{}: `{}` is no git repository", repo.name, folder.display()),
            )
            .with_details(serde_json::json!({ "repo": repo.name }))
            .hint("`mcpkg workspace sync` clones what is missing"));
        };
        if let Some(operation) = git::operation(&own) {
            let operation = operation.name();
            return Err(Error::new(Code::FlowDirty, format!("{}: a {operation} is in progress", repo.name))
                .with_details(serde_json::json!({ "repo": repo.name, "operation": operation }))
                .hint(format!("end it or give it up in `{}`", folder.display())));
        }
        let git = Git::of(&folder, cancelled);
        let refs = refs::list(&git, &["refs/heads/", "refs/remotes/origin/", "refs/tags/"])?;
        let head = carry::head(&git)?;
        if !refs.iter().any(|found| found.name.starts_with("refs/heads/")) {
            return Err(Error::new(Code::BranchNotFound, format!("{}: it has no commit yet", repo.name))
                .with_details(serde_json::json!({ "repo": repo.name }))
                .hint("make a first commit in it, then `mcpkg flow init`"));
        }
        Ok(Self { repo, folder, refs, head })
    }

    /// Returns a local branch.
    pub fn branch(&self, name: &str) -> Option<&Ref> {
        self.find(&format!("refs/heads/{name}"))
    }

    /// Returns a ref by its full name.
    pub fn find(&self, name: &str) -> Option<&Ref> {
        self.refs.iter().find(|found| found.name == name)
    }

    /// Returns a branch that the flow needs.
    ///
    /// # Errors
    /// `E_BRANCH_NOT_FOUND`.
    pub fn base(&self, name: &str) -> Result<&Ref> {
        self.branch(name).ok_or_else(|| {
            Error::new(Code::BranchNotFound, format!("{}: it has no branch `{name}`", self.repo.name))
                .with_details(serde_json::json!({ "repo": self.repo.name, "branch": name }))
                .hint("`mcpkg flow init` makes the branches that a flow needs")
        })
    }

    /// Returns git in its folder.
    pub fn git<'a>(&'a self, cancelled: &'a CancellationToken) -> Git<'a> {
        Git::of(&self.folder, cancelled)
    }

    /// Whether a folder is its own work tree, and no linked one.
    pub fn is_own(&self, worktree: &Path) -> bool {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        real(worktree) == real(&self.folder)
    }
}

/// Refuses a work tree with changes that are not committed; untracked files count where the work tree goes.
///
/// # Errors
/// `E_FLOW_DIRTY` with the paths; `E_GIT_FAILED`.
pub fn refuse_changes(repo: &Repo, worktree: &Path, goes: bool, cancelled: &CancellationToken) -> Result<()> {
    let status = status::read(&Git::of(worktree, cancelled), Extra::Untracked)?;
    let counts = |state: State| match state {
        State::Changed | State::Conflicted => true,
        State::Untracked => goes,
        State::Ignored => false,
    };
    let paths: Vec<String> = status
        .entries
        .iter()
        .filter(|entry| counts(entry.state))
        .map(|entry| entry.path.display().to_string())
        .collect();
    if paths.is_empty() {
        return Ok(());
    }
    Err(dirty(repo, worktree, &paths))
}

/// Refuses changes that are not committed in files that a merge changes.
///
/// # Errors
/// As [`refuse_changes`].
pub fn refuse_overlap(
    repo: &Repo,
    worktree: &Path,
    (old, new): (&str, &str),
    cancelled: &CancellationToken,
) -> Result<()> {
    let git = Git::of(worktree, cancelled);
    let status = status::read(&git, Extra::AllAndIgnored)?;
    if status.entries.is_empty() {
        return Ok(());
    }
    let changed = crate::git::trees::changed(&git, old, new)?;
    let in_the_way = |path: &Path| {
        changed.iter().any(|changed| changed == path || changed.starts_with(path) || path.starts_with(changed))
    };
    let mut paths: Vec<String> = Vec::new();
    for entry in &status.entries {
        let both = std::iter::once(entry.path.as_path()).chain(entry.from.as_deref());
        paths.extend(both.filter(|path| in_the_way(path)).map(|path| path.display().to_string()));
    }
    if paths.is_empty() { Ok(()) } else { Err(dirty(repo, worktree, &paths)) }
}

fn dirty(repo: &Repo, worktree: &Path, paths: &[String]) -> Error {
    let shown = paths.iter().take(10).cloned().collect::<Vec<_>>().join(", ");
    let more = if paths.len() > 10 { format!(" and {} more", paths.len() - 10) } else { String::new() };
    Error::new(
        Code::FlowDirty,
        format!("{}: `{}` has what is not committed: {shown}{more}", repo.name, worktree.display()),
    )
    .with_details(serde_json::json!({ "repo": repo.name, "worktree": worktree.display().to_string(), "paths": paths }))
    .hint("commit it, or put it aside with `git stash`")
}
