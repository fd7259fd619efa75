//! Folders of the tests' own.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use rustix::fs::{StatVfsMountFlags, statvfs};
use tempfile::{Builder, TempDir};

/// How much room is asked of a file system in memory, in bytes.
const ROOM: u64 = 2 << 30;

/// Where folders are made: below TMPDIR where it is set, else in memory where the machine has room there, else where temporary
/// files go. The tests make and remove a million small files and end each commit with an fsync, which on a disk takes more
/// time than all that they test; what a disk alone does, such as a cut of its power, they try on file systems that they mount.
static PLACE: LazyLock<PathBuf> = LazyLock::new(|| {
    let memory = Path::new("/dev/shm");
    let is_set = std::env::var_os("TMPDIR").is_some();
    if !is_set && has_room(memory) { memory.to_owned() } else { std::env::temp_dir() }
});

/// Returns whether files can be written to a file system and started there, and enough of them.
fn has_room(at: &Path) -> bool {
    statvfs(at).is_ok_and(|system| {
        let refused = StatVfsMountFlags::RDONLY | StatVfsMountFlags::NOEXEC;
        !system.f_flag.intersects(refused) && system.f_bavail * system.f_frsize >= ROOM
    })
}

/// Makes an empty folder, which is gone when dropped.
pub fn folder() -> TempDir {
    Builder::new().prefix("mcpkg-test-").tempdir_in(&*PLACE).expect("a folder")
}
