//! Checks whether a sync has anything to do, without reading any file.

use std::ffi::OsStr;
use std::path::Path;
use std::rc::Rc;

use mcpkg_base::disk;
use mcpkg_base::disk::Stat;
use mcpkg_base::disk::folder::{Folder, Kind};
use mcpkg_base::disk::folders::Folders;
use mcpkg_base::error::Result;
use mcpkg_store::Db;
use mcpkg_store::projects::Project;
use mcpkg_store::syncs::{self, Sync};

/// Returns whether `sync` left nothing to do, and neither the project nor the folder `top` has changed since.
///
/// As in git's index, a file is unchanged if it has the same size, times and inode, and if its times are older than the
/// start of that sync. A folder with the same metadata contains the same entries.
pub(super) fn is_unchanged(db: &Db<'_>, project: &Project, sync: &Sync, top: &Path) -> Result<bool> {
    if sync.project_state.is_none() || sync.project_state != Some(syncs::state(db, project.id)?) {
        return Ok(false);
    }
    let mut tree = Tree { top, folders: Folders::below(vec![top.to_path_buf()]), last: None };
    let (mut count, mut same) = (0_usize, true);
    syncs::each_seen(db, sync.id, |path, is_folder, seen| {
        count += 1;
        same = same && tree.stat(path, is_folder) == Some(seen) && disk::tells_changes(&seen, sync.looked_at);
        Ok(())
    })?;
    Ok(same && count > 0)
}

/// Looks up files in a folder one after the other. Keeps the last subfolder open, because it is much cheaper to find a
/// file from there than from the root of the file system.
struct Tree<'t> {
    top: &'t Path,
    folders: Folders,
    /// The path of the last subfolder, and the subfolder itself.
    last: Option<(String, Rc<Folder>)>,
}

impl Tree<'_> {
    /// Returns the metadata of a file or folder at `path` below the top. `None` if nothing of this kind is there, or if
    /// it cannot be read.
    fn stat(&mut self, path: &str, is_folder: bool) -> Option<Stat> {
        if path.is_empty() {
            let metadata = disk::metadata(self.top).ok()?.filter(|metadata| metadata.is_dir() && is_folder)?;
            return disk::stat(&metadata);
        }
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        if self.last.as_ref().is_none_or(|(last, _)| last != folder) {
            let open = self.folders.open(&self.top.join(folder)).ok()??;
            self.last = Some((folder.to_owned(), open));
        }
        let (_, open) = self.last.as_ref()?;
        let entry = open.entry(OsStr::new(name)).ok()??;
        entry.stat.filter(|_| (entry.kind == Kind::Folder) == is_folder)
    }
}
