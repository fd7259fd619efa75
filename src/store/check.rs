//! Whether the file is sound: what SQLite can tell, and what only our hashes can.

use rusqlite::Connection;

use super::{Db, blobs};
use crate::error::{Code, Result};

/// Returns what SQLite finds wrong, a line each; empty where the file is sound.
pub(super) fn structure(connection: &Connection) -> Result<Vec<String>> {
    let mut faults = Vec::new();
    let mut statement = connection.prepare("PRAGMA integrity_check(20)")?;
    for line in statement.query_map([], |row| row.get::<_, String>(0))? {
        match line? {
            sound if sound == "ok" => {}
            fault => faults.push(fault),
        }
    }
    let mut statement = connection.prepare("PRAGMA foreign_key_check")?;
    for table in statement.query_map([], |row| row.get::<_, String>(0))? {
        faults.push(format!("a row of table {} refers to one that is gone", table?));
    }
    Ok(faults)
}

/// Returns the faults of the database's structure; empty where it is sound.
///
/// # Errors
/// Where the damage is so large that the check itself fails.
pub fn faults(db: &Db<'_>) -> Result<Vec<String>> {
    structure(db.connection)
}

/// Verifies every blob against its SHA-256 and returns how many there are and the names of what uses a damaged one.
/// SQLite's own check does not see a flipped bit inside a value.
///
/// # Errors
/// How the disk failed.
pub fn hashes(db: &Db<'_>, progress: &dyn Fn(u64, u64)) -> Result<(u64, Vec<String>)> {
    let total: i64 = db.connection.query_row("SELECT count(*) FROM blob", [], |row| row.get(0))?;
    let total = u64::try_from(total).unwrap_or(0);
    let mut faults = Vec::new();
    let mut seen = 0;
    let mut statement = db.connection.prepare(concat!("SELECT ", blobs::columns!(), " FROM blob b ORDER BY b.id"))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let blob = blobs::Blob::from_row(row, 0)?;
        match blobs::stream(db, blob, |_| Ok(())) {
            Err(error) if error.code() == Code::Damaged => {
                faults.extend(users(db, blob.id)?.into_iter().map(|user| format!("the content of {user} is damaged")));
            }
            checked => checked?,
        }
        seen += 1;
        progress(seen, total);
    }
    Ok((seen, faults))
}

fn users(db: &Db<'_>, blob: i64) -> Result<Vec<String>> {
    let mut statement = db.connection.prepare_cached(
        "SELECT DISTINCT kind || ' ''' || revision.name || ''' revision ' || number || ' in project ''' || project.name || ''''
           FROM revision JOIN project ON project.id = project_id WHERE blob_id = ?1",
    )?;
    let rows = statement.query_map([blob], |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
