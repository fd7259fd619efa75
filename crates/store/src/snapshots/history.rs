//! Computes the state of a location's files at an earlier snapshot, from the changes that its snapshots recorded.

use super::row::{file_from_row, snapshot_files};
use super::snapshot::{File, Keep};
use crate::Db;
use crate::engine::{params, sql};
use mcpkg_base::error::Result;

/// The SQL condition that a snapshot `s` has changed the disk and was not undone.
macro_rules! kept {
    () => {
        "s.state IN ('applied', 'pruned')"
    };
}

/// Returns the files of a location as snapshot `id` left them, for a rollback to that snapshot. These are the files
/// that mcpkg had written by then, and all files that a later snapshot changed. `after` is the last state that snapshot
/// `id` or an earlier one wrote. If there is none, or if mcpkg had left the file to the user, `after` is the state that
/// the first later snapshot found.
pub fn state_at(db: &Db<'_>, place: i64, id: i64) -> Result<Vec<File>> {
    changed_since(db, place, id + 1, true, |last, first| match (last, first) {
        // No later snapshot touched the file, so only the user can have changed it. Restore it only if mcpkg had
        // written it.
        (Some(last), None) => (last.keep == Keep::Written).then_some(File { attributes: None, ..last }),
        (Some(last), Some(_)) => Some(File { attributes: None, ..last }),
        (None, first) => first.map(|first| File { after: first.before.clone(), keep: Keep::Nobody, ..first }),
    })
}

/// Returns the files of a location that snapshot `id` or a later one changed. `after` is the state of each file just
/// before snapshot `id`, including the user's own changes.
pub fn state_before(db: &Db<'_>, place: i64, id: i64) -> Result<Vec<File>> {
    changed_since(db, place, id, false, |last, first| match (last, first) {
        (Some(last), Some(first)) => Some(File { after: first.before, attributes: first.attributes, ..last }),
        (None, Some(first)) => Some(File { after: first.before.clone(), keep: Keep::Nobody, ..first }),
        (_, None) => None,
    })
}

/// Calls `fold` for each file that snapshot `id` or a later one changed; with `whole`, for each file that any snapshot
/// changed. `fold` gets the file's last change before snapshot `id`, unless that change left the file to the user, and
/// the file's first change from snapshot `id` on.
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

/// Returns the changes that snapshot `from` and later ones made to a file of a location, newest first.
pub fn touches(db: &Db<'_>, place: i64, path: &str, from: i64) -> Result<Vec<File>> {
    let sql = sql!(
        snapshot_files!(),
        " JOIN snapshot s ON s.id = f.snapshot_id WHERE f.place_id = ?1 AND f.path = ?2 AND f.snapshot_id >= ?3 AND ",
        kept!(),
        " ORDER BY f.snapshot_id DESC"
    );
    db.all(sql, params![place, path, from], file_from_row)
}
