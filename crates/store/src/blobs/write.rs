//! Stores contents, each once.

use std::borrow::Cow;

use xxhash_rust::xxh3::xxh3_64;

use super::damage::damaged_value;
use super::new_content::NewContent;
use super::survey::PIECE;
use crate::Db;
use crate::engine::{params, sql};
use mcpkg_base::error::Result;
use mcpkg_base::sha256;

/// Stores `bytes` unless they are already stored, and returns their key.
pub fn put(db: &Db<'_>, bytes: &[u8]) -> Result<i64> {
    put_hashed(db, bytes).map(|(id, _)| id)
}

/// Like [`put`], but also returns the SHA-256.
pub(crate) fn put_hashed(db: &Db<'_>, bytes: &[u8]) -> Result<(i64, [u8; 32])> {
    let sha256 = sha256::of(bytes);
    Ok((put_known(db, &sha256, bytes)?, sha256))
}

/// Stores `bytes` with a known SHA-256, unless they are already stored. Returns their key.
pub fn put_known(db: &Db<'_>, sha256: &[u8; 32], bytes: &[u8]) -> Result<i64> {
    match by_hash(db, sha256)? {
        Some(id) => Ok(id),
        None => {
            let pieces = bytes.chunks(PIECE).map(|piece| Ok(Cow::Borrowed(piece)));
            insert(db, sha256, xxh3_64(bytes), bytes.len() as u64, pieces)
        }
    }
}

/// Stores `content` unless it is already stored, and returns its key.
///
/// # Errors
/// `E_FILE_FAILED` if a file cannot be read or has changed.
pub fn put_source(db: &Db<'_>, content: &NewContent) -> Result<i64> {
    match by_hash(db, &content.sha256)? {
        Some(id) => Ok(id),
        None => insert(db, &content.sha256, content.checksum, content.size(), content.pieces()),
    }
}

/// Inserts content that was not stored at the last check. If another process stored it since, returns the key of that row.
fn insert<'p>(
    db: &Db<'_>,
    sha256: &[u8],
    checksum: u64,
    size: u64,
    mut pieces: impl Iterator<Item = Result<Cow<'p, [u8]>>>,
) -> Result<i64> {
    let head = pieces.next().transpose()?.unwrap_or_default();
    let size = i64::try_from(size).unwrap_or(i64::MAX);
    let sql = sql!(
        "INSERT INTO blob (sha256, size, head, checksum) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (sha256) DO NOTHING RETURNING id"
    );
    let Some(id) = db.one(sql, params![sha256, size, head, checksum.cast_signed()], |row| row.get(0))? else {
        // Another process has stored it since the check.
        return by_hash(db, sha256)?.ok_or_else(|| damaged_value("a blob was neither inserted nor found"));
    };
    for (n, piece) in (1_i64..).zip(pieces) {
        db.run(sql!("INSERT INTO chunk (blob_id, n, bytes) VALUES (?1, ?2, ?3)"), params![id, n, piece?])?;
    }
    Ok(id)
}

/// Returns the key of the blob that holds `content`, if it is stored.
pub fn find(db: &Db<'_>, content: &NewContent) -> Result<Option<i64>> {
    by_hash(db, &content.sha256)
}

/// Returns the key of the blob with this SHA-256, if it is stored.
pub fn by_hash(db: &Db<'_>, sha256: &[u8]) -> Result<Option<i64>> {
    db.one(sql!("SELECT id FROM blob WHERE sha256 = ?1"), params![sha256], |row| row.get(0))
}
