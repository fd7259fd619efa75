//! Opens files, and reads and sets their modes, owners and other attributes.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, FileType, Metadata, OpenOptions, Permissions};
use std::io::{Error, ErrorKind, Result};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, FileExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Gid, Mode, OFlags, Timespec, Timestamps, Uid, XattrFlags};

use crate::platform::entry::Stat;

/// Whether files have permission bits.
pub const HAS_MODES: bool = true;

/// The most bytes of extended attributes that are read per file. Linux allows 64 KiB for a single attribute.
const MAX_EXTENDED: usize = 256 << 10;

/// Converts the bytes of a path, as git and links contain them.
pub fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

/// Returns the real path of a file or folder, without links.
pub fn real(path: &Path) -> Result<PathBuf> {
    fs::canonicalize(path)
}

/// Splits a path into its folder and name, as text, because comparing paths part by part is slower than opening them.
/// `None` for a path without a folder or directly in `/`. Also `None` on systems without calls relative to an open
/// folder.
pub fn split(path: &Path) -> Option<(&OsStr, &OsStr)> {
    let bytes = path.as_os_str().as_bytes();
    let at = memchr::memrchr(b'/', bytes).filter(|at| *at > 0)?;
    Some((OsStr::from_bytes(&bytes[..at]), OsStr::from_bytes(&bytes[at + 1..])))
}

/// Opens a folder, so that [`open_in`] can open files in it. Follows links.
pub fn open_folder(path: &OsStr) -> Option<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat(CWD, path, flags, Mode::empty()).ok().map(File::from)
}

/// Opens a file in an open folder for reading, without waiting for a named pipe.
pub fn open_in(folder: &File, name: &OsStr) -> Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(rustix::io::retry_on_intr(|| rustix::fs::openat(folder, name, flags, Mode::empty()))?.into())
}

/// Opens a folder as the root of [`open_below`](crate::platform::open_below). Refuses a link.
pub fn open_root(path: &Path) -> Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
}

pub fn open_below(root: &File, _: &Path, below: &Path) -> Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let open =
        |folder: BorrowedFd<'_>, name, flags| rustix::fs::openat(folder, name, flags, Mode::empty()).map(File::from);
    let mut parts = below.components().map(|part| part.as_os_str()).peekable();
    let mut at: Option<File> = None;
    while let Some(name) = parts.next() {
        let flags = if parts.peek().is_some() { flags | OFlags::DIRECTORY } else { flags };
        at = Some(open(at.as_ref().unwrap_or(root).as_fd(), name, flags)?);
    }
    at.ok_or_else(|| ErrorKind::InvalidInput.into())
}

/// Whether an open file has been deleted. Always false on Windows, where mcpkg does not check.
pub fn is_gone(file: &File) -> bool {
    file.metadata().is_ok_and(|metadata| metadata.nlink() == 0)
}

/// Appends the result of one read, up to the buffer's spare capacity. Does not clear the spare capacity first.
pub fn read_once(file: &File, bytes: &mut Vec<u8>) -> Result<()> {
    rustix::io::retry_on_intr(|| rustix::io::read(file, rustix::buffer::spare_capacity(bytes)))?;
    Ok(())
}

/// Reads from a position, independently of other readers of the open file.
pub fn read_at(file: &File, buffer: &mut [u8], at: u64) -> Result<usize> {
    file.read_at(buffer, at)
}

/// Refuses a file that other users may read or write, with `PermissionDenied`. Accepts every file on Windows, whose
/// access lists are not checked.
pub fn check_private(metadata: &Metadata) -> Result<()> {
    let mode = mode(metadata);
    if mode & 0o077 == 0 {
        return Ok(());
    }
    let why = format!("other users can read or write the file (mode {mode:04o}); restrict access with `chmod 600`");
    Err(Error::new(ErrorKind::PermissionDenied, why))
}

/// Names the kind of something that is not a regular file, with an article: `a named pipe`.
pub fn kind_name(kind: FileType) -> &'static str {
    match kind {
        _ if kind.is_dir() => "a folder",
        _ if kind.is_fifo() => "a named pipe",
        _ if kind.is_socket() => "a socket",
        _ => "a device",
    }
}

/// Sets flags so that opening never waits for a named pipe, and never makes a terminal the controlling terminal.
pub fn without_waiting(options: &mut OpenOptions) -> &mut OpenOptions {
    options.custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed())
}

/// Sets the mode of a file that opening creates, before the umask applies.
pub fn with_mode(options: &mut OpenOptions, mode: u32) -> &mut OpenOptions {
    options.mode(mode & 0o777)
}

/// Creates a file with its final permissions, so that it is never readable by more users, not even for a moment.
pub fn create_new(path: &Path, mode: u32) -> Result<File> {
    with_mode(OpenOptions::new().write(true).create_new(true), mode).open(path)
}

/// Returns a builder of folders with a mode.
pub fn folders(mode: u32) -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.mode(mode);
    builder
}

/// Makes temporary files and folders accessible to this user only.
pub fn private_temporary<'a, 'b>(builder: &'a mut tempfile::Builder<'b, 'b>) -> &'a mut tempfile::Builder<'b, 'b> {
    builder.permissions(Permissions::from_mode(0o700))
}

/// Returns the permission bits of a file; on Windows, the mode of a new file.
pub fn mode(metadata: &Metadata) -> u32 {
    metadata.permissions().mode() & 0o7777
}

/// Sets the permission bits of an open file. Does nothing on Windows.
pub fn set_mode(file: &File, mode: u32) -> Result<()> {
    file.set_permissions(Permissions::from_mode(mode))
}

/// Sets the permission bits of an open file unless it has them: setting them is a change that the disk has to write.
pub fn ensure_mode(file: &File, mode: u32) -> Result<()> {
    match self::mode(&file.metadata()?) == mode {
        true => Ok(()),
        false => set_mode(file, mode),
    }
}

/// Sets the permission bits of a path. Does nothing on Windows.
pub fn set_path_mode(path: &Path, mode: u32) -> Result<()> {
    fs::set_permissions(path, Permissions::from_mode(mode))
}

/// Whether a file is marked as executable. Windows has no such mark, so always false there.
pub fn is_executable(metadata: &Metadata) -> bool {
    mode(metadata) & 0o111 != 0
}

/// Whether a file belongs to the user that this process acts as.
pub fn is_own(metadata: &Metadata) -> bool {
    metadata.uid() == rustix::process::geteuid().as_raw()
}

/// Returns the metadata that reveals later changes to the file. `None` if the system has no such metadata; callers then
/// read the file again.
pub fn stat(metadata: &Metadata) -> Option<Stat> {
    let nanos = |seconds: i64, nanos: i64| seconds.saturating_mul(1_000_000_000).saturating_add(nanos);
    Some(Stat {
        size: i64::try_from(metadata.size()).ok()?,
        mtime: nanos(metadata.mtime(), metadata.mtime_nsec()),
        ctime: nanos(metadata.ctime(), metadata.ctime_nsec()),
        inode: metadata.ino().cast_signed(),
    })
}

/// Returns a value that identifies the file at a path. Two paths lead to the same file if their values are equal.
/// `metadata` is the file's metadata.
pub fn identity(_: &Path, metadata: &Metadata) -> Option<(u64, u64)> {
    Some((metadata.dev(), metadata.ino()))
}

/// Whether the path of an open file now leads to another file. `at_path` is the metadata of the file that is now at the
/// path.
pub fn is_renamed(open: &Metadata, at_path: &Metadata) -> bool {
    (open.dev(), open.ino()) != (at_path.dev(), at_path.ino())
}

/// Creates a symbolic link.
pub fn symlink(to: impl AsRef<Path>, path: &Path) -> Result<()> {
    std::os::unix::fs::symlink(to, path)
}

/// Syncs a file, or the names in a folder, to disk. Does nothing for folders on Windows.
pub fn sync(path: &Path) -> Result<()> {
    File::open(path).and_then(|file| file.sync_all())
}

/// Returns when the content of a file last changed, in nanoseconds since the Unix epoch. `None` on Windows, where
/// mcpkg does not restore times.
pub fn modified(metadata: &Metadata) -> Option<i128> {
    Some(i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec()))
}

/// Sets the times of an open file, in nanoseconds since the Unix epoch.
pub fn set_modified(file: &File, nanos: i128) -> Result<()> {
    let seconds = i64::try_from(nanos.div_euclid(1_000_000_000)).unwrap_or(0);
    #[allow(clippy::cast_possible_truncation, reason = "below 1e9; the field's type differs between systems")]
    let time = Timespec { tv_sec: seconds, tv_nsec: nanos.rem_euclid(1_000_000_000) as _ };
    Ok(rustix::fs::futimens(file, &Timestamps { last_access: time, last_modification: time })?)
}

/// Returns the ids of a file's user and group.
pub fn owner(metadata: &Metadata) -> Option<(u32, u32)> {
    Some((metadata.uid(), metadata.gid()))
}

/// Sets the ids of an open file's user and group.
pub fn set_owner(file: &File, user: u32, group: u32) -> Result<()> {
    Ok(rustix::fs::fchown(file, Some(Uid::from_raw(user)), Some(Gid::from_raw(group)))?)
}

/// Returns the extended attributes of an open file that mcpkg keeps: `user.*`, and access control lists
/// (`system.posix_acl*`).
pub fn extended(file: &File) -> Vec<(String, Vec<u8>)> {
    let mut names = Vec::with_capacity(MAX_EXTENDED);
    if rustix::fs::flistxattr(file, rustix::buffer::spare_capacity(&mut names)).is_err() {
        return Vec::new();
    }
    let names = names.split(|byte| *byte == 0).filter_map(|name| std::str::from_utf8(name).ok());
    let kept = names.filter(|name| name.starts_with("user.") || name.starts_with("system.posix_acl"));
    let mut room = MAX_EXTENDED;
    let values = kept.filter_map(|name| {
        let mut value = Vec::with_capacity(room);
        rustix::fs::fgetxattr(file, name, rustix::buffer::spare_capacity(&mut value)).ok()?;
        room -= value.len();
        Some((name.to_owned(), value))
    });
    values.collect()
}

/// Sets an extended attribute of an open file.
pub fn set_extended(file: &File, name: &str, value: &[u8]) -> Result<()> {
    Ok(rustix::fs::fsetxattr(file, name, value, XattrFlags::empty())?)
}
