//! Loads the program of a call together with the files of its package, which stay in memory. They come from an
//! archive, from the result of a build, or from a folder of the user.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use super::cache;
use super::contained::contained;
use super::files::FileMap;
use super::program::Program;
use crate::package::archive::{self, MAX_MEMBERS, MAX_UNPACKED};
use mcpkg_base::disk;
use mcpkg_base::error::{Error, Result};
use mcpkg_base::file;
use mcpkg_store::blobs::NewContent;

/// Returns the program at a path in the archive with this SHA-256; `archive` loads the archive if it is needed. The
/// inner error says why the program cannot be started.
pub fn of_archive(
    sha256: &[u8; 32],
    path: &str,
    archive: impl FnOnce() -> Result<NewContent>,
) -> Result<Result<Arc<Program>, String>> {
    cache::get_or(sha256, path, || {
        let files = Arc::new(archive::contents(&archive()?)?);
        contained(|| Program::compile(path, files))
    })
}

/// Returns the program at a path in the result of a build. Only regular files are read, within the size limit of
/// packages.
pub fn of_built(folder: &Path, path: &str) -> Result<Result<Arc<Program>, String>> {
    let files = Arc::new(built(folder)?);
    contained(|| Program::compile(path, files).map(Arc::new))
}

fn built(folder: &Path) -> Result<FileMap> {
    let failed = |path: &Path, error| Error::file("read", path, error);
    let (mut files, mut left) = (FileMap::new(), MAX_UNPACKED);
    let mut folders = vec![folder.to_owned()];
    while let Some(inner) = folders.pop() {
        for entry in fs::read_dir(&inner).map_err(|error| failed(&inner, error))? {
            let entry = entry.map_err(|error| failed(&inner, error))?;
            let (path, kind) = (entry.path(), entry.file_type().map_err(|error| failed(&inner, error))?);
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() {
                let bytes = file::read(&path, left).map_err(|error| failed(&path, error))?;
                left -= bytes.len() as u64;
                files.insert(disk::posix(path.strip_prefix(folder).unwrap_or(&path)), bytes.into());
            }
            if files.len() + folders.len() > MAX_MEMBERS {
                return Err(failed(&inner, std::io::ErrorKind::FileTooLarge.into()));
            }
        }
    }
    Ok(files)
}

/// Returns the program at a path in a folder of the user, with the files that an archive of the folder would
/// contain.
///
/// # Errors
/// `E_ARCHIVE_INVALID` if the folder contains a file that archives must not contain.
pub fn of_folder(folder: &Path, path: &str) -> Result<Result<Arc<Program>, String>> {
    let files = Arc::new(archive::contents_of(folder)?);
    contained(|| Program::compile(path, files).map(Arc::new))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_build_left_is_read_whole_and_links_are_not_followed() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir_all(folder.path().join("target/deep")).expect("a folder");
        let module = wat::parse_str("(module)").expect("a module");
        fs::write(folder.path().join("target/deep/a.wasm"), module).expect("a file");
        #[cfg(unix)]
        std::os::unix::fs::symlink("/etc/passwd", folder.path().join("link.wasm")).expect("a link");
        let program = of_built(folder.path(), "target/deep/a.wasm").expect("read").expect("a program");
        assert_eq!(program.files.keys().collect::<Vec<_>>(), ["target/deep/a.wasm"]);
        assert!(of_built(folder.path(), "link.wasm").expect("read").is_err());
        assert!(of_built(&folder.path().join("none"), "a.wasm").is_err());
    }
}
