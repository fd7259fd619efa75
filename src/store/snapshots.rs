//! Stored deploys: each file's image before and after, so that every one of them can be taken back.

use uuid::Uuid;

use super::deploys::{Image, list, words};
use super::engine::{Row, params, sql};
use super::{Db, blobs};
use crate::clock::Millis;
use crate::error::Result;

/// What made a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A deploy that was applied.
    Deploy,
    /// A rollback.
    Rollback,
    /// Missing files that were written again.
    Restore,
}

impl Kind {
    /// The word for users and programs.
    pub const fn word(self) -> &'static str {
        match self {
            Kind::Deploy => "deploy",
            Kind::Rollback => "rollback",
            Kind::Restore => "restore",
        }
    }
}

/// Whose a file is after an apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// mcpkg's: it was written.
    Written,
    /// mcpkg looks after it, and did not write it: to overwrite it needs adopt.
    Claimed,
    /// Nobody's: it is as it was before mcpkg came.
    Nobody,
}

impl Keep {
    const ALL: [Keep; 3] = [Keep::Written, Keep::Claimed, Keep::Nobody];

    /// The word of the column.
    pub const fn word(self) -> &'static str {
        match self {
            Keep::Written => "written",
            Keep::Claimed => "claimed",
            Keep::Nobody => "nobody",
        }
    }

    fn from_row(row: &Row<'_>, column: usize) -> Result<Self> {
        let word: &str = row.get(column)?;
        // The column's check takes no other word.
        Ok(Self::ALL.into_iter().find(|keep| keep.word() == word).unwrap_or(Keep::Claimed))
    }
}

/// How far a snapshot came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It is being applied, or the process that applied it died.
    Applying,
    /// It was applied whole.
    Applied,
    /// It failed, and what it had written was put back.
    Undone,
    /// Its images are gone, but for those that others need.
    Pruned,
}

impl State {
    /// The word for users and programs.
    pub const fn word(self) -> &'static str {
        match self {
            State::Applying => "applying",
            State::Applied => "applied",
            State::Undone => "undone",
            State::Pruned => "pruned",
        }
    }
}

/// A snapshot to be begun.
#[derive(Clone, Debug)]
pub struct NewSnapshot<'a> {
    /// What users see of it.
    pub uuid: Uuid,
    /// Where.
    pub place: i64,
    /// What made it.
    pub kind: Kind,
    /// The targets it was asked for.
    pub targets: &'a [String],
    /// The profile.
    pub profile: &'a str,
    /// The SHA-256 of the plan that is applied, in hex.
    pub plan_hash: &'a str,
    /// What a rollback goes back to: a snapshot's id, or `pristine`.
    pub rolled_back_to: Option<&'a str>,
    /// Who.
    pub actor: &'a str,
    /// When.
    pub now: Millis,
}

/// A snapshot's row.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Its key; later ones are greater.
    pub id: i64,
    /// What users see of it.
    pub uuid: Uuid,
    /// Where.
    pub place: i64,
    /// What made it: deploy, rollback or restore.
    pub kind: String,
    /// applying, applied, undone or pruned.
    pub state: String,
    /// The targets it was asked for.
    pub targets: Vec<String>,
    /// The profile.
    pub profile: String,
    /// What a rollback went back to.
    pub rolled_back_to: Option<String>,
    /// Whether pruning leaves it alone.
    pub pinned: bool,
    /// Who.
    pub actor: String,
    /// When.
    pub created_at: Millis,
    /// How many files it changed.
    pub files: i64,
}

/// One file of a snapshot.
#[derive(Clone, Debug)]
pub struct File {
    /// The key of the snapshot; 0 for one that is not stored yet.
    pub snapshot: i64,
    /// Where, absolute.
    pub path: String,
    /// The folder of the target that it lies below.
    pub root: String,
    /// create, update, delete or claim.
    pub op: String,
    /// The targets that want it.
    pub targets: Vec<String>,
    /// The modules it is made of.
    pub module_ids: Vec<String>,
    /// Whether only a block in it is kept.
    pub block: bool,
    /// Whose it is afterwards.
    pub keep: Keep,
    /// What stood there.
    pub before: Image,
    /// What was left there.
    pub after: Image,
    /// What a file that stood there was besides, as its column has it; of rows that say what shall stand there again
    /// ([`state_at`], [`state_before`]), what that file is to be.
    pub attributes: Option<String>,
}

/// The query whose rows [`from_row`] reads, without its conditions.
macro_rules! snapshots {
    () => {
        "SELECT id, uuid, place_id, kind, state, targets, profile, rolled_back_to, pinned, actor, created_at,
                (SELECT count(*) FROM snapshot_file WHERE snapshot_id = snapshot.id)
           FROM snapshot"
    };
}

/// The query whose rows [`file_from_row`] reads, without its conditions.
macro_rules! snapshot_files {
    () => {
        "SELECT f.path, f.root, f.op, f.targets, f.module_ids, f.block,
                f.before_blob, b.sha256, f.before_mode, f.before_link,
                f.after_blob, a.sha256, f.after_mode, f.after_link, f.snapshot_id, f.keep, f.before_attributes
           FROM snapshot_file f LEFT JOIN blob b ON b.id = f.before_blob LEFT JOIN blob a ON a.id = f.after_blob"
    };
}

/// The files of snapshot `s` that changed the disk and were not taken back.
macro_rules! kept {
    () => {
        "s.state IN ('applied', 'pruned')"
    };
}

/// Writes the journal of what is about to be applied: all of it, before the first file is touched. Returns its key.
///
/// # Errors
/// `E_DB_BUSY`, `E_DB_CORRUPT`, `E_STORAGE`.
pub fn begin(db: &Db<'_>, new: &NewSnapshot<'_>, files: &[File], folders: &[String]) -> Result<i64> {
    let id = db.insert(
        sql!(
            "INSERT INTO snapshot (uuid, place_id, kind, state, targets, profile, plan_hash, rolled_back_to, actor,
                                   created_at)
             VALUES (?1, ?2, ?3, 'applying', ?4, ?5, ?6, ?7, ?8, ?9) RETURNING id"
        ),
        params![
            new.uuid,
            new.place,
            new.kind.word(),
            list(new.targets),
            new.profile,
            new.plan_hash,
            new.rolled_back_to,
            super::events::plain(new.actor),
            new.now
        ],
    )?;
    let sql = sql!(
        "INSERT INTO snapshot_file (snapshot_id, seq, place_id, path, root, op, targets, module_ids, block,
           before_blob, before_mode, before_link, after_blob, after_mode, after_link, keep, before_attributes)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)"
    );
    for (seq, file) in (0_i64..).zip(files) {
        let (before_blob, before_mode, before_link) = file.before.columns();
        let (after_blob, after_mode, after_link) = file.after.columns();
        let keep = file.keep.word();
        let (targets, module_ids) = (list(&file.targets), list(&file.module_ids));
        let columns = params![
            id,
            seq,
            new.place,
            file.path,
            file.root,
            file.op,
            targets,
            module_ids,
            file.block,
            before_blob,
            before_mode,
            before_link,
            after_blob,
            after_mode,
            after_link,
            keep,
            file.attributes
        ];
        db.run(sql, columns)?;
    }
    for folder in folders {
        db.run(sql!("INSERT INTO snapshot_folder (snapshot_id, path) VALUES (?1, ?2)"), params![id, folder])?;
    }
    Ok(id)
}

/// Says how a snapshot ended. Without a time something is left to be done for it.
///
/// # Errors
/// `E_DB_BUSY`, `E_DB_CORRUPT`, `E_STORAGE`.
pub fn finish(db: &Db<'_>, id: i64, state: State, now: Option<Millis>) -> Result<()> {
    let sql = sql!("UPDATE snapshot SET state = ?2, finished_at = ?3 WHERE id = ?1");
    db.run(sql, params![id, state.word(), now])?;
    Ok(())
}

/// Says that nothing is left to be done for a snapshot.
///
/// # Errors
/// `E_DB_BUSY`, `E_DB_CORRUPT`, `E_STORAGE`.
pub fn close(db: &Db<'_>, id: i64, now: Millis) -> Result<()> {
    db.run(sql!("UPDATE snapshot SET finished_at = ?2 WHERE id = ?1"), params![id, now])?;
    Ok(())
}

/// Whether something is left to be done for any snapshot: one look at an index.
///
/// # Errors
/// `E_DB_BUSY`, `E_DB_CORRUPT`, `E_STORAGE`.
pub fn any_unfinished(db: &Db<'_>) -> Result<bool> {
    let sql = sql!("SELECT EXISTS (SELECT 1 FROM snapshot WHERE finished_at IS NULL)");
    db.single(sql, params![], |row| row.get(0))
}

/// Returns the snapshots for which something is left to be done, newest first: somebody is at it, or died.
///
/// # Errors
/// `E_DB_BUSY`, `E_DB_CORRUPT`, `E_STORAGE`.
pub fn unfinished(db: &Db<'_>) -> Result<Vec<Snapshot>> {
    db.all(sql!(snapshots!(), " WHERE finished_at IS NULL ORDER BY id DESC"), params![], from_row)
}

/// Returns the snapshot that users see as `uuid`.
///
/// # Errors
/// `E_DB_BUSY`, `E_DB_CORRUPT`, `E_STORAGE`.
pub fn get(db: &Db<'_>, uuid: Uuid) -> Result<Option<Snapshot>> {
    db.one(sql!(snapshots!(), " WHERE uuid = ?1"), params![uuid], from_row)
}

/// Returns the snapshots of a place, or of all places, newest first.
///
/// # Errors
/// `E_DB_BUSY`, `E_DB_CORRUPT`, `E_STORAGE`.
pub fn of_place(db: &Db<'_>, place: Option<i64>) -> Result<Vec<Snapshot>> {
    let sql = sql!(snapshots!(), " WHERE CAST(?1 AS BIGINT) IS NULL OR place_id = ?1 ORDER BY id DESC");
    db.all(sql, params![place], from_row)
}

/// Returns the files of a snapshot in the order in which they were applied.
///
/// # Errors
/// `E_DB_BUSY`, `E_DB_CORRUPT`, `E_STORAGE`.
pub fn files(db: &Db<'_>, id: i64) -> Result<Vec<File>> {
    db.all(sql!(snapshot_files!(), " WHERE f.snapshot_id = ?1 ORDER BY f.seq"), params![id], file_from_row)
}

/// Returns the files that a place kept at snapshot `id` or that changed after it, each as that one left it: what it or an
/// earlier one wrote last, else what stood there before a later one first came. `after` of a row is that image.
///
/// # Errors
/// `E_DB_BUSY`, `E_DB_CORRUPT`, `E_STORAGE`.
pub fn state_at(db: &Db<'_>, place: i64, id: i64) -> Result<Vec<File>> {
    changed_since(db, place, id + 1, true, |last, first| match (last, first) {
        // What no later one touched may have been changed by the user; a file that is the user's own is left to them.
        (Some(last), None) => (last.keep == Keep::Written).then_some(File { attributes: None, ..last }),
        (Some(last), Some(_)) => Some(File { attributes: None, ..last }),
        (None, first) => first.map(|first| File { after: first.before.clone(), keep: Keep::Nobody, ..first }),
    })
}

/// Returns the files of a place that snapshot `id` or a later one changed, each as it stood just before: with what the
/// user had changed about it then. `after` of a row is that image.
///
/// # Errors
/// `E_DB_BUSY`, `E_DB_CORRUPT`, `E_STORAGE`.
pub fn state_before(db: &Db<'_>, place: i64, id: i64) -> Result<Vec<File>> {
    changed_since(db, place, id, false, |last, first| match (last, first) {
        (Some(last), Some(first)) => Some(File { after: first.before, attributes: first.attributes, ..last }),
        (None, Some(first)) => Some(File { after: first.before.clone(), keep: Keep::Nobody, ..first }),
        (_, None) => None,
    })
}

/// Folds each file that snapshot `id` or a later one changed, or that any did: the last change before, and the first one
/// from then on.
fn changed_since(
    db: &Db<'_>,
    place: i64,
    id: i64,
    whole: bool,
    fold: impl Fn(Option<File>, Option<File>) -> Option<File>,
) -> Result<Vec<File>> {
    let paths = sql!(
        "SELECT DISTINCT path FROM snapshot_file f JOIN snapshot s ON s.id = f.snapshot_id
          WHERE f.place_id = ?1 AND (f.snapshot_id >= ?2 OR ?3 = 1) AND ",
        kept!(),
        " ORDER BY path"
    );
    let last = sql!(
        snapshot_files!(),
        " JOIN snapshot s ON s.id = f.snapshot_id WHERE f.place_id = ?1 AND f.path = ?2 AND f.snapshot_id < ?3 AND ",
        kept!(),
        " ORDER BY f.snapshot_id DESC LIMIT 1"
    );
    let first = sql!(
        snapshot_files!(),
        " JOIN snapshot s ON s.id = f.snapshot_id WHERE f.place_id = ?1 AND f.path = ?2 AND f.snapshot_id >= ?3 AND ",
        kept!(),
        " ORDER BY f.snapshot_id LIMIT 1"
    );
    let paths: Vec<String> = db.all(paths, params![place, id, whole], |row| row.get(0))?;
    let mut found = Vec::with_capacity(paths.len());
    for path in paths {
        let kept = db.one(last, params![place, path, id], file_from_row)?;
        let kept = kept.filter(|file| file.keep != Keep::Nobody);
        let from_then_on = db.one(first, params![place, path, id], file_from_row)?;
        found.extend(fold(kept, from_then_on));
    }
    Ok(found)
}

/// Returns what snapshot `from` and later ones did to a file of a place, newest first.
///
/// # Errors
/// `E_DB_BUSY`, `E_DB_CORRUPT`, `E_STORAGE`.
pub fn touches(db: &Db<'_>, place: i64, path: &str, from: i64) -> Result<Vec<File>> {
    let sql = sql!(
        snapshot_files!(),
        " JOIN snapshot s ON s.id = f.snapshot_id WHERE f.place_id = ?1 AND f.path = ?2 AND f.snapshot_id >= ?3 AND ",
        kept!(),
        " ORDER BY f.snapshot_id DESC"
    );
    db.all(sql, params![place, path, from], file_from_row)
}

/// Returns the folders that a place's snapshots from `id` on made, the deepest first.
///
/// # Errors
/// `E_DB_BUSY`, `E_DB_CORRUPT`, `E_STORAGE`.
pub fn folders(db: &Db<'_>, place: i64, id: i64) -> Result<Vec<String>> {
    let sql = sql!(
        "SELECT path FROM snapshot_folder JOIN snapshot ON snapshot.id = snapshot_id
          WHERE place_id = ?1 AND snapshot_id >= ?2 GROUP BY path ORDER BY length(path) DESC"
    );
    db.all(sql, params![place, id], |row| row.get(0))
}

/// Returns the folders that a snapshot made, in order.
///
/// # Errors
/// `E_DB_BUSY`, `E_DB_CORRUPT`, `E_STORAGE`.
pub fn folders_of(db: &Db<'_>, id: i64) -> Result<Vec<String>> {
    let sql = sql!("SELECT path FROM snapshot_folder WHERE snapshot_id = ?1 ORDER BY path");
    db.all(sql, params![id], |row| row.get(0))
}

/// Pins a snapshot, or lets it go: pruning leaves a pinned one alone.
///
/// # Errors
/// `E_DB_BUSY`, `E_DB_CORRUPT`, `E_STORAGE`.
pub fn pin(db: &Db<'_>, id: i64, pinned: bool) -> Result<()> {
    db.run(sql!("UPDATE snapshot SET pinned = ?2 WHERE id = ?1"), params![id, pinned])?;
    Ok(())
}

/// Takes away the images of these snapshots that no rollback needs: a rollback to one that stays needs the last image
/// before it, and one to pristine the first. The folders stay known. Returns how many files' images went.
///
/// # Errors
/// `E_DB_BUSY`, `E_DB_CORRUPT`, `E_STORAGE`.
pub fn prune(db: &Db<'_>, ids: &[i64]) -> Result<u64> {
    let pruned =
        sql!("UPDATE snapshot SET state = 'pruned' WHERE id = ?1 AND state = 'applied' AND finished_at IS NOT NULL");
    for id in ids {
        db.run(pruned, params![id])?;
    }
    // Nothing is ever rolled back to one that was undone.
    let undone =
        sql!("DELETE FROM snapshot_file WHERE snapshot_id IN (SELECT id FROM snapshot WHERE state = 'undone')");
    db.run(undone, params![])?;
    let sql = sql!(
        "DELETE FROM snapshot_file WHERE (snapshot_id, seq) IN (
           SELECT f.snapshot_id, f.seq FROM snapshot_file f JOIN snapshot s ON s.id = f.snapshot_id
            WHERE s.state = 'pruned'
              AND EXISTS (SELECT 1 FROM snapshot_file e JOIN snapshot es ON es.id = e.snapshot_id
                           WHERE e.place_id = f.place_id AND e.path = f.path
                           AND e.snapshot_id < f.snapshot_id AND es.state IN ('applied', 'pruned'))
              AND EXISTS (SELECT 1 FROM snapshot_file n JOIN snapshot ns ON ns.id = n.snapshot_id
                           WHERE n.place_id = f.place_id AND n.path = f.path
                           AND n.snapshot_id > f.snapshot_id AND ns.state IN ('applied', 'pruned')
                           AND NOT EXISTS (SELECT 1 FROM snapshot k WHERE k.place_id = f.place_id
                                            AND k.state = 'applied' AND k.id >= f.snapshot_id AND k.id < n.snapshot_id)))"
    );
    let gone = db.run(sql, params![])?;
    blobs::sweep(db)?;
    Ok(gone)
}

fn from_row(row: &Row<'_>) -> Result<Snapshot> {
    Ok(Snapshot {
        id: row.get(0)?,
        uuid: row.get(1)?,
        place: row.get(2)?,
        kind: row.get(3)?,
        state: row.get(4)?,
        targets: words(row, 5)?,
        profile: row.get(6)?,
        rolled_back_to: row.get(7)?,
        pinned: row.get(8)?,
        actor: row.get(9)?,
        created_at: row.get(10)?,
        files: row.get(11)?,
    })
}

fn file_from_row(row: &Row<'_>) -> Result<File> {
    Ok(File {
        snapshot: row.get(14)?,
        keep: Keep::from_row(row, 15)?,
        path: row.get(0)?,
        root: row.get(1)?,
        op: row.get(2)?,
        targets: words(row, 3)?,
        module_ids: words(row, 4)?,
        block: row.get(5)?,
        before: Image::from_row(row, 6)?,
        after: Image::from_row(row, 10)?,
        attributes: row.get(16)?,
    })
}
