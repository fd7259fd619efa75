//! Commits to a new branch without changing the work tree, the index or the current branch.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::identity;
use super::opened::Repo;
use mcpkg_base::clock::Millis;
use mcpkg_base::disk;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::git;
use mcpkg_base::process::Limits;

#[derive(Debug)]
pub(super) enum Change {
    /// The new bytes, and whether the file is executable.
    Write(Vec<u8>, bool),
    Remove,
}

impl Change {
    /// Whether the file on disk already has this state.
    pub(super) fn is_done(&self, path: &Path) -> bool {
        match self {
            Change::Write(bytes, executable) => {
                std::fs::metadata(path).is_ok_and(|metadata| super::tree::is_executable(&metadata) == *executable)
                    && mcpkg_base::file::read(path, mcpkg_base::file::WHOLE).is_ok_and(|found| found == *bytes)
            }
            Change::Remove => !path.exists(),
        }
    }
}

/// The commit's subject line.
const MESSAGE: &str = "chore(evolve): propose overlay updates";

/// The operation to name in errors.
const COMMAND: &str = "evolve propose";

/// The committer to use if git does not know the user.
const NOBODY: &str = "mcpkg <mcpkg@localhost>";

/// The git repository that contains a config repo.
pub(super) struct GitRepo {
    folder: PathBuf,
    /// The config repo's path in the work tree: empty, or ending with `/`.
    prefix: String,
    head: String,
    cancelled: CancellationToken,
}

impl GitRepo {
    /// Opens the git repository. Fails if overlays cannot be proposed there.
    ///
    /// # Errors
    /// `E_GIT_REPO_REQUIRED`, `E_GIT_WORKTREE_DIRTY`, `E_GIT_NOT_FOUND` or `E_GIT_FAILED`, with the details `command`
    /// and `repo`.
    pub(super) fn of(repo: &Repo, cancelled: &CancellationToken) -> Result<Self> {
        let limits = Limits::new(git::LOCAL, cancelled);
        let folder = repo.folder().to_path_buf();
        let about = |error| about(&folder, error);
        let Some(top) = identity::toplevel(&folder) else {
            let why = format!(
                "`{}` is not in a git repository, but mcpkg proposes overlays on a git branch",
                folder.display()
            );
            return Err(about(refuse(
                Code::GitRepoRequired,
                &why,
                "create a repository with `git init`, and commit the files",
            )));
        };
        let dirty = git::run(&folder, &["status", "--porcelain", "--", "."], &limits).map_err(about)?;
        if !dirty.is_empty() {
            let why = format!("`{}` has uncommitted changes", folder.display());
            let error = refuse(Code::GitDirty, &why, "commit or stash the changes");
            let paths: Vec<String> = String::from_utf8_lossy(&dirty).lines().take(20).map(str::to_owned).collect();
            return Err(about(add(error, &json!({"changes": paths}))));
        }
        let head = git::ask(&folder, &["rev-parse", "--verify", "-q", "HEAD^{commit}"], &limits);
        let Some(head) = head.map_err(about)? else {
            let why = format!("`{}` has no commits yet", folder.display());
            return Err(about(refuse(Code::GitRepoRequired, &why, "commit the files first")));
        };
        let below = folder.strip_prefix(&top).unwrap_or(Path::new(""));
        let prefix = below.components().map(|part| part.as_os_str().to_string_lossy() + "/").collect();
        Ok(Self { prefix, head: text(&head), folder, cancelled: cancelled.clone() })
    }

    fn limits(&self) -> Limits<'_> {
        Limits::new(git::LOCAL, &self.cancelled)
    }

    /// Returns the commit that is checked out.
    pub(super) fn head(&self) -> &str {
        &self.head
    }

    /// Checks the branch name that the user chose.
    ///
    /// # Errors
    /// `E_INVALID_ARGUMENT` if it is not a valid name, `E_ALREADY_EXISTS` if the branch exists.
    pub(super) fn free(&self, name: &str) -> Result<String> {
        let well_formed = !name.starts_with('-')
            && git::ask(&self.folder, &["check-ref-format", &format!("refs/heads/{name}")], &self.limits())
                .map_err(|error| about(&self.folder, error))?
                .is_some();
        if !well_formed {
            return Err(Error::new(
                Code::InvalidArgument,
                format!("`{}` is not a valid branch name", name.escape_debug()),
            ));
        }
        if self.exists(name)? {
            let error = Error::new(Code::AlreadyExists, format!("Branch `{name}` already exists"));
            return Err(about(&self.folder, error.hint("choose another name with --branch")));
        }
        Ok(name.to_owned())
    }

    /// Returns `name`, with a number at the end if a branch of this name exists.
    pub(super) fn free_like(&self, name: &str) -> Result<String> {
        let mut free = name.to_owned();
        for number in 2.. {
            if !self.exists(&free)? {
                break;
            }
            free = format!("{name}-{number}");
        }
        Ok(free)
    }

    fn exists(&self, name: &str) -> Result<bool> {
        let branch = format!("refs/heads/{name}");
        let found = git::ask(&self.folder, &["rev-parse", "--verify", "-q", &branch], &self.limits());
        Ok(found.map_err(|error| about(&self.folder, error))?.is_some())
    }

    /// Creates the branch with one commit on top of the current commit. Returns false and creates no branch if nothing
    /// changes. Paths are relative to the config repo.
    pub(super) fn commit(&self, branch: &str, changes: BTreeMap<String, Change>, now: Millis) -> Result<bool> {
        if changes.is_empty() {
            return Ok(false);
        }
        let about = |error| about(&self.folder, error);
        // This fails if git does not know the user. A proposal works without a user.
        let ident = git::run(&self.folder, &["var", "GIT_COMMITTER_IDENT"], &self.limits()).map(|ident| text(&ident));
        let ident = ident.ok().and_then(|ident| Some(ident[..=ident.rfind('>')?].to_owned()));
        let who = format!("{} {} +0000", ident.as_deref().unwrap_or(NOBODY), now.div_euclid(1000));
        let mut stream = Vec::new();
        let mut line = |line: &str| stream.extend_from_slice(format!("{line}\n").as_bytes());
        line(&format!("commit refs/heads/{branch}"));
        line(&format!("author {who}"));
        line(&format!("committer {who}"));
        line(&format!("data {}", MESSAGE.len() + 1));
        line(MESSAGE);
        line(&format!("from {}", self.head));
        for (path, change) in changes {
            let path = quoted(&format!("{}{path}", self.prefix));
            let head = match &change {
                Change::Write(bytes, executable) => {
                    let mode = if *executable { "100755" } else { "100644" };
                    format!("M {mode} inline {path}\ndata {}\n", bytes.len())
                }
                Change::Remove => format!("D {path}\n"),
            };
            stream.extend_from_slice(head.as_bytes());
            if let Change::Write(bytes, _) = change {
                stream.extend_from_slice(&bytes);
                stream.push(b'\n');
            }
        }
        stream.extend_from_slice(b"done\n");
        git::feed(&self.folder, &["fast-import", "--quiet", "--done"], &stream, &self.limits()).map_err(about)?;
        Ok(true)
    }
}

/// Quotes a path for git.
fn quoted(path: &str) -> String {
    format!("\"{}\"", path.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

fn text(said: &[u8]) -> String {
    String::from_utf8_lossy(said).trim().to_owned()
}

fn refuse(code: Code, why: &str, hint: &str) -> Error {
    Error::new(code, why).with_details(json!({"hint": hint})).hint(hint)
}

/// Adds the command and the repo to the details of an error.
fn about(folder: &Path, error: Error) -> Error {
    let repo = folder.display().to_string();
    add(error, &json!({"command": COMMAND, "repo": repo, "repo_posix": disk::posix(folder)}))
}

fn add(error: Error, more: &Value) -> Error {
    let mut details = more.clone();
    if let (Value::Object(details), Some(Value::Object(own))) = (&mut details, error.details()) {
        details.extend(own.clone());
    }
    error.with_details(details)
}
