//! Runs the hooks that `git merge` would run. mcpkg only does this if the user asks for it.

use std::path::Path;

use super::command::Git;
use super::programs::MERGE;
use crate::error::{Error, Result};
use crate::file;
use crate::platform;

/// Returns the merge hooks that apply to a repository, from its own or the user's hooks folder.
pub fn of_merge(git: &Git<'_>) -> Result<Vec<&'static str>> {
    let git = git.clone().with_hooks();
    let folder = git.text(&["rev-parse", "--path-format=absolute", "--git-path", "hooks"])?;
    Ok(MERGE.into_iter().filter(|hook| is_program(&Path::new(&folder).join(hook))).collect())
}

/// Runs the hooks that precede a merge commit, on an index of the merged files. Returns the message as the hooks edited
/// it.
///
/// # Errors
/// `E_UNAPPROVED` if the user has not trusted the hooks; `E_GIT_FAILED` if a hook fails.
pub fn before(git: &Git<'_>, tree: &str, message: &str) -> Result<String> {
    let scratch =
        tempfile::tempdir().map_err(|error| Error::file("create a folder in", &std::env::temp_dir(), error))?;
    let git = git.clone().variable("GIT_INDEX_FILE", scratch.path().join("index"));
    // Run this without hooks: `read-tree` has a hook that does not belong to a merge.
    git.run(&["read-tree", tree])?;
    let git = git.with_hooks();
    git.run(&["hook", "run", "--ignore-missing", "pre-merge-commit"])?;
    let path = scratch.path().join("MERGE_MSG");
    std::fs::write(&path, format!("{}\n", message.trim_end())).map_err(|error| Error::file("write", &path, error))?;
    let shown = path.display().to_string();
    git.run(&["hook", "run", "--ignore-missing", "prepare-commit-msg", "--", &shown, "merge"])?;
    git.run(&["hook", "run", "--ignore-missing", "commit-msg", "--", &shown])?;
    file::read_text(&path, file::TEXT).map_err(|error| Error::file("read", &path, error))
}

/// Runs the hooks that follow a merge. If the work tree moved to another commit, also runs the checkout hook.
pub fn after(git: &Git<'_>, before: Option<&str>, now: Option<&str>) -> Result<()> {
    let git = git.clone().with_hooks();
    git.run(&["hook", "run", "--ignore-missing", "post-merge", "--", "0"])?;
    match (before, now) {
        (Some(before), Some(now)) if before != now => {
            git.run(&["hook", "run", "--ignore-missing", "post-checkout", "--", before, now, "1"]).map(drop)
        }
        _ => Ok(()),
    }
}

/// Returns whether a path is a program. Where files have no modes, every file counts as a program.
fn is_program(path: &Path) -> bool {
    let may_run = |metadata: &std::fs::Metadata| !platform::HAS_MODES || platform::is_executable(metadata);
    path.metadata().is_ok_and(|metadata| metadata.is_file() && may_run(&metadata))
}
