//! Wraps the system calls that take an open folder and a name in it.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use crate::platform::entry::{Entry, Kind, Stat};

pub type Handle = OwnedFd;

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

pub fn open_top(path: &Path) -> Result<Handle> {
    Ok(rustix::fs::openat(CWD, path, FOLDER, Mode::empty())?)
}

pub fn open_child(folder: &Handle, _: &Path, name: &OsStr) -> Result<Handle> {
    Ok(rustix::fs::openat(folder, name, FOLDER, Mode::empty())?)
}

pub fn make_folder(folder: &Handle, _: &Path, name: &OsStr) -> Result<()> {
    Ok(rustix::fs::mkdirat(folder, name, Mode::from_raw_mode(0o777))?)
}

pub fn remove_folder(folder: &Handle, _: &Path, name: &OsStr) -> Result<()> {
    Ok(rustix::fs::unlinkat(folder, name, AtFlags::REMOVEDIR)?)
}

pub fn entry(folder: &Handle, _: &Path, name: &OsStr) -> Result<Entry> {
    Ok(of(&rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?))
}

/// Returns the names in a folder.
pub fn names(folder: &Handle, path: &Path) -> Result<impl Iterator<Item = Result<OsString>> + use<>> {
    // Open the folder again, because all readers of one handle share their position in the listing.
    let found = rustix::fs::Dir::new(open_child(folder, path, OsStr::new("."))?)?;
    let names = found.map(|found| Ok(OsString::from_vec(found?.file_name().to_bytes().to_vec())));
    Ok(names.filter(|name| !name.as_ref().is_ok_and(|name| name == "." || name == "..")))
}

pub fn own_entry(folder: &Handle, _: &Path) -> Result<Entry> {
    Ok(of(&rustix::fs::fstat(folder)?))
}

pub fn entry_at(path: &Path) -> Result<Entry> {
    Ok(of(&rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW)?))
}

/// Opens a regular file for reading. Refuses links, and files that would block the caller, such as named pipes.
pub fn open_file(folder: &Handle, _: &Path, name: &OsStr) -> Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::openat(folder, name, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(Error::new(ErrorKind::InvalidInput, "it is no longer a regular file"));
    }
    Ok(file)
}

/// Creates a file with its final permissions, so that it is never readable by more users, not even for a moment.
pub fn create_file(folder: &Handle, _: &Path, name: &OsStr, mode: u32) -> Result<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode((mode & 0o777) as rustix::fs::RawMode);
    Ok(rustix::fs::openat(folder, name, flags, mode)?.into())
}

pub fn read_link(folder: &Handle, _: &Path, name: &OsStr) -> Result<OsString> {
    Ok(OsString::from_vec(rustix::fs::readlinkat(folder, name, Vec::new())?.into_bytes()))
}

pub fn link(folder: &Handle, _: &Path, from: &OsStr, to: &OsStr) -> Result<()> {
    Ok(rustix::fs::linkat(folder, from, folder, to, AtFlags::empty())?)
}

pub fn rename(folder: &Handle, _: &Path, from: &OsStr, to: &OsStr) -> Result<()> {
    Ok(rustix::fs::renameat(folder, from, folder, to)?)
}

/// Renames without replacing. If the file system cannot guarantee that, first checks that the target does not exist. A
/// target that is created after this check may be replaced.
pub fn move_new(from: (&Handle, &Path, &OsStr), to: (&Handle, &Path, &OsStr)) -> Result<()> {
    match rustix::fs::renameat_with(from.0, from.2, to.0, to.2, RenameFlags::NOREPLACE) {
        // The file system does not support this flag.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
        other => return Ok(other?),
    }
    match entry(to.0, to.1, to.2) {
        Ok(_) => Err(ErrorKind::AlreadyExists.into()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(rustix::fs::renameat(from.0, from.2, to.0, to.2)?),
        Err(error) => Err(error),
    }
}

/// Moves a file to a new name in its folder, without replacing.
pub fn put_new(folder: &Handle, path: &Path, from: &OsStr, to: &OsStr) -> Result<()> {
    match link(folder, path, from, to) {
        Ok(()) => remove_file(folder, path, from),
        // The disk does not support hard links.
        Err(error) if matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::PermissionDenied) => {
            move_new((folder, path, from), (folder, path, to))
        }
        Err(error) => Err(error),
    }
}

pub fn symlink(folder: &Handle, _: &Path, text: &str, name: &OsStr) -> Result<()> {
    Ok(rustix::fs::symlinkat(text, folder, name)?)
}

pub fn remove_file(folder: &Handle, _: &Path, name: &OsStr) -> Result<()> {
    Ok(rustix::fs::unlinkat(folder, name, AtFlags::empty())?)
}

/// Returns the folder as a file, which can be synced.
pub fn file_of(folder: &Handle) -> Result<Option<File>> {
    Ok(Some(folder.try_clone()?.into()))
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
fn of(stat: &rustix::fs::Stat) -> Entry {
    let nanos = |seconds: i64, nanos: i64| seconds.saturating_mul(1_000_000_000).saturating_add(nanos);
    Entry {
        kind: kind(FileType::from_raw_mode(stat.st_mode)),
        mode: stat.st_mode as u32 & 0o7777,
        stat: Some(Stat {
            size: stat.st_size as i64,
            mtime: nanos(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            ctime: nanos(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
            inode: (stat.st_ino as u64).cast_signed(),
        }),
        identity: (stat.st_dev as u64, stat.st_ino as u64),
    }
}
