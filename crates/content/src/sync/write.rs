//! Writes the files of a synced folder. Each file is first written to a temporary file, flushed and then renamed. A file that
//! changed since it was read is not replaced.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::disk::TEMPORARY;
use super::listed::HEAL;
use super::listing::{self, Listed};
use crate::item::{manifest, manifest::Manifest, server};
use mcpkg_base::disk::folders::Folders;
use mcpkg_base::disk::{self, PathState};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::sha256;
use mcpkg_core::op::Context;
use mcpkg_store::syncs::Write;
use mcpkg_store::{Store, blobs};

/// Which files were written, and which were not.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// The sorted paths of files that now have their new content.
    pub(super) done: Vec<String>,
    /// The paths of files that were skipped, because somebody changed them since they were read.
    pub(super) changed: Vec<String>,
}

/// Writes the files below `top`, which must be a real path, and then the manifest. When this returns, all of them are
/// flushed to disk. After a failure or cancellation, the files that were written stay, and another call writes the rest.
pub(super) fn write(top: &Path, writes: &[Write], context: &Context) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut folders = Folders::below(vec![top.to_path_buf()]);
    // Check all paths before the first file is written.
    writes.iter().try_for_each(|write| folders.check(&top.join(&write.path)))?;
    let mut touched: Vec<PathBuf> = Vec::new();
    let (servers, files): (Vec<&Write>, Vec<&Write>) = writes.iter().partition(|write| server::is_path(&write.path));
    for (done, write) in (1..).zip(&files) {
        if context.is_cancelled() {
            return Err(Error::new(
                Code::Cancelled,
                "The sync was cancelled; the next sync writes the remaining files",
            ));
        }
        let path = top.join(&write.path);
        match file(&mut folders, &path, write, &context.store)? {
            true => outcome.done.push(write.path.clone()),
            false => outcome.changed.push(write.path.clone()),
        }
        touched.extend(path.parent().map(Path::to_path_buf));
        (context.progress)("Writing", done, files.len() as u64);
    }
    touched.sort_unstable();
    touched.dedup();
    for folder in touched {
        sync(&mut folders, top, &folder)?;
    }
    manifest(&mut folders, top, &files, &servers, &mut outcome)?;
    sync(&mut folders, top, top)?;
    Ok(outcome)
}

/// Flushes the entries of a folder, and of all folders above it up to `top`.
fn sync(folders: &mut Folders, top: &Path, folder: &Path) -> Result<()> {
    for folder in folder.ancestors().take_while(|folder| folder.starts_with(top)) {
        if let Some(open) = folders.open(folder)? {
            open.sync();
        }
    }
    Ok(())
}

/// Writes a file's new content. Returns whether the file has that content now. A file that changed since it was read is
/// skipped.
fn file(folders: &mut Folders, path: &Path, write: &Write, store: &Store) -> Result<bool> {
    let Some(blob) = write.blob else { return remove(folders, path, write) };
    let bytes = store.read(|db| blobs::get(db, blob))?;
    if let Some(folder) = path.parent() {
        folders.make_all(folder)?;
    }
    let Some((folder, name)) = folders.holding(path)? else {
        return Err(Error::file("write", path, std::io::ErrorKind::NotFound.into()));
    };
    let mode = match (folder.look(name)?, write.before) {
        (PathState::Absent, None) => disk::executable(disk::FILE, write.executable),
        (PathState::File { sha256, mode, .. }, before) => {
            let wanted = disk::executable(mode, write.executable);
            if sha256 == sha256::of(&bytes) && (wanted == mode || Some(sha256) != before) {
                return Ok(wanted == mode);
            }
            if Some(sha256) != before {
                return Ok(false);
            }
            wanted
        }
        _ => return Ok(false),
    };
    let temporary = OsString::from(format!("{TEMPORARY}{}", uuid::Uuid::now_v7().simple()));
    folder.write_beside(name, &temporary, &bytes, mode, None)?;
    match folder.put_in_place(name, &temporary, write.before.is_none()) {
        Ok(()) => Ok(true),
        Err(error) if error.code() == Code::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

fn remove(folders: &mut Folders, path: &Path, write: &Write) -> Result<bool> {
    let Some((folder, name)) = folders.holding(path)? else { return Ok(true) };
    match folder.look(name)? {
        PathState::Absent => Ok(true),
        PathState::File { sha256, .. } if Some(sha256) == write.before => {
            folder.remove(name)?;
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// Updates the manifest for each file that was written and each server.
fn manifest(
    folders: &mut Folders,
    top: &Path,
    writes: &[&Write],
    servers: &[&Write],
    outcome: &mut Outcome,
) -> Result<()> {
    let before = Manifest::read(top, HEAL)?;
    let is_new = before.is_none();
    let (mut files, mut listing) = before.map(|manifest| (manifest.files, manifest.servers)).unwrap_or_default();
    let mut differs = is_new;
    for write in servers {
        match listing::write(&mut listing, write)? {
            Listed::Already => {}
            Listed::Done => differs = true,
            Listed::Changed => outcome.changed.push(write.path.clone()),
        }
    }
    for write in writes.iter().filter(|write| outcome.done.binary_search(&write.path).is_ok()) {
        let listed = write.listed.as_deref().map(serde_json::from_str).transpose();
        let listed = listed.map_err(|error| blobs::damaged_value("a sync's row is malformed").with_source(error))?;
        differs |= match listed {
            Some(entry) => files.insert(write.path.clone(), entry) != files.get(&write.path).cloned(),
            None => files.remove(&write.path).is_some(),
        };
    }
    if !differs {
        return Ok(());
    }
    let path = top.join(manifest::FILE);
    let Some((folder, name)) = folders.holding(&path)? else {
        return Err(Error::file("write", &path, std::io::ErrorKind::NotFound.into()));
    };
    let mode = match folder.entry(name)? {
        Some(entry) => entry.mode,
        None => disk::FILE,
    };
    let temporary = OsString::from(format!("{TEMPORARY}{}", uuid::Uuid::now_v7().simple()));
    folder.write_beside(name, &temporary, &Manifest::new(files, listing).bytes()?, mode, None)?;
    folder.put_in_place(name, &temporary, is_new)
}

pub(super) fn sweep(leftovers: &[PathBuf]) -> Result<()> {
    leftovers.iter().try_for_each(|path| disk::remove(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcpkg_base::error::Code;
    use mcpkg_store::projects::Selection;

    #[test]
    fn rows_with_paths_outside_the_folder_or_in_git_are_refused() {
        let scratch = tempfile::tempdir().expect("a folder");
        let store = Store::open(&scratch.path().join("test.db")).expect("a database");
        let blob = store.write(|db| blobs::put_known(db, &sha256::of(b"evil"), b"evil")).expect("a blob");
        let context = Context::shell(mcpkg_core::op::Domains::NONE, store, Selection::default());
        let top = scratch.path().canonicalize().expect("a path").join("team");
        let outside = top.with_file_name("outside");
        std::fs::create_dir_all(top.join(".git/hooks")).expect("folders");
        std::fs::write(&outside, "own").expect("a file");
        let good = Write { path: "a".to_owned(), before: None, blob: Some(blob), executable: false, listed: None };
        let absolute = outside.display().to_string();
        for path in ["../outside", "a/../../outside", &absolute, ".git/hooks/post-checkout", ".GIT/hooks/x", "b/.git"] {
            let evil = Write { path: path.to_owned(), executable: true, ..good.clone() };
            let delete = Write { before: Some(sha256::of(b"own")), blob: None, ..evil.clone() };
            for evil in [evil, delete] {
                let error = write(&top, &[good.clone(), evil], &context).expect_err(path);
                assert_eq!(error.code(), Code::InvalidPath, "{path}: {error}");
                assert_eq!(std::fs::read(&outside).expect("the file"), b"own", "{path}");
                assert_eq!(std::fs::read_dir(top.join(".git/hooks")).expect("a folder").count(), 0, "{path}");
                assert_eq!(std::fs::read_dir(&top).expect("a folder").count(), 1, "{path}: something was written");
            }
        }
        assert_eq!(write(&top, &[good], &context).expect("written").done, ["a"]);
    }
}
