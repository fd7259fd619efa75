//! Applies planned steps to refs, work trees and files.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use super::carrier::{Carrier, MARK, TEMPORARY};
use super::folders::{move_folder, not_placed, put_aside, remove_worktree, write};
use super::look::{config, head};
use crate::step::{Head, Step, whole};
use mcpkg_base::disk;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::git::transaction::Transaction;
use mcpkg_base::git::worktrees::{self, Checkout};
use mcpkg_base::git::{Git, refs, snapshot};

/// Applies steps in order. mcpkg locks and compares all refs of consecutive `Ref` steps before it moves the first of
/// them. `done` counts the completed steps, even if a later one fails.
///
/// # Errors
/// `E_FLOW_MOVED` if something has changed since the step was planned, and the errors of git and of the disk.
pub fn apply(carrier: &Carrier<'_>, steps: &[Step], done: &mut usize) -> Result<()> {
    let mut rest = steps;
    while let Some(step) = rest.first() {
        let together = rest.iter().take_while(|step| matches!(step, Step::Ref { .. })).count();
        if together == 0 {
            one(carrier, step)?;
            rest = &rest[1..];
            *done += 1;
        } else {
            // Also lock the branches of the `Forward` steps that follow, until these refs are moved.
            let forwards = rest[together..].iter().take_while(|step| matches!(step, Step::Forward { .. }));
            move_refs(carrier, &rest[..together], forwards)?;
            rest = &rest[together..];
            *done += together;
        }
    }
    Ok(())
}

fn move_refs<'s>(carrier: &Carrier<'_>, steps: &[Step], held: impl Iterator<Item = &'s Step>) -> Result<()> {
    let mut folders: Vec<(&str, PathBuf)> = Vec::new();
    for step in steps {
        if let Step::Ref { repo, folder, .. } = step
            && !folders.iter().any(|(of, _)| of == repo)
        {
            folders.push((repo, whole(carrier.root, folder)));
        }
    }
    let gits: Vec<_> = folders.iter().map(|(repo, folder)| (*repo, carrier.git(folder))).collect();
    let held: Vec<_> = held.collect();
    let mut prepared = Vec::new();
    for (repo, git) in &gits {
        let mut transaction = Transaction::begin(git, carrier.message)?;
        for step in steps.iter().filter(|step| step.repo() == *repo) {
            let Step::Ref { name, old, new, .. } = step else { continue };
            match (old, new) {
                (None, Some(new)) => transaction.create(name, new)?,
                (Some(old), Some(new)) => transaction.update(name, new, old)?,
                (Some(old), None) => transaction.delete(name, old)?,
                (None, None) => {}
            }
        }
        for step in held.iter().filter(|step| step.repo() == *repo) {
            if let Step::Forward { branch, old, .. } = step {
                transaction.verify(&format!("refs/heads/{branch}"), old)?;
            }
        }
        transaction.prepare().map_err(|error| match error.code() {
            // A git failure that already has a hint is about the disk, not about a moved ref.
            Code::GitFailed if error.hints().is_empty() => {
                moved(repo, format!("a branch or tag was moved in the meantime ({})", error.message()))
            }
            _ => error,
        })?;
        prepared.push(transaction);
    }
    prepared.into_iter().try_for_each(Transaction::commit)
}

pub fn one(carrier: &Carrier<'_>, step: &Step) -> Result<()> {
    match step {
        Step::Ref { .. } => move_refs(carrier, std::slice::from_ref(step), std::iter::empty()),
        Step::Forward { repo, folder, branch, old, new } => {
            let folder = whole(carrier.root, folder);
            let git = carrier.git(&folder);
            on(&git, repo, branch, old)?;
            worktrees::forward(&git, branch, new)
        }
        Step::Back { repo, folder, branch, old, new } => {
            let folder = whole(carrier.root, folder);
            let git = carrier.git(&folder);
            on(&git, repo, branch, old)?;
            git.change(&["reset", "--quiet", "--keep", new]).map(drop)
        }
        Step::Switch { repo, folder, from, to } => {
            let folder = whole(carrier.root, folder);
            let git = carrier.git(&folder);
            let is = head(&git)?;
            if is.as_ref() != Some(from) {
                let is = is.map_or("nothing".to_owned(), |is| is.to_string());
                return Err(moved(repo, format!("`{}` is on {is}, not on {from}", folder.display())));
            }
            switch(&git, to)
        }
        Step::AddWorktree { folder, path, branch, .. } => {
            let folder = whole(carrier.root, folder);
            let path = whole(carrier.root, path);
            let args = ["worktree", "add", "--quiet", "--"].map(std::ffi::OsStr::new);
            let args = [&args[..], &[path.as_os_str(), branch.as_ref()]].concat();
            carrier.git(&folder).change(&args).map(drop)
        }
        Step::RemoveWorktree { folder, path, .. } => {
            let folder = whole(carrier.root, folder);
            let path = whole(carrier.root, path);
            remove_worktree(carrier, &carrier.git(&folder), &path)
        }
        // A work tree on another disk stays until it is removed, which then does not leave half of it either.
        Step::PutAside { path, aside, .. } => {
            put_aside(&whole(carrier.root, path), &whole(carrier.root, aside)).map(drop)
        }
        Step::BringBack { path, aside, .. } => move_folder(&whole(carrier.root, aside), &whole(carrier.root, path)),
        Step::RestoreWorktree { folder, path, branch, kept, .. } => {
            let folder = whole(carrier.root, folder);
            let path = whole(carrier.root, path);
            let git = carrier.git(&folder);
            let commit = format!("{kept}^1");
            let checkout = if branch.is_empty() { Checkout::Commit(&commit) } else { Checkout::Branch(branch) };
            worktrees::add(&git, &path, checkout)?;
            let scratch = carrier.root.join(TEMPORARY);
            fs::create_dir_all(&scratch).map_err(|error| disk::failed("make", &scratch, error))?;
            snapshot::put_back(&carrier.git(&path), &scratch, kept)
        }
        Step::SetConfig { folder, branch, values, .. } => {
            let folder = whole(carrier.root, folder);
            let git = carrier.git(&folder);
            for (key, value) in values {
                git.change(&["config", "--local", "--add", &format!("branch.{branch}.{key}"), value])?;
            }
            Ok(())
        }
        Step::UnsetConfig { folder, branch, values, .. } => {
            let folder = whole(carrier.root, folder);
            let git = carrier.git(&folder);
            let section = format!("branch.{branch}");
            if values.is_empty() || config(&git, branch)?.is_empty() {
                return Ok(());
            }
            git.change(&["config", "--local", "--remove-section", &section]).map(drop)
        }
        Step::Place { repo, temporary, path, .. } => {
            let (temporary, path) = (whole(carrier.root, temporary), whole(carrier.root, path));
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder).map_err(|error| disk::failed("make", folder, error))?;
            }
            // Renaming replaces an empty folder. Anything else there belongs to the user and stays.
            fs::rename(&temporary, &path).map_err(|error| match error.kind() {
                ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists | ErrorKind::NotADirectory => {
                    moved(repo, format!("`{}` already exists", path.display()))
                }
                _ => not_placed(&path, error),
            })
        }
        Step::Unmark { path, .. } => {
            let mark = whole(carrier.root, path).join(".git").join(MARK);
            disk::remove(&mark)
        }
        Step::Write { path, old, new } => write(carrier.root, path, old.as_deref(), new.as_deref()),
    }
}

fn on(git: &Git<'_>, repo: &str, branch: &str, id: &str) -> Result<()> {
    let is_on = head(git)? == Some(Head::Branch(branch.to_owned()));
    if is_on && refs::commit(git, "HEAD")?.as_deref() == Some(id) {
        return Ok(());
    }
    Err(moved(repo, format!("`{}` is no longer on {branch}, or {branch} was moved", git.folder().display())))
}

/// Switches a work tree to a branch or a commit.
pub fn switch(git: &Git<'_>, to: &Head) -> Result<()> {
    let args = match to {
        Head::Branch(branch) => ["switch", "--quiet", "--no-overwrite-ignore", "--no-guess", branch],
        Head::Detached(commit) => ["switch", "--quiet", "--no-overwrite-ignore", "--detach", commit],
    };
    git.change(&args).map(drop)
}

/// Returns the error for something that changed after the steps were planned.
fn moved(repo: &str, what: String) -> Error {
    Error::new(Code::FlowMoved, format!("{repo}: {what}"))
        .with_details(serde_json::json!({ "repo": repo }))
        .hint("something else changed the repository in the meantime; try again")
}
