//! Whether there is anything to do, found out without reading a file.

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

/// Whether neither the project nor the folder `top` has changed since `sync` finished with nothing left to do.
///
/// As in git's index, a file counts as unchanged where size, times and inode are the same, and the times are older than the
/// look at it. A folder whose description is the same has the same entries.
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

/// The folder, in which one file after the other is looked at. The folder of the last one is held open: finding a file in it
/// costs the system a fraction of what finding it from the root of the disk does.
struct Tree<'t> {
    top: &'t Path,
    folders: Folders,
    /// The path of the last one's folder, with that.
    last: Option<(String, Rc<Folder>)>,
}

impl Tree<'_> {
    /// Returns the metadata of the file or folder at `path` below the top; `None` if it is of another kind or
    /// unreadable.
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
