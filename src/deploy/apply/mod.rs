//! Applying changes: all of them, or none.
//!
//! Every image is stored first. One short transaction then checks what has to hold, uses the token up and writes the
//! journal; from there on whoever comes next can put everything back. Files are written beside their place and renamed;
//! the one that is replaced stays beside, as a link, until all are there, so that taking it back needs no room.

pub mod journal;
pub mod roots;
pub mod undo;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use uuid::Uuid;

use self::journal::Journal;
use crate::deploy::plan::{After, Change, Keep, Plan, RowChange, names};
use crate::deploy::source::Site;
use crate::disk::attributes::Attributes;
use crate::disk::folder::{Entry, Folder, Folders};
use crate::disk::{self, Found};
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
    let Some(right) = context.store.begin_apply()? else {
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
    pub row_changes: Vec<RowChange>,
    /// What the place keeps on disk now.
    pub rows: std::collections::BTreeMap<String, Deployed>,
    /// The folders that the user's own command writes below; other changes have to lie below one that this user
    /// deployed to before.
    pub roots: BTreeSet<PathBuf>,
}

impl<'a> Work<'a> {
    /// A deploy of a plan.
    pub fn deploy(site: &'a Site, plan: Plan, plan_hash: &'a str, adopt: bool) -> Self {
        let Plan { desired, rows, changes, row_changes } = plan;
        let targets = names(&site.selected);
        // What no module lands in any more is known from the database alone.
        let landed = changes.iter().filter(|change| desired.outputs.contains_key(&change.path));
        let mut roots = roots::of_changes(landed);
        roots.extend(desired.roots.into_iter().map(|root| root.path));
        Self {
            site,
            kind: Kind::Deploy,
            plan_hash,
            rolled_back_to: None,
            targets,
            adopt,
            changes,
            row_changes,
            rows,
            roots,
        }
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
    let wanted = roots::of_changes(&work.changes);
    let roots = check_roots(context, &work, &wanted)?;
    let mut folders = Folders::below(roots.clone());
    let missing = missing_folders(&mut folders, &work.changes)?;
    let attributes = attributes_of(&mut folders, &work.changes)?;
    let bytes =
        |change: &Change| change.before.bytes().map_or(0, <[u8]>::len) + change.after.bytes().map_or(0, <[u8]>::len);
    if work.changes.iter().map(bytes).sum::<usize>() > MANY {
        // The transaction of the journal finds them there, and is short.
        context.store.write(|db| files_of(db, &work, &attributes))?;
    }
    let uuid = context.clock.uuid();
    let mut recorded = None;
    let begun = context.store.write(|db| {
        allow(db)?;
        roots::approve(context, &wanted)?;
        // A project that was deleted meanwhile may have swept away what nothing referred to.
        let files = files_of(db, &work, &attributes)?;
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
        // On the disk before the journal is: whoever finds a journal without an end can tell that it is this machine's.
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
    let written = write_all(context, &journal, &work.changes, &missing, &mut folders)
        .and_then(|stats| finish(context, &work, &journal, &stats).map_err(|error| (all, error)));
    match written {
        Ok(()) => {
            // It is applied, whatever comes of what it leaves beside.
            if let Err(error) = undo::clean_up(context, &journal, &mut folders) {
                tracing::warn!(%error, "files that the deploy replaced still stand beside; the next command removes them");
            }
            Ok(uuid)
        }
        Err((begun, error)) => Err(undo::after(context, right, &journal, begun, &mut folders, error)),
    }
}

/// Refuses changes that only the database asks for, below folders that this user never deployed to. Returns where those
/// of all changes really are: they are resolved once, here.
fn check_roots(context: &Context, work: &Work<'_>, wanted: &BTreeSet<PathBuf>) -> Result<Vec<PathBuf>> {
    let others = wanted.difference(&work.roots).cloned().collect();
    let unapproved = roots::unapproved(context, &others)?;
    if !unapproved.is_empty() {
        return Err(roots::refused(&unapproved, &work.changes));
    }
    roots::real(work.site, wanted)
}

/// Stores the images of the work, and returns its rows: the changes first, then what is only claimed, then what is let
/// go.
fn files_of(db: &Db<'_>, work: &Work<'_>, attributes: &[Option<Attributes>]) -> Result<Vec<File>> {
    let mut files = Vec::with_capacity(work.changes.len());
    for (change, attributes) in work.changes.iter().zip(attributes) {
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
            attributes: attributes.as_ref().and_then(Attributes::to_column),
        });
    }
    for change in &work.row_changes {
        if let RowChange::Claim(row, bytes) = change
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
                attributes: None,
            });
        }
    }
    files.extend(work.row_changes.iter().filter_map(|change| released(work, change)));
    Ok(files)
}

/// The row of a file that is let go though it is left as it is: a rollback to an earlier snapshot has to know of it, and
/// one to a later snapshot that it was nobody's.
fn released(work: &Work<'_>, change: &RowChange) -> Option<File> {
    let (row, image) = match change {
        RowChange::Forget(path) => {
            let row = work.rows.get(path)?;
            (row, if work.rolled_back_to.is_some() { &row.pristine } else { &row.applied })
        }
        RowChange::Keep(row) if row.applied == Image::Absent => (row, &row.applied),
        RowChange::Keep(_) | RowChange::Claim(..) | RowChange::Follow(..) => return None,
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
        attributes: None,
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
fn missing_folders(folders: &mut Folders, changes: &[Change]) -> Result<BTreeSet<PathBuf>> {
    let mut missing = BTreeSet::new();
    for change in changes.iter().filter(|change| !matches!(change.after, After::Absent)) {
        for folder in change.path.ancestors().skip(1) {
            if missing.contains(folder) || folders.open(folder)?.is_some() {
                break;
            }
            missing.insert(folder.to_owned());
        }
    }
    Ok(missing)
}

/// Returns what the files that are replaced or removed are besides their bytes and modes.
fn attributes_of(folders: &mut Folders, changes: &[Change]) -> Result<Vec<Option<Attributes>>> {
    let of = |change: &Change| match change.before {
        Found::File { .. } => Ok(folders.holding(&change.path)?.and_then(|(folder, name)| folder.attributes(name))),
        Found::Absent | Found::Link(_) | Found::Other => Ok(None),
    };
    changes.iter().map(of).collect()
}

/// Writes the files, and returns what the disk said of each right after, where that has not changed since; where one
/// fails, says how many were begun, and why.
fn write_all(
    context: &Context,
    journal: &Journal,
    changes: &[Change],
    missing: &BTreeSet<PathBuf>,
    folders: &mut Folders,
) -> Result<Vec<Option<Stat>>, (usize, Error)> {
    for folder in missing {
        folders.make(folder).map_err(|error| (0, error))?;
    }
    let all = changes.len();
    let mut stats = Vec::with_capacity(all);
    for (seq, change) in changes.iter().enumerate() {
        if context.is_cancelled() {
            return Err((seq, Error::new(Code::Cancelled, "The deploy was given up")));
        }
        let written = holding(folders, &change.path).and_then(|folder| write_one(journal, seq, change, &folder));
        stats.push(written.map_err(|error| (seq + 1, error))?);
        (context.progress)("Writing", seq as u64 + 1, all as u64);
    }
    let touched: BTreeSet<&Path> = changes.iter().filter_map(|change| change.path.parent()).collect();
    let made: BTreeSet<&Path> = missing.iter().filter_map(|folder| folder.parent()).collect();
    for folder in touched.union(&made) {
        if let Some(folder) = folders.open(folder).map_err(|error| (all, error))? {
            folder.sync();
        }
    }
    for (change, stat) in changes.iter().zip(&mut stats) {
        let there = entry(folders, &change.path).map_err(|error| (all, error))?;
        if there.is_none() && !matches!(change.after, After::Absent) {
            return Err((all, changed(&change.path)));
        }
        *stat = there.and_then(|entry| entry.stat).filter(|there| Some(there) == stat.as_ref());
    }
    match folders.moved().first() {
        None => Ok(stats),
        Some(moved) => Err((all, changed(&moved.path))),
    }
}

/// Opens the folder that holds a file.
fn holding(folders: &mut Folders, path: &Path) -> Result<Rc<Folder>> {
    let gone = || disk::failed("write", path, std::io::ErrorKind::NotFound.into());
    Ok(folders.holding(path)?.ok_or_else(gone)?.0)
}

fn entry(folders: &mut Folders, path: &Path) -> Result<Option<Entry>> {
    match folders.holding(path)? {
        Some((folder, name)) => folder.entry(name),
        None => Ok(None),
    }
}

fn changed(path: &Path) -> Error {
    Error::new(Code::FileFailed, format!("`{}` was changed while the deploy was applied", path.display()))
}

fn write_one(journal: &Journal, seq: usize, change: &Change, folder: &Folder) -> Result<Option<Stat>> {
    let name = change.path.file_name().unwrap_or_default();
    let (new, old) = journal.beside(seq);
    if let After::File { bytes, mode, .. } = &change.after {
        // What takes the place of a file stays whose that was.
        let replaced =
            || Attributes::from_column(journal.files[seq].attributes.as_deref()).map(Attributes::without_time);
        let attributes = change.attributes.clone().or_else(replaced);
        folder.write_beside(name, &new, bytes, *mode, attributes.as_ref())?;
    }
    // As late as can be: what was changed until now is not replaced.
    if folder.look(name)? != change.before {
        return Err(changed(&change.path));
    }
    let replaces = change.before != Found::Absent;
    if replaces && !matches!(change.before, Found::Link(_)) {
        // A link of the old file: putting it back needs no room and keeps all that the file was.
        // Where the disk has no links, the stored image does it.
        folder.link_beside(name, &old);
    }
    match &change.after {
        After::Absent => folder.remove(name)?,
        After::Link(text) => folder.put_link(name, &new, text)?,
        After::File { .. } => folder.put_in_place(name, &new, !replaces)?,
    }
    Ok(folder.entry(name)?.and_then(|entry| entry.stat))
}

/// Says in one transaction that everything is there: the rows of the files, and the end of the journal. Where old files
/// are still beside, the journal stays open until they are gone.
fn finish(context: &Context, work: &Work<'_>, journal: &Journal, stats: &[Option<Stat>]) -> Result<()> {
    let (now, place) = (context.clock.now(), journal.place);
    let machine = &work.site.place.machine;
    context.store.write(|db| {
        for ((file, change), stat) in journal.files.iter().zip(&work.changes).zip(stats) {
            let known = match work.rows.get(&file.path) {
                Some(row) => Some(row.clone()),
                None => deploys::at(db, machine, &file.path)?,
            };
            let (pristine, pristine_attributes) = known.map_or_else(
                || (file.before.clone(), file.attributes.clone()),
                |row| (row.pristine, row.pristine_attributes),
            );
            let nothing_is_left = file.after == Image::Absent && pristine == Image::Absent;
            if change.keep == Keep::Nobody || nothing_is_left {
                deploys::forget(db, machine, place, &file.path)?;
                continue;
            }
            let stat = stat.filter(|stat| disk::tells_changes(stat, now));
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
                pristine_attributes,
                stat,
            };
            deploys::put(db, machine, &row)?;
        }
        let claims = journal.files.iter().skip(work.changes.len());
        for (file, row) in claims.zip(work.row_changes.iter().filter_map(|change| match change {
            RowChange::Claim(row, _) => Some(row),
            RowChange::Keep(_) | RowChange::Follow(..) | RowChange::Forget(_) => None,
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
        write_row_changes(db, machine, place, &work.row_changes)?;
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
pub fn write_row_changes(db: &Db<'_>, machine: &str, place: i64, row_changes: &[RowChange]) -> Result<()> {
    for change in row_changes {
        match change {
            RowChange::Claim(..) => {}
            RowChange::Keep(row) => deploys::put(db, machine, row)?,
            RowChange::Follow(row, bytes) => {
                let Image::File { sha256, mode, .. } = row.applied else { continue };
                let applied = Image::File { blob: blobs::put_known(db, &sha256, bytes)?, sha256, mode };
                deploys::put(db, machine, &Deployed { applied, ..row.clone() })?;
            }
            RowChange::Forget(path) => deploys::forget(db, machine, place, path)?,
        }
    }
    Ok(())
}
