//! Reverts steps that were applied, except where something has changed since.

use super::apply::{one, switch};
use super::carrier::{Carrier, Leftover, MARK};
use super::folders::{move_folder, remove_empty, remove_tree, remove_worktree, write};
use super::look::{config, head, text};
use crate::step::{Head, Step, whole};
use mcpkg_base::error::{Code, Result};
use mcpkg_base::file;
use mcpkg_base::git::{refs, unfinished};

/// Reverts steps, the last one first. Skips and reports whatever has changed since the step was applied.
pub fn revert(carrier: &Carrier<'_>, steps: &[Step]) -> Result<Vec<Leftover>> {
    let (mut kept, mut failed) = (Vec::new(), None);
    for step in steps.iter().rev() {
        match revert_one(carrier, step) {
            Ok(None) => {}
            Ok(Some(what)) => kept.push(Leftover { repo: step.repo().to_owned(), what }),
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    failed.map_or(Ok(kept), Err)
}

/// Restores the files that a failed or interrupted checkout had written; returns what could not be restored.
pub fn put_files_back(carrier: &Carrier<'_>, steps: &[Step]) -> Result<Vec<Leftover>> {
    let kept = steps.iter().map(|step| {
        let what = files_back(carrier, step)?;
        Ok(what.map(|what| Leftover { repo: step.repo().to_owned(), what }))
    });
    kept.filter_map(Result::transpose).collect()
}

fn files_back(carrier: &Carrier<'_>, step: &Step) -> Result<Option<String>> {
    let (Step::Forward { folder, .. } | Step::Back { folder, .. } | Step::Switch { folder, .. }) = step else {
        return Ok(None);
    };
    let folder = whole(carrier.root, folder);
    let git = carrier.git(&folder);
    let (checked_out, commit) = (head(&git)?, refs::commit(&git, "HEAD")?);
    let (from, to) = match step {
        Step::Forward { branch, old, new, .. } | Step::Back { branch, old, new, .. } => {
            let is_from = checked_out == Some(Head::Branch(branch.clone()));
            (commit.filter(|commit| is_from && commit == old), Some(new.clone()))
        }
        Step::Switch { from, to: Head::Branch(branch), .. } => {
            let to = refs::commit(&git, &format!("refs/heads/{branch}"))?;
            (commit.filter(|_| checked_out.as_ref() == Some(from)), to)
        }
        Step::Switch { from, to: Head::Detached(to), .. } => {
            (commit.filter(|_| checked_out.as_ref() == Some(from)), Some(to.clone()))
        }
        _ => (None, None),
    };
    let Some((is, to)) = from.zip(to) else { return Ok(None) };
    let stay = unfinished::put_back(&git, &is, &to)?;
    if stay.is_empty() {
        return Ok(None);
    }
    let names = stay.iter().take(10).map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
    Ok(Some(format!(
        "files in `{}` were left unchanged because they were edited in the meantime: {names}",
        folder.display()
    )))
}

/// Reverts one step. If later changes make that impossible, returns a sentence about what was left unchanged.
fn revert_one(carrier: &Carrier<'_>, step: &Step) -> Result<Option<String>> {
    match step {
        Step::Ref { folder, name, old, new, .. } => {
            let folder = whole(carrier.root, folder);
            if !folder.exists() {
                return Ok(None);
            }
            let is = refs::find(&carrier.git(&folder), name)?.map(|found| found.id);
            if is == *old {
                return Ok(None);
            }
            if is != *new {
                return Ok(Some(format!("{name} has since been moved")));
            }
            one(carrier, &step.clone().inverse()).map(|()| None)
        }
        Step::Forward { folder, branch, old, new, .. } | Step::Back { folder, branch, old, new, .. } => {
            let folder = whole(carrier.root, folder);
            let git = carrier.git(&folder);
            let is = refs::find(&git, &format!("refs/heads/{branch}"))?.map(|found| found.id);
            if is.as_deref() == Some(old) {
                return Ok(None);
            }
            if is.as_deref() != Some(new) || head(&git)? != Some(Head::Branch(branch.clone())) {
                return Ok(Some(format!("{branch} has since been moved")));
            }
            match one(carrier, &step.clone().inverse()) {
                Err(error) if error.code() == Code::GitFailed => Ok(Some(format!(
                    "{branch} was left unchanged because of conflicting changes in `{}`",
                    folder.display()
                ))),
                result => result.map(|()| None),
            }
        }
        Step::Switch { folder, from, to, .. } => {
            let folder = whole(carrier.root, folder);
            let git = carrier.git(&folder);
            let is = head(&git)?;
            if is.as_ref() == Some(from) {
                return Ok(None);
            }
            if is.as_ref() != Some(to) {
                return Ok(Some(format!(
                    "another branch or commit has since been checked out in `{}`",
                    folder.display()
                )));
            }
            match switch(&git, from) {
                Err(error) if error.code() == Code::GitFailed => {
                    Ok(Some(format!("`{}` was left on {to} because of conflicting changes", folder.display())))
                }
                result => result.map(|()| None),
            }
        }
        Step::AddWorktree { folder, path, .. } => {
            let (folder, place) = (whole(carrier.root, folder), whole(carrier.root, path));
            let git = carrier.git(&folder);
            if !place.exists() {
                return git.change(&["worktree", "prune"]).map(|_| None);
            }
            // Do not force the removal of a complete work tree, because that would delete its changes. An incomplete
            // work tree is locked, so git needs `--force` twice.
            let args = ["worktree", "remove", "--force", "--force"].map(std::ffi::OsStr::new);
            let is_whole = place.join(".git").exists() && head(&carrier.git(&place))?.is_some();
            let args = if is_whole { &args[..2] } else { &args[..] };
            let removed = git.change(&[args, &["--".as_ref(), place.as_os_str()]].concat());
            match removed {
                Err(error) if error.code() == Code::GitFailed => Ok(Some(format!("the worktree {path} has changes"))),
                result => {
                    result?;
                    remove_empty(carrier.root, &place);
                    Ok(None)
                }
            }
        }
        Step::RemoveWorktree { path, .. } => {
            if whole(carrier.root, path).exists() {
                return Ok(None);
            }
            one(carrier, &step.clone().inverse()).map(|()| None)
        }
        Step::PutAside { path, aside, .. } | Step::BringBack { path: aside, aside: path, .. } => {
            let (place, from) = (whole(carrier.root, path), whole(carrier.root, aside));
            if from.exists() && place.exists() {
                return Ok(Some(format!(
                    "`{path}` was created again in the meantime; its earlier files are in `{aside}`"
                )));
            }
            move_folder(&from, &place).map(|()| None)
        }
        Step::RestoreWorktree { folder, path, .. } => {
            // The commit that the work tree was restored from still holds its files.
            let (folder, path) = (whole(carrier.root, folder), whole(carrier.root, path));
            remove_worktree(carrier, &carrier.git(&folder), &path).map(|()| None)
        }
        Step::SetConfig { folder, branch, values, .. } => {
            let folder = whole(carrier.root, folder);
            if config(&carrier.git(&folder), branch)? != *values {
                return Ok(None);
            }
            one(carrier, &step.clone().inverse()).map(|()| None)
        }
        Step::UnsetConfig { folder, branch, .. } => {
            let folder = whole(carrier.root, folder);
            if !config(&carrier.git(&folder), branch)?.is_empty() {
                return Ok(None);
            }
            one(carrier, &step.clone().inverse()).map(|()| None)
        }
        Step::Place { temporary, path, mark, .. } => {
            remove_tree(&whole(carrier.root, temporary))?;
            let place = whole(carrier.root, path);
            match file::read_text(&place.join(".git").join(MARK), file::TEXT) {
                Ok(is) if is == *mark => {
                    remove_tree(&place)?;
                    remove_empty(carrier.root, &place);
                    Ok(None)
                }
                // There is no clone with the mark of this run, so there is nothing to remove.
                _ => Ok(None),
            }
        }
        Step::Unmark { .. } => Ok(None),
        Step::Write { path, old, new } => {
            let is = text(&carrier.root.join(path))?;
            if is == *old {
                return Ok(None);
            }
            if is != *new {
                return Ok(Some(format!("{path} has since been changed")));
            }
            write(carrier.root, path, new.as_deref(), old.as_deref()).map(|()| None)
        }
    }
}
