//! Inspects a repository before a flow changes it: its refs, its work trees, and what would block the change.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::carry;
use crate::manifest::Repo;
use crate::root::Workspace;
use crate::step::Head;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::git::refs::{self, Ref};
use mcpkg_base::git::status::{self, Extra, State};
use mcpkg_base::git::{self, Git};
use mcpkg_base::plural;
use mcpkg_base::shell::quote;

/// The maximum time to wait while another git process holds the lock of an index.
const LOCKED: Duration = Duration::from_secs(1);

/// The time between two checks of an index lock.
const PAUSE: Duration = Duration::from_millis(50);

/// The state of a repository at one moment.
pub struct Seen<'w> {
    pub repo: &'w Repo,
    pub folder: PathBuf,
    /// The local branches, the branches of `origin`, and the tags.
    pub refs: Vec<Ref>,
    /// The branch or commit that the main work tree has checked out.
    pub head: Option<Head>,
    /// Branches that a running rebase or bisect will return to, with the operation and its work tree.
    in_progress: Vec<(String, git::Operation, PathBuf)>,
}

impl<'w> Seen<'w> {
    /// Reads the state of a repository.
    ///
    /// # Errors
    /// `E_NOT_FOUND` if the repository does not exist, `E_FLOW_DIRTY` if a git operation is in progress,
    /// `E_BRANCH_NOT_FOUND` if the repository has no commits.
    pub fn look(workspace: &Workspace, repo: &'w Repo, cancelled: &CancellationToken) -> Result<Self> {
        let folder = workspace.folder(repo)?;
        Self::at(repo, folder.clone(), cancelled).map_err(|error| unreadable(repo, &folder, error))
    }

    fn at(repo: &'w Repo, folder: PathBuf, cancelled: &CancellationToken) -> Result<Self> {
        let Some(own) = git::own_folder(&folder) else {
            return Err(Error::new(
                Code::NotFound,
                format!("{}: `{}` is not a git repository", repo.name, folder.display()),
            )
            .with_details(serde_json::json!({ "repo": repo.name }))
            .hint("`mcpkg workspace sync` clones missing repositories"));
        };
        if let Some(operation) = git::operation(&own) {
            return Err(in_progress(repo, operation, &folder));
        }
        let git = Git::of(&folder, cancelled);
        let refs = refs::list(&git, &["refs/heads/", "refs/remotes/origin/", "refs/tags/"])?;
        let head = carry::head(&git)?;
        if !refs.iter().any(|found| found.name.starts_with("refs/heads/")) {
            return Err(Error::new(Code::BranchNotFound, format!("{}: the repository has no commits yet", repo.name))
                .with_details(serde_json::json!({ "repo": repo.name }))
                .hint("make a first commit in the repository, then run `mcpkg flow init`"));
        }
        let in_progress = git::folder(&folder).map(|shared| git::in_progress(&shared)).unwrap_or_default();
        Ok(Self { repo, folder, refs, head, in_progress })
    }

    /// Refuses a branch that a rebase or bisect in another work tree will return to.
    pub fn refuse_in_progress(&self, branch: &Ref) -> Result<()> {
        match self.in_progress.iter().find(|(name, _, _)| *name == branch.name) {
            Some((_, operation, place)) => Err(in_progress(self.repo, *operation, place)),
            None => Ok(()),
        }
    }

    /// Finds a local branch by its short name.
    pub fn branch(&self, name: &str) -> Option<&Ref> {
        self.find(&format!("refs/heads/{name}"))
    }

    /// Finds a ref by its full name.
    pub fn find(&self, name: &str) -> Option<&Ref> {
        self.refs.iter().find(|found| found.name == name)
    }

    /// Finds a branch that the flow requires.
    pub fn base(&self, name: &str) -> Result<&Ref> {
        self.branch(name).ok_or_else(|| {
            Error::new(Code::BranchNotFound, format!("{}: the repository has no branch `{name}`", self.repo.name))
                .with_details(serde_json::json!({ "repo": self.repo.name, "branch": name }))
                .hint("`mcpkg flow init` creates the branches that a flow needs")
        })
    }

    /// Returns git for the repository's folder.
    pub fn git<'a>(&'a self, cancelled: &'a CancellationToken) -> Git<'a> {
        Git::of(&self.folder, cancelled)
    }

    /// Returns whether a folder is the repository's main work tree, not a linked one.
    pub fn is_own(&self, worktree: &Path) -> bool {
        let real = |path: &Path| mcpkg_base::platform::real(path).unwrap_or_else(|_| path.to_owned());
        real(worktree) == real(&self.folder)
    }
}

/// Adds the repository's name and a hint to an error of git.
fn unreadable(repo: &Repo, folder: &Path, error: Error) -> Error {
    if error.code() != Code::GitFailed {
        return error;
    }
    let details = error.details().cloned().unwrap_or_default();
    let named = Error::new(Code::GitFailed, format!("{}: {}", repo.name, error.message())).with_details(details);
    let named = error.hints().iter().fold(named, |named, hint| named.hint(hint.clone()));
    named.hint(format!(
        "nothing was changed; to see what is wrong, run `git -C {} status`",
        quote(&folder.display().to_string())
    ))
}

/// Refuses a work tree that another git process is using, or that has an operation in progress.
fn refuse_busy(repo: &Repo, worktree: &Path, cancelled: &CancellationToken) -> Result<()> {
    if let Some(operation) = git::own_folder(worktree).and_then(|own| git::operation(&own)) {
        return Err(in_progress(repo, operation, worktree));
    }
    let until = Instant::now() + LOCKED;
    while let Some(lock) = git::index_lock(worktree) {
        if Instant::now() >= until || cancelled.is_cancelled() {
            let message = format!("{}: another git process is running in `{}`", repo.name, worktree.display());
            return Err(Error::new(Code::GitLocked, message)
                .with_details(serde_json::json!({ "repo": repo.name, "worktree": worktree.display().to_string() }))
                .hint(format!(
                    "wait until that process has ended; if no git process is running, delete `{}`",
                    lock.display()
                )));
        }
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

fn in_progress(repo: &Repo, operation: git::Operation, place: &Path) -> Error {
    let operation = operation.name();
    Error::new(Code::FlowDirty, format!("{}: a {operation} is in progress", repo.name))
        .with_details(serde_json::json!({ "repo": repo.name, "operation": operation }))
        .hint(format!("finish or abort it in `{}`", place.display()))
}

/// Refuses a work tree with uncommitted changes. Untracked files count only if the work tree will be removed.
///
/// # Errors
/// `E_FLOW_DIRTY` with the paths, or if a git operation is in progress; `E_GIT_LOCKED` if another git process is running in
/// the work tree.
pub fn refuse_changes(repo: &Repo, worktree: &Path, goes: bool, cancelled: &CancellationToken) -> Result<()> {
    refuse_busy(repo, worktree, cancelled)?;
    let status = status::read(&Git::of(worktree, cancelled), Extra::Untracked)?;
    let counts = |state: State| match state {
        State::Changed | State::Conflicted => true,
        State::Untracked => goes,
        State::Ignored => false,
    };
    let found: Vec<_> = status.entries.iter().filter(|entry| counts(entry.state)).collect();
    if found.is_empty() {
        return Ok(());
    }
    let paths: Vec<String> = found.iter().map(|entry| entry.path.display().to_string()).collect();
    Err(dirty(repo, worktree, &paths, stash(found.iter().map(|entry| entry.state))))
}

/// Refuses a work tree with uncommitted, untracked or ignored files where the merge changes files, or with unresolved
/// conflicts in any file.
pub fn refuse_overlap(
    repo: &Repo,
    worktree: &Path,
    (old, new): (&str, &str),
    cancelled: &CancellationToken,
) -> Result<()> {
    refuse_busy(repo, worktree, cancelled)?;
    let git = Git::of(worktree, cancelled);
    let status = status::read(&git, Extra::AllAndIgnored)?;
    if status.entries.is_empty() {
        return Ok(());
    }
    let changed = mcpkg_base::git::trees::changed(&git, old, new)?;
    let in_the_way = |path: &Path| {
        changed.iter().any(|changed| changed == path || changed.starts_with(path) || path.starts_with(changed))
    };
    let (mut paths, mut states): (Vec<String>, Vec<State>) = (Vec::new(), Vec::new());
    for entry in &status.entries {
        let both = std::iter::once(entry.path.as_path()).chain(entry.from.as_deref());
        let is_refused = |path: &Path| entry.state == State::Conflicted || in_the_way(path);
        for path in both.filter(|path| is_refused(path)) {
            paths.push(path.display().to_string());
            states.push(entry.state);
        }
    }
    if paths.is_empty() { Ok(()) } else { Err(dirty(repo, worktree, &paths, stash(states.into_iter()))) }
}

/// Returns the stash command that covers files in these states. Plain `git stash` covers only tracked files.
fn stash(mut states: impl Iterator<Item = State> + Clone) -> &'static str {
    match (states.clone().any(|state| state == State::Ignored), states.any(|state| state == State::Untracked)) {
        (true, _) => "git stash -a",
        (false, true) => "git stash -u",
        (false, false) => "git stash",
    }
}

fn dirty(repo: &Repo, worktree: &Path, paths: &[String], stash: &str) -> Error {
    let shown = plural::first(paths, 10);
    Error::new(Code::FlowDirty, format!("{}: `{}` has uncommitted changes: {shown}", repo.name, worktree.display()))
        .with_details(
            serde_json::json!({ "repo": repo.name, "worktree": worktree.display().to_string(), "paths": paths }),
        )
        .hint(format!("commit the changes, or stash them: `{stash}`"))
}
