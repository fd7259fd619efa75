//! Reads and hashes the files of a module's folder, with links resolved.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;

use super::bounds::{self, Bounds, FILE};
use crate::module::Layer;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::hex;
use mcpkg_base::inside::is_gits;
use mcpkg_base::sha256;

/// The folder in an overlay that contains the overlay's metadata.
pub(super) const META: &str = ".agentpack";

/// Whether a file or folder with this name never belongs to a module: git's own files and overlay metadata.
fn is_private(name: &str) -> bool {
    name == META || is_gits(name)
}

/// The maximum number of files and folders in a module. With links that lead to each other, a module could have more
/// files than a disk can hold.
const MOST: usize = 50_000;

/// The maximum nesting depth of folders.
const DEEPEST: usize = 64;

/// A file that was found but not read.
#[derive(Debug)]
pub(super) struct FoundFile {
    /// The path to show to the user.
    pub(super) from: PathBuf,
    /// The path with all links resolved.
    real: PathBuf,
    /// Whether the file was reached through a link.
    linked: bool,
}

/// A file that was read.
#[derive(Clone, Debug)]
pub(super) struct Content {
    /// The path on disk.
    pub(super) from: PathBuf,
    pub(super) bytes: Arc<[u8]>,
    pub(super) executable: bool,
    /// Whether the file was reached through a link.
    pub(super) linked: bool,
}

/// A file of a module that is being composed.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub(super) content: Content,
    pub(super) layer: Layer,
}

/// Finds the files of `root`, which is a folder or one file. Returns them by their path below `root`. `root` itself
/// may be a link to any path that `bounds` allows. Links below it are followed if they stay inside or lead to a path
/// that the user allowed. `whose` is the module that errors name.
///
/// # Errors
/// `E_CONFIG_INVALID` with the details `module_id` and `path` if `root` is missing, is not allowed by `bounds`, or is
/// neither a file nor a folder; if a link leads out of the folder, in a circle or nowhere; if a name is not UTF-8; if
/// there are too many files, or if folders are nested too deeply. The error of the file system if a file or folder
/// cannot be read.
pub(super) fn find(whose: &str, bounds: &Bounds, root: &Path) -> Result<BTreeMap<String, FoundFile>> {
    let (real, metadata) = bounds.real(root).map_err(|refusal| refusal.error(root, |why| refuse(whose, root, why)))?;
    let mut walk = Walk { whose, bounds, root, real: &real, above: Vec::new(), entries: 0, found: BTreeMap::new() };
    if metadata.is_dir() {
        walk.folder(&At { shown: root.to_path_buf(), real: real.clone(), linked: false, depth: 0 }, "")?;
    } else if let (true, Some(name)) = (metadata.is_file(), root.file_name()) {
        let name = name.to_str().ok_or_else(|| refuse(whose, root, "has a name that is not valid UTF-8"))?;
        walk.found.insert(name.to_owned(), FoundFile { from: root.to_path_buf(), real: real.clone(), linked: false });
    } else {
        return Err(refuse(whose, root, "is neither a folder nor a file"));
    }
    Ok(walk.found)
}

struct Walk<'a> {
    whose: &'a str,
    bounds: &'a Bounds,
    root: &'a Path,
    /// The root's path with all links resolved.
    real: &'a Path,
    /// The real paths of the linked folders on the way to the current folder, to detect cycles.
    above: Vec<PathBuf>,
    entries: usize,
    found: BTreeMap<String, FoundFile>,
}

/// The folder that is being searched.
struct At {
    shown: PathBuf,
    real: PathBuf,
    linked: bool,
    depth: usize,
}

impl Walk<'_> {
    fn folder(&mut self, at: &At, prefix: &str) -> Result<()> {
        if at.depth > DEEPEST {
            return Err(refuse(self.whose, self.root, &format!("has folders nested more than {DEEPEST} deep")));
        }
        let failed = |error| Error::file("read", &at.shown, error);
        for entry in std::fs::read_dir(&at.real).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name();
            let from = at.shown.join(&name);
            let Some(name) = name.to_str() else {
                return Err(refuse(self.whose, &from, "has a name that is not valid UTF-8"));
            };
            if is_private(name) {
                continue;
            }
            self.entries += 1;
            if self.entries > MOST {
                return Err(refuse(self.whose, self.root, &format!("contains more than {MOST} files and folders")));
            }
            let path = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}/{name}") };
            let kind = entry.file_type().map_err(failed)?;
            let real = at.real.join(name);
            if kind.is_symlink() {
                self.link(at, from, path)?;
            } else if kind.is_dir() {
                self.folder(&At { shown: from, real, linked: at.linked, depth: at.depth + 1 }, &path)?;
            } else if kind.is_file() {
                self.found.insert(path, FoundFile { from, real, linked: at.linked });
            }
            // Skip everything else, such as sockets: it has no content.
        }
        Ok(())
    }

    fn link(&mut self, at: &At, link: PathBuf, path: String) -> Result<()> {
        let Ok(target) = mcpkg_base::platform::real(&link) else {
            return Err(refuse(self.whose, &link, "is a broken or circular link"));
        };
        // Check only the part below the root: agentpack's home folder is called `.agentpack` too.
        let below = target.strip_prefix(self.real).ok();
        let is_hidden = |below: &Path| below.iter().any(|part| is_private(&part.to_string_lossy()));
        if below.is_none_or(is_hidden) && !self.bounds.allows(&target) {
            let why = format!("is a link that leads out of `{}`, to `{}`", self.root.display(), target.display());
            return Err(bounds::allowable(refuse(self.whose, &link, &why), &target));
        }
        let metadata = std::fs::symlink_metadata(&target).map_err(|error| Error::file("read", &link, error))?;
        if !metadata.is_dir() {
            if metadata.is_file() {
                self.found.insert(path, FoundFile { from: link, real: target, linked: true });
            }
            return Ok(());
        }
        if at.real.starts_with(&target) || self.above.contains(&target) {
            return Err(refuse(self.whose, &link, "is a link to a folder that contains the link"));
        }
        self.above.push(target.clone());
        let walked = self.folder(&At { shown: link, real: target, linked: true, depth: at.depth + 1 }, &path);
        self.above.pop();
        walked
    }
}

fn refuse(whose: &str, path: &Path, why: &str) -> Error {
    Error::new(Code::ConfigInvalid, format!("Module `{whose}`: `{}` {why}", path.display()))
        .with_details(json!({"module_id": whose, "path": path.display().to_string(), "error": why}))
}

impl FoundFile {
    /// Reads the content of a found file.
    ///
    /// # Errors
    /// `E_CONFIG_INVALID` if the file is gone, too large or no longer a regular file, or if the repo is too large; the
    /// error of the file system if the file cannot be read.
    pub(super) fn read(self, whose: &str, bounds: &Bounds) -> Result<Content> {
        let read = bounds.read_real(&self.real, FILE);
        let (bytes, metadata) =
            read.map_err(|refusal| refusal.error(&self.from, |why| refuse(whose, &self.from, why)))?;
        let executable = is_executable(&metadata);
        Ok(Content { from: self.from, bytes: bytes.into(), executable, linked: self.linked })
    }
}

/// Reads the content of found files.
pub(super) fn read(
    whose: &str,
    bounds: &Bounds,
    found: BTreeMap<String, FoundFile>,
) -> Result<BTreeMap<String, Content>> {
    found.into_iter().map(|(path, found)| Ok((path, found.read(whose, bounds)?))).collect()
}

/// The SHA-256 of each file and of the whole tree, computed as in agentpack's lockfiles and baselines.
#[derive(Debug)]
pub(super) struct Hashes {
    pub(super) tree: String,
    /// The hash and length of each file, by path.
    pub(super) files: BTreeMap<String, (String, usize)>,
}

impl Hashes {
    pub(super) fn of<'a>(contents: impl IntoIterator<Item = (&'a String, &'a Content)>) -> Self {
        let files: BTreeMap<String, (String, usize)> = contents
            .into_iter()
            .map(|(path, content)| (path.clone(), (sha256::hex(&content.bytes), content.bytes.len())))
            .collect();
        let mut tree = sha256::Hasher::new();
        for (path, (hash, length)) in &files {
            tree.update(format!("{path}\n{hash}\n{length}\n"));
        }
        Self { tree: hex::encode(&tree.finish()), files }
    }
}

pub(super) use mcpkg_base::platform::is_executable;

#[cfg(test)]
mod tests {
    use super::*;

    fn find(whose: &str, root: &Path) -> Result<BTreeMap<String, FoundFile>> {
        super::find(whose, &bounds(root), root)
    }

    fn read(root: &Path) -> BTreeMap<String, Content> {
        super::read("m", &bounds(root), find("m", root).unwrap()).unwrap()
    }

    fn bounds(root: &Path) -> Bounds {
        Bounds::new(root.parent().unwrap(), &[]).unwrap()
    }

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
        let read = read(&folder.path().join("whole"));
        assert_eq!(read.keys().collect::<Vec<_>>(), ["again.sh", "linked/a.txt", "real/a.txt", "run.sh"]);
        assert!(read["again.sh"].executable && read["again.sh"].linked && !read["real/a.txt"].executable);

        write(&root, "../secret", "s");
        write(&root, ".git/config", "");
        for (target, says) in [
            ("../secret", "out of"),
            (".git/config", "out of"),
            ("..", "out of"),
            (".", "that contains the link"),
            ("nowhere", "broken"),
        ] {
            symlink(target, root.join("bad")).unwrap();
            let error = find("m", &root).unwrap_err();
            assert_eq!(error.code(), Code::ConfigInvalid);
            assert!(error.message().contains("m/bad` is a ") && error.message().contains(says), "{error}");
            std::fs::remove_file(root.join("bad")).unwrap();
        }
        write(&root, "x/f", "");
        write(&root, "y/f", "");
        symlink("../y", root.join("x/y")).unwrap();
        symlink("../x", root.join("y/x")).unwrap();
        assert!(find("m", &root).unwrap_err().message().contains("that contains the link"));
    }

    #[test]
    fn hashes_are_those_of_agentpack() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "b", "2");
        write(folder.path(), "a", "1");
        let hashes = Hashes::of(&read(folder.path()));
        let one = sha256::hex("1");
        let two = sha256::hex("2");
        assert_eq!(hashes.tree, sha256::hex(format!("a\n{one}\n1\nb\n{two}\n1\n")));
        assert_eq!(hashes.files["a"], (one, 1));
    }
}
