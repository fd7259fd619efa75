//! Checks the current state of refs, work trees and files before and after steps.

use std::io::ErrorKind;
use std::path::Path;

use super::carrier::{Carrier, MARK};
use crate::step::{Head, Step, whole};
use mcpkg_base::disk;
use mcpkg_base::error::Result;
use mcpkg_base::file;
use mcpkg_base::git::worktrees;
use mcpkg_base::git::{Git, head_branch, own_folder, refs};

/// Returns whether the step's effect is already in place. Returns false for kinds of steps that this function does not
/// check.
pub fn is_done(carrier: &Carrier<'_>, step: &Step) -> Result<bool> {
    match step {
        Step::Ref { folder, name, new, .. } => {
            let folder = whole(carrier.root, folder);
            Ok(refs::find(&carrier.git(&folder), name)?.map(|found| found.id) == *new)
        }
        Step::Switch { folder, to, .. } => {
            let folder = whole(carrier.root, folder);
            Ok(head(&carrier.git(&folder))?.as_ref() == Some(to))
        }
        Step::RemoveWorktree { folder, path, .. } => {
            let (folder, path) = (whole(carrier.root, folder), whole(carrier.root, path));
            Ok(!path.exists() && !is_known(&carrier.git(&folder), &path)?)
        }
        Step::PutAside { path, .. } => Ok(!whole(carrier.root, path).exists()),
        Step::BringBack { aside, .. } => Ok(!whole(carrier.root, aside).exists()),
        Step::UnsetConfig { folder, branch, .. } => {
            let folder = whole(carrier.root, folder);
            Ok(config(&carrier.git(&folder), branch)?.is_empty())
        }
        Step::Unmark { path, .. } => Ok(!whole(carrier.root, path).join(".git").join(MARK).exists()),
        Step::Write { path, new, .. } => Ok(text(&carrier.root.join(path))? == *new),
        _ => Ok(false),
    }
}

/// Returns the branch or commit that a work tree has checked out.
pub fn head(git: &Git<'_>) -> Result<Option<Head>> {
    if let Some(branch) = own_folder(git.folder()).and_then(|own| head_branch(&own)) {
        return Ok(Some(Head::Branch(branch)));
    }
    if let Some(branch) = git.ask(&["symbolic-ref", "--quiet", "--short", "HEAD"])? {
        return Ok(Some(Head::Branch(String::from_utf8_lossy(branch.trim_ascii()).into_owned())));
    }
    Ok(refs::commit(git, "HEAD")?.map(Head::Detached))
}

/// Returns the git settings of a branch, such as `branch.NAME.remote`: keys and values, in order.
pub fn config(git: &Git<'_>, branch: &str) -> Result<Vec<(String, String)>> {
    let Some(all) = git.ask(&["config", "--local", "--null", "--get-regexp", r"^branch\."])? else {
        return Ok(Vec::new());
    };
    let prefix = format!("branch.{branch}.");
    let all = String::from_utf8_lossy(&all).into_owned();
    let entries = all.split('\0').filter_map(|entry| entry.split_once('\n'));
    Ok(entries
        .filter_map(|(key, value)| Some((key.strip_prefix(&prefix)?, value)))
        .filter(|(key, _)| !key.contains('.'))
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect())
}

/// Returns whether git has a work tree registered at this path.
pub fn is_known(git: &Git<'_>, path: &Path) -> Result<bool> {
    // git resolved symlinks in the parent folder when it recorded the path.
    let folder = path.ancestors().skip(1).find_map(|folder| Some((folder, mcpkg_base::platform::real(folder).ok()?)));
    let resolved = folder.and_then(|(folder, real)| Some(real.join(path.strip_prefix(folder).ok()?)));
    let known = worktrees::list(git)?;
    Ok(known.iter().any(|known| known.path == path || Some(&known.path) == resolved.as_ref()))
}

/// Returns the text of a file, or `None` if there is no such file.
pub fn text(path: &Path) -> Result<Option<String>> {
    match file::read_text(path, file::TEXT) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(disk::failed("read", path, error)),
    }
}
