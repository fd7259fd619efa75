//! The unpacked copies of archives in the user's cache: `mcpkg/tools/SHA256/`, each with a notes file about its
//! files.
//!
//! Before a run, each file is compared with the notes. A file that differs only in its times or its inode is hashed
//! again. If a file is wrong, missing or additional, the copy is unpacked again from the archive.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use etcetera::BaseStrategy;
use serde::{Deserialize, Serialize};

use crate::config;
use crate::package::archive;
use mcpkg_base::clock::Millis;
use mcpkg_base::disk;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::file;
use mcpkg_base::hex;
use mcpkg_base::sha256;
use mcpkg_core::op::Context;
use mcpkg_store::blobs::NewContent;

/// The notes about a copy: its files by path.
type Noted = BTreeMap<String, Note>;

/// The notes about a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Note {
    size: u64,
    mode: u32,
    /// The times and the inode, if the file system supports them.
    stat: Option<[i64; 3]>,
    sha256: String,
}

/// Returns mcpkg's folder in this user's cache.
///
/// # Errors
/// `E_ROOT_REQUIRED` if the cache folder is unknown.
pub fn cache() -> Result<PathBuf> {
    let strategy = etcetera::base_strategy::choose_native_strategy().map_err(|_| {
        Error::new(Code::RootRequired, "Cannot find your cache folder: HOME is not set")
            .hint("set HOME or XDG_CACHE_HOME")
    })?;
    Ok(strategy.cache_dir().join("mcpkg"))
}

/// Returns the folder of the unpacked copies.
pub fn folder() -> Result<PathBuf> {
    Ok(cache()?.join("tools"))
}

/// The folder of the copies, and its size limit.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
    /// The maximum size of all copies together in bytes; a copy that was just made stays even if it is larger.
    most: u64,
}

impl Cache {
    /// Returns this user's cache with the configured size.
    ///
    /// # Errors
    /// `E_ROOT_REQUIRED` if the cache folder is unknown.
    pub fn of(context: &Context) -> Result<Self> {
        Ok(Self { folder: folder()?, most: context.store.read(config::cache_size)? })
    }
}

/// Returns the unpacked copy of an archive; `archive` loads the archive if there is no correct copy.
pub fn checked(
    cache: &Cache,
    sha256: &[u8; 32],
    now: Millis,
    archive: impl FnOnce() -> Result<NewContent>,
) -> Result<PathBuf> {
    copy(cache, sha256, now, |folder| archive::open(archive()?)?.unpack(folder))
}

/// Returns the copy with this SHA-256; `lay_out` creates its folder if there is no correct copy.
pub fn copy(
    Cache { folder: cache, most }: &Cache,
    sha256: &[u8; 32],
    now: Millis,
    lay_out: impl FnOnce(&Path) -> Result<()>,
) -> Result<PathBuf> {
    fs::create_dir_all(cache).map_err(|error| Error::file("make", cache, error))?;
    let name = hex::encode(sha256);
    let (tree, notes) = (cache.join(&name), cache.join(format!("{name}.json")));
    // Without a lock, two processes that unpack the same archive would each find the other's unfinished copy and
    // remove it.
    let lock = cache.join(format!("{name}.lock"));
    let held = File::options().create(true).truncate(false).write(true).open(&lock);
    let held = held.map_err(|error| Error::file("lock", &lock, error))?;
    held.lock().map_err(|error| Error::file("lock", &lock, error))?;
    if !is_right(&tree, &notes) {
        remove(&tree)?;
        archive::sweep(&tree)?;
        lay_out(&tree)?;
        let noted = look(&tree)?;
        let text = serde_json::to_vec(&noted).map_err(|error| Error::internal("notes are JSON").with_source(error))?;
        fs::write(&notes, text).map_err(|error| Error::file("write", &notes, error))?;
        make_room(cache, *most, &name);
    }
    // The modification time of the notes records when the copy was last used.
    let used = UNIX_EPOCH + Duration::from_millis(u64::try_from(now).unwrap_or(0));
    let _ = File::options().append(true).open(&notes).and_then(|notes| notes.set_modified(used));
    Ok(tree)
}

/// Removes the copy with this SHA-256, its notes and its lock. The next run of the tool creates the copy again.
pub fn forget(cache: &Path, sha256: &[u8; 32]) -> Result<()> {
    let name = hex::encode(sha256);
    for beside in [format!("{name}.json"), format!("{name}.lock")] {
        let _ = fs::remove_file(cache.join(beside));
    }
    remove(&cache.join(name))
}

/// Returns whether a copy still has the content that was unpacked.
fn is_right(tree: &Path, notes: &Path) -> bool {
    let noted: Option<Noted> = file::read(notes, file::TEXT).ok().and_then(|text| serde_json::from_slice(&text).ok());
    let (Some(noted), Ok(files)) = (noted, files(tree)) else { return false };
    files.len() == noted.len()
        && files.iter().all(|(path, metadata)| {
            noted.get(path).is_some_and(|note| {
                let seen = (metadata.len(), disk::mode(metadata), stat(metadata));
                let is_untouched = seen.2.is_some() && seen == (note.size, note.mode, note.stat);
                let hashed = || sha256_of(&tree.join(path)).is_ok_and(|sha256| sha256 == note.sha256);
                is_untouched || ((seen.0, seen.1) == (note.size, note.mode) && hashed())
            })
        })
}

/// Returns the notes about a copy.
fn look(tree: &Path) -> Result<Noted> {
    let note = |(path, metadata): (String, Metadata)| {
        let sha256 = sha256_of(&tree.join(&path))?;
        Ok((path, Note { size: metadata.len(), mode: disk::mode(&metadata), stat: stat(&metadata), sha256 }))
    };
    files(tree)?.into_iter().map(note).collect()
}

/// Returns the files of a copy by path. Links and special files are included, so that they are noticed as wrong.
fn files(tree: &Path) -> Result<Vec<(String, Metadata)>> {
    let mut found = Vec::new();
    let mut folders = vec![tree.to_owned()];
    while let Some(folder) = folders.pop() {
        let failed = |error| Error::file("read", &folder, error);
        for entry in fs::read_dir(&folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let metadata = fs::symlink_metadata(&path).map_err(|error| Error::file("read", &path, error))?;
            if metadata.is_dir() {
                folders.push(path);
            } else {
                found.push((disk::posix(path.strip_prefix(tree).unwrap_or(&path)), metadata));
            }
            if found.len() > archive::MAX_MEMBERS {
                return Err(Error::new(Code::FileFailed, format!("`{}` contains too many files", tree.display())));
            }
        }
    }
    Ok(found)
}

fn stat(metadata: &Metadata) -> Option<[i64; 3]> {
    disk::stat(metadata).map(|stat| [stat.mtime, stat.ctime, stat.inode])
}

fn sha256_of(path: &Path) -> Result<String> {
    // The hash of a link is the hash of its target's path.
    if let Ok(to) = fs::read_link(path) {
        return Ok(sha256::hex(to.as_os_str().as_encoded_bytes()));
    }
    let bytes = file::read(path, archive::MAX_MEMBER).map_err(|error| Error::file("read", path, error))?;
    Ok(sha256::hex(&bytes))
}

/// Removes the least recently used copies until the rest fits; `kept` is never removed.
fn make_room(cache: &Path, most: u64, kept: &str) {
    let mut trees: Vec<(std::time::SystemTime, String, u64)> = Vec::new();
    for entry in fs::read_dir(cache).into_iter().flatten().flatten() {
        let Some(name) = entry.file_name().to_str().and_then(|name| name.strip_suffix(".json")).map(str::to_owned)
        else {
            continue;
        };
        let noted: Option<Noted> =
            file::read(&entry.path(), file::TEXT).ok().and_then(|text| serde_json::from_slice(&text).ok());
        let size = noted.unwrap_or_default().values().map(|note| note.size).sum();
        let used = entry.metadata().and_then(|metadata| metadata.modified()).unwrap_or(UNIX_EPOCH);
        trees.push((used, name, size));
    }
    trees.sort();
    let mut size: u64 = trees.iter().map(|(_, _, size)| size).sum();
    for (_, name, of_it) in trees.iter().filter(|(_, name, _)| name != kept) {
        if size <= most {
            return;
        }
        // The notes are removed first: a copy without notes is unpacked again.
        let gone = fs::remove_file(cache.join(format!("{name}.json"))).is_ok() && remove(&cache.join(name)).is_ok();
        size -= if gone { *of_it } else { 0 };
    }
}

fn remove(tree: &Path) -> Result<()> {
    match fs::remove_dir_all(tree) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::file("remove", tree, error)),
        _ => Ok(()),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn package(folder: &Path) -> NewContent {
        fs::create_dir_all(folder.join("lib")).expect("a folder");
        let manifest = "name: alice/tool\nversion: 1.0.0\ndescription: A tool\ncommand: sh run.sh\n";
        fs::write(folder.join("enact.yaml"), manifest).expect("a manifest");
        fs::write(folder.join("run.sh"), "echo right\n").expect("a script");
        fs::write(folder.join("lib/more.sh"), "echo more\n").expect("a script");
        archive::pack(folder).expect("packed").opened.content
    }

    #[test]
    fn x04_an_edited_copy_is_never_run() {
        let scratch = tempfile::tempdir().expect("a folder");
        let (cache, package) = (scratch.path().join("cache"), package(&scratch.path().join("tool")));
        let sha256 = package.sha256();
        let asked = std::cell::Cell::new(0);
        let of = || {
            let archive = || {
                asked.set(asked.get() + 1);
                Ok(package.clone())
            };
            checked(&Cache { folder: cache.clone(), most: 1 << 30 }, &sha256, 1_000, archive).expect("a tree")
        };
        let tree = of();
        let script = tree.join("run.sh");
        assert_eq!((fs::read_to_string(&script).expect("a script").as_str(), asked.get()), ("echo right\n", 1));
        of();
        assert_eq!(asked.get(), 1, "it was unpacked again");
        let edits: [&dyn Fn(); 5] = [
            &|| {
                fs::set_permissions(&script, fs::Permissions::from_mode(0o644)).expect("a mode");
                fs::write(&script, "echo wrong\n").expect("written");
                fs::set_permissions(&script, fs::Permissions::from_mode(0o444)).expect("a mode");
            },
            &|| fs::write(tree.join("added.sh"), "").expect("written"),
            &|| fs::remove_file(tree.join("lib/more.sh")).expect("gone"),
            &|| fs::remove_dir_all(&tree).expect("gone"),
            &|| {
                fs::remove_file(&script).expect("gone");
                std::os::unix::fs::symlink("/etc/passwd", &script).expect("a link");
            },
        ];
        for (number, edit) in edits.into_iter().enumerate() {
            edit();
            of();
            assert_eq!(fs::read_to_string(&script).expect("a script"), "echo right\n", "edit {number}");
            assert_eq!(asked.get(), number + 2);
        }
    }
}
