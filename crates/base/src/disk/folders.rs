//! Opens folders below a set of roots, and keeps them open.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::folder::{Folder, Moved, in_the_way};
use super::syncs::Syncs;
use super::{RealFolders, failed};
use crate::error::{Code, Result};
use crate::inside::{is_at_or_below, is_gits};

/// The most folders to keep open at a time. A process may open 1,024 files by default.
const MAX_OPEN: usize = 400;

/// Opens folders in a set of roots and keeps them open. A link is followed only once, when its folder is first
/// requested, and only if it leads to a folder below a root and outside git's own folder. Above a root, missing
/// folders can be created and empty ones removed, and nothing else can be changed.
pub struct Folders {
    roots: Vec<PathBuf>,
    real: RealFolders,
    open: HashMap<PathBuf, Rc<Folder>>,
    /// The last folder that [`Folders::open`] returned, with the path that was requested. Most files are in the folder
    /// of the file before.
    last: Option<(PathBuf, Rc<Folder>)>,
}

impl Folders {
    /// Returns the folders below `roots`, which must be real paths without links.
    pub fn below(roots: Vec<PathBuf>) -> Self {
        Self { roots, real: RealFolders::default(), open: HashMap::new(), last: None }
    }

    /// Opens the folder at the absolute `path`, which must be in a root; `None` if it does not exist.
    ///
    /// # Errors
    /// `E_IO_INVALID_PATH` if the path or a link in it leads out of the roots or into git's own folder, if a folder was
    /// replaced with a link since it was first opened, or if a part of the path is not a folder.
    pub fn open(&mut self, path: &Path) -> Result<Option<Rc<Folder>>> {
        if let Some((last, folder)) = &self.last
            && last.as_os_str() == path.as_os_str()
        {
            return Ok(Some(Rc::clone(folder)));
        }
        let real = self.inside(path)?;
        let folder = self.open_real(&real)?;
        self.last = folder.as_ref().map(|folder| (path.to_owned(), Rc::clone(folder)));
        Ok(folder)
    }

    /// Resolves the path of a folder, and refuses it unless it is in a root.
    fn inside(&mut self, path: &Path) -> Result<PathBuf> {
        let real = self.real.of(path);
        match self.roots.iter().any(|root| is_at_or_below(root, &real)) {
            true => Ok(real),
            false => Err(leads_out(path, &real)),
        }
    }

    /// Like [`Folders::inside`], but also allows parents of a root. Such parents may only be created, checked, synced,
    /// and removed while empty.
    fn inside_or_above(&mut self, path: &Path) -> Result<PathBuf> {
        let real = self.real.of(path);
        match self.roots.iter().any(|root| root.starts_with(&real)) {
            true => Ok(real),
            false => self.inside(path),
        }
    }

    /// Refuses a file that is not below a root, or is in git's own folder. Does not open anything.
    pub fn check(&mut self, path: &Path) -> Result<()> {
        self.inside(split(path)?.0).map(drop)
    }

    /// Whether the folder at `path` exists. The folder may be a parent of a root.
    pub fn is_there(&mut self, path: &Path) -> Result<bool> {
        let real = self.inside_or_above(path)?;
        Ok(self.open_real(&real)?.is_some())
    }

    /// Syncs the names in these folders to disk, each folder once. The folders may be parents of a root. Skips a folder
    /// that is missing or was replaced by a link or a file: nothing was written there.
    pub fn sync<'p>(&mut self, paths: impl IntoIterator<Item = &'p Path>) -> Result<()> {
        let mut syncs = Syncs::default();
        let mut synced = HashSet::new();
        for path in paths {
            let Some(real) = unless_replaced(self.inside_or_above(path))? else { continue };
            if synced.insert(real.clone())
                && let Some(folder) = unless_replaced(self.open_real(&real))?.flatten()
            {
                folder.sync_with(&mut syncs)?;
            }
        }
        syncs.finish()
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

    /// Returns the folder that contains `path`, and the last part of `path`; `None` if the folder does not exist.
    pub fn holding<'p>(&mut self, path: &'p Path) -> Result<Option<(Rc<Folder>, &'p OsStr)>> {
        let (folder, name) = split(path)?;
        Ok(self.open(folder)?.map(|folder| (folder, name)))
    }

    /// Creates the folder `path` in an existing folder. An existing folder is not an error.
    pub fn make(&mut self, path: &Path) -> Result<()> {
        let (parent, name) = split(path)?;
        self.inside_or_above(path)?;
        let real = self.inside_or_above(parent)?;
        match self.open_real(&real)? {
            Some(parent) => parent.make_folder(name),
            None => Err(failed("make", path, ErrorKind::NotFound.into())),
        }
    }

    /// Creates the folder `path` and its parents.
    pub fn make_all(&mut self, path: &Path) -> Result<()> {
        if self.is_there(path)? {
            return Ok(());
        }
        if let Some(parent) = path.parent() {
            self.make_all(parent)?;
        }
        self.make(path)
    }

    /// Removes the listed folders, except those that are not empty, are links, or are outside the roots and their parents.
    /// `paths` must list the deepest first.
    pub fn remove_empty<P: AsRef<Path>>(&mut self, paths: &[P]) {
        self.last = None;
        for path in paths.iter().map(AsRef::as_ref) {
            let Ok((folder, name)) = split(path) else { continue };
            let holding = self.inside_or_above(path).and_then(|_| self.inside_or_above(folder));
            if let Ok(Some(parent)) = holding.and_then(|folder| self.open_real(&folder)) {
                self.open.remove(&parent.path().join(name));
                parent.remove_empty_folder(name);
            }
        }
    }

    /// Returns the folders that were moved or replaced after they were opened. If one is inside another, only the outer one is
    /// returned.
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

/// Returns `None` instead of the error `E_IO_INVALID_PATH`, which means that a folder was replaced by a link or a file.
fn unless_replaced<T>(found: Result<T>) -> Result<Option<T>> {
    match found {
        Err(error) if error.code() == Code::InvalidPath => Ok(None),
        found => found.map(Some),
    }
}

/// Splits a file's path into its folder and name. Refuses a file of git's own.
fn split(path: &Path) -> Result<(&Path, &OsStr)> {
    match (path.parent(), path.file_name()) {
        (Some(_), Some(name)) if is_gits(&name.to_string_lossy()) => Err(in_the_way(path, "a file of git")),
        (Some(folder), Some(name)) => Ok((folder, name)),
        _ => Err(in_the_way(path, "not a file path")),
    }
}

/// Returns the error for a path that leads to `real`, where mcpkg neither reads nor writes.
fn leads_out(path: &Path, real: &Path) -> crate::error::Error {
    let why = match real == path {
        true => "outside the folders that mcpkg writes to, or in git's own folder".to_owned(),
        false => format!("a link, or below a link, and leads to `{}`", real.display()),
    };
    in_the_way(path, &why)
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn an_open_folder_is_written_to_even_if_its_path_becomes_a_link() {
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
        // A new `Folders` refuses the link if it leads out of the roots, and follows it otherwise.
        let error = Folders::below(vec![top.join("in")]).holding(&path).err().expect("a link");
        assert_eq!(error.code(), Code::InvalidPath);
        let to = top.join("outside/deep").display().to_string();
        assert!(error.message().contains("is a link, or below a link") && error.message().contains(&to), "{error}");
        assert!(Folders::below(vec![top.clone()]).holding(&top.join("in/file")).expect("inside").is_some());
    }

    #[test]
    fn paths_outside_the_roots_or_in_git_are_refused() {
        let scratch = tempfile::tempdir().expect("a folder");
        let top = scratch.path().canonicalize().expect("a path");
        for folder in ["root/in", "root/.git/hooks", "root/in/.GIT", "beside/empty"] {
            fs::create_dir_all(top.join(folder)).expect("folders");
        }
        symlink(".git/hooks", top.join("root/hooks")).expect("a link");
        symlink("../beside", top.join("root/out")).expect("a link");
        let mut folders = Folders::below(vec![top.join("root")]);
        for bad in [
            "root/../beside/f",
            "root/in/../../beside/f",
            "beside/f",
            "f",
            "root",
            "root/.git",
            "root/.git/hooks/post-checkout",
            "root/in/.GIT/config",
            "root/hooks/post-checkout",
            "root/out/f",
            "root/new/../../f",
        ] {
            let path = top.join(bad);
            assert_eq!(folders.check(&path).expect_err(bad).code(), Code::InvalidPath, "{bad}");
            assert_eq!(folders.holding(&path).err().expect(bad).code(), Code::InvalidPath, "{bad}");
        }
        for good in ["root/f", "root/in/f", "root/in/../f", "root/new/f", "root/.github/f"] {
            folders.check(&top.join(good)).expect(good);
        }
        for bad in ["beside/made", "root/.git/made", "root/../beside/made", "root/.Git"] {
            assert!(folders.make_all(&top.join(bad)).is_err() && !top.join(bad).exists(), "{bad}");
        }
        folders.remove_empty(&[
            top.join("beside/empty"),
            top.join("root/in/../../beside/empty"),
            top.join("root/.git/hooks"),
        ]);
        assert!(top.join("beside/empty").exists() && top.join("root/.git/hooks").exists());
        // A missing root is created together with its parents, and removed again.
        let mut folders = Folders::below(vec![top.join("a/b")]);
        folders.make_all(&top.join("a/b")).expect("made");
        assert!(
            folders.holding(&top.join("a/f")).is_err() && folders.holding(&top.join("a/b/f")).expect("in").is_some()
        );
        folders.remove_empty(&[top.join("a/b"), top.join("a")]);
        assert!(!top.join("a").exists());
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
