//! Taking a half-done apply back: at once where it failed, by whoever comes next where its process died.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::apply::{self, Journal};
use super::disk::{self, Found};
use super::plan::After;
use crate::error::{Code, Error, Result};
use crate::op::Context;
use crate::store::deploys::{self, Image};
use crate::store::snapshots::{self, File, Snapshot, State};
use crate::store::{Access, Applying};

/// Undoes what processes that died left half done, unless one that is alive applies. Every command and server begins
/// with it; where there is nothing to do it costs one look at an index. Where it cannot be done now, because a disk is
/// full or not there, that is told, and the command goes on: only an apply has to wait for it.
pub fn recover(context: &Context) {
    if let Err(error) = try_recover(context) {
        tracing::warn!(%error, "a deploy whose process died could not be undone yet; the next command tries again");
    }
}

fn try_recover(context: &Context) -> Result<()> {
    if context.store.access() != Access::Writable || !context.store.glance(snapshots::any_unfinished)? {
        return Ok(());
    }
    match Applying::begin(context.store.path())? {
        Some(right) => finish(context, &right),
        // It is alive, and looks after its own.
        None => Ok(()),
    }
}

/// Finishes what others left unfinished: what was being applied is undone, what was applied is cleaned up. Where one
/// fails, the others are finished all the same.
///
/// # Errors
/// How the disk failed.
pub fn finish(context: &Context, _right: &Applying) -> Result<()> {
    let mut finished = Ok(());
    for snapshot in context.store.read(snapshots::unfinished)? {
        if let Err(error) = finish_one(context, &snapshot) {
            finished = Err(error);
        }
    }
    finished
}

fn finish_one(context: &Context, snapshot: &Snapshot) -> Result<()> {
    let files = context.store.read(|db| snapshots::files(db, snapshot.id))?;
    let journal = Journal { id: snapshot.id, uuid: snapshot.uuid, files };
    // One that was applied is never undone, whatever became of it since.
    if snapshot.state != State::Applying.word() {
        return clean_up(context, snapshot.place, &journal);
    }
    let kept = put_back(context, snapshot.place, &journal, journal.files.len())?;
    let kept: Vec<String> = kept.iter().map(|path| path.display().to_string()).collect();
    if kept.is_empty() {
        tracing::warn!(snapshot = %journal.uuid, "a deploy whose process died was undone");
    } else {
        let files = kept.join(", ");
        tracing::warn!(snapshot = %journal.uuid, files, "a deploy whose process died was undone, but for files that were changed since; they were left as they are");
    }
    Ok(())
}

/// Undoes an apply that failed when so many of its files were `begun`, and returns its failure.
pub fn after(context: &Context, _right: &Applying, place: i64, journal: &Journal, begun: usize, error: Error) -> Error {
    let why = error.message().to_owned();
    let undone = match put_back(context, place, journal, begun) {
        Ok(kept) if kept.is_empty() => {
            Error::new(Code::DeployUndone, format!("{why}; everything was put back, nothing is deployed"))
        }
        Ok(kept) => {
            let files: Vec<String> = kept.iter().map(|path| path.display().to_string()).collect();
            let list = files.join("`, `");
            Error::new(Code::DeployUndone, format!("{why}; everything was put back but `{list}`, changed meanwhile"))
                .with_details(serde_json::json!({ "kept": files }))
        }
        Err(second) => Error::new(Code::DeployUndone, format!("{why}; putting back stopped: {second}"))
            .hint("the next mcpkg command goes on with it, once the disk allows"),
    };
    let cause = serde_json::json!({ "cause": error.code().name(), "cause_details": error.details() });
    let details = match undone.details() {
        Some(more) => serde_json::json!({ "cause": error.code().name(), "kept": more["kept"] }),
        None => cause,
    };
    error.hints().iter().fold(undone.with_details(details), |undone, hint| undone.hint(hint)).with_source(error)
}

/// Puts back the first `begun` files of a journal, each that still is as the apply left it, or that is gone; returns those that are
/// neither, which are left alone. Then the folders that were made go, where they are empty.
fn put_back(context: &Context, place: i64, journal: &Journal, begun: usize) -> Result<Vec<PathBuf>> {
    let mut kept = Vec::new();
    let mut failed = None;
    // Where all of it was taken away since, nothing is brought back; the images stay in the database.
    let stands = Path::new(&context.store.read(|db| deploys::place_key(db, place))?.root).is_dir();
    for (seq, file) in journal.files.iter().enumerate().take(begun).rev() {
        if file.op == "claim" {
            continue;
        }
        match put_one_back(context, journal, seq, stands) {
            Ok(true) => {}
            Ok(false) => kept.push(PathBuf::from(&file.path)),
            Err(error) => failed = Some(error),
        }
    }
    if let Some(error) = failed {
        return Err(error);
    }
    take_empty_folders(context, place, journal.id)?;
    let now = context.clock.now();
    context.store.write(|db| snapshots::finish(db, journal.id, State::Undone, Some(now)))?;
    Ok(kept)
}

fn put_one_back(context: &Context, journal: &Journal, seq: usize, stands: bool) -> Result<bool> {
    let file = &journal.files[seq];
    let path = Path::new(&file.path);
    let (new, old) = journal.beside(seq, path);
    disk::remove(&new)?;
    let found = disk::look(path)?;
    let is_before = is(&found, &file.before);
    if !is_before && !is(&found, &file.after) && found != Found::Absent {
        disk::remove(&old)?;
        return Ok(false);
    }
    if !is_before {
        if let Some(folder) = path.parent()
            && file.before != Image::Absent
            && disk::metadata(folder)?.is_none()
        {
            if !stands {
                return Ok(false);
            }
            match std::fs::create_dir_all(folder) {
                // A file stands where a folder was.
                Err(error) if matches!(error.kind(), ErrorKind::NotADirectory | ErrorKind::AlreadyExists) => {
                    return Ok(false);
                }
                made => made.map_err(|error| disk::failed("make", folder, error))?,
            }
        }
        match &file.before {
            Image::Absent => disk::remove(path)?,
            _ if disk::metadata(&old)?.is_some() => {
                std::fs::rename(&old, path).map_err(|error| disk::failed("put back", path, error))?;
            }
            image => match context.store.read(|db| apply::wanted(db, image))? {
                After::Absent => disk::remove(path)?,
                After::Link(text) => disk::link(path, &new, &text)?,
                After::File { bytes, mode, .. } => {
                    disk::write_beside(path, &new, &bytes, mode)?;
                    disk::put_in_place(path, &new, false)?;
                }
            },
        }
        if let Some(folder) = path.parent() {
            disk::sync_folder(folder);
        }
    }
    // Renaming a link of a file onto the file itself does nothing, and leaves both.
    disk::remove(&old)?;
    Ok(true)
}

fn is(found: &Found, image: &Image) -> bool {
    match (found, image) {
        (Found::Absent, Image::Absent) => true,
        (Found::Link(found), Image::Link(text)) => found == text,
        (Found::File { sha256, mode, .. }, Image::File { sha256: wanted, mode: wanted_mode, .. }) => {
            sha256 == wanted && mode == wanted_mode
        }
        _ => false,
    }
}

/// Removes the folders that a place's snapshots from `id` on made, where nobody put anything else in them.
///
/// # Errors
/// How the disk failed.
pub fn take_empty_folders(context: &Context, place: i64, id: i64) -> Result<()> {
    for folder in context.store.read(|db| snapshots::folders(db, place, id))? {
        let _ = std::fs::remove_dir(folder);
    }
    Ok(())
}

/// Removes the old files that stayed beside while an apply went on, and the folders that it emptied, and closes its
/// journal.
///
/// # Errors
/// How the disk failed.
pub fn clean_up(context: &Context, place: i64, journal: &Journal) -> Result<()> {
    let mut any = false;
    for (seq, file) in journal.files.iter().enumerate().filter(|(_, file)| leaves_work(file)) {
        any = true;
        let old = journal.beside(seq, Path::new(&file.path)).1;
        if matches!(&file.before, Image::File { sha256, .. } if disk::look(&old)?.sha256().is_some_and(|there| there != sha256))
        {
            // Written to in the moment in which it was replaced: the only copy of that.
            let (file, old) = (&file.path, old.display().to_string());
            tracing::warn!(file, kept = old, "a file was changed while it was replaced; what it was then is kept");
            continue;
        }
        disk::remove(&old)?;
    }
    if journal.files.iter().any(|file| file.after == Image::Absent) {
        take_empty_folders(context, place, 0)?;
    }
    if !any {
        return Ok(());
    }
    let now = context.clock.now();
    context.store.write(|db| snapshots::close(db, journal.id, now))
}

/// Whether something is left to be done for a file after all are written: an old one stays beside, or its folder may be
/// empty.
pub fn leaves_work(file: &File) -> bool {
    let replaced = matches!(file.before, Image::File { .. }) && file.op != "claim";
    replaced || (file.before != Image::Absent && file.after == Image::Absent)
}
