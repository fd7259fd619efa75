//! Opens files by path. Files have no modes on Windows, and mcpkg restores no other attributes.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, FileType, Metadata, OpenOptions};
use std::io::{Error, ErrorKind, Result};
use std::os::windows::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::platform::entry::Stat;

pub const HAS_MODES: bool = false;

/// The mode that mcpkg reports for every file.
const MODE: u32 = 0o644;

/// The flag that is required to open a folder.
const FILE_FLAG_BACKUP_SEMANTICS: u32 = 0x0200_0000;

/// The error when a user may not create links: Windows allows that only to administrators and in developer mode.
const ERROR_PRIVILEGE_NOT_HELD: i32 = 1314;

pub fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(bytes).into_owned())
}

/// Returns the real path of a file or folder, without links. Removes the prefix `\\?\`, which other programs and agents
/// do not read. Only very long paths and network paths keep the prefix.
pub fn real(path: &Path) -> Result<PathBuf> {
    fs::canonicalize(path).map(without_prefix)
}

fn without_prefix(path: PathBuf) -> PathBuf {
    let is_drive = |rest: &&str| rest.len() < 248 && rest.as_bytes().get(1) == Some(&b':');
    match path.to_str().and_then(|text| text.strip_prefix(r"\\?\")).filter(is_drive) {
        Some(rest) => PathBuf::from(rest),
        None => path,
    }
}

pub fn split(_: &Path) -> Option<(&OsStr, &OsStr)> {
    None
}

pub fn open_folder(_: &OsStr) -> Option<File> {
    None
}

pub fn open_in(_: &File, _: &OsStr) -> Result<File> {
    Err(ErrorKind::Unsupported.into())
}

pub fn open_root(path: &Path) -> Result<File> {
    OpenOptions::new().read(true).custom_flags(FILE_FLAG_BACKUP_SEMANTICS).open(path)
}

/// Opens the file at the relative path `below` in a folder. Refuses a path that is a link now, or leads through one.
pub fn open_below(_: &File, root: &Path, below: &Path) -> Result<File> {
    let mut at = root.to_owned();
    for part in below.components() {
        at.push(part);
        if fs::symlink_metadata(&at)?.is_symlink() {
            return Err(Error::other("it leads through a link"));
        }
    }
    File::options().read(true).open(at)
}

pub fn is_gone(_: &File) -> bool {
    false
}

pub fn read_once(mut file: &File, bytes: &mut Vec<u8>) -> Result<()> {
    let mut room = vec![0; bytes.capacity()];
    let count = std::io::Read::read(&mut file, &mut room)?;
    bytes.extend_from_slice(&room[..count]);
    Ok(())
}

pub fn read_at(file: &File, buffer: &mut [u8], at: u64) -> Result<usize> {
    file.seek_read(buffer, at)
}

pub fn check_private(_: &Metadata) -> Result<()> {
    Ok(())
}

pub fn kind_name(kind: FileType) -> &'static str {
    if kind.is_dir() { "a folder" } else { "something else" }
}

pub fn without_waiting(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

pub fn with_mode(options: &mut OpenOptions, _: u32) -> &mut OpenOptions {
    options
}

pub fn create_new(path: &Path, _: u32) -> Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

pub fn folders(_: u32) -> DirBuilder {
    DirBuilder::new()
}

pub fn private_temporary<'a, 'b>(builder: &'a mut tempfile::Builder<'b, 'b>) -> &'a mut tempfile::Builder<'b, 'b> {
    builder
}

pub fn mode(_: &Metadata) -> u32 {
    MODE
}

pub fn set_mode(_: &File, _: u32) -> Result<()> {
    Ok(())
}

pub fn ensure_mode(_: &File, _: u32) -> Result<()> {
    Ok(())
}

pub fn set_path_mode(_: &Path, _: u32) -> Result<()> {
    Ok(())
}

pub fn is_executable(_: &Metadata) -> bool {
    false
}

/// Returns false: the owner is not looked up, so nothing counts as this user's.
pub fn is_own(_: &Metadata) -> bool {
    false
}

pub fn stat(_: &Metadata) -> Option<Stat> {
    None
}

/// Identifies the file at a path by its volume and its number there, which the metadata does not contain.
pub fn identity(path: &Path, _: &Metadata) -> Option<(u64, u64)> {
    let handle = winapi_util::Handle::from_path_any(path).ok()?;
    let file = winapi_util::file::information(&handle).ok()?;
    Some((file.volume_serial_number(), file.file_index()))
}

/// Whether the path of an open file now leads to another file. Compares the times of creation, which a rename does not
/// change, because the metadata has no number that identifies the file.
pub fn is_renamed(open: &Metadata, at_path: &Metadata) -> bool {
    open.created().ok() != at_path.created().ok()
}

/// Creates a symbolic link. Unless developer mode is on, the system lets only administrators do that; the error is
/// `PermissionDenied` then.
pub fn symlink(to: impl AsRef<Path>, path: &Path) -> Result<()> {
    let to = to.as_ref();
    let whole = path.parent().map_or_else(|| to.to_owned(), |folder| folder.join(to));
    let linked = match whole.is_dir() {
        true => std::os::windows::fs::symlink_dir(to, path),
        false => std::os::windows::fs::symlink_file(to, path),
    };
    linked.map_err(|error| match error.raw_os_error() {
        Some(ERROR_PRIVILEGE_NOT_HELD) => {
            let why = "Windows lets you create links only in developer mode; turn it on in Settings > System > For developers";
            Error::new(ErrorKind::PermissionDenied, why)
        }
        _ => error,
    })
}

pub fn sync(path: &Path) -> Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    // The system syncs only files that are open for writing.
    OpenOptions::new().write(true).open(path).and_then(|file| file.sync_all())
}

pub fn modified(_: &Metadata) -> Option<i128> {
    None
}

pub fn set_modified(_: &File, _: i128) -> Result<()> {
    Ok(())
}

pub fn owner(_: &Metadata) -> Option<(u32, u32)> {
    None
}

pub fn set_owner(_: &File, _: u32, _: u32) -> Result<()> {
    Ok(())
}

pub fn extended(_: &File) -> Vec<(String, Vec<u8>)> {
    Vec::new()
}

pub fn set_extended(_: &File, _: &str, _: &[u8]) -> Result<()> {
    Ok(())
}
