//! Folders held open, so that what is written stays in them wherever their paths lead meanwhile.
//!
//! A path is resolved again by each system call: who swaps a folder for a link between two of them sends the second one
//! elsewhere. Here each folder is opened once, one name after the other without following a link, and every later call
//! names a file in it.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::attributes::Attributes;
use super::{Found, RealFolders, failed, sha256};
use crate::error::{Code, Error, Result};
use crate::file;

mod entry;
#[cfg(unix)]
mod unix;
#[cfg(unix)]
use unix as system;
#[cfg(not(unix))]
mod paths;
#[cfg(not(unix))]
use paths as system;

pub use entry::{Entry, Kind};

/// The most folders that are kept open at a time; a process may open 1,024 files unless told otherwise.
const MAX_OPEN: usize = 400;

/// A folder held open.
pub struct Folder {
    path: PathBuf,
    handle: system::Handle,
}

impl Folder {
    fn top(path: &Path) -> Result<Self> {
        let handle = system::open_top(path).map_err(|error| failed("open", path, error))?;
        Ok(Self { path: path.to_owned(), handle })
    }

    /// Opens the folder `name` in this one, without following a link; `None` where nothing is there.
    fn child(&self, name: &OsStr) -> Result<Option<Self>> {
        let path = self.path.join(name);
        match system::open_child(&self.handle, &self.path, name) {
            Ok(handle) => Ok(Some(Self { path, handle })),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => match self.entry(name)?.map(|entry| entry.kind) {
                None | Some(Kind::Folder) => Err(failed("open", &path, error)),
                Some(Kind::Link) => Err(in_the_way(&path, "a link")),
                Some(Kind::File | Kind::Other) => Err(in_the_way(&path, "no folder")),
            },
        }
    }

    /// Returns what the disk says of `name`, without following a link; `None` where nothing is there.
    ///
    /// # Errors
    /// `E_IO_PERMISSION_DENIED`, `E_IO_PATH_TOO_LONG`, `E_FILE_FAILED`.
    pub fn entry(&self, name: &OsStr) -> Result<Option<Entry>> {
        match system::entry(&self.handle, &self.path, name) {
            Ok(entry) => Ok(Some(entry)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.failed("read", name, error)),
        }
    }

    /// Returns what stands under `name`, without following a link.
    ///
    /// # Errors
    /// As [`Folder::entry`].
    pub fn look(&self, name: &OsStr) -> Result<Found> {
        let Some(entry) = self.entry(name)? else { return Ok(Found::Absent) };
        let read = || match entry.kind {
            Kind::Link => {
                let text = system::read_link(&self.handle, &self.path, name)?;
                // A text that is no UTF-8 could not be brought back.
                Ok(text.into_string().map_or(Found::Other, Found::Link))
            }
            Kind::Folder | Kind::Other => Ok(Found::Other),
            Kind::File => {
                let bytes = file::read_open(system::open_file(&self.handle, &self.path, name)?, file::WHOLE)?;
                Ok(Found::File { sha256: sha256(&bytes), bytes, mode: entry.mode })
            }
        };
        read().map_err(|error| self.failed("read", name, error))
    }

    /// Returns what the file `name` is besides its bytes and its mode; `None` where no file is there, or it cannot be
    /// read.
    pub fn attributes(&self, name: &OsStr) -> Option<Attributes> {
        // Neither a link is followed nor a device opened.
        self.entry(name).ok()?.filter(|entry| entry.kind == Kind::File)?;
        Some(Attributes::of(&system::open_file(&self.handle, &self.path, name).ok()?))
    }

    /// Writes bytes as the new file `temporary`, which is going to be `name`, with `attributes` as far as the user may
    /// set them; all is on the disk when this returns.
    ///
    /// # Errors
    /// As [`Folder::entry`], `E_DISK_FULL`.
    pub fn write_beside(
        &self,
        name: &OsStr,
        temporary: &OsStr,
        bytes: &[u8],
        mode: u32,
        attributes: Option<&Attributes>,
    ) -> Result<()> {
        let write = || {
            let mut file = system::create_file(&self.handle, &self.path, temporary, mode)?;
            file.write_all(bytes)?;
            super::set_mode(&file, mode)?;
            if let Some(attributes) = attributes {
                attributes.give(&file);
                // Names and times are no data.
                return file.sync_all();
            }
            file.sync_data()
        };
        write().map_err(|error| {
            let _ = system::remove_file(&self.handle, &self.path, temporary);
            self.failed("write", name, error)
        })
    }

    /// Puts a file that was written beside in its place; with `new` nothing that is there is replaced. It lasts when the
    /// folder is synced too ([`Folder::sync`]).
    ///
    /// # Errors
    /// As [`Folder::entry`]; `E_ALREADY_EXISTS` where `new` and something is there.
    pub fn put_in_place(&self, name: &OsStr, temporary: &OsStr, new: bool) -> Result<()> {
        let put = || {
            if new {
                // A link, unlike a rename, never replaces.
                match system::link(&self.handle, &self.path, temporary, name) {
                    Ok(()) => return system::remove_file(&self.handle, &self.path, temporary),
                    // A disk without links: what appears in this very moment would be replaced.
                    Err(error) if matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::PermissionDenied) => {}
                    Err(error) => return Err(error),
                }
            }
            system::rename(&self.handle, &self.path, temporary, name)
        };
        put().map_err(|error| {
            let _ = system::remove_file(&self.handle, &self.path, temporary);
            if error.kind() == ErrorKind::AlreadyExists {
                let path = self.path.join(name);
                return Error::new(Code::AlreadyExists, format!("`{}` appeared meanwhile", path.display()));
            }
            self.failed("write", name, error)
        })
    }

    /// Makes a symbolic link beside `name` and puts it in its place.
    ///
    /// # Errors
    /// As [`Folder::write_beside`].
    pub fn put_link(&self, name: &OsStr, temporary: &OsStr, text: &str) -> Result<()> {
        let linked = system::symlink(&self.handle, &self.path, text, temporary)
            .and_then(|()| system::rename(&self.handle, &self.path, temporary, name));
        linked.map_err(|error| {
            let _ = system::remove_file(&self.handle, &self.path, temporary);
            self.failed("write", name, error)
        })
    }

    /// Gives the file `name` the second name `other`; a disk without links leaves it at one, which is no failure.
    pub fn link_beside(&self, name: &OsStr, other: &OsStr) {
        let _ = system::link(&self.handle, &self.path, name, other);
    }

    /// Renames `from` to `to`, which is replaced.
    ///
    /// # Errors
    /// As [`Folder::entry`].
    pub fn rename(&self, from: &OsStr, to: &OsStr) -> Result<()> {
        system::rename(&self.handle, &self.path, from, to).map_err(|error| self.failed("put back", to, error))
    }

    /// Removes a file or a link; one that is gone is no failure.
    ///
    /// # Errors
    /// As [`Folder::entry`].
    pub fn remove(&self, name: &OsStr) -> Result<()> {
        use ErrorKind::{InvalidFilename, NotADirectory, NotFound};
        match system::remove_file(&self.handle, &self.path, name) {
            Ok(()) => Ok(()),
            Err(error) if matches!(error.kind(), NotFound | NotADirectory | InvalidFilename) => Ok(()),
            // A disk that cannot be written says so even where nothing is to be removed.
            Err(_) if matches!(self.entry(name), Ok(None)) => Ok(()),
            Err(error) => Err(self.failed("delete", name, error)),
        }
    }

    /// Puts the folder's names on the disk.
    pub fn sync(&self) {
        // Not every file system can; the files themselves are synced.
        let _ = system::sync(&self.handle, &self.path);
    }

    fn failed(&self, verb: &str, name: &OsStr, error: io::Error) -> Error {
        failed(verb, &self.path.join(name), error)
    }

    /// Returns where the folder is now, if its path does not lead to it any more.
    fn moved(&self) -> Option<Moved> {
        let own = system::own_entry(&self.handle, &self.path).ok().map(|entry| entry.identity);
        let there = system::entry_at(&self.path).ok().filter(|entry| entry.kind == Kind::Folder);
        if own.is_some() && there.map(|entry| entry.identity) == own {
            return None;
        }
        Some(Moved { path: self.path.clone(), now: system::whereabouts(&self.handle) })
    }
}

/// A folder whose path leads elsewhere since it was opened.
#[derive(Clone, Debug)]
pub struct Moved {
    /// Where it was.
    pub path: PathBuf,
    /// Where it is now, as far as the system tells.
    pub now: Option<PathBuf>,
}

impl std::fmt::Display for Moved {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.now {
            Some(now) => write!(f, "`{}` is now at `{}`", self.path.display(), now.display()),
            None => write!(f, "`{}` was moved away or removed", self.path.display()),
        }
    }
}

/// Opens the folders in and above some roots, and keeps them open. Links are followed once, when a folder is first asked
/// for, and only to what is below a root.
pub struct Folders {
    roots: Vec<PathBuf>,
    real: RealFolders,
    open: HashMap<PathBuf, Rc<Folder>>,
}

impl Folders {
    /// Returns what opens folders below `roots`, which are real paths: no link is in them.
    pub fn below(roots: Vec<PathBuf>) -> Self {
        Self { roots, real: RealFolders::default(), open: HashMap::new() }
    }

    /// Returns the folder at `path`, which is absolute; `None` where nothing is there.
    ///
    /// # Errors
    /// `E_IO_INVALID_PATH` where a link leads out of the roots, a folder was swapped for a link since it was first asked
    /// for, or a part of the path is no folder; `E_IO_PERMISSION_DENIED`, `E_FILE_FAILED`.
    pub fn open(&mut self, path: &Path) -> Result<Option<Rc<Folder>>> {
        let real = self.real.of(path);
        if !self.roots.iter().any(|root| real.starts_with(root) || root.starts_with(&real)) {
            return Err(in_the_way(path, &format!("a link, or below one, and leads to `{}`", real.display())));
        }
        self.open_real(&real)
    }

    fn open_real(&mut self, path: &Path) -> Result<Option<Rc<Folder>>> {
        if let Some(open) = self.open.get(path) {
            return Ok(Some(Rc::clone(open)));
        }
        let folder = match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) => match self.open_real(parent)? {
                Some(parent) => parent.child(name)?,
                None => None,
            },
            _ => Some(Folder::top(path)?),
        };
        Ok(folder.map(|folder| self.keep(folder)))
    }

    /// Returns the folder that holds `path`, and the name of `path` in it; `None` where the folder is not there.
    ///
    /// # Errors
    /// As [`Folders::open`].
    pub fn holding<'p>(&mut self, path: &'p Path) -> Result<Option<(Rc<Folder>, &'p OsStr)>> {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(in_the_way(path, "no file's path"));
        };
        Ok(self.open(folder)?.map(|folder| (folder, name)))
    }

    /// Makes the folder `path` in one that is there; one that is there already is no failure.
    ///
    /// # Errors
    /// As [`Folders::open`].
    pub fn make(&mut self, path: &Path) -> Result<()> {
        let Some((parent, name)) = self.holding(path)? else {
            return Err(failed("make", path, ErrorKind::NotFound.into()));
        };
        match system::make_folder(&parent.handle, &parent.path, name) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(failed("make", path, error)),
            _ => Ok(()),
        }
    }

    /// Makes the folder `path`, and those above it.
    ///
    /// # Errors
    /// As [`Folders::open`].
    pub fn make_all(&mut self, path: &Path) -> Result<()> {
        if self.open(path)?.is_some() {
            return Ok(());
        }
        if let Some(parent) = path.parent() {
            self.make_all(parent)?;
        }
        self.make(path)
    }

    /// Removes those of `paths`, folders with the deepest first, that are empty, no links, and in or above a root; the
    /// others are left.
    pub fn remove_empty<P: AsRef<Path>>(&mut self, paths: &[P]) {
        for path in paths.iter().map(AsRef::as_ref) {
            let real = self.real.of(path);
            let is_held = self.roots.iter().any(|root| real.starts_with(root) || root.starts_with(&real));
            if is_held && let Ok(Some((parent, name))) = self.holding(path) {
                self.open.remove(&parent.path.join(name));
                let _ = system::remove_folder(&parent.handle, &parent.path, name);
            }
        }
    }

    /// Returns the folders whose paths lead elsewhere since they were opened, the outermost of them alone.
    pub fn moved(&self) -> Vec<Moved> {
        let mut moved: Vec<Moved> = self.open.values().filter_map(|folder| folder.moved()).collect();
        moved.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        let mut outermost: Vec<Moved> = Vec::new();
        for folder in moved {
            if !outermost.last().is_some_and(|above| folder.path.starts_with(&above.path)) {
                outermost.push(folder);
            }
        }
        outermost
    }

    fn keep(&mut self, folder: Folder) -> Rc<Folder> {
        if self.open.len() >= MAX_OPEN {
            self.open.clear();
        }
        let folder = Rc::new(folder);
        self.open.insert(folder.path.clone(), Rc::clone(&folder));
        folder
    }
}

fn in_the_way(path: &Path, what: &str) -> Error {
    Error::new(Code::InvalidPath, format!("`{}` is {what}, and files shall stand in it", path.display()))
        .with_details(serde_json::json!({ "path": path.display().to_string(), "path_posix": super::posix(path) }))
        .hint("look who changes this folder, and try again")
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_folder_that_was_swapped_for_a_link_still_takes_what_is_written() {
        let scratch = tempfile::tempdir().expect("a folder");
        let top = scratch.path().canonicalize().expect("a path");
        fs::create_dir_all(top.join("in/deep")).expect("folders");
        fs::create_dir(top.join("outside")).expect("a folder");
        let mut folders = Folders::below(vec![top.clone()]);
        let path = top.join("in/deep/file");
        let (folder, name) = folders.holding(&path).expect("no link").expect("a folder");
        assert!(folders.moved().is_empty());
        fs::rename(top.join("in"), top.join("away")).expect("a rename");
        symlink("outside", top.join("in")).expect("a link");
        folder.write_beside(name, OsStr::new("tmp"), b"x", 0o600, None).expect("written");
        folder.put_in_place(name, OsStr::new("tmp"), true).expect("put");
        assert_eq!(fs::read(top.join("away/deep/file")).expect("the file"), b"x");
        assert!(fs::read_dir(top.join("outside")).expect("a folder").next().is_none());
        let moved = folders.moved();
        assert_eq!(moved.len(), 1, "{moved:?}");
        assert_eq!(moved[0].path, top.join("in"));
        if cfg!(target_os = "linux") {
            assert_eq!(moved[0].now, Some(top.join("away")));
        }
        // Asked for anew, the link is refused where it leads out, and followed where it does not.
        let error = Folders::below(vec![top.join("in")]).holding(&path).err().expect("a link");
        assert_eq!(error.code(), Code::InvalidPath);
        let to = top.join("outside/deep").display().to_string();
        assert!(error.message().contains("is a link, or below one") && error.message().contains(&to), "{error}");
        assert!(Folders::below(vec![top.clone()]).holding(&top.join("in/file")).expect("inside").is_some());
    }

    #[test]
    fn many_folders_are_opened_in_turns() {
        let scratch = tempfile::tempdir().expect("a folder");
        let top = scratch.path().canonicalize().expect("a path");
        let mut folders = Folders::below(vec![top.clone()]);
        for n in 0..(2 * MAX_OPEN) {
            let folder = top.join(format!("f{n}"));
            folders.make_all(&folder.join("a")).expect("made");
            assert!(folders.open(&folder.join("a")).expect("no link").is_some());
        }
        for n in 0..(2 * MAX_OPEN) {
            folders.remove_empty(&[top.join(format!("f{n}/a")), top.join(format!("f{n}"))]);
        }
        assert!(fs::read_dir(&top).expect("a folder").next().is_none());
        assert!(folders.open(&top.join("f0/a")).expect("no link").is_none());
    }
}
