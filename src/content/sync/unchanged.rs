//! Whether there is anything to do, found out without reading a file.

use std::fs;
use std::path::Path;

use crate::disk;
use crate::error::Result;
use crate::store::Db;
use crate::store::projects::Project;
use crate::store::syncs::{self, Sync};

/// Whether neither the project nor the folder `top` was changed since `sync` ended with nothing left to do.
///
/// As in git's index, a file counts as unchanged where size, times and inode are the same, and the times are older than the
/// look at it. A folder whose description is the same has the same entries.
///
/// # Errors
/// `E_DB_BUSY`, `E_DB_CORRUPT`, `E_STORAGE`.
pub(super) fn is_unchanged(db: &Db<'_>, project: &Project, sync: &Sync, top: &Path) -> Result<bool> {
    if sync.project_state.is_none() || sync.project_state != Some(syncs::state(db, project.id)?) {
        return Ok(false);
    }
    let (mut count, mut same) = (0_usize, true);
    syncs::each_seen(db, sync.id, |path, is_folder, seen| {
        count += 1;
        same = same && {
            let path = if path.is_empty() { top.to_path_buf() } else { top.join(path) };
            let stat = fs::symlink_metadata(&path).ok().filter(|metadata| metadata.is_dir() == is_folder);
            stat.and_then(|metadata| disk::stat(&metadata)) == Some(seen) && disk::tells_changes(&seen, sync.looked_at)
        };
        Ok(())
    })?;
    Ok(same && count > 0)
}
