//! Wraps the system calls that take an open folder and a name in it.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat};

use super::entry::{Entry, Kind};

pub(super) type Handle = OwnedFd;

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

pub(super) fn open_top(path: &Path) -> Result<Handle> {
    Ok(rustix::fs::openat(CWD, path, FOLDER, Mode::empty())?)
}

pub(super) fn open_child(folder: &Handle, _: &Path, name: &OsStr) -> Result<Handle> {
    Ok(rustix::fs::openat(folder, name, FOLDER, Mode::empty())?)
}

pub(super) fn make_folder(folder: &Handle, _: &Path, name: &OsStr) -> Result<()> {
    Ok(rustix::fs::mkdirat(folder, name, Mode::from_raw_mode(0o777))?)
}

pub(super) fn remove_folder(folder: &Handle, _: &Path, name: &OsStr) -> Result<()> {
    Ok(rustix::fs::unlinkat(folder, name, AtFlags::REMOVEDIR)?)
}

pub(super) fn entry(folder: &Handle, _: &Path, name: &OsStr) -> Result<Entry> {
    Ok(of(&rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?))
}

pub(super) fn names(folder: &Handle, path: &Path) -> Result<Vec<OsString>> {
    let mut names = Vec::new();
    // Open the folder again, because all readers of one handle share their position in the listing.
    for found in rustix::fs::Dir::new(open_child(folder, path, OsStr::new("."))?)? {
        let found = found?;
        let name = found.file_name().to_bytes();
        if !matches!(name, b"." | b"..") {
            names.push(OsString::from_vec(name.to_vec()));
        }
    }
    Ok(names)
}

pub(super) fn own_entry(folder: &Handle, _: &Path) -> Result<Entry> {
    Ok(of(&rustix::fs::fstat(folder)?))
}

pub(super) fn entry_at(path: &Path) -> Result<Entry> {
    Ok(of(&rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW)?))
}

/// Opens a regular file for reading. Refuses links, and files that would block the caller, such as named pipes.
pub(super) fn open_file(folder: &Handle, _: &Path, name: &OsStr) -> Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::openat(folder, name, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(Error::new(ErrorKind::InvalidInput, "it is no longer a regular file"));
    }
    Ok(file)
}

/// Creates a file with its final permissions, so that it is never readable by more users, not even for a moment.
pub(super) fn create_file(folder: &Handle, _: &Path, name: &OsStr, mode: u32) -> Result<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode((mode & 0o777) as rustix::fs::RawMode);
    Ok(rustix::fs::openat(folder, name, flags, mode)?.into())
}

pub(super) fn read_link(folder: &Handle, _: &Path, name: &OsStr) -> Result<OsString> {
    Ok(OsString::from_vec(rustix::fs::readlinkat(folder, name, Vec::new())?.into_bytes()))
}

pub(super) fn link(folder: &Handle, _: &Path, from: &OsStr, to: &OsStr) -> Result<()> {
    Ok(rustix::fs::linkat(folder, from, folder, to, AtFlags::empty())?)
}

pub(super) fn rename(folder: &Handle, _: &Path, from: &OsStr, to: &OsStr) -> Result<()> {
    Ok(rustix::fs::renameat(folder, from, folder, to)?)
}

/// Renames without replacing. Where the system cannot guarantee that, this checks first, so a target that is created
/// between the check and the rename may be replaced.
pub(super) fn move_new(from: (&Handle, &Path, &OsStr), to: (&Handle, &Path, &OsStr)) -> Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::RenameFlags;
        use rustix::io::Errno;
        match rustix::fs::renameat_with(from.0, from.2, to.0, to.2, RenameFlags::NOREPLACE) {
            // The file system does not support this flag.
            Err(Errno::INVAL | Errno::NOSYS) => {}
            other => return Ok(other?),
        }
    }
    match entry(to.0, to.1, to.2) {
        Ok(_) => Err(ErrorKind::AlreadyExists.into()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(rustix::fs::renameat(from.0, from.2, to.0, to.2)?),
        Err(error) => Err(error),
    }
}

pub(super) fn symlink(folder: &Handle, _: &Path, text: &str, name: &OsStr) -> Result<()> {
    Ok(rustix::fs::symlinkat(text, folder, name)?)
}

pub(super) fn remove_file(folder: &Handle, _: &Path, name: &OsStr) -> Result<()> {
    Ok(rustix::fs::unlinkat(folder, name, AtFlags::empty())?)
}

pub(super) fn sync(folder: &Handle, _: &Path) -> Result<()> {
    Ok(rustix::fs::fsync(folder)?)
}

/// Returns the folder as a file, which another thread can sync.
pub(super) fn file_of(folder: &Handle) -> Result<Option<File>> {
    Ok(Some(folder.try_clone()?.into()))
}

/// Returns the current path of an open folder, if the system reports it (Linux).
pub(super) fn whereabouts(folder: &Handle) -> Option<PathBuf> {
    use std::os::fd::AsRawFd;
    let path = std::fs::read_link(format!("/proc/self/fd/{}", folder.as_raw_fd())).ok()?;
    path.is_dir().then_some(path)
}

fn kind(of: FileType) -> Kind {
    match of {
        FileType::RegularFile => Kind::File,
        FileType::Symlink => Kind::Link,
        FileType::Directory => Kind::Folder,
        _ => Kind::Other,
    }
}

#[allow(clippy::unnecessary_cast, reason = "the fields' types differ from system to system")]
fn of(stat: &Stat) -> Entry {
    let nanos = |seconds: i64, nanos: i64| seconds.saturating_mul(1_000_000_000).saturating_add(nanos);
    Entry {
        kind: kind(FileType::from_raw_mode(stat.st_mode)),
        mode: stat.st_mode as u32 & 0o7777,
        stat: Some(super::Stat {
            size: stat.st_size as i64,
            mtime: nanos(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            ctime: nanos(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
            inode: (stat.st_ino as u64).cast_signed(),
        }),
        identity: (stat.st_dev as u64, stat.st_ino as u64),
    }
}
