//! Safely opens files that a user named or that others may have put there: only regular files of limited size. A named
//! pipe would block, a device may be endless, and a sparse file can be larger than memory.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{Error, ErrorKind, Read, Result};
use std::path::{Path, PathBuf};

use crate::platform;

/// The largest text that is read as a whole, in bytes, such as a manifest, a configuration file or a certificate.
pub const TEXT: u64 = 16 << 20;

/// The largest file that is read into memory, in bytes, such as an existing file at a deploy's target.
pub const WHOLE: u64 = 256 << 20;

/// The largest file that is read in pieces, in bytes.
pub const CONTENT: u64 = 4 << 30;

/// Opens a regular file for reading. Follows links. Refuses anything else without opening it.
///
/// # Errors
/// The kind of the system's error; `IsADirectory` for a folder, `Unsupported` with the kind of file for anything else.
pub fn open(path: &Path) -> Result<File> {
    open_with(OpenOptions::new().read(true), path)
}

/// Opens a regular file with `options`; see [`open`].
pub fn open_with(options: &mut OpenOptions, path: &Path) -> Result<File> {
    open_looked(options, path).map(|(file, _)| file)
}

fn open_looked(options: &mut OpenOptions, path: &Path) -> Result<(File, Metadata)> {
    match fs::metadata(path) {
        Ok(metadata) => check_kind(&metadata)?,
        // The options may create the file. If they do not, opening it reports this error.
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    open_checked(options, path)
}

/// Opens a series of files that were just found to be regular files. From the second file in the same folder on, the
/// folder is kept open: the system finds a file in an open folder much faster than by its full path.
#[derive(Debug, Default)]
pub struct Series {
    /// The folder of the last file, and its handle if it is open.
    last: Option<(PathBuf, Option<File>)>,
}

impl Series {
    /// Opens the next file for reading; also returns its current metadata.
    pub fn open(&mut self, path: &Path) -> Result<(File, Metadata)> {
        match self.holding(path) {
            Some((folder, name)) => checked(platform::open_in(folder, name)?),
            None => open_checked(OpenOptions::new().read(true), path),
        }
    }

    /// Returns the open folder and the file's name, if the last file was in the same folder.
    fn holding<'p>(&mut self, path: &'p Path) -> Option<(&File, &'p OsStr)> {
        let (folder, name) = platform::split(path)?;
        if self.last.as_ref().is_none_or(|(last, _)| last.as_os_str() != folder) {
            self.last = Some((folder.into(), None));
            return None;
        }
        let (_, held) = self.last.as_mut()?;
        if held.is_none() {
            *held = platform::open_folder(folder);
        }
        held.as_ref().map(|held| (held, name))
    }
}

fn open_checked(options: &mut OpenOptions, path: &Path) -> Result<(File, Metadata)> {
    checked(platform::without_waiting(options).open(path)?)
}

fn checked(file: File) -> Result<(File, Metadata)> {
    // The file at the path may have been replaced since it was checked.
    let metadata = file.metadata()?;
    check_kind(&metadata)?;
    Ok((file, metadata))
}

pub use crate::platform::is_gone;

/// Reads a regular file of at most `limit` bytes. Follows links.
///
/// # Errors
/// The same as [`open`]; also `FileTooLarge`, before reading anything if the file system reports the size.
pub fn read(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let (file, metadata) = open_looked(OpenOptions::new().read(true), path)?;
    read_sized(file, metadata.len(), limit)
}

/// Like [`read`], but checks the kind of file only after opening it. This saves a look at the path, and is meant for paths
/// that cannot lead to a device, which reacts to being opened: the path was just found to be a regular file, or is in a
/// folder that only this user can write to.
pub fn read_directly(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let (file, metadata) = open_checked(OpenOptions::new().read(true), path)?;
    read_sized(file, metadata.len(), limit)
}

/// Reads an open file of at most `limit` bytes.
///
/// # Errors
/// `FileTooLarge`, before reading anything if the file system reports the size.
pub fn read_open(file: File, limit: u64) -> Result<Vec<u8>> {
    let size = file.metadata()?.len();
    read_sized(file, size, limit)
}

/// Reads an open file of at most `limit` bytes. `size` is its size according to the metadata.
pub fn read_sized(file: File, size: u64, limit: u64) -> Result<Vec<u8>> {
    check_size(size, limit)?;
    let size = usize::try_from(size).unwrap_or(0);
    let mut bytes = Vec::with_capacity(size.min(ONE_READ) + 1);
    platform::read_once(&file, &mut bytes)?;
    let count = bytes.len();
    // The buffer has room for one extra byte. If the first read returns exactly `size` bytes, the file is complete.
    // Otherwise the file is large, is growing, or is one whose size the system does not know.
    if count != size {
        bytes.reserve_exact(size.saturating_sub(count) + 1);
        file.take((limit + 1).saturating_sub(count as u64)).read_to_end(&mut bytes)?;
    }
    check_size(bytes.len() as u64, limit)?;
    Ok(bytes)
}

/// The largest file that is read with a single call, in bytes.
const ONE_READ: usize = 64 << 10;

/// Reads a regular file of at most `limit` bytes as UTF-8 text. Follows links.
///
/// # Errors
/// The same as [`read`]; also `InvalidData` if it is not UTF-8.
pub fn read_text(path: &Path, limit: u64) -> Result<String> {
    String::from_utf8(read(path, limit)?).map_err(|_| Error::new(ErrorKind::InvalidData, "it is not UTF-8 text"))
}

/// Reads one of the kernel's files, such as those in /proc, as UTF-8 text. Systems without them report `NotFound`.
pub fn read_kernel(path: &Path) -> Result<String> {
    String::from_utf8(read_directly(path, TEXT)?)
        .map_err(|_| Error::new(ErrorKind::InvalidData, "it is not UTF-8 text"))
}

/// Reads a secret from a regular file of at most `limit` bytes, as UTF-8 text. Only the owner may have access to the
/// file.
///
/// # Errors
/// The same as [`read_text`]; also `PermissionDenied` if others may read or write the file.
pub fn read_private(path: &Path, limit: u64) -> Result<String> {
    let file = open(path)?;
    platform::check_private(&file.metadata()?)?;
    String::from_utf8(read_open(file, limit)?).map_err(|_| Error::new(ErrorKind::InvalidData, "it is not UTF-8 text"))
}

/// Refuses a file that is larger than `limit` bytes, with `FileTooLarge`.
pub fn check_size(size: u64, limit: u64) -> Result<()> {
    if size <= limit {
        return Ok(());
    }
    Err(Error::new(ErrorKind::FileTooLarge, format!("it is larger than the limit of {} MiB", limit >> 20)))
}

/// Whether a path names a file descriptor of this process, such as a shell's `<(command)`.
pub fn is_own_descriptor(path: &Path) -> bool {
    path == Path::new("/dev/stdin") || ["/dev/fd", "/proc/self/fd"].iter().any(|folder| path.starts_with(folder))
}

/// Refuses anything that is not a regular file.
///
/// # Errors
/// `IsADirectory` for a folder, `Unsupported` with the kind of file for anything else.
pub fn check_kind(metadata: &Metadata) -> Result<()> {
    let kind = metadata.file_type();
    if kind.is_file() {
        return Ok(());
    }
    let error = if kind.is_dir() { ErrorKind::IsADirectory } else { ErrorKind::Unsupported };
    Err(Error::new(error, format!("it is {}, not a file", platform::kind_name(kind))))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn pipes_sockets_devices_and_folders_are_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fifo(&at("pipe"));
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        std::os::unix::fs::symlink("pipe", at("link")).unwrap();
        for (path, says) in [
            (at("pipe"), "a named pipe"),
            (at("link"), "a named pipe"),
            (at("socket"), "a socket"),
            ("/dev/zero".into(), "a device"),
            (at("."), "a folder"),
        ] {
            let error = open(&path).unwrap_err();
            assert_eq!(error.to_string(), format!("it is {says}, not a file"));
            assert_eq!(read(&path, 1).unwrap_err().to_string(), error.to_string());
        }
        assert_eq!(open(&at("none")).unwrap_err().kind(), ErrorKind::NotFound);
    }

    #[test]
    fn a_series_opens_the_same_files_as_their_paths_do() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("other")).unwrap();
        for name in ["a", "b", "other/a"] {
            fs::write(at(name), name).unwrap();
        }
        fifo(&at("pipe"));
        std::os::unix::fs::symlink("other/a", at("link")).unwrap();
        let mut files = Series::default();
        let mut text = |name: &str| {
            let (file, metadata) = files.open(&at(name))?;
            read_sized(file, metadata.len(), TEXT).map(|bytes| String::from_utf8(bytes).unwrap())
        };
        // The first call opens its file by its path, and the second one opens the folder. Later calls find their files
        // in it.
        for (name, content) in
            [("a", "a"), ("b", "b"), ("link", "other/a"), ("other/a", "other/a"), ("b", "b"), ("a", "a")]
        {
            assert_eq!(text(name).unwrap(), content, "{name}");
        }
        assert_eq!(text("pipe").unwrap_err().to_string(), "it is a named pipe, not a file");
        assert_eq!(text("other").unwrap_err().kind(), ErrorKind::IsADirectory);
        assert_eq!(text("none").unwrap_err().kind(), ErrorKind::NotFound);
    }

    #[test]
    fn a_file_is_read_up_to_its_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "four").unwrap();
        assert_eq!(read(&path, 4).unwrap(), b"four");
        assert_eq!(read(&path, 3).unwrap_err().kind(), ErrorKind::FileTooLarge);
        assert_eq!(read_text(&path, 4).unwrap(), "four");
        // The size from the metadata is only a guess. It may be too small, exact, too large, or zero.
        for size in [1, 3, 4, 5, 0] {
            assert_eq!(read_sized(File::open(&path).unwrap(), size, 9).unwrap(), b"four", "{size}");
        }
        for size in [0, ONE_READ - 1, ONE_READ, ONE_READ + 1, 3 * ONE_READ] {
            let bytes: Vec<u8> = (0..size).map(|n| u8::try_from(n % 251).unwrap_or(0)).collect();
            fs::write(&path, &bytes).unwrap();
            assert_eq!(read(&path, TEXT).unwrap(), bytes);
        }
        fs::write(&path, "four").unwrap();
        // A sparse file is refused by its size, before it is read.
        File::options().write(true).open(&path).unwrap().set_len(8 << 30).unwrap();
        assert!(read(&path, WHOLE).unwrap_err().to_string().contains("limit of 256 MiB"));
    }

    fn fifo(path: &Path) {
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    }
}
