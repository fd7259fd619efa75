//! Implements what macOS does differently from Linux. Unlike on Linux, syncing a file or folder through the standard
//! library also empties the disk's own cache (`F_FULLFSYNC`).

use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use super::system::System;
pub use super::unix::*;

pub const SYSTEM: System = System::MacOs;

/// Opens the file at the relative path `below` in an open folder, without following links.
pub fn open_below(root: &File, root_path: &Path, below: &Path) -> io::Result<File> {
    super::unix::open_below(root, root_path, below)
}

/// Returns the current path of an open folder, if the system reports it.
pub fn whereabouts(folder: &folder::Handle) -> Option<PathBuf> {
    let path = rustix::fs::getpath(folder).ok()?;
    let path = PathBuf::from(OsString::from_vec(path.into_bytes()));
    path.is_dir().then_some(path)
}

/// Returns nothing: this system has no list of mounts by device.
pub fn device(_: &Metadata) -> Option<(u32, u32)> {
    None
}

/// Returns nothing: the magic numbers of file systems in linux/magic.h are specific to Linux.
pub fn file_system(_: &Path) -> Option<u32> {
    None
}

/// Does nothing: on this system, only debuggers with a signed permission may read another process.
pub fn hide_memory() -> io::Result<()> {
    Ok(())
}

/// Does nothing: orphans always become children of the first process.
pub fn adopt_orphans() -> io::Result<()> {
    Ok(())
}

/// Does nothing: this system has no such signal.
pub fn end_with_parent() -> io::Result<()> {
    Ok(())
}
