//! Snapshots: stored deploys with each file before and after, so that every deploy can be rolled back.

use uuid::Uuid;

use super::deploys::list;
use super::engine::{params, sql};
use super::names::plain;
use super::{Db, blobs};
use mcpkg_base::clock::Millis;
use mcpkg_base::error::Result;

mod history;
mod row;
mod snapshot;

pub use history::{state_at, state_before, touches};
use row::{file_from_row, from_row, snapshot_files, snapshots};
pub use snapshot::{File, Keep, Kind, NewSnapshot, Snapshot, State};

/// Stores a snapshot with all its files, before any file on the disk is changed. Returns the snapshot's key.
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
            plain(new.actor),
            new.now
        ],
    )?;
    let sql = sql!(
        "INSERT INTO snapshot_file (snapshot_id, seq, place_id, path, root, op, targets, module_ids, block,
           before_blob, before_mode, before_link, after_blob, after_mode, after_link, keep, before_attributes)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)"
    );
    let columns = |(seq, file): (i64, &File)| (seq, list(&file.targets), list(&file.module_ids), file.keep.word());
    let columns: Vec<_> = (0..).zip(files).map(columns).collect();
    let images: Vec<_> = files.iter().map(|file| (file.before.columns(), file.after.columns())).collect();
    let rows: Vec<_> = files
        .iter()
        .zip(&columns)
        .zip(&images)
        .map(|((file, columns), (before, after))| {
            params![
                id,
                columns.0,
                new.place,
                file.path,
                file.root,
                file.op,
                columns.1,
                columns.2,
                file.block,
                before.0,
                before.1,
                before.2,
                after.0,
                after.1,
                after.2,
                columns.3,
                file.attributes
            ]
            .to_vec()
        })
        .collect();
    db.run_for_each(sql, &rows)?;
    let sql = sql!("INSERT INTO snapshot_folder (snapshot_id, path) VALUES (?1, ?2)");
    let rows: Vec<_> = folders.iter().map(|folder| params![id, *folder].to_vec()).collect();
    db.run_for_each(sql, &rows)?;
    Ok(id)
}

/// Records the outcome of a snapshot. Without `now`, the snapshot still has work left to do.
pub fn finish(db: &Db<'_>, id: i64, state: State, now: Option<Millis>) -> Result<()> {
    let sql = sql!("UPDATE snapshot SET state = ?2, finished_at = ?3 WHERE id = ?1");
    db.run(sql, params![id, state.word(), now])?;
    Ok(())
}

/// Records that no work is left to do for a snapshot.
pub fn close(db: &Db<'_>, id: i64, now: Millis) -> Result<()> {
    db.run(sql!("UPDATE snapshot SET finished_at = ?2 WHERE id = ?1"), params![id, now])?;
    Ok(())
}

/// Whether any snapshot has work left to do. This is a single lookup in an index.
pub fn any_unfinished(db: &Db<'_>) -> Result<bool> {
    let sql = sql!("SELECT EXISTS (SELECT 1 FROM snapshot WHERE finished_at IS NULL)");
    db.single(sql, params![], |row| row.get(0))
}

/// Returns the snapshots with work left to do, newest first. A process is still working on them, or was killed.
pub fn unfinished(db: &Db<'_>) -> Result<Vec<Snapshot>> {
    db.all(sql!(snapshots!(), " WHERE finished_at IS NULL ORDER BY id DESC"), params![], from_row)
}

pub fn get(db: &Db<'_>, uuid: Uuid) -> Result<Option<Snapshot>> {
    db.one(sql!(snapshots!(), " WHERE uuid = ?1"), params![uuid], from_row)
}

/// Returns the snapshots of a location, or of all locations, newest first.
pub fn of_place(db: &Db<'_>, place: Option<i64>) -> Result<Vec<Snapshot>> {
    let sql = sql!(snapshots!(), " WHERE CAST(?1 AS BIGINT) IS NULL OR place_id = ?1 ORDER BY id DESC");
    db.all(sql, params![place], from_row)
}

/// Returns the files of a snapshot in the order in which they were applied.
pub fn files(db: &Db<'_>, id: i64) -> Result<Vec<File>> {
    db.all(sql!(snapshot_files!(), " WHERE f.snapshot_id = ?1 ORDER BY f.seq"), params![id], file_from_row)
}

/// Returns the folders that snapshot `id` and later ones of a location created, the deepest first.
pub fn folders(db: &Db<'_>, place: i64, id: i64) -> Result<Vec<String>> {
    let sql = sql!(
        "SELECT path FROM snapshot_folder JOIN snapshot ON snapshot.id = snapshot_id
          WHERE place_id = ?1 AND snapshot_id >= ?2 GROUP BY path ORDER BY length(path) DESC"
    );
    db.all(sql, params![place, id], |row| row.get(0))
}

/// Returns the folders that a snapshot created, in order.
pub fn folders_of(db: &Db<'_>, id: i64) -> Result<Vec<String>> {
    let sql = sql!("SELECT path FROM snapshot_folder WHERE snapshot_id = ?1 ORDER BY path");
    db.all(sql, params![id], |row| row.get(0))
}

/// Pins or unpins a snapshot. Pruning skips pinned ones.
pub fn pin(db: &Db<'_>, id: i64, pinned: bool) -> Result<()> {
    db.run(sql!("UPDATE snapshot SET pinned = ?2 WHERE id = ?1"), params![id, pinned])?;
    Ok(())
}

/// Deletes the stored files of these snapshots, except those that a rollback may need. A rollback to a remaining
/// snapshot needs the last state of each file before that snapshot, and a rollback to pristine needs the first state. The
/// records of created folders stay. Returns how many files were deleted. Also deletes the files of undone snapshots, without
/// counting them.
pub fn prune(db: &Db<'_>, ids: &[i64]) -> Result<u64> {
    db.allow_long();
    let pruned =
        sql!("UPDATE snapshot SET state = 'pruned' WHERE id = ?1 AND state = 'applied' AND finished_at IS NOT NULL");
    for id in ids {
        db.run(pruned, params![id])?;
    }
    // A rollback never goes back to an undone snapshot.
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
