//! Moves, writes and removes the folders and files of a workspace.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use super::carrier::{Carrier, TEMPORARY};
use super::look::{is_known, text};
use mcpkg_base::disk;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::git::{Git, worktrees};
use mcpkg_base::platform;

/// Removes a work tree. It is renamed out of the way first, so that a crash never leaves half a work tree.
pub fn remove_worktree(carrier: &Carrier<'_>, git: &Git<'_>, path: &Path) -> Result<()> {
    let aside = carrier.root.join(TEMPORARY).join(uuid::Uuid::now_v7().simple().to_string());
    move_folder(path, &aside)?;
    if is_known(git, path)? {
        worktrees::remove(git, path)?;
    }
    // git no longer knows the renamed folder as a work tree, so files that cannot be removed do no harm.
    if let Some(warning) = clear(&aside) {
        tracing::warn!("{warning}");
    }
    remove_empty(carrier.root, path);
    Ok(())
}

/// Moves a folder to a free place. Does nothing if the folder is gone or if the target is on another disk.
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

/// Removes the parent folders of `path` that are now empty, up to the root.
pub fn remove_empty(root: &Path, path: &Path) {
    let above = path.ancestors().skip(1).take_while(|folder| *folder != root && folder.starts_with(root));
    for folder in above {
        if fs::remove_dir(folder).is_err() {
            return;
        }
    }
}

/// Removes [`TEMPORARY`], or a path below it. Returns a warning if something is left: this is not an error, because the change
/// itself is complete, and the next change to the workspace cleans up.
pub fn clear(path: &Path) -> Option<String> {
    remove_tree(path).err().map(|error| format!("{}; these temporary files are no longer needed", error.message()))
}

/// Removes a folder that mcpkg made, with everything in it, even read-only folders.
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

/// Makes a folder and all folders below it writable for the user, so that they can be removed. Does not follow links.
fn open_up(path: &Path) -> io::Result<()> {
    let mut folders = vec![path.to_owned()];
    while let Some(folder) = folders.pop() {
        let mode = platform::mode(&fs::symlink_metadata(&folder)?);
        platform::set_path_mode(&folder, mode | 0o700)?;
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    Ok(())
}

/// Writes or deletes a file. Fails with `E_FLOW_MOVED` if its text is no longer `old`.
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
