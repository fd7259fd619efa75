//! Keeps old commits and removed worktrees restorable, with refs below `refs/mcpkg/kept/<run>/` that protect them from
//! git gc.
//!
//! A removed worktree is kept as a commit of its files, including untracked ones. A single ignored file, such as `.env`, is
//! kept too; if the file is too large, mcpkg refuses to remove the worktree. A folder that is ignored as a whole, such as
//! `target/`, is not kept; the reply only names it.

use std::path::{Path, PathBuf};

use uuid::Uuid;

use super::names;
use mcpkg_base::clock::Millis;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::git::status::{State, Status};
use mcpkg_base::git::{Git, own_folder, refs};
use mcpkg_base::hex;

/// The prefix of all refs that keep something.
const PREFIX: &str = "refs/mcpkg/kept/";

/// The maximum size of an ignored file that is kept, in bytes.
const IGNORED_FILE: u64 = 1 << 20;

/// The maximum total size, in bytes, of the ignored files that are kept for one worktree.
const IGNORED_FILES: u64 = 16 << 20;

/// Returns whether a full ref name is one of the refs that keep something.
pub fn keeps(name: &str) -> bool {
    name.starts_with(PREFIX)
}

/// Returns what a ref below `refs/mcpkg/kept/` protects, such as `develop` or `worktrees/login`.
pub fn what(name: &str) -> Option<&str> {
    let (_, what) = name.strip_prefix(PREFIX)?.split_once('/')?;
    Some(["heads/", "tags/"].iter().find_map(|prefix| what.strip_prefix(prefix)).unwrap_or(what))
}

/// Returns the ref that keeps a branch or tag as it was before a run. `name` is the full ref name.
pub fn tip(run: Uuid, name: &str) -> String {
    format!("{PREFIX}{run}/{}", name.strip_prefix("refs/").unwrap_or(name))
}

/// Returns the ref that keeps the files of a worktree in a set.
pub fn worktree(run: Uuid, set: &str) -> String {
    format!("{PREFIX}{run}/{}", worktree_part(set))
}

/// Returns the last part of the ref's name for a set. The set's name is hex-encoded if it is not a valid name, which is
/// possible for folders that mcpkg did not create.
fn worktree_part(set: &str) -> String {
    match names::is_name(set) {
        true => format!("worktrees/{set}"),
        false => format!("worktrees/_{}", hex::encode(set.as_bytes())),
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptRef {
    pub name: String,
    pub id: String,
    /// The run that created the ref.
    pub run: Uuid,
    /// The part of the ref's name that says what is kept, such as `heads/develop` or `worktrees/login`.
    pub what: String,
}

impl KeptRef {
    /// Returns when the run started.
    pub fn at(&self) -> Millis {
        let timestamp = self.run.get_timestamp().map_or((0, 0), |timestamp| timestamp.to_unix());
        Millis::try_from(timestamp.0).unwrap_or(0) * 1_000 + Millis::from(timestamp.1 / 1_000_000)
    }

    pub fn is_worktree_of(&self, set: &str) -> bool {
        self.what == worktree_part(set)
    }
}

/// Returns the kept refs of a repository, oldest first.
pub fn list(git: &Git<'_>) -> Result<Vec<KeptRef>> {
    let kept = refs::list(git, &[PREFIX])?.into_iter().filter_map(|found| {
        let (run, what) = found.name.strip_prefix(PREFIX)?.split_once('/')?;
        Some(KeptRef {
            run: Uuid::parse_str(run).ok()?,
            what: what.to_owned(),
            id: found.id.clone(),
            name: found.name.clone(),
        })
    });
    Ok(kept.collect())
}

/// The result of examining a worktree before its removal: the problems that prevent the removal, and the ignored files
/// and folders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// Problems that `--force` overrides, because everything is kept: changes, untracked files, an operation in
    /// progress.
    pub dirty: Vec<String>,
    /// Problems that even `--force` does not override, because something would be lost.
    pub refused: Vec<String>,
    /// The ignored files that will be kept.
    pub ignored: Vec<PathBuf>,
    /// The ignored folders that will not be kept.
    pub let_go: Vec<String>,
}

/// Examines a worktree before its removal. `status` must list ignored files, and every untracked file individually.
pub fn look(folder: &Path, status: &Status) -> Result<Look> {
    let mut look = Look::default();
    for (state, words) in
        [(State::Conflicted, "with conflicts"), (State::Changed, "changed"), (State::Untracked, "not tracked")]
    {
        let paths = status.entries.iter().filter(|entry| entry.state == state).map(|entry| &entry.path);
        look.dirty.extend(paths.map(|path| format!("`{}` is {words}", path.display())));
    }
    if let Some(own) = own_folder(folder) {
        if own.join("index.lock").exists() {
            look.refused.push("another git process is running in it, or was killed there (index.lock)".to_owned());
        }
        if std::fs::read_dir(own.join("modules")).is_ok_and(|mut modules| modules.next().is_some()) {
            look.refused.push(
                "it has submodules, and mcpkg cannot keep their commits (first run `git submodule deinit --all`)"
                    .to_owned(),
            );
        }
    }
    let mut size = 0;
    for entry in &status.entries {
        let is_folder = entry.path.as_os_str().as_encoded_bytes().ends_with(b"/");
        let shown = entry.path.display();
        match (entry.state, is_folder) {
            (State::Untracked, true) => look.refused.push(format!("`{shown}` is a separate repository")),
            (State::Ignored, true) => look.let_go.push(shown.to_string()),
            (State::Ignored, false) => {
                let path = folder.join(&entry.path);
                let metadata = path.symlink_metadata().map_err(|error| Error::file("read", &path, error))?;
                size += metadata.len();
                if metadata.len() > IGNORED_FILE {
                    look.refused.push(format!(
                        "`{shown}` is ignored by git and larger than 1 MiB, the limit for a file that mcpkg keeps"
                    ));
                }
                look.ignored.push(entry.path.clone());
            }
            _ => {}
        }
    }
    if size > IGNORED_FILES {
        look.refused.push("its ignored files exceed 16 MiB in total, the limit for what mcpkg keeps".to_owned());
    }
    Ok(look)
}

/// Returns the commit that a kept worktree had checked out; `None` if it had no commit.
pub fn checked_out(git: &Git<'_>, kept: &str) -> Result<Option<String>> {
    refs::commit(git, &format!("{kept}^1"))
}

/// Returns the message of the commit that keeps a worktree.
pub fn message(set: &str, branch: Option<&str>) -> String {
    let branch = branch.map_or(String::new(), |branch| format!("\n{BRANCH}{branch}"));
    format!("The worktree set {set}, as it was removed\n\nSet: {set}{branch}")
}

/// Returns the full name of the branch that a kept worktree was on; `None` if it was on no branch.
///
/// # Errors
/// `E_NOT_FOUND` if the commit does not hold a worktree.
pub fn branch(git: &Git<'_>, kept: &str) -> Result<Option<String>> {
    let message = git.text(&["show", "--no-patch", "--format=%B", kept, "--"])?;
    if !message.lines().any(|line| line.starts_with("Set: ")) {
        return Err(Error::new(Code::NotFound, format!("{kept} does not hold a worktree")));
    }
    Ok(message.lines().find_map(|line| line.strip_prefix(BRANCH)).map(str::to_owned))
}

/// The prefix of the line that names the branch, in the message of a commit that keeps a worktree.
const BRANCH: &str = "Branch: ";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refs_name_their_run_and_what_they_keep() {
        let run = Uuid::parse_str("0190b1a2-0000-7000-8000-000000000000").unwrap();
        assert_eq!(tip(run, "refs/heads/a/b"), format!("refs/mcpkg/kept/{run}/heads/a/b"));
        assert_eq!(what(&tip(run, "refs/heads/a/b")), Some("a/b"));
        assert_eq!((what(&worktree(run, "login")), what("refs/heads/a")), (Some("worktrees/login"), None));
        assert_eq!(worktree(run, "login"), format!("refs/mcpkg/kept/{run}/worktrees/login"));
        assert_eq!(worktree(run, "my set"), format!("refs/mcpkg/kept/{run}/worktrees/_6d7920736574"));
        let kept = KeptRef { name: String::new(), id: String::new(), run, what: "worktrees/login".to_owned() };
        assert_eq!(kept.at(), 0x0190_b1a2_0000);
        assert!(kept.is_worktree_of("login") && !kept.is_worktree_of("logi"));
    }
}
