//! Content, stored once per SHA-256 and verified whenever it is read.

use std::borrow::Cow;

use sha2::{Digest, Sha256};

use super::Db;
use super::engine::{Row, params, sql};
use super::source::{Source, Text};
use crate::error::{Code, Error, Result};

/// Bytes in the blob's own row, and in each chunk after it.
pub(super) const PIECE: usize = 1 << 20;

/// A blob's row, borrowed from the statement that found it: all of a small content, the head of a large one.
#[derive(Clone, Copy, Debug)]
pub struct Blob<'r> {
    pub(super) id: i64,
    /// Bytes in all.
    pub size: u64,
    pub(super) sha256: &'r [u8],
    pub(super) head: &'r [u8],
}

/// The columns a query needs to make a [`Blob`], for a table alias `b`.
macro_rules! blob_columns {
    () => {
        "b.id, b.size, b.sha256, b.head"
    };
}
pub(super) use blob_columns;

impl<'r> Blob<'r> {
    /// Reads `blob_columns!`, the first of which is column `first`.
    pub(super) fn from_row(row: &Row<'r>, first: usize) -> Result<Self> {
        Ok(Self {
            id: row.get(first)?,
            size: row.get::<i64>(first + 1)?.try_into().unwrap_or(0),
            sha256: row.get(first + 2)?,
            head: row.get(first + 3)?,
        })
    }
}

/// Hands the content to `each`, piece by piece, and verifies it: nothing of what `each` saw is good unless this
/// returns `Ok`.
///
/// # Errors
/// What `each` returns; `E_DAMAGED` where the bytes are not those that were stored.
pub fn stream(db: &Db<'_>, blob: Blob<'_>, mut each: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let mut hash = Sha256::new();
    let mut size = blob.head.len();
    hash.update(blob.head);
    each(blob.head)?;
    if blob.size > PIECE as u64 {
        db.each(sql!("SELECT bytes FROM chunk WHERE blob_id = ?1 ORDER BY n"), params![blob.id], |row| {
            db.check_deadline()?;
            let bytes: &[u8] = row.get(0)?;
            hash.update(bytes);
            size += bytes.len();
            each(bytes)
        })?;
    }
    if size as u64 == blob.size && hash.finalize()[..] == *blob.sha256 { Ok(()) } else { Err(damaged(blob.sha256)) }
}

/// Returns the whole content, verified.
///
/// # Errors
/// As [`stream`].
pub fn read(db: &Db<'_>, blob: Blob<'_>) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(usize::try_from(blob.size).unwrap_or(0).min(PIECE));
    stream(db, blob, |piece| {
        bytes.extend_from_slice(piece);
        Ok(())
    })?;
    Ok(bytes)
}

/// Returns the whole content of the blob with key `id`, verified.
///
/// # Errors
/// As [`stream`].
pub fn get(db: &Db<'_>, id: i64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    stream_by_id(db, id, |piece| {
        bytes.extend_from_slice(piece);
        Ok(())
    })?;
    Ok(bytes)
}

/// Hands the content of the blob with key `id` to `each`; see [`stream`].
///
/// # Errors
/// As [`stream`].
pub fn stream_by_id(db: &Db<'_>, id: i64, each: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let sql = sql!("SELECT ", blob_columns!(), " FROM blob b WHERE b.id = ?1");
    db.one(sql, params![id], |row| stream(db, Blob::from_row(row, 0)?, each))?
        .ok_or_else(|| damaged_value("a content that a row names is gone"))
}

/// Returns the first `pieces` MiB of the content of the blob with key `id`, not verified: for the index alone.
pub(super) fn beginning(db: &Db<'_>, id: i64, pieces: i64) -> Result<Vec<u8>> {
    let mut bytes: Vec<u8> = db.single(sql!("SELECT head FROM blob WHERE id = ?1"), params![id], |row| row.get(0))?;
    let sql = sql!("SELECT bytes FROM chunk WHERE blob_id = ?1 AND n < ?2 ORDER BY n");
    db.each(sql, params![id, pieces], |row| {
        bytes.extend_from_slice(row.get(0)?);
        Ok(())
    })?;
    Ok(bytes)
}

/// Returns whether the content of the blob with key `id` is UTF-8 without U+0000.
///
/// # Errors
/// As [`stream`].
pub fn is_text(db: &Db<'_>, id: i64) -> Result<bool> {
    let mut text = Text::default();
    stream_by_id(db, id, |piece| {
        text.add(piece);
        Ok(())
    })?;
    Ok(text.so_far())
}

/// Stores `bytes` where they are not stored yet, and returns their key.
///
/// # Errors
/// `E_DB_BUSY`, `E_DB_CORRUPT`, `E_STORAGE`.
pub fn put(db: &Db<'_>, bytes: &[u8]) -> Result<i64> {
    put_known(db, &Sha256::digest(bytes).into(), bytes)
}

/// Stores `bytes`, whose SHA-256 is known, where they are not stored yet, and returns their key.
///
/// # Errors
/// `E_DB_BUSY`, `E_DB_CORRUPT`, `E_STORAGE`.
pub fn put_known(db: &Db<'_>, sha256: &[u8; 32], bytes: &[u8]) -> Result<i64> {
    insert(db, sha256, bytes.len() as u64, bytes.chunks(PIECE).map(|piece| Ok(Cow::Borrowed(piece))))
}

/// Stores `content` where it is not stored yet, and returns its key.
///
/// # Errors
/// `E_DB_BUSY`, `E_DISK_FULL`, `E_STORAGE`; `E_FILE_FAILED` where a file cannot be read or is no longer what it was.
pub fn put_source(db: &Db<'_>, content: &Source) -> Result<i64> {
    insert(db, &content.sha256, content.size(), content.pieces())
}

fn insert<'p>(
    db: &Db<'_>,
    sha256: &[u8],
    size: u64,
    mut pieces: impl Iterator<Item = Result<Cow<'p, [u8]>>>,
) -> Result<i64> {
    if let Some(id) = by_hash(db, sha256)? {
        return Ok(id);
    }
    let head = pieces.next().transpose()?.unwrap_or_default();
    let size = i64::try_from(size).unwrap_or(i64::MAX);
    let sql =
        sql!("INSERT INTO blob (sha256, size, head) VALUES (?1, ?2, ?3) ON CONFLICT (sha256) DO NOTHING RETURNING id");
    let Some(id) = db.one(sql, params![sha256, size, head], |row| row.get(0))? else {
        // Another process stored it between the two.
        return by_hash(db, sha256)?.ok_or_else(|| damaged_value("a content is neither new nor there"));
    };
    for (n, piece) in (1_i64..).zip(pieces) {
        db.run(sql!("INSERT INTO chunk (blob_id, n, bytes) VALUES (?1, ?2, ?3)"), params![id, n, piece?])?;
    }
    Ok(id)
}

/// Returns the key of the blob that holds `content`, if it is stored.
///
/// # Errors
/// `E_DB_BUSY`, `E_DB_CORRUPT`, `E_STORAGE`.
pub fn find(db: &Db<'_>, content: &Source) -> Result<Option<i64>> {
    by_hash(db, &content.sha256)
}

fn by_hash(db: &Db<'_>, sha256: &[u8]) -> Result<Option<i64>> {
    db.one(sql!("SELECT id FROM blob WHERE sha256 = ?1"), params![sha256], |row| row.get(0))
}

/// Removes the blobs that nothing refers to.
pub(super) fn sweep(db: &Db<'_>) -> Result<()> {
    let sql = sql!(
        "DELETE FROM blob WHERE NOT EXISTS (SELECT 1 FROM prompt WHERE blob_id = blob.id)
                            AND NOT EXISTS (SELECT 1 FROM resource WHERE blob_id = blob.id)
                            AND NOT EXISTS (SELECT 1 FROM revision WHERE blob_id = blob.id)
                            AND NOT EXISTS (SELECT 1 FROM snapshot_file WHERE before_blob = blob.id)
                            AND NOT EXISTS (SELECT 1 FROM snapshot_file WHERE after_blob = blob.id)
                            AND NOT EXISTS (SELECT 1 FROM deployed WHERE applied_blob = blob.id)
                            AND NOT EXISTS (SELECT 1 FROM deployed WHERE pristine_blob = blob.id)
                            AND NOT EXISTS (SELECT 1 FROM proposal WHERE base_blob = blob.id OR blob_id = blob.id)"
    );
    db.run(sql, params![]).map(drop)
}

/// Returns the SHA-256 of the blob with key `id`.
pub(super) fn sha256(db: &Db<'_>, id: i64) -> Result<[u8; 32]> {
    db.single(sql!("SELECT sha256 FROM blob WHERE id = ?1"), params![id], |row| row.get(0))
}

/// Returns the failure of a value that mcpkg would not have written.
pub fn damaged_value(what: &str) -> Error {
    Error::new(Code::Damaged, format!("The database is damaged: {what}"))
        .hint("`mcpkg check --deep` says more; `mcpkg restore FILE` brings back a backup")
}

pub(super) fn damaged(sha256: &[u8]) -> Error {
    let hex = crate::hex::encode(sha256);
    Error::new(Code::Damaged, format!("The stored content with SHA-256 {hex} is damaged"))
        .hint("it was not served; `mcpkg restore FILE` brings back a backup")
}
