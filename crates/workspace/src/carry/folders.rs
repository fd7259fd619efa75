//! The folders and files of a workspace that steps move, write and remove.

use std::fs;
#[cfg(unix)]
use std::fs::Permissions;
use std::io::{self, ErrorKind};
#[cfg(unix)]
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::carrier::{Carrier, TEMPORARY};
use super::look::{is_known, text};
use mcpkg_base::disk;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::git::{Git, worktrees};

/// Removes a work tree: beside first, in one step, so that a crash leaves none that is half there.
pub fn remove_worktree(carrier: &Carrier<'_>, git: &Git<'_>, path: &Path) -> Result<()> {
    let aside = carrier.root.join(TEMPORARY).join(uuid::Uuid::now_v7().simple().to_string());
    move_folder(path, &aside)?;
    if is_known(git, path)? {
        worktrees::remove(git, path)?;
    }
    // It is a worktree no more; what cannot be removed is in nobody's way.
    if let Some(warning) = clear(&aside) {
        tracing::warn!("{warning}");
    }
    remove_empty(carrier.root, path);
    Ok(())
}

/// Moves a folder where nothing is; does nothing where it is gone. What lies on another disk stays.
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

/// Clears away what was made or put below [`TEMPORARY`], or all of that; returns a warning where something stays. What was done
/// is done all the same, and whoever changes the workspace next clears it away.
pub fn clear(path: &Path) -> Option<String> {
    remove_tree(path).err().map(|error| format!("{}; these temporary files are no longer needed", error.message()))
}

/// Removes a folder that mcpkg made, with all that is in it, read-only folders too.
pub fn remove_tree(path: &Path) -> Result<()> {
    let removed = fs::remove_dir_all(path).or_else(|error| match error.kind() {
        ErrorKind::PermissionDenied => open_up(path).and_then(|()| fs::remove_dir_all(path)),
        _ => Err(error),
    });
    match removed {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(disk::failed("remove", path, error)),
        _ => Ok(()),
    }
}

/// Lets this user remove what is in a folder and in those below it, whose modes may forbid that. No link is followed.
#[cfg(unix)]
fn open_up(path: &Path) -> io::Result<()> {
    let mut folders = vec![path.to_owned()];
    while let Some(folder) = folders.pop() {
        let mode = fs::symlink_metadata(&folder)?.permissions().mode();
        fs::set_permissions(&folder, Permissions::from_mode(mode | 0o700))?;
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    Ok(())
}

#[cfg(not(unix))]
fn open_up(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Writes or deletes a file that still is what it was.
///
/// # Errors
/// `E_FLOW_MOVED` where it is not.
pub fn write(root: &Path, name: &str, old: Option<&str>, new: Option<&str>) -> Result<()> {
    let path = root.join(name);
    if text(&path)?.as_deref() != old {
        return Err(Error::new(Code::FlowMoved, format!("`{name}` was changed in the meantime"))
            .hint("something else edited it; try again"));
    }
    let Some(new) = new else { return disk::remove(&path) };
    let folder = path.parent().unwrap_or(root);
    let temporary = folder.join(format!(".mcpkg-{}", uuid::Uuid::now_v7().simple()));
    disk::write_beside(&path, &temporary, new.as_bytes(), 0o644)?;
    disk::put_in_place(&path, &temporary, old.is_none())?;
    disk::sync_folder(folder);
    Ok(())
}
