//! Applying changes: all of them, or none.
//!
//! Every image is stored first. One short transaction then checks what has to hold, uses the token up and writes the
//! journal; from there on whoever comes next can put everything back. Files are written beside their place and renamed;
//! the one that is replaced stays beside, as a link, until all are there, so that taking it back needs no room.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;
use uuid::Uuid;

use super::disk::{self, Found};
use super::plan::{After, Change, Keep, Plan, Quiet, names};
use super::source::Site;
use super::undo;
use crate::error::{Code, Error, Result};
use crate::op::Context;
use crate::store::deploys::{self, Deployed, Image, Stat};
use crate::store::snapshots::{self, File, Kind, NewSnapshot, State};
use crate::store::{Applying, Db, blobs};

/// From so many bytes on, images are stored before the transaction that writes the journal: nobody waits for them.
const MANY: usize = 16 << 20;

/// Takes the right to apply, and undoes first what a process that died left half done.
///
/// # Errors
/// `E_DEPLOY_IN_PROGRESS`, and how undoing failed.
pub fn begin(context: &Context) -> Result<Applying> {
    let Some(right) = Applying::begin(context.store.path())? else {
        return Err(Error::new(Code::DeployInProgress, "Another deploy is being applied with this database")
            .hint("wait for its end and try again"));
    };
    undo::finish(context, &right)?;
    Ok(right)
}

/// What is applied.
#[derive(Debug)]
pub struct Work<'a> {
    /// Where.
    pub site: &'a Site,
    /// What makes it.
    pub kind: Kind,
    /// The SHA-256 of the plan, in hex.
    pub plan_hash: &'a str,
    /// What a rollback goes back to.
    pub rolled_back_to: Option<&'a str>,
    /// The targets that it is of.
    pub targets: Vec<String>,
    /// Whether the user said that what is not mcpkg's shall be.
    pub adopt: bool,
    /// The changes.
    pub changes: Vec<Change>,
    /// The rows that change though their files do not.
    pub quiet: Vec<Quiet>,
    /// What the place keeps on disk now.
    pub rows: std::collections::BTreeMap<String, Deployed>,
}

impl<'a> Work<'a> {
    /// A deploy of a plan.
    pub fn deploy(site: &'a Site, plan: Plan, plan_hash: &'a str, adopt: bool) -> Self {
        let Plan { rows, changes, quiet, .. } = plan;
        let targets = names(&site.selected);
        Self { site, kind: Kind::Deploy, plan_hash, rolled_back_to: None, targets, adopt, changes, quiet, rows }
    }
}

/// Applies the work, and returns the snapshot's id. `allow` is asked in the transaction that writes the journal: what
/// it refuses is not begun.
///
/// # Errors
/// What `allow` returns; `E_DEPLOY_UNDONE` where a file could not be written, with everything put back.
pub fn apply(
    context: &Context,
    right: &Applying,
    work: Work<'_>,
    allow: impl FnOnce(&Db<'_>) -> Result<()>,
) -> Result<Uuid> {
    let bytes =
        |change: &Change| change.before.bytes().map_or(0, <[u8]>::len) + change.after.bytes().map_or(0, <[u8]>::len);
    if work.changes.iter().map(bytes).sum::<usize>() > MANY {
        // The transaction of the journal finds them there, and is short.
        context.store.write(|db| files_of(db, &work))?;
    }
    let folders = missing_folders(&work.changes)?;
    let uuid = context.clock.uuid();
    let (id, place, files) = context.store.write(|db| {
        allow(db)?;
        // A project that was deleted meanwhile may have swept away what nothing referred to.
        let files = files_of(db, &work)?;
        let place = deploys::make_place(db, &work.site.place)?;
        if snapshots::unfinished(db)?.iter().any(|other| other.place == place && other.state == State::Applying.word())
        {
            return Err(Error::new(
                Code::DeployInProgress,
                "A deploy here ended half done and could not be undone yet",
            )
            .hint("the log says why; the next command tries again"));
        }
        let new = NewSnapshot {
            uuid,
            place,
            kind: work.kind,
            targets: &work.targets,
            profile: &work.site.profile,
            plan_hash: work.plan_hash,
            rolled_back_to: work.rolled_back_to,
            actor: &context.actor,
            now: context.clock.now(),
        };
        let folders: Vec<String> = folders.iter().map(|folder| folder.to_string_lossy().into_owned()).collect();
        Ok((snapshots::begin(db, &new, &files, &folders)?, place, files))
    })?;
    let journal = Journal { id, uuid, files };
    let all = work.changes.len();
    let written = write_all(context, &journal, &work.changes, &folders)
        .and_then(|stats| finish(context, &work, &journal, place, &stats).map_err(|error| (all, error)));
    match written {
        Ok(()) => {
            // It is applied, whatever comes of what it leaves beside.
            if let Err(error) = undo::clean_up(context, place, &journal) {
                tracing::warn!(%error, "files that the deploy replaced still stand beside; the next command removes them");
            }
            Ok(uuid)
        }
        Err((begun, error)) => Err(undo::after(context, right, place, &journal, begun, error)),
    }
}

/// A snapshot with its files, as the journal holds it.
pub struct Journal {
    /// Its key.
    pub id: i64,
    /// What users see of it.
    pub uuid: Uuid,
    /// Its files, in the order in which they are applied.
    pub files: Vec<File>,
}

impl Journal {
    /// Where the new bytes of file `seq` are written, and where the old file stays meanwhile.
    pub fn beside(&self, seq: usize, path: &Path) -> (PathBuf, PathBuf) {
        let key = self.uuid.simple().to_string();
        let name = |ending: &str| path.with_file_name(format!(".mcpkg-{}-{seq}.{ending}", &key[16..]));
        (name("new"), name("old"))
    }
}

/// Stores the images of the work, and returns its rows: the changes first, then what is only claimed, then what is let
/// go.
fn files_of(db: &Db<'_>, work: &Work<'_>) -> Result<Vec<File>> {
    let mut files = Vec::with_capacity(work.changes.len());
    for change in &work.changes {
        files.push(File {
            snapshot: 0,
            path: change.path.to_string_lossy().into_owned(),
            root: change.root.to_string_lossy().into_owned(),
            op: change.op.word().to_owned(),
            targets: change.targets.clone(),
            module_ids: change.module_ids.clone(),
            block: change.block,
            keep: change.keep,
            before: store(db, &change.before)?,
            after: store_after(db, &change.after)?,
        });
    }
    for quiet in &work.quiet {
        if let Quiet::Claim(row, bytes) = quiet
            && let Image::File { sha256, mode, .. } = &row.applied
        {
            let image = Image::File { blob: blobs::put_known(db, sha256, bytes)?, sha256: *sha256, mode: *mode };
            files.push(File {
                snapshot: 0,
                path: row.path.clone(),
                root: row.root.clone(),
                op: "claim".to_owned(),
                targets: row.targets.clone(),
                module_ids: row.module_ids.clone(),
                block: row.block,
                keep: if row.written || work.adopt { Keep::Written } else { Keep::Claimed },
                before: image.clone(),
                after: image,
            });
        }
    }
    files.extend(work.quiet.iter().filter_map(|quiet| let_go(work, quiet)));
    Ok(files)
}

/// The row of a file that is let go though it is left as it is: a rollback to an earlier snapshot has to know of it, and
/// one to a later snapshot that it was nobody's.
fn let_go(work: &Work<'_>, quiet: &Quiet) -> Option<File> {
    let (row, image) = match quiet {
        Quiet::Forget(path) => {
            let row = work.rows.get(path)?;
            (row, if work.rolled_back_to.is_some() { &row.pristine } else { &row.applied })
        }
        Quiet::Keep(row) if row.applied == Image::Absent => (row, &row.applied),
        Quiet::Keep(_) | Quiet::Claim(..) | Quiet::Follow(..) => return None,
    };
    Some(File {
        snapshot: 0,
        path: row.path.clone(),
        root: row.root.clone(),
        op: "claim".to_owned(),
        targets: row.targets.clone(),
        module_ids: row.module_ids.clone(),
        block: row.block,
        keep: Keep::Nobody,
        before: image.clone(),
        after: image.clone(),
    })
}

fn store(db: &Db<'_>, found: &Found) -> Result<Image> {
    Ok(match found {
        Found::Absent | Found::Other => Image::Absent,
        Found::Link(text) => Image::Link(text.clone()),
        Found::File { bytes, sha256, mode } => {
            Image::File { blob: blobs::put_known(db, sha256, bytes)?, sha256: *sha256, mode: *mode }
        }
    })
}

fn store_after(db: &Db<'_>, after: &After) -> Result<Image> {
    Ok(match after {
        After::Absent => Image::Absent,
        After::Link(text) => Image::Link(text.clone()),
        After::File { bytes, sha256, mode } => {
            Image::File { blob: blobs::put_known(db, sha256, bytes)?, sha256: *sha256, mode: *mode }
        }
    })
}

/// The folders that the changes need and that are not there, the outermost first; refused where one cannot be made.
fn missing_folders(changes: &[Change]) -> Result<BTreeSet<PathBuf>> {
    let mut missing = BTreeSet::new();
    for change in changes.iter().filter(|change| !matches!(change.after, After::Absent)) {
        for folder in change.path.ancestors().skip(1) {
            if missing.contains(folder) {
                break;
            }
            if disk::metadata(folder)?.is_some() {
                if !folder.is_dir() {
                    return Err(no_folder(folder));
                }
                break;
            }
            missing.insert(folder.to_owned());
        }
    }
    Ok(missing)
}

fn no_folder(path: &Path) -> Error {
    Error::new(Code::InvalidPath, format!("`{}` is no folder, and files shall stand in it", path.display()))
        .with_details(json!({ "path": path.display().to_string(), "path_posix": disk::posix(path) }))
        .hint("move it away")
}

/// Writes the files, and returns what the disk said of each right after; where one fails, says how many were begun, and
/// why.
fn write_all(
    context: &Context,
    journal: &Journal,
    changes: &[Change],
    folders: &BTreeSet<PathBuf>,
) -> Result<Vec<Option<Stat>>, (usize, Error)> {
    for folder in folders {
        if let Err(error) = std::fs::create_dir(folder)
            && error.kind() != std::io::ErrorKind::AlreadyExists
        {
            return Err((0, disk::failed("make", folder, error)));
        }
    }
    let total = changes.len() as u64;
    let mut stats = Vec::with_capacity(changes.len());
    for (seq, change) in changes.iter().enumerate() {
        if context.is_cancelled() {
            return Err((seq, Error::new(Code::Cancelled, "The deploy was given up")));
        }
        stats.push(write_one(journal, seq, change).map_err(|error| (seq + 1, error))?);
        (context.progress)("Writing", seq as u64 + 1, total);
    }
    let touched: BTreeSet<&Path> = changes.iter().filter_map(|change| change.path.parent()).collect();
    let made: BTreeSet<&Path> = folders.iter().filter_map(|folder| folder.parent()).collect();
    for folder in touched.union(&made) {
        disk::sync_folder(folder);
    }
    Ok(stats)
}

fn write_one(journal: &Journal, seq: usize, change: &Change) -> Result<Option<Stat>> {
    let path = change.path.as_path();
    let (new, old) = journal.beside(seq, path);
    if let After::File { bytes, mode, .. } = &change.after {
        disk::write_beside(path, &new, bytes, *mode)?;
    }
    // As late as can be: what was changed until now is not replaced.
    if disk::look(path)? != change.before {
        return Err(Error::new(
            Code::FileFailed,
            format!("`{}` was changed while the deploy was applied", path.display()),
        ));
    }
    let replaces = change.before != Found::Absent;
    if replaces && !matches!(change.before, Found::Link(_)) {
        // A link of the old file: putting it back needs no room and keeps all that the file was.
        // Where the disk has no links, the stored image does it.
        let _ = std::fs::hard_link(path, &old);
    }
    match &change.after {
        After::Absent => disk::remove(path)?,
        After::Link(text) => disk::link(path, &new, text)?,
        After::File { .. } => disk::put_in_place(path, &new, !replaces)?,
    }
    Ok(disk::metadata(path)?.as_ref().and_then(disk::stat))
}

/// Says in one transaction that everything is there: the rows of the files, and the end of the journal. Where old files
/// are still beside, the journal stays open until they are gone.
fn finish(context: &Context, work: &Work<'_>, journal: &Journal, place: i64, stats: &[Option<Stat>]) -> Result<()> {
    let now = context.clock.now();
    let machine = &work.site.place.machine;
    context.store.write(|db| {
        for ((file, change), written) in journal.files.iter().zip(&work.changes).zip(stats) {
            let known = match work.rows.get(&file.path) {
                Some(row) => Some(row.clone()),
                None => deploys::at(db, machine, &file.path)?,
            };
            let pristine = known.map_or_else(|| file.before.clone(), |row| row.pristine);
            let nothing_is_left = file.after == Image::Absent && pristine == Image::Absent;
            if change.keep == Keep::Nobody || nothing_is_left {
                deploys::forget(db, machine, place, &file.path)?;
                continue;
            }
            // Only while the file is the one that was written.
            let stat = disk::metadata(&change.path)?.as_ref().and_then(disk::stat);
            let stat = stat.filter(|stat| Some(*stat) == *written && disk::tells_changes(stat, now));
            let row = Deployed {
                path: file.path.clone(),
                place,
                root: file.root.clone(),
                targets: file.targets.clone(),
                module_ids: file.module_ids.clone(),
                block: file.block,
                written: change.keep == Keep::Written,
                applied: file.after.clone(),
                pristine,
                stat,
            };
            deploys::put(db, machine, &row)?;
        }
        let claims = journal.files.iter().skip(work.changes.len());
        for (file, row) in claims.zip(work.quiet.iter().filter_map(|quiet| match quiet {
            Quiet::Claim(row, _) => Some(row),
            Quiet::Keep(_) | Quiet::Follow(..) | Quiet::Forget(_) => None,
        })) {
            let path = Path::new(&row.path);
            let stat = disk::metadata(path)?.as_ref().and_then(disk::stat);
            // Changed since the plan was made: it is claimed as it was, and has drifted.
            let same = disk::look(path)?.sha256() == file.after.sha256();
            let stat = stat.filter(|stat| same && disk::tells_changes(stat, now));
            let (applied, pristine) = (file.after.clone(), file.after.clone());
            let written = file.keep == Keep::Written;
            deploys::put(db, machine, &Deployed { place, written, applied, pristine, stat, ..row.clone() })?;
        }
        note_quiet(db, machine, place, &work.quiet)?;
        let open = journal.files.iter().any(undo::leaves_work);
        snapshots::finish(db, journal.id, State::Applied, (!open).then_some(now))?;
        let project = work.site.project().map(|project| project.name.as_str());
        context.event(db, context.author(), project, work.kind.word(), &journal.uuid.to_string())
    })
}

/// Writes what changed about files that stay as they are.
///
/// # Errors
/// How the disk failed.
pub fn note_quiet(db: &Db<'_>, machine: &str, place: i64, quiet: &[Quiet]) -> Result<()> {
    for quiet in quiet {
        match quiet {
            Quiet::Claim(..) => {}
            Quiet::Keep(row) => deploys::put(db, machine, row)?,
            Quiet::Follow(row, bytes) => {
                let Image::File { sha256, mode, .. } = row.applied else { continue };
                let applied = Image::File { blob: blobs::put_known(db, &sha256, bytes)?, sha256, mode };
                deploys::put(db, machine, &Deployed { applied, ..row.clone() })?;
            }
            Quiet::Forget(path) => deploys::forget(db, machine, place, path)?,
        }
    }
    Ok(())
}

/// The bytes of a stored image, as what shall stand at a path.
///
/// # Errors
/// `E_DAMAGED`, and how the disk failed.
pub fn wanted(db: &Db<'_>, image: &Image) -> Result<After> {
    Ok(match image {
        Image::Absent => After::Absent,
        Image::Link(text) => After::Link(text.clone()),
        Image::File { blob, sha256, mode } => {
            let bytes: Arc<[u8]> = blobs::get(db, *blob)?.into();
            After::File { bytes, sha256: *sha256, mode: *mode }
        }
    })
}
