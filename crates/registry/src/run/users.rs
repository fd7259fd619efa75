//! Writes the files `/etc/passwd` and `/etc/group` that a tool sees in bubblewrap. They are the same for every run, and
//! are stored in this user's cache.

use std::path::{Path, PathBuf};

use super::bwrap::USER;
use super::mount::Mount;
use super::trees;
use mcpkg_base::disk;
use mcpkg_base::error::{Error, Result};
use mcpkg_base::file;

/// Returns the names and contents of the files.
fn files() -> [(&'static str, String); 2] {
    [("passwd", format!("tool:x:{USER}:{USER}::/tmp:/bin/sh\n")), ("group", format!("tool:x:{USER}:\n"))]
}

pub(super) fn folder() -> Result<PathBuf> {
    Ok(trees::cache()?.join("sandbox"))
}

/// Returns the mounts of the files in `folder`.
pub(super) fn mounts(folder: &Path) -> impl Iterator<Item = Mount> {
    files().into_iter().map(move |(name, _)| Mount::read(folder.join(name), PathBuf::from("/etc").join(name)))
}

/// Writes the files that are missing or differ.
pub(super) fn write(folder: &Path) -> Result<()> {
    for (name, text) in files() {
        let path = folder.join(name);
        if file::read_text(&path, file::TEXT).is_ok_and(|is| is == text) {
            continue;
        }
        std::fs::create_dir_all(folder).map_err(|error| Error::file("make", folder, error))?;
        disk::replace(&path, text.as_bytes())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_differ_are_written_again_and_correct_files_are_left_alone() {
        let scratch = tempfile::tempdir().expect("a folder");
        let folder = scratch.path().join("sandbox");
        write(&folder).expect("written");
        let passwd = folder.join("passwd");
        assert_eq!(std::fs::read_to_string(&passwd).expect("a file"), "tool:x:1000:1000::/tmp:/bin/sh\n");
        let changed = || std::fs::metadata(&passwd).and_then(|metadata| metadata.modified()).expect("its time");
        let before = changed();
        write(&folder).expect("written");
        assert_eq!(changed(), before);
        std::fs::write(&passwd, "root:x:0:0::/:/bin/sh\n").expect("a file");
        std::fs::remove_file(folder.join("group")).expect("gone");
        write(&folder).expect("written");
        for (name, text) in files() {
            assert_eq!(std::fs::read_to_string(folder.join(name)).expect("a file"), text);
        }
    }
}
