//! Undoes an unfinished apply: immediately if it failed, or in the next command if its process died.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::apply::journal::{self, Journal};
use crate::plan::After;
use mcpkg_base::disk::PathState;
use mcpkg_base::disk::attributes::Attributes;
use mcpkg_base::disk::folder::{Folder, Moved};
use mcpkg_base::disk::folders::Folders;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::Context;
use mcpkg_store::deploys::{self, Image};
use mcpkg_store::snapshots::{self, File, State};
use mcpkg_store::{Access, Applying};

/// Undoes what killed processes left unfinished, unless another process is applying right now. Called when a command or
/// a server starts. Without unfinished work, the call costs one index lookup. An error, such as a full disk, is only
/// logged, because most commands do not need the recovery. The next apply tries again and fails if it cannot recover.
pub fn recover(context: &Context) {
    if let Err(error) = try_recover(context) {
        tracing::warn!(%error, "could not undo an interrupted deploy; the next command tries again");
    }
}

fn try_recover(context: &Context) -> Result<()> {
    if context.store.access()? != Access::Writable || !context.store.read_once(snapshots::any_unfinished)? {
        return Ok(());
    }
    match context.store.begin_apply()? {
        Some(right) => finish(context, &right),
        // The other process is alive and finishes its own journal.
        None => Ok(()),
    }
}

/// Finishes incomplete applies of this machine: undoes those in progress, and cleans up after completed ones. If this
/// fails for one apply, the others are still finished. Journals from other machines are never touched
/// ([`journal::unfinished`]).
pub fn finish(context: &Context, _right: &Applying) -> Result<()> {
    let (ours, _) = journal::unfinished(context)?;
    journal::sweep(context, &ours)?;
    let mut finished = Ok(());
    for journal in &ours {
        if let Err(error) = finish_one(context, journal) {
            finished = Err(error);
        }
    }
    finished
}

fn finish_one(context: &Context, journal: &Journal) -> Result<()> {
    let mut folders = Folders::below(journal.roots.clone());
    // A completed apply is never undone here, whatever happened to its files later.
    if !journal.is_applying {
        return clean_up(context, journal, &mut folders);
    }
    let kept = put_back(context, journal, journal.files.len(), &mut folders)?;
    let kept: Vec<String> = kept.iter().map(|path| path.display().to_string()).collect();
    if kept.is_empty() {
        tracing::warn!(snapshot = %journal.uuid, "undid an interrupted deploy");
    } else {
        let files = kept.join(", ");
        tracing::warn!(snapshot = %journal.uuid, files, "undid an interrupted deploy; left some files unchanged because they have \
            changed since then or their folder is now a link");
    }
    Ok(())
}

/// Undoes an apply that failed. `begun` is the number of files that it had begun to write. Returns an error that
/// reports the state of the files.
pub fn after(
    context: &Context,
    _right: &Applying,
    journal: &Journal,
    begun: usize,
    folders: &mut Folders,
    error: Error,
) -> Error {
    let why = error.message().to_owned();
    let mut details = json!({ "cause": error.code().name(), "cause_details": error.details() });
    let mut hints = error.hints().to_vec();
    let mut said = match put_back(context, journal, begun, folders) {
        Ok(kept) if kept.is_empty() => format!("{why}; mcpkg restored all files"),
        Ok(kept) => {
            let files: Vec<String> = kept.iter().map(|path| path.display().to_string()).collect();
            details["kept"] = json!(files);
            format!("{why}; mcpkg restored all files except `{}`, which changed in the meantime", files.join("`, `"))
        }
        Err(second) => {
            hints.push("the next mcpkg command tries again to restore the remaining files".to_owned());
            format!("{why}; restoring the remaining files failed: {second}")
        }
    };
    let moved = folders.moved();
    if !moved.is_empty() {
        let places: Vec<String> = moved.iter().map(ToString::to_string).collect();
        said += &format!(
            "; folders were moved in the meantime, so their files were restored at the new location: {}",
            places.join(", ")
        );
        let place = |moved: &Moved| json!({ "path": moved.path, "now": moved.now });
        details["moved"] = moved.iter().map(place).collect();
    }
    let undone = Error::new(Code::DeployUndone, said).with_details(details);
    hints.into_iter().fold(undone, Error::hint).with_source(error)
}

/// Restores the first `begun` files of a journal, removes the temporary files of the others, and removes empty folders
/// that the apply created. Leaves a file unchanged if somebody changed it after the apply wrote it, or replaced its
/// folder. Returns the paths of the files that are left unchanged.
fn put_back(context: &Context, journal: &Journal, begun: usize, folders: &mut Folders) -> Result<Vec<PathBuf>> {
    let mut kept = Vec::new();
    let mut failed = None;
    // If somebody removed the root itself after the apply began, nothing is restored. The contents stay in the
    // database.
    let stands = Path::new(&context.store.read(|db| deploys::place_key(db, journal.place))?.root).is_dir();
    for (seq, file) in journal.files.iter().enumerate().rev() {
        if file.op == "claim" {
            continue;
        }
        let put_back = match seq < begun {
            true => put_one_back(context, journal, seq, stands, folders),
            false => remove_beside(journal, seq, folders).map(|()| true),
        };
        match put_back {
            Ok(true) => {}
            Ok(false) => kept.push(PathBuf::from(&file.path)),
            Err(error) => failed = Some(error),
        }
    }
    if let Some(error) = failed {
        return Err(error);
    }
    let made = context.store.read(|db| snapshots::folders(db, journal.place, journal.id))?;
    folders.remove_empty(&made);
    // Sync each remaining folder once, before the journal is closed. If this is interrupted, the next command repeats
    // all of it.
    sync_folders(journal, &made, folders)?;
    let now = context.clock.now();
    context.store.write(|db| snapshots::finish(db, journal.id, State::Undone, Some(now)))?;
    Journal::forget(context, &journal.sha256);
    Ok(kept)
}

/// Syncs the folders of a journal's files, and of the folders that were made or removed.
fn sync_folders(journal: &Journal, others: &[String], folders: &mut Folders) -> Result<()> {
    let files = journal.files.iter().filter(|file| file.op != "claim").map(|file| Path::new(&file.path));
    folders.sync(files.chain(others.iter().map(Path::new)).filter_map(Path::parent))
}

/// Removes the temporary file with new content that was not put in place.
fn remove_beside(journal: &Journal, seq: usize, folders: &mut Folders) -> Result<()> {
    match folders.holding(Path::new(&journal.files[seq].path)) {
        // The folder was replaced by a link or a file.
        Err(error) if error.code() == Code::InvalidPath => Ok(()),
        held => match held? {
            Some((folder, _)) => folder.remove(&journal.beside(seq).0),
            None => Ok(()),
        },
    }
}

fn put_one_back(context: &Context, journal: &Journal, seq: usize, stands: bool, folders: &mut Folders) -> Result<bool> {
    let file = &journal.files[seq];
    let path = Path::new(&file.path);
    let held = match folders.holding(path) {
        // The folder was replaced by a link or a file, so nothing was written there.
        Err(error) if error.code() == Code::InvalidPath => return Ok(false),
        held => held?,
    };
    let (folder, name) = match held {
        Some(held) => held,
        None if file.before == Image::Absent => return Ok(true),
        None if !stands => return Ok(false),
        None => {
            match path.parent().map_or(Ok(()), |folder| folders.make_all(folder)) {
                Err(error) if error.code() == Code::InvalidPath => return Ok(false),
                made => made?,
            }
            match folders.holding(path)? {
                Some(held) => held,
                None => return Ok(false),
            }
        }
    };
    let (new, old) = journal.beside(seq);
    folder.remove(&new)?;
    let found = folder.look(name)?;
    let is_before = is(&found, &file.before);
    if !is_before && !is(&found, &file.after) && found != PathState::Absent {
        folder.remove(&old)?;
        return Ok(false);
    }
    if !is_before {
        bring_back(context, &folder, name, file, (&new, &old))?;
    }
    // Remove the hard link that keeps the old version, if it is still there: renaming one name of a file to another
    // name of the same file does nothing. A newly created file has no old version.
    if file.before != Image::Absent {
        folder.remove(&old)?;
    }
    Ok(true)
}

fn bring_back(
    context: &Context,
    folder: &Folder,
    name: &OsStr,
    file: &File,
    (new, old): (&OsStr, &OsStr),
) -> Result<()> {
    if file.before != Image::Absent && folder.entry(old)?.is_some() {
        return folder.rename(old, name);
    }
    match context.store.read(|db| After::of_image(db, &file.before))? {
        After::Absent => folder.remove(name),
        After::Link(text) => folder.put_link(name, new, &text),
        After::File { bytes, mode, .. } => {
            let attributes = Attributes::from_column(file.attributes.as_deref());
            folder.write_beside(name, new, &bytes, mode, attributes.as_ref())?;
            folder.put_in_place(name, new, false)
        }
    }
}

fn is(found: &PathState, image: &Image) -> bool {
    match (found, image) {
        (PathState::Absent, Image::Absent) => true,
        (PathState::Link(found), Image::Link(text)) => found == text,
        (PathState::File { sha256, mode, .. }, Image::File { sha256: wanted, mode: wanted_mode, .. }) => {
            sha256 == wanted && mode == wanted_mode
        }
        _ => false,
    }
}

/// Removes the old files that an apply kept and the folders that it emptied, and closes its journal.
pub fn clean_up(context: &Context, journal: &Journal, folders: &mut Folders) -> Result<()> {
    for (seq, file) in journal.files.iter().enumerate().filter(|(_, file)| leaves_work(file)) {
        let old = journal.beside(seq).1;
        let folder = match folders.holding(Path::new(&file.path)) {
            Err(error) if error.code() == Code::InvalidPath => {
                tracing::warn!(%error, file = file.path, "the file's folder was replaced; the old file stays in the moved folder");
                continue;
            }
            held => held?,
        };
        let Some((folder, _)) = folder else { continue };
        if matches!(&file.before, Image::File { sha256, .. } if folder.look(&old)?.sha256().is_some_and(|there| there != sha256))
        {
            // Another program wrote to the file just as it was replaced. The kept file is the only copy of what it
            // wrote.
            let kept = Path::new(&file.path).with_file_name(&old).display().to_string();
            tracing::warn!(
                file = file.path,
                kept,
                "a file changed while it was being replaced; its last content was saved"
            );
            continue;
        }
        folder.remove(&old)?;
    }
    let mut emptied = Vec::new();
    if journal.files.iter().any(|file| file.after == Image::Absent) {
        emptied = context.store.read(|db| snapshots::folders(db, journal.place, 0))?;
        folders.remove_empty(&emptied);
    }
    if journal.files.iter().any(leaves_work) {
        // Once the journal is closed, no command cleans up again. Sync first, so that a power loss brings no old files
        // or empty folders back.
        sync_folders(journal, &emptied, folders)?;
        let now = context.clock.now();
        context.store.write(|db| snapshots::close(db, journal.id, now))?;
    }
    Journal::forget(context, &journal.sha256);
    Ok(())
}

/// Whether a file needs work after all files are written: because its old version was kept, or its folder may be
/// empty.
pub fn leaves_work(file: &File) -> bool {
    let replaced = matches!(file.before, Image::File { .. }) && file.op != "claim";
    replaced || (file.before != Image::Absent && file.after == Image::Absent)
}
