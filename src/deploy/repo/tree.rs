//! The files of a folder: what belongs to a module, where links lead, what it all hashes to.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;
use sha2::{Digest, Sha256};

use crate::deploy::disk::hex;
use crate::error::{Code, Error, Result};

/// What is never part of a module: git's own, and what the overlays keep of theirs.
const PRIVATE: [&str; 2] = [".git", META];

/// The folder in an overlay that says what it is.
pub(super) const META: &str = ".agentpack";

/// More files than a module has; links that lead to each other could make more than a disk holds.
const MOST: usize = 50_000;

/// A file that was found and not read.
#[derive(Debug)]
pub(super) struct Found {
    /// Where it lies on the disk.
    pub(super) from: PathBuf,
    /// Whether a link leads to it.
    pub(super) linked: bool,
}

/// A file that was read.
#[derive(Clone, Debug)]
pub(super) struct Content {
    /// Where it lies on the disk.
    pub(super) from: PathBuf,
    /// Its bytes.
    pub(super) bytes: Arc<[u8]>,
    /// Whether it is a program.
    pub(super) executable: bool,
    /// Whether a link leads to it.
    pub(super) linked: bool,
}

/// Finds the files of `root`, a folder or one file, by their path below it. Links are followed where they stay inside;
/// `root` itself may be one. What `whose` names stands in the errors.
///
/// # Errors
/// `E_CONFIG_INVALID` with module_id and path: nothing there, a link that leads out, back or nowhere, a name that is
/// no UTF-8; `E_FILE_FAILED`.
pub(super) fn find(whose: &str, root: &Path) -> Result<BTreeMap<String, Found>> {
    let metadata = match std::fs::metadata(root) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(refuse(whose, root, "does not exist"));
        }
        Err(error) => return Err(Error::file("read", root, error)),
    };
    let mut walk = Walk { whose, root, real: None, above: Vec::new(), found: BTreeMap::new() };
    if metadata.is_dir() {
        walk.folder(root, "", false)?;
    } else if let (true, Some(name)) = (metadata.is_file(), root.file_name()) {
        let name = name.to_str().ok_or_else(|| refuse(whose, root, "has a name that is no UTF-8"))?;
        walk.found.insert(name.to_owned(), Found { from: root.to_path_buf(), linked: false });
    } else {
        return Err(refuse(whose, root, "is neither a folder nor a file"));
    }
    Ok(walk.found)
}

struct Walk<'a> {
    whose: &'a str,
    root: &'a Path,
    /// The root without links; asked for when the first link is met.
    real: Option<PathBuf>,
    /// The folders that the walk is in, without links; known from the first link on.
    above: Vec<PathBuf>,
    found: BTreeMap<String, Found>,
}

impl Walk<'_> {
    fn folder(&mut self, folder: &Path, prefix: &str, linked: bool) -> Result<()> {
        let failed = |error| Error::file("read", folder, error);
        for entry in std::fs::read_dir(folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let (name, from) = (entry.file_name(), entry.path());
            let Some(name) = name.to_str() else {
                return Err(refuse(self.whose, &from, "has a name that is no UTF-8"));
            };
            if PRIVATE.contains(&name) {
                continue;
            }
            let path = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}/{name}") };
            let kind = entry.file_type().map_err(failed)?;
            if kind.is_symlink() {
                self.link(&from, path)?;
            } else if kind.is_dir() {
                self.folder(&from, &path, linked)?;
            } else if kind.is_file() {
                self.file(path, from, linked)?;
            }
            // What is neither, such as a socket, has no content.
        }
        Ok(())
    }

    fn file(&mut self, path: String, from: PathBuf, linked: bool) -> Result<()> {
        self.found.insert(path, Found { from, linked });
        if self.found.len() > MOST {
            return Err(refuse(self.whose, self.root, &format!("holds more than {MOST} files")));
        }
        Ok(())
    }

    fn link(&mut self, link: &Path, path: String) -> Result<()> {
        let real = match &self.real {
            Some(real) => real.clone(),
            None => self.root.canonicalize().map_err(|error| Error::file("follow", self.root, error))?,
        };
        self.real = Some(real.clone());
        let Ok(target) = link.canonicalize() else {
            return Err(refuse(self.whose, link, "is a link that leads nowhere, or in circles"));
        };
        // Only what lies below counts: the repo's own home is called `.agentpack` too.
        let below = target.strip_prefix(&real).ok();
        if below.is_none_or(|below| below.components().any(|part| PRIVATE.iter().any(|name| part.as_os_str() == *name)))
        {
            let why = format!("is a link that leads out of `{}`", self.root.display());
            return Err(refuse(self.whose, link, &why));
        }
        if target.is_file() {
            return self.file(path, link.to_path_buf(), true);
        }
        let here = link.parent().and_then(|folder| folder.canonicalize().ok()).unwrap_or_default();
        if here.starts_with(&target) || self.above.contains(&target) {
            return Err(refuse(self.whose, link, "is a link that leads back to a folder it lies in"));
        }
        self.above.push(target);
        let walked = self.folder(link, &path, true);
        self.above.pop();
        walked
    }
}

fn refuse(whose: &str, path: &Path, why: &str) -> Error {
    Error::new(Code::ConfigInvalid, format!("Module `{whose}`: `{}` {why}", path.display()))
        .with_details(json!({"module_id": whose, "path": path.display().to_string(), "error": why}))
}

impl Found {
    /// Reads the file.
    ///
    /// # Errors
    /// `E_FILE_FAILED`, `E_NOT_FOUND`.
    pub(super) fn read(self) -> Result<Content> {
        let failed = |error| Error::file("read", &self.from, error);
        let bytes = crate::file::read(&self.from, crate::file::WHOLE).map_err(failed)?;
        let executable = is_executable(&std::fs::metadata(&self.from).map_err(failed)?);
        Ok(Content { from: self.from, bytes: bytes.into(), executable, linked: self.linked })
    }
}

/// Reads what was found.
///
/// # Errors
/// `E_FILE_FAILED`, `E_NOT_FOUND`.
pub(super) fn read(found: BTreeMap<String, Found>) -> Result<BTreeMap<String, Content>> {
    found.into_iter().map(|(path, found)| Ok((path, found.read()?))).collect()
}

/// The SHA-256 of each file and of them all, as the original's lockfiles and baselines have them.
#[derive(Debug)]
pub(super) struct Hashes {
    /// Of all files.
    pub(super) tree: String,
    /// Of each: the hash and the length.
    pub(super) files: BTreeMap<String, (String, usize)>,
}

impl Hashes {
    /// Hashes what was read.
    pub(super) fn of<'a>(contents: impl IntoIterator<Item = (&'a String, &'a Content)>) -> Self {
        let files: BTreeMap<String, (String, usize)> = contents
            .into_iter()
            .map(|(path, content)| (path.clone(), (hex(&Sha256::digest(&content.bytes)), content.bytes.len())))
            .collect();
        let mut tree = Sha256::new();
        for (path, (hash, length)) in &files {
            tree.update(format!("{path}\n{hash}\n{length}\n"));
        }
        Self { tree: hex(&tree.finalize()), files }
    }
}

#[cfg(unix)]
pub(super) fn is_executable(metadata: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
pub(super) fn is_executable(_: &std::fs::Metadata) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    #[test]
    fn finds_what_belongs_to_a_module() {
        let folder = tempfile::tempdir().unwrap();
        for path in ["SKILL.md", "a/b.txt", ".git/config", "a/.git", ".agentpack/module_id", ".hidden"] {
            write(folder.path(), path, path);
        }
        let found = find("m", folder.path()).unwrap();
        assert_eq!(found.keys().collect::<Vec<_>>(), [".hidden", "SKILL.md", "a/b.txt"]);
        let found = find("m", &folder.path().join("a/b.txt")).unwrap();
        assert_eq!(found.keys().collect::<Vec<_>>(), ["b.txt"]);
        assert!(find("m", &folder.path().join("none")).unwrap_err().message().contains("none` does not exist"));
    }

    #[cfg(unix)]
    #[test]
    fn follows_links_inside_only() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join(".agentpack/repo/m");
        write(&root, "real/a.txt", "a");
        write(&root, "run.sh", "b");
        std::fs::set_permissions(root.join("run.sh"), std::fs::Permissions::from_mode(0o755)).unwrap();
        symlink("real", root.join("linked")).unwrap();
        symlink("run.sh", root.join("again.sh")).unwrap();
        symlink(&root, folder.path().join("whole")).unwrap();
        let read = read(find("m", &folder.path().join("whole")).unwrap()).unwrap();
        assert_eq!(read.keys().collect::<Vec<_>>(), ["again.sh", "linked/a.txt", "real/a.txt", "run.sh"]);
        assert!(read["again.sh"].executable && read["again.sh"].linked && !read["real/a.txt"].executable);

        write(&root, "../secret", "s");
        write(&root, ".git/config", "");
        for (target, says) in [
            ("../secret", "leads out"),
            (".git/config", "leads out"),
            ("..", "leads out"),
            (".", "leads back"),
            ("nowhere", "leads nowhere"),
        ] {
            symlink(target, root.join("bad")).unwrap();
            let error = find("m", &root).unwrap_err();
            assert_eq!(error.code(), Code::ConfigInvalid);
            assert!(error.message().contains("m/bad` is a link that ") && error.message().contains(says), "{error}");
            std::fs::remove_file(root.join("bad")).unwrap();
        }
        write(&root, "x/f", "");
        write(&root, "y/f", "");
        symlink("../y", root.join("x/y")).unwrap();
        symlink("../x", root.join("y/x")).unwrap();
        assert!(find("m", &root).unwrap_err().message().contains("leads back"));
    }

    #[test]
    fn hashes_as_the_original() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "b", "2");
        write(folder.path(), "a", "1");
        let hashes = Hashes::of(&read(find("m", folder.path()).unwrap()).unwrap());
        let one = hex(&Sha256::digest("1"));
        let two = hex(&Sha256::digest("2"));
        assert_eq!(hashes.tree, hex(&Sha256::digest(format!("a\n{one}\n1\nb\n{two}\n1\n"))));
        assert_eq!(hashes.files["a"], (one, 1));
    }
}
