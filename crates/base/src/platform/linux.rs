//! Implements what only Linux has, and re-exports what Linux shares with macOS.

use std::fs::{File, Metadata};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::process::{DumpableBehavior, Signal};

use super::system::System;
pub use super::unix::*;

pub const SYSTEM: System = System::Linux;

/// Opens the file at the relative path `below` in an open folder, without following links.
pub fn open_below(root: &File, root_path: &Path, below: &Path) -> io::Result<File> {
    // Try a single call first. If it fails, open folder by folder: that also works if the kernel is too old for
    // `openat2`, and returns a more precise error if the file cannot be opened.
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    match rustix::fs::openat2(root, below, flags, Mode::empty(), resolve) {
        Ok(file) => Ok(file.into()),
        Err(_) => super::unix::open_below(root, root_path, below),
    }
}

/// Returns the current path of an open folder, if the system reports it.
pub fn whereabouts(folder: &folder::Handle) -> Option<PathBuf> {
    let path = std::fs::read_link(format!("/proc/self/fd/{}", folder.as_raw_fd())).ok()?;
    path.is_dir().then_some(path)
}

/// Returns the major and minor number of the device that a file is on, as in the list of mounts; `None` on systems
/// without such a list.
pub fn device(metadata: &Metadata) -> Option<(u32, u32)> {
    let device = metadata.dev();
    Some((rustix::fs::major(device), rustix::fs::minor(device)))
}

/// Returns the type of the file system that a folder is on, as a magic number from linux/magic.h; `None` on other
/// systems.
pub fn file_system(folder: &Path) -> Option<u32> {
    // The type's width differs between architectures.
    let kind = rustix::fs::statfs(folder).ok()?.f_type;
    u32::try_from(kind & 0xffff_ffff).ok()
}

/// Keeps other processes of this user from reading this process's memory and from taking over its open files
/// (`pidfd_getfd`), where the system has a way to do so.
pub fn hide_memory() -> io::Result<()> {
    Ok(rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
}

/// Makes the orphans among this process's descendants its children, where the system has a way to do so.
pub fn adopt_orphans() -> io::Result<()> {
    Ok(rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?)
}

/// Ends this process when its parent process ends, where the system has a way to do so.
pub fn end_with_parent() -> io::Result<()> {
    Ok(rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?)
}
