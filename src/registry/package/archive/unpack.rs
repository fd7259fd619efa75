//! Writes an archive's files into a folder that nobody sees before it is whole.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::Path;

use super::read;
use crate::error::{Code, Error, Result};

/// How folders that are being written begin.
pub(super) const PREFIX: &str = ".unpacking-";

/// Writes the files of an archive below `folder`, which must not exist.
///
/// # Errors
/// `E_ALREADY_EXISTS`, `E_FILE_FAILED`, `E_DISK_FULL`, `E_ARCHIVE_INVALID`; nothing is left then.
pub(super) fn unpack(bytes: &[u8], folder: &Path) -> Result<()> {
    let failed = |error| Error::file("unpack into", folder, error);
    let Some(parent) = folder.parent() else {
        return Err(failed(io::Error::from(ErrorKind::InvalidInput)));
    };
    let exists = || Error::new(Code::AlreadyExists, format!("`{}` exists", folder.display()));
    if fs::symlink_metadata(folder).is_ok() {
        return Err(exists());
    }
    // It is removed where this fails.
    let beside = private(tempfile::Builder::new().prefix(PREFIX)).tempdir_in(parent).map_err(failed)?;
    read::each(bytes, &mut |member, content| {
        let path = beside.path().join(&member.path);
        let above = path.parent().unwrap_or(beside.path());
        fs::create_dir_all(above).map_err(failed)?;
        let mut file = create(&path, member.executable).map_err(failed)?;
        io::copy(content, &mut file).map_err(failed)?;
        Ok(())
    })?;
    match fs::rename(beside.path(), folder) {
        Ok(()) => {
            // Nothing is there any more to remove.
            let _ = beside.keep();
            Ok(())
        }
        Err(error) if matches!(error.kind(), ErrorKind::AlreadyExists | ErrorKind::DirectoryNotEmpty) => Err(exists()),
        Err(error) => Err(failed(error)),
    }
}

/// Folders that are this user's alone.
#[cfg(unix)]
fn private<'a, 'b>(builder: &'a mut tempfile::Builder<'b, 'b>) -> &'a mut tempfile::Builder<'b, 'b> {
    use std::os::unix::fs::PermissionsExt;
    builder.permissions(fs::Permissions::from_mode(0o700))
}

#[cfg(not(unix))]
fn private<'a, 'b>(builder: &'a mut tempfile::Builder<'b, 'b>) -> &'a mut tempfile::Builder<'b, 'b> {
    builder
}

/// Makes a file that can be read, and run if it is a program, and not written by who opens it later.
#[cfg(unix)]
fn create(path: &Path, executable: bool) -> io::Result<File> {
    use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
    let mode = if executable { 0o555 } else { 0o444 };
    let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    // The user's mask takes nothing away from it.
    file.set_permissions(fs::Permissions::from_mode(mode))?;
    Ok(file)
}

#[cfg(not(unix))]
fn create(path: &Path, _: bool) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}
