//! Unpacks an archive into a folder that becomes visible only when it is complete.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::Path;

use super::read;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::platform;
use mcpkg_store::blobs::NewContent;

/// The prefix of unfinished folders; the name of the final folder follows.
pub const PREFIX: &str = ".unpacking-";

/// Unpacks an archive to `folder`, which must not exist. On an error, nothing is left behind.
pub(super) fn unpack(archive: &NewContent, folder: &Path) -> Result<()> {
    let failed = |error| Error::file("unpack into", folder, error);
    whole(folder, |beside| {
        read::each(archive.reader(), archive.size(), &mut |member, content| {
            let path = beside.join(&member.path);
            let above = path.parent().unwrap_or(beside);
            fs::create_dir_all(above).map_err(failed)?;
            let mut file = create(&path, member.executable).map_err(failed)?;
            io::copy(content, &mut file).map_err(failed)?;
            Ok(())
        })
    })
}

/// Creates `folder`, which must not exist. `write` fills a private folder next to it. Only a complete folder gets the
/// name `folder`.
pub(super) fn whole(folder: &Path, write: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let failed = |error| Error::file("unpack into", folder, error);
    let Some(parent) = folder.parent() else {
        return Err(failed(io::Error::from(ErrorKind::InvalidInput)));
    };
    let exists = || Error::new(Code::AlreadyExists, format!("`{}` exists", folder.display()));
    if fs::symlink_metadata(folder).is_ok() {
        return Err(exists());
    }
    // The temporary folder is removed automatically on an error.
    let beside = platform::private_temporary(tempfile::Builder::new().prefix(&prefix(folder)))
        .tempdir_in(parent)
        .map_err(failed)?;
    write(beside.path())?;
    match fs::rename(beside.path(), folder) {
        Ok(()) => {
            // The folder has been renamed, so its automatic removal is turned off.
            let _ = beside.keep();
            Ok(())
        }
        Err(error) if matches!(error.kind(), ErrorKind::AlreadyExists | ErrorKind::DirectoryNotEmpty) => Err(exists()),
        Err(error) => Err(failed(error)),
    }
}

/// Removes the unfinished folders that killed processes left next to `folder`. No other process may be unpacking
/// into `folder` at the same time.
pub(super) fn sweep(folder: &Path) -> Result<()> {
    let Some(parent) = folder.parent() else { return Ok(()) };
    let failed = |error| Error::file("remove unfinished files next to", folder, error);
    let prefix = prefix(folder);
    for entry in fs::read_dir(parent).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.file_name().to_string_lossy().starts_with(&prefix) {
            fs::remove_dir_all(entry.path()).map_err(failed)?;
        }
    }
    Ok(())
}

/// Returns the prefix of the unfinished folders for `folder`.
fn prefix(folder: &Path) -> String {
    let name = folder.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    format!("{PREFIX}{name}-")
}

/// Creates a file that will be read-only, and executable if requested.
fn create(path: &Path, executable: bool) -> io::Result<File> {
    let mode = if executable { 0o555 } else { 0o444 };
    let file = platform::create_new(path, mode)?;
    // Set the mode explicitly, since the umask applies when the file is created.
    platform::set_mode(&file, mode)?;
    Ok(file)
}
