//! Makes temporary folders for the tests.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use rustix::fs::{StatVfsMountFlags, statvfs};
use tempfile::{Builder, TempDir};

/// The free space in bytes that a file system in memory must have.
const ROOM: u64 = 2 << 30;

/// The parent of all temporary folders: TMPDIR if it is set, otherwise a file system in memory if it has enough room,
/// otherwise the usual folder of temporary files. The tests create and remove a million small files, and end each
/// commit with an fsync. On a disk, that would take longer than everything else in the tests. Tests of a disk itself,
/// such as power loss, mount their own file systems.
static PLACE: LazyLock<PathBuf> = LazyLock::new(|| {
    let memory = Path::new("/dev/shm");
    let is_set = std::env::var_os("TMPDIR").is_some();
    if !is_set && has_room(memory) { memory.to_owned() } else { std::env::temp_dir() }
});

/// Returns whether programs can be written to a file system and run there, and whether it has enough room.
fn has_room(at: &Path) -> bool {
    statvfs(at).is_ok_and(|system| {
        let refused = StatVfsMountFlags::RDONLY | StatVfsMountFlags::NOEXEC;
        !system.f_flag.intersects(refused) && system.f_bavail * system.f_frsize >= ROOM
    })
}

/// Makes an empty folder. Dropping the result removes the folder.
pub fn folder() -> TempDir {
    Builder::new().prefix("mcpkg-test-").tempdir_in(&*PLACE).expect("a folder")
}
