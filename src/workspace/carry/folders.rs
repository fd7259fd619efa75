//! The folders and files of a workspace that steps move, write and remove.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use super::carrier::{Carrier, TEMPORARY};
use super::look::{is_known, text};
use crate::disk;
use crate::error::{Code, Error, Result};
use crate::git::{Git, worktrees};

/// Removes a work tree: beside first, in one step, so that a crash leaves none that is half there.
///
/// # Errors
/// `E_GIT_FAILED`, `E_GIT_NOT_FOUND`, `E_FILE_FAILED`.
pub fn remove_worktree(carrier: &Carrier<'_>, git: &Git<'_>, path: &Path) -> Result<()> {
    let aside = carrier.root.join(TEMPORARY).join(uuid::Uuid::now_v7().simple().to_string());
    move_folder(path, &aside)?;
    if is_known(git, path)? {
        worktrees::remove(git, path)?;
    }
    remove_tree(&aside)?;
    remove_empty(carrier.root, path);
    Ok(())
}

/// Moves a folder where nothing is; does nothing where it is gone. What lies on another disk stays.
///
/// # Errors
/// `E_FILE_FAILED` and its like.
pub fn move_folder(from: &Path, to: &Path) -> Result<()> {
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
pub fn remove_empty(root: &Path, path: &Path) {
    let above = path.ancestors().skip(1).take_while(|folder| *folder != root && folder.starts_with(root));
    for folder in above {
        if fs::remove_dir(folder).is_err() {
            return;
        }
    }
}

/// Removes a folder that mcpkg made, with all that is in it.
///
/// # Errors
/// `E_FILE_FAILED` and its like.
pub fn remove_tree(path: &Path) -> Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(disk::failed("remove", path, error)),
        _ => Ok(()),
    }
}

/// Writes or deletes a file that still is what it was.
///
/// # Errors
/// `E_FLOW_MOVED` where it is not; `E_FILE_FAILED` and its like.
pub fn write(root: &Path, name: &str, old: Option<&str>, new: Option<&str>) -> Result<()> {
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
