//! Saves copies of folders, so that a test can start again from the same state.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::tool;

/// Copies of folders, from which a test can restore them.
pub struct Saved {
    copies: Vec<(PathBuf, TempDir)>,
}

impl Saved {
    /// Copies the contents of the folders.
    pub fn of(folders: &[&Path]) -> Self {
        let copy = |folder: &&Path| {
            let to = super::folder();
            copy(folder, to.path());
            (folder.to_path_buf(), to)
        };
        Self { copies: folders.iter().map(copy).collect() }
    }

    /// Restores the folders: removes everything in them and copies the saved contents back.
    pub fn restore(&self) {
        for (folder, copied) in &self.copies {
            for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
                let path = entry.path();
                let gone = if path.is_dir() { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
                gone.expect("it goes");
            }
            copy(copied.path(), folder);
        }
    }
}

fn copy(from: &Path, to: &Path) {
    let status = tool("cp").arg("-a").arg(from.join(".")).arg(to).status().expect("cp starts");
    assert!(status.success());
}
