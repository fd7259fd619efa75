//! Applies changes to the files on disk: all of them, or none.
//!
//! All contents are stored first. One short transaction then checks the preconditions, consumes the confirm token and
//! writes the journal. From then on, any later command can restore everything. Each file is written under a temporary
//! name and then moved into place. Replaced files are kept as hard links until all files are written, so restoring them
//! needs no disk space.

pub mod journal;
pub mod places;
pub mod roots;
pub mod undo;

mod images;
mod rows;
mod work;
mod write;

use std::collections::BTreeSet;
use std::path::PathBuf;

use uuid::Uuid;

use self::journal::Journal;
use crate::plan::Change;
use mcpkg_base::disk::folders::Folders;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::Context;
use mcpkg_store::snapshots::{self, NewSnapshot};
use mcpkg_store::{Applying, Db, deploys};

pub use rows::write_row_changes;
pub use work::Work;

/// If the contents have more bytes than this, they are stored before the transaction that writes the journal. This
/// keeps that transaction short.
const MANY: usize = 16 << 20;

/// Takes the apply lock, and undoes what a killed process left unfinished.
///
/// # Errors
/// `E_DEPLOY_IN_PROGRESS` if another process is applying a deploy. `E_IO_PERMISSION_DENIED`, `E_DISK_FULL`,
/// `E_FILE_FAILED` or `E_DAMAGED` if an earlier apply could not be undone.
pub fn begin(context: &Context) -> Result<Applying> {
    let Some(right) = context.store.begin_apply()? else {
        return Err(Error::new(Code::DeployInProgress, "Another deploy is running on this database")
            .hint("wait until that deploy ends, then try again"));
    };
    undo::finish(context, &right)?;
    Ok(right)
}

/// Applies the work and returns the snapshot's id. The transaction that writes the journal calls `allow` first; if
/// `allow` fails, no file is written.
///
/// # Errors
/// `E_UNAPPROVED` if a folder is not approved because this user never deployed to it; `E_IO_INVALID_PATH` if a link
/// leads out of the folders that mcpkg may write to; `E_DEPLOY_UNDONE` if a file could not be written or the user
/// cancelled: the files were restored, except those that the error names; the errors of `allow`.
pub fn apply(
    context: &Context,
    right: &Applying,
    work: Work<'_>,
    allow: impl FnOnce(&Db<'_>) -> Result<()>,
) -> Result<Uuid> {
    let mut wanted = roots::of_changes(&work.changes);
    wanted.extend(roots::of_claims(&work.row_changes));
    let roots = check_roots(context, &work, &wanted)?;
    let mut folders = Folders::below(roots.clone());
    work.changes.iter().try_for_each(|change| folders.check(&change.path))?;
    let missing = write::missing_folders(&mut folders, &work.changes)?;
    let attributes = write::attributes_of(&mut folders, &work.changes)?;
    let bytes =
        |change: &Change| change.before.bytes().map_or(0, <[u8]>::len) + change.after.bytes().map_or(0, <[u8]>::len);
    if work.changes.iter().map(bytes).sum::<usize>() > MANY {
        // Store the contents now: the transaction that writes the journal then finds them stored and stays short.
        context.store.write(|db| images::store_all(context, db, &work, &attributes))?;
    }
    let uuid = context.clock.uuid();
    let mut recorded = None;
    let begun = context.store.write(|db| {
        allow(db)?;
        roots::approve(context, &wanted)?;
        // Store again: if somebody deleted a project after the first time, its blobs may have been removed as
        // unreferenced.
        let files = images::store_all(context, db, &work, &attributes)?;
        let place = deploys::make_place(db, &work.site.place)?;
        let new = NewSnapshot {
            uuid,
            place,
            kind: work.kind,
            targets: &work.targets,
            profile: &work.site.profile,
            plan_hash: work.plan_hash,
            rolled_back_to: work.rolled_back_to,
            actor: context.caller.actor(),
            now: context.clock.now(),
        };
        let missing: Vec<String> = missing.iter().map(|folder| folder.to_string_lossy().into_owned()).collect();
        let id = snapshots::begin(db, &new, &files, &missing)?;
        // The record must be on disk before the journal is. A command that finds the unfinished journal then knows
        // that this machine began it.
        let sha256 = journal::digest(uuid, work.kind.word(), &work.site.place, &files, &missing);
        recorded = Some(sha256.clone());
        Journal::record(context, uuid, &sha256, &roots)?;
        Ok(Journal { id, uuid, place, is_applying: true, files, roots, sha256 })
    });
    let journal = begun.inspect_err(|_| {
        if let Some(sha256) = &recorded {
            Journal::forget(context, sha256);
        }
    })?;
    let all = work.changes.len();
    let written = write::write_all(context, &journal, &work.changes, &missing, &mut folders)
        .and_then(|stats| rows::finish(context, &work, &journal, &stats).map_err(|error| (all, error)));
    match written {
        Ok(()) => {
            // The deploy counts as applied, even if cleaning up fails.
            if let Err(error) = undo::clean_up(context, &journal, &mut folders) {
                tracing::warn!(%error, "backup copies of the replaced files could not be removed; the next mcpkg command removes them");
            }
            Ok(uuid)
        }
        Err((begun, error)) => Err(undo::after(context, right, &journal, begun, &mut folders, error)),
    }
}

/// Fails if a folder is named only by the database, and this user has never deployed to that folder. Returns the real
/// paths of all folders. Links are resolved only here.
fn check_roots(context: &Context, work: &Work<'_>, wanted: &BTreeSet<PathBuf>) -> Result<Vec<PathBuf>> {
    let others = wanted.difference(&work.roots).cloned().collect();
    let unapproved = roots::unapproved(context, &others)?;
    if !unapproved.is_empty() {
        return Err(roots::refused(&unapproved, &work.changes));
    }
    roots::real(work.site, wanted)
}
