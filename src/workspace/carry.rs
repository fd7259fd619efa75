//! Carrying steps out, and taking them back.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use tokio_util::sync::CancellationToken;

use super::step::{Head, Step, whole};
use crate::disk;
use crate::error::{Code, Error, Result};
use crate::file;
use crate::git::transaction::Transaction;
use crate::git::worktrees::{self, Checkout};
use crate::git::{Git, head_branch, own_folder, refs, snapshot, unfinished};

/// The file in a clone's `.git` that tells which change it is of.
pub const MARK: &str = "mcpkg-clone";

/// Where what is made or removed stands beside its place for a while, below the root.
pub const TEMPORARY: &str = ".smctl/tmp";

/// Where steps are carried out.
#[derive(Clone, Copy)]
pub struct Ground<'a> {
    /// The root of the workspace.
    pub root: &'a Path,
    /// The file that holds its lock.
    pub lock: &'a fs::File,
    /// Ends a git before it ends by itself; never cancelled once something moved.
    pub cancelled: &'a CancellationToken,
    /// What the logs of refs say, such as `mcpkg: feature finish x`.
    pub message: &'a str,
}

/// What a step that was to be taken back did not give back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The repository.
    pub repo: String,
    /// What stayed, and why.
    pub what: String,
}

/// Carries out steps in their order; refs that follow each other are all locked and compared before the first one moves.
/// `done` counts the steps that were done, also where one fails.
///
/// # Errors
/// `E_FLOW_MOVED` where something is not where the step begins, `E_GIT_LOCKED`, `E_GIT_FAILED`, `E_IO_PERMISSION_DENIED`,
/// `E_DISK_FULL`, `E_FILE_FAILED`.
pub fn apply(ground: &Ground<'_>, steps: &[Step], done: &mut usize) -> Result<()> {
    let mut rest = steps;
    while let Some(step) = rest.first() {
        let together = rest.iter().take_while(|step| matches!(step, Step::Ref { .. })).count();
        if together == 0 {
            one(ground, step)?;
            rest = &rest[1..];
            *done += 1;
        } else {
            // A branch that is checked out is held too, until the others are moved.
            let forwards = rest[together..].iter().take_while(|step| matches!(step, Step::Forward { .. }));
            move_refs(ground, &rest[..together], forwards)?;
            rest = &rest[together..];
            *done += together;
        }
    }
    Ok(())
}

/// Takes steps back, the last one first: each only where what it moved is still where it left it. What was moved since stays.
///
/// # Errors
/// As [`apply`]; the steps before it were tried all the same.
pub fn revert(ground: &Ground<'_>, steps: &[Step]) -> Result<Vec<Kept>> {
    let (mut kept, mut failed) = (Vec::new(), None);
    for step in steps.iter().rev() {
        match back(ground, step) {
            Ok(None) => {}
            Ok(Some(what)) => kept.push(Kept { repo: step.repo().to_owned(), what }),
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    failed.map_or(Ok(kept), Err)
}

fn git<'a>(ground: &Ground<'a>, folder: &'a Path) -> Git<'a> {
    Git::of(folder, ground.cancelled).holding(ground.lock)
}

/// Returns the failure of something that is not where it was when the change was planned.
fn moved(repo: &str, what: String) -> Error {
    Error::new(Code::FlowMoved, format!("{repo}: {what}"))
        .with_details(serde_json::json!({ "repo": repo }))
        .hint("somebody else worked in the repository meanwhile; try again")
}

fn move_refs<'s>(ground: &Ground<'_>, steps: &[Step], held: impl Iterator<Item = &'s Step>) -> Result<()> {
    let mut folders: Vec<(&str, PathBuf)> = Vec::new();
    for step in steps {
        if let Step::Ref { repo, folder, .. } = step
            && !folders.iter().any(|(of, _)| of == repo)
        {
            folders.push((repo, whole(ground.root, folder)));
        }
    }
    let gits: Vec<_> = folders.iter().map(|(repo, folder)| (*repo, git(ground, folder))).collect();
    let held: Vec<_> = held.collect();
    let mut prepared = Vec::new();
    for (repo, git) in &gits {
        let mut transaction = Transaction::begin(git, ground.message)?;
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
            // A hint is about the disk.
            Code::GitFailed if error.hints().is_empty() => {
                moved(repo, format!("a branch or tag was moved meanwhile ({})", error.message()))
            }
            _ => error,
        })?;
        prepared.push(transaction);
    }
    prepared.into_iter().try_for_each(Transaction::commit)
}

fn one(ground: &Ground<'_>, step: &Step) -> Result<()> {
    match step {
        Step::Ref { .. } => move_refs(ground, std::slice::from_ref(step), std::iter::empty()),
        Step::Forward { repo, folder, branch, old, new } => {
            let folder = whole(ground.root, folder);
            let git = git(ground, &folder);
            on(&git, repo, branch, old)?;
            worktrees::forward(&git, branch, new)
        }
        Step::Back { repo, folder, branch, old, new } => {
            let folder = whole(ground.root, folder);
            let git = git(ground, &folder);
            on(&git, repo, branch, old)?;
            git.change(&["reset", "--quiet", "--keep", new]).map(drop)
        }
        Step::Switch { repo, folder, from, to } => {
            let folder = whole(ground.root, folder);
            let git = git(ground, &folder);
            let is = head(&git)?;
            if is.as_ref() != Some(from) {
                let is = is.map_or("nothing".to_owned(), |is| is.to_string());
                return Err(moved(repo, format!("`{}` has {is} checked out, not {from}", folder.display())));
            }
            switch(&git, to)
        }
        Step::AddWorktree { folder, path, branch, .. } => {
            let folder = whole(ground.root, folder);
            let path = whole(ground.root, path);
            let args = ["worktree", "add", "--quiet", "--"].map(std::ffi::OsStr::new);
            let args = [&args[..], &[path.as_os_str(), branch.as_ref()]].concat();
            git(ground, &folder).change(&args).map(drop)
        }
        Step::RemoveWorktree { folder, path, .. } => {
            let folder = whole(ground.root, folder);
            let path = whole(ground.root, path);
            remove_worktree(ground, &git(ground, &folder), &path)
        }
        Step::PutAside { path, aside, .. } => move_folder(&whole(ground.root, path), &whole(ground.root, aside)),
        Step::BringBack { path, aside, .. } => move_folder(&whole(ground.root, aside), &whole(ground.root, path)),
        Step::RestoreWorktree { folder, path, branch, kept, .. } => {
            let folder = whole(ground.root, folder);
            let path = whole(ground.root, path);
            let git = git(ground, &folder);
            let commit = format!("{kept}^1");
            let checkout = if branch.is_empty() { Checkout::Commit(&commit) } else { Checkout::Branch(branch) };
            worktrees::add(&git, &path, checkout)?;
            let scratch = ground.root.join(TEMPORARY);
            fs::create_dir_all(&scratch).map_err(|error| disk::failed("make", &scratch, error))?;
            snapshot::put_back(&self::git(ground, &path), &scratch, kept)
        }
        Step::SetConfig { folder, branch, values, .. } => {
            let folder = whole(ground.root, folder);
            let git = git(ground, &folder);
            for (key, value) in values {
                git.change(&["config", "--local", "--add", &format!("branch.{branch}.{key}"), value])?;
            }
            Ok(())
        }
        Step::UnsetConfig { folder, branch, values, .. } => {
            let folder = whole(ground.root, folder);
            let git = git(ground, &folder);
            let section = format!("branch.{branch}");
            if values.is_empty() || config(&git, branch)?.is_empty() {
                return Ok(());
            }
            git.change(&["config", "--local", "--remove-section", &section]).map(drop)
        }
        Step::Place { repo, temporary, path, .. } => {
            let (temporary, path) = (whole(ground.root, temporary), whole(ground.root, path));
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder).map_err(|error| disk::failed("make", folder, error))?;
            }
            // An empty folder gives way; anything else is the user's.
            fs::rename(&temporary, &path).map_err(|error| match error.kind() {
                ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists | ErrorKind::NotADirectory => {
                    moved(repo, format!("`{}` is there already", path.display()))
                }
                _ => disk::failed("put in place", &path, error),
            })
        }
        Step::Unmark { path, .. } => {
            let mark = whole(ground.root, path).join(".git").join(MARK);
            disk::remove(&mark)
        }
        Step::Write { path, old, new } => write(ground.root, path, old.as_deref(), new.as_deref()),
    }
}

/// Puts the files back that the checkouts of steps wrote which failed, or were cut off, before their end; returns what stays.
///
/// # Errors
/// `E_GIT_FAILED`, `E_GIT_NOT_FOUND`, `E_FILE_FAILED`.
pub fn put_files_back(ground: &Ground<'_>, steps: &[Step]) -> Result<Vec<Kept>> {
    let kept = steps.iter().map(|step| {
        let what = files_back(ground, step)?;
        Ok(what.map(|what| Kept { repo: step.repo().to_owned(), what }))
    });
    kept.filter_map(Result::transpose).collect()
}

fn files_back(ground: &Ground<'_>, step: &Step) -> Result<Option<String>> {
    let (Step::Forward { folder, .. } | Step::Back { folder, .. } | Step::Switch { folder, .. }) = step else {
        return Ok(None);
    };
    let folder = whole(ground.root, folder);
    let git = git(ground, &folder);
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
    Ok(Some(format!("files in `{}` stay, since they were changed meanwhile: {names}", folder.display())))
}

/// Takes one step back; returns what stays, where it was moved since.
fn back(ground: &Ground<'_>, step: &Step) -> Result<Option<String>> {
    match step {
        Step::Ref { folder, name, old, new, .. } => {
            let folder = whole(ground.root, folder);
            if !folder.exists() {
                return Ok(None);
            }
            let is = refs::find(&git(ground, &folder), name)?.map(|found| found.id);
            if is == *old {
                return Ok(None);
            }
            if is != *new {
                return Ok(Some(format!("{name} was moved since")));
            }
            one(ground, &step.clone().inverse()).map(|()| None)
        }
        Step::Forward { folder, branch, old, new, .. } | Step::Back { folder, branch, old, new, .. } => {
            let folder = whole(ground.root, folder);
            let git = git(ground, &folder);
            let is = refs::find(&git, &format!("refs/heads/{branch}"))?.map(|found| found.id);
            if is.as_deref() == Some(old) {
                return Ok(None);
            }
            if is.as_deref() != Some(new) || head(&git)? != Some(Head::Branch(branch.clone())) {
                return Ok(Some(format!("{branch} was moved since")));
            }
            match one(ground, &step.clone().inverse()) {
                Err(error) if error.code() == Code::GitFailed => {
                    Ok(Some(format!("{branch} stays, since a change in `{}` is in the way", folder.display())))
                }
                result => result.map(|()| None),
            }
        }
        Step::Switch { folder, from, to, .. } => {
            let folder = whole(ground.root, folder);
            let git = git(ground, &folder);
            let is = head(&git)?;
            if is.as_ref() == Some(from) {
                return Ok(None);
            }
            if is.as_ref() != Some(to) {
                return Ok(Some(format!("`{}` has something else checked out since", folder.display())));
            }
            match switch(&git, from) {
                Err(error) if error.code() == Code::GitFailed => {
                    Ok(Some(format!("`{}` stays on {to}, since a change is in the way", folder.display())))
                }
                result => result.map(|()| None),
            }
        }
        Step::AddWorktree { folder, path, .. } => {
            let (folder, place) = (whole(ground.root, folder), whole(ground.root, path));
            let git = git(ground, &folder);
            if !place.exists() {
                return git.change(&["worktree", "prune"]).map(|_| None);
            }
            // git removes one without changes only; one that was being made is locked, and not whole.
            let args = ["worktree", "remove", "--force", "--force"].map(std::ffi::OsStr::new);
            let is_whole = place.join(".git").exists() && head(&self::git(ground, &place))?.is_some();
            let args = if is_whole { &args[..2] } else { &args[..] };
            let removed = git.change(&[args, &["--".as_ref(), place.as_os_str()]].concat());
            match removed {
                Err(error) if error.code() == Code::GitFailed => Ok(Some(format!("the worktree {path} has changes"))),
                result => {
                    result?;
                    remove_empty(ground.root, &place);
                    Ok(None)
                }
            }
        }
        Step::RemoveWorktree { path, .. } => {
            if whole(ground.root, path).exists() {
                return Ok(None);
            }
            one(ground, &step.clone().inverse()).map(|()| None)
        }
        Step::PutAside { path, aside, .. } | Step::BringBack { path: aside, aside: path, .. } => {
            let (place, from) = (whole(ground.root, path), whole(ground.root, aside));
            if from.exists() && place.exists() {
                return Ok(Some(format!("`{path}` is there again, and what was there before is in `{aside}`")));
            }
            move_folder(&from, &place).map(|()| None)
        }
        Step::RestoreWorktree { folder, path, .. } => {
            // What it held is in the commit that it was made from.
            let (folder, path) = (whole(ground.root, folder), whole(ground.root, path));
            remove_worktree(ground, &git(ground, &folder), &path).map(|()| None)
        }
        Step::SetConfig { folder, branch, values, .. } => {
            let folder = whole(ground.root, folder);
            if config(&git(ground, &folder), branch)? != *values {
                return Ok(None);
            }
            one(ground, &step.clone().inverse()).map(|()| None)
        }
        Step::UnsetConfig { folder, branch, .. } => {
            let folder = whole(ground.root, folder);
            if !config(&git(ground, &folder), branch)?.is_empty() {
                return Ok(None);
            }
            one(ground, &step.clone().inverse()).map(|()| None)
        }
        Step::Place { temporary, path, mark, .. } => {
            remove_tree(&whole(ground.root, temporary))?;
            let place = whole(ground.root, path);
            match file::read_text(&place.join(".git").join(MARK), file::TEXT) {
                Ok(is) if is == *mark => {
                    remove_tree(&place)?;
                    remove_empty(ground.root, &place);
                    Ok(None)
                }
                // It was not put there, or it is somebody else's.
                _ => Ok(None),
            }
        }
        Step::Unmark { .. } => Ok(None),
        Step::Write { path, old, new } => {
            let is = text(&ground.root.join(path))?;
            if is == *old {
                return Ok(None);
            }
            if is != *new {
                return Ok(Some(format!("{path} was changed since")));
            }
            write(ground.root, path, new.as_deref(), old.as_deref()).map(|()| None)
        }
    }
}

/// Whether a step has nothing to do any more.
///
/// # Errors
/// `E_GIT_FAILED`, `E_GIT_NOT_FOUND`, `E_FILE_FAILED`.
pub fn is_done(ground: &Ground<'_>, step: &Step) -> Result<bool> {
    match step {
        Step::Ref { folder, name, new, .. } => {
            let folder = whole(ground.root, folder);
            Ok(refs::find(&git(ground, &folder), name)?.map(|found| found.id) == *new)
        }
        Step::Switch { folder, to, .. } => {
            let folder = whole(ground.root, folder);
            Ok(head(&git(ground, &folder))?.as_ref() == Some(to))
        }
        Step::RemoveWorktree { folder, path, .. } => {
            let (folder, path) = (whole(ground.root, folder), whole(ground.root, path));
            Ok(!path.exists() && !is_known(&git(ground, &folder), &path)?)
        }
        Step::PutAside { path, .. } => Ok(!whole(ground.root, path).exists()),
        Step::BringBack { aside, .. } => Ok(!whole(ground.root, aside).exists()),
        Step::UnsetConfig { folder, branch, .. } => {
            let folder = whole(ground.root, folder);
            Ok(config(&git(ground, &folder), branch)?.is_empty())
        }
        Step::Unmark { path, .. } => Ok(!whole(ground.root, path).join(".git").join(MARK).exists()),
        Step::Write { path, new, .. } => Ok(text(&ground.root.join(path))? == *new),
        _ => Ok(false),
    }
}

/// Returns what a work tree has checked out.
///
/// # Errors
/// `E_GIT_FAILED`, `E_GIT_NOT_FOUND`.
pub fn head(git: &Git<'_>) -> Result<Option<Head>> {
    if let Some(branch) = own_folder(git.folder()).and_then(|own| head_branch(&own)) {
        return Ok(Some(Head::Branch(branch)));
    }
    if let Some(branch) = git.ask(&["symbolic-ref", "--quiet", "--short", "HEAD"])? {
        return Ok(Some(Head::Branch(String::from_utf8_lossy(branch.trim_ascii()).into_owned())));
    }
    Ok(refs::commit(git, "HEAD")?.map(Head::Detached))
}

/// Returns what the configuration of a repository says of a branch: keys and values, in order.
///
/// # Errors
/// `E_GIT_FAILED`, `E_GIT_NOT_FOUND`.
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

fn on(git: &Git<'_>, repo: &str, branch: &str, id: &str) -> Result<()> {
    let is_on = head(git)? == Some(Head::Branch(branch.to_owned()));
    if is_on && refs::commit(git, "HEAD")?.as_deref() == Some(id) {
        return Ok(());
    }
    Err(moved(
        repo,
        format!("`{}` has not {branch} checked out any more, or {branch} was moved", git.folder().display()),
    ))
}

fn switch(git: &Git<'_>, to: &Head) -> Result<()> {
    let args = match to {
        Head::Branch(branch) => ["switch", "--quiet", "--no-overwrite-ignore", "--no-guess", branch],
        Head::Detached(commit) => ["switch", "--quiet", "--no-overwrite-ignore", "--detach", commit],
    };
    git.change(&args).map(drop)
}

/// Removes a work tree: beside first, in one step, so that a crash leaves none that is half there.
fn remove_worktree(ground: &Ground<'_>, git: &Git<'_>, path: &Path) -> Result<()> {
    let aside = ground.root.join(TEMPORARY).join(uuid::Uuid::now_v7().simple().to_string());
    move_folder(path, &aside)?;
    if is_known(git, path)? {
        worktrees::remove(git, path)?;
    }
    remove_tree(&aside)?;
    remove_empty(ground.root, path);
    Ok(())
}

/// Whether git knows of a work tree at this path.
fn is_known(git: &Git<'_>, path: &Path) -> Result<bool> {
    // git resolved the links of the folder when it wrote the path down.
    let folder = path.ancestors().skip(1).find_map(|folder| Some((folder, folder.canonicalize().ok()?)));
    let resolved = folder.and_then(|(folder, real)| Some(real.join(path.strip_prefix(folder).ok()?)));
    let known = worktrees::list(git)?;
    Ok(known.iter().any(|known| known.path == path || Some(&known.path) == resolved.as_ref()))
}

/// Moves a folder where nothing is; does nothing where it is gone. What lies on another disk stays.
fn move_folder(from: &Path, to: &Path) -> Result<()> {
    let parent = to.parent().unwrap_or(to);
    let moved = fs::symlink_metadata(from).and_then(|_| fs::create_dir_all(parent)).and_then(|()| fs::rename(from, to));
    match moved {
        Err(error) if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::CrossesDevices) => {
            Err(disk::failed("move", from, error))
        }
        _ => Ok(()),
    }
}

/// Removes the folders above `path` that are empty now, up to the root.
fn remove_empty(root: &Path, path: &Path) {
    let above = path.ancestors().skip(1).take_while(|folder| *folder != root && folder.starts_with(root));
    for folder in above {
        if fs::remove_dir(folder).is_err() {
            return;
        }
    }
}

/// Removes a folder that mcpkg made, with all that is in it.
pub(super) fn remove_tree(path: &Path) -> Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(disk::failed("remove", path, error)),
        _ => Ok(()),
    }
}

fn text(path: &Path) -> Result<Option<String>> {
    match file::read_text(path, file::TEXT) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(disk::failed("read", path, error)),
    }
}

/// Writes or deletes a file that still is what it was.
fn write(root: &Path, name: &str, old: Option<&str>, new: Option<&str>) -> Result<()> {
    let path = root.join(name);
    if text(&path)?.as_deref() != old {
        return Err(Error::new(Code::FlowMoved, format!("`{name}` was changed meanwhile"))
            .hint("somebody else edited it; try again"));
    }
    let Some(new) = new else { return disk::remove(&path) };
    let folder = path.parent().unwrap_or(root);
    let temporary = folder.join(format!(".mcpkg-{}", uuid::Uuid::now_v7().simple()));
    disk::write_beside(&path, &temporary, new.as_bytes(), 0o644)?;
    disk::put_in_place(&path, &temporary, old.is_none())?;
    disk::sync_folder(folder);
    Ok(())
}
