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
    // On another disk, the work tree moves to a folder next to it. The name does not change, so that the removal can be
    // completed after a crash.
    let beside = path.with_file_name(format!(".mcpkg-{}", path.file_name().unwrap_or_default().display()));
    remove_tree(&beside)?;
    if put_aside(path, &aside)? == Put::OnAnotherDisk {
        move_folder(path, &beside)?;
    }
    if is_known(git, path)? {
        worktrees::remove(git, path)?;
    }
    // git no longer knows the renamed folder as a work tree, so files that cannot be removed do no harm.
    for warning in [clear(&aside), clear(&beside)].into_iter().flatten() {
        tracing::warn!("{warning}");
    }
    remove_empty(carrier.root, path);
    Ok(())
}

/// What became of a folder that should move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// It moved, or there was none.
    Moved,
    /// It is where it was, because the target is on another disk.
    OnAnotherDisk,
}

/// Moves a folder to a free place on the same disk. Does nothing if the folder is gone. A folder on another disk stays,
/// and the caller decides what that means: copying a work tree could take minutes and fill the disk.
pub fn put_aside(from: &Path, to: &Path) -> Result<Put> {
    let parent = to.parent().unwrap_or(to);
    let moved = fs::symlink_metadata(from).and_then(|_| fs::create_dir_all(parent)).and_then(|()| fs::rename(from, to));
    match moved {
        Err(error) if error.kind() == ErrorKind::CrossesDevices => Ok(Put::OnAnotherDisk),
        Err(error) if error.kind() != ErrorKind::NotFound => Err(disk::failed("move", from, error)),
        _ => Ok(Put::Moved),
    }
}

/// Moves a folder to a free place. Does nothing if the folder is gone.
///
/// # Errors
/// `E_FILE_FAILED` if the target is on another disk.
pub fn move_folder(from: &Path, to: &Path) -> Result<()> {
    match put_aside(from, to)? {
        Put::Moved => Ok(()),
        Put::OnAnotherDisk => Err(Error::new(
            Code::FileFailed,
            format!("Cannot move `{}` to `{}`: they are on different disks", from.display(), to.display()),
        )
        .hint(format!("move the folder by hand: `mv {} {}`", quoted(from), quoted(to)))),
    }
}

/// Returns the error for a repository that cannot be renamed from the workspace's own folder to its place.
pub fn not_placed(path: &Path, error: io::Error) -> Error {
    let is_on_another_disk = error.kind() == ErrorKind::CrossesDevices;
    let failed = disk::failed("put in place", path, error);
    if !is_on_another_disk {
        return failed;
    }
    failed.hint(format!(
        "the folder is on another disk than the workspace: clone the repository to {} yourself, and mcpkg uses that clone",
        quoted(path)
    ))
}

fn quoted(path: &Path) -> String {
    mcpkg_base::shell::quote(&path.display().to_string())
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns two folders on different disks; `None` if this machine has only one.
    fn two_disks() -> Option<[tempfile::TempDir; 2]> {
        let memory = tempfile::tempdir_in("/dev/shm").ok()?;
        let disk = tempfile::tempdir().ok()?;
        let crosses = fs::create_dir(memory.path().join("x"))
            .and_then(|()| fs::rename(memory.path().join("x"), disk.path().join("x")));
        crosses.is_err_and(|error| error.kind() == ErrorKind::CrossesDevices).then_some([memory, disk])
    }

    #[test]
    fn a_folder_that_stays_on_its_disk_is_never_reported_as_moved() {
        let Some([memory, disk]) = two_disks() else { return };
        let (from, to) = (memory.path().join("from"), disk.path().join("to"));
        fs::create_dir(&from).expect("a folder");
        assert_eq!(put_aside(&from, &to).expect("no error"), Put::OnAnotherDisk);
        let error = move_folder(&from, &to).expect_err("another disk");
        assert!(error.message().contains("they are on different disks"), "{error}");
        assert!(from.is_dir() && !to.exists());
        let crossed = fs::rename(&from, &to).expect_err("another disk");
        assert!(not_placed(&to, crossed).hints().iter().any(|hint| hint.contains("on another disk")));
        fs::create_dir(memory.path().join("beside")).expect("a folder");
        assert_eq!(put_aside(&memory.path().join("beside"), &from.join("in")).expect("no error"), Put::Moved);
        assert_eq!(put_aside(&memory.path().join("gone"), &to).expect("no error"), Put::Moved);
    }
}
