//! The folders that are held open below some roots.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::folder::{Folder, Moved, in_the_way};
use super::{RealFolders, failed};
use crate::error::Result;

/// The most folders that are kept open at a time; a process may open 1,024 files unless told otherwise.
const MAX_OPEN: usize = 400;

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
        parent.make_folder(name)
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
                self.open.remove(&parent.path().join(name));
                parent.remove_empty_folder(name);
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
        self.open.insert(folder.path().to_owned(), Rc::clone(&folder));
        folder
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::error::Code;

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
