//! Stored content. Each content is stored once, under its SHA-256.
//!
//! Reads verify the content by the checksum that is stored with it, or also by its SHA-256 ([`Verify`]). The search
//! index is the exception: it reads content without verifying it.

mod damage;
mod new_content;
mod survey;
mod sweep;
mod users;
mod write;

use std::collections::HashMap;

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::Db;
use super::engine::{Intent, Link, Row, params, sql};
use mcpkg_base::error::{Code, Result};
use mcpkg_base::sha256;
use survey::Text;

pub(super) use damage::damaged;
pub use damage::{damaged_value, shown_json, stored_json};
pub use new_content::{NewContent, Reader};
pub(super) use survey::PIECE;
#[cfg(test)]
pub(super) use sweep::UNREFERENCED;
pub(super) use sweep::{sweep, take_back};
pub(super) use users::users;
pub(super) use write::put_hashed;
pub use write::{by_hash, find, put, put_known, put_source};

/// A blob's row, borrowed from its query: all of a small content, or the first piece of a large one.
#[derive(Clone, Copy, Debug)]
pub struct Blob<'r> {
    pub(super) id: i64,
    pub size: u64,
    pub(super) sha256: &'r [u8],
    /// The XXH3 of the bytes. `None` in a database from before there were checksums, until `fill_checksums` has added
    /// them. Content that was already damaged then keeps `None`.
    checksum: Option<i64>,
    pub(super) head: &'r [u8],
}

/// How content is verified while it is read. Both ways detect a single flipped bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verify {
    /// By its checksum, at a tenth of the cost of the SHA-256. Content without a checksum is verified by its SHA-256.
    Checksum,
    /// By its SHA-256 and its checksum. For `check`, and for content that is passed on under its hash, such as
    /// archives and deploy images.
    Sha256,
}

/// The columns that a query needs to make a [`Blob`], for a table alias `b`. The checksum comes after the head, as it does in
/// the file. In the other order, SQLite would go through all pages of the head twice.
macro_rules! blob_columns {
    () => {
        "b.id, b.size, b.sha256, b.head, b.checksum"
    };
}
pub(super) use blob_columns;

/// The number of columns in `blob_columns!`.
pub(super) const COLUMNS: usize = 5;

impl<'r> Blob<'r> {
    /// Reads the columns of `blob_columns!`, beginning at column `first`.
    pub(super) fn from_row(row: &Row<'r>, first: usize) -> Result<Self> {
        Ok(Self {
            id: row.get(first)?,
            size: row.get::<i64>(first + 1)?.try_into().unwrap_or(0),
            sha256: row.get(first + 2)?,
            head: row.get(first + 3)?,
            checksum: row.get(first + 4)?,
        })
    }
}

/// Passes the content to `each` in pieces, and verifies it. The pieces must not be trusted until this returns `Ok`.
///
/// # Errors
/// Errors of `each`; `E_DAMAGED` if the content has changed since it was stored.
pub fn stream(db: &Db<'_>, blob: Blob<'_>, verify: Verify, mut each: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let mut hash = (verify == Verify::Sha256 || blob.checksum.is_none()).then(sha256::Hasher::new);
    let mut size = blob.head.len();
    if let Some(hash) = &mut hash {
        hash.update(blob.head);
    }
    let checksum = if blob.size <= PIECE as u64 {
        each(blob.head)?;
        xxh3_64(blob.head)
    } else {
        let mut checksum = Xxh3::new();
        checksum.update(blob.head);
        each(blob.head)?;
        db.stream(sql!("SELECT bytes FROM chunk WHERE blob_id = ?1 ORDER BY n"), params![blob.id], |row| {
            db.check_deadline()?;
            let bytes: &[u8] = row.get(0)?;
            if let Some(hash) = &mut hash {
                hash.update(bytes);
            }
            checksum.update(bytes);
            size += bytes.len();
            each(bytes)
        })?;
        checksum.digest()
    };
    let intact = size as u64 == blob.size
        && blob.checksum.is_none_or(|stored| stored == checksum.cast_signed())
        && hash.is_none_or(|hash| hash.finish()[..] == *blob.sha256);
    if intact { Ok(()) } else { Err(damaged(blob.sha256)) }
}

/// Returns the whole content, verified as [`Verify::Checksum`] says.
pub fn read(db: &Db<'_>, blob: Blob<'_>) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(usize::try_from(blob.size).unwrap_or(0).min(PIECE));
    stream(db, blob, Verify::Checksum, |piece| {
        bytes.extend_from_slice(piece);
        Ok(())
    })?;
    Ok(bytes)
}

/// Returns the whole content of the blob with key `id`, verified by its SHA-256.
pub fn get(db: &Db<'_>, id: i64) -> Result<Vec<u8>> {
    whole(db, id, Verify::Sha256)
}

/// How many contents one statement reads.
const READ_AT_ONCE: usize = 16;

/// Returns the whole contents of the blobs with these keys, each verified by its SHA-256. Like [`get`], but with fewer
/// statements.
pub fn get_all(db: &Db<'_>, ids: impl IntoIterator<Item = i64>) -> Result<HashMap<i64, Vec<u8>>> {
    let sql = sql!(
        "SELECT ",
        blob_columns!(),
        " FROM blob b WHERE b.id IN (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)"
    );
    let ids: Vec<i64> = ids.into_iter().collect();
    let mut found = HashMap::with_capacity(ids.len());
    for batch in ids.chunks(READ_AT_ONCE) {
        // Fill up a short batch with its first key, so that every statement has the same number of parameters.
        let n: [i64; READ_AT_ONCE] = std::array::from_fn(|at| batch.get(at).copied().unwrap_or(batch[0]));
        let wanted = params![
            n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7], n[8], n[9], n[10], n[11], n[12], n[13], n[14], n[15]
        ];
        db.each(sql, wanted, |row| {
            let blob = Blob::from_row(row, 0)?;
            let mut bytes = Vec::with_capacity(usize::try_from(blob.size).unwrap_or(0).min(PIECE));
            stream(db, blob, Verify::Sha256, |piece| {
                bytes.extend_from_slice(piece);
                Ok(())
            })?;
            found.insert(blob.id, bytes);
            Ok(())
        })?;
    }
    match ids.iter().any(|id| !found.contains_key(id)) {
        true => Err(damaged_value("the content that a row refers to is missing")),
        false => Ok(found),
    }
}

/// Returns the content of the blob with key `id`, verified as [`Verify::Checksum`] says. For content that is only
/// shown.
pub fn show(db: &Db<'_>, id: i64) -> Result<Vec<u8>> {
    whole(db, id, Verify::Checksum)
}

/// Returns the content of the blob with key `id`, verified by its SHA-256. Unlike [`get`], also returns the hash,
/// which is computed only once.
pub fn content(db: &Db<'_>, id: i64) -> Result<NewContent> {
    let of = |blob: Blob<'_>| {
        let bytes = unverified(db, blob)?;
        let content = match blob.checksum {
            Some(checksum) => NewContent::of(bytes, checksum.cast_unsigned()),
            None => NewContent::from(bytes),
        };
        let intact = content.size() == blob.size && content.sha256[..] == *blob.sha256;
        if intact { Ok(content) } else { Err(damaged(blob.sha256)) }
    };
    by_id(db, id, of)
}

fn unverified(db: &Db<'_>, blob: Blob<'_>) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(usize::try_from(blob.size).unwrap_or(0).min(PIECE));
    bytes.extend_from_slice(blob.head);
    if blob.size > PIECE as u64 {
        db.stream(sql!("SELECT bytes FROM chunk WHERE blob_id = ?1 ORDER BY n"), params![blob.id], |row| {
            db.check_deadline()?;
            bytes.extend_from_slice(row.get(0)?);
            Ok(())
        })?;
    }
    Ok(bytes)
}

fn whole(db: &Db<'_>, id: i64, verify: Verify) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    stream_by_id(db, id, verify, |piece| {
        bytes.extend_from_slice(piece);
        Ok(())
    })?;
    Ok(bytes)
}

/// Passes the content of the blob with key `id` to `each`; see [`stream`].
pub fn stream_by_id(db: &Db<'_>, id: i64, verify: Verify, each: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
    by_id(db, id, |blob| stream(db, blob, verify, each))
}

/// Calls `of` with the blob that has the key `id`, and returns the result.
fn by_id<T>(db: &Db<'_>, id: i64, of: impl FnOnce(Blob<'_>) -> Result<T>) -> Result<T> {
    let sql = sql!("SELECT ", blob_columns!(), " FROM blob b WHERE b.id = ?1");
    db.one(sql, params![id], |row| of(Blob::from_row(row, 0)?))?
        .ok_or_else(|| damaged_value("the content that a row refers to is missing"))
}

/// Returns the first `pieces` MiB of the content of the blob with key `id`, without verifying it. Only for the search index.
pub(super) fn beginning(db: &Db<'_>, id: i64, pieces: i64) -> Result<Vec<u8>> {
    let head = sql!("SELECT head, size FROM blob WHERE id = ?1");
    let (mut bytes, size): (Vec<u8>, i64) = db.single(head, params![id], |row| Ok((row.get(0)?, row.get(1)?)))?;
    if size <= PIECE as i64 {
        return Ok(bytes);
    }
    let sql = sql!("SELECT bytes FROM chunk WHERE blob_id = ?1 AND n < ?2 ORDER BY n");
    db.stream(sql, params![id, pieces], |row| {
        bytes.extend_from_slice(row.get(0)?);
        Ok(())
    })?;
    Ok(bytes)
}

/// Whether the content of the blob with key `id` is UTF-8 without U+0000.
pub fn is_text(db: &Db<'_>, id: i64) -> Result<bool> {
    let mut text = Text::default();
    stream_by_id(db, id, Verify::Checksum, |piece| {
        text.add(piece);
        Ok(())
    })?;
    Ok(text.so_far())
}

/// How many contents get their checksum in one transaction. Each row is rewritten, with up to 1 MiB of content.
const FILLED_AT_ONCE: u32 = 64;

/// Adds missing checksums to content whose SHA-256 shows that it is intact, in databases from before there were checksums.
/// Damaged content gets none, so its SHA-256 keeps revealing the damage. Can be interrupted: the next call continues.
pub(super) fn fill_checksums(connection: Link<'_>) -> Result<()> {
    let without = sql!("SELECT id FROM blob WHERE checksum IS NULL AND id > ?1 ORDER BY id LIMIT ?2");
    let mut last = 0_i64;
    loop {
        let filled = Db::in_transaction(connection, None, Intent::Write, |db| {
            let ids: Vec<i64> = db.all(without, params![last, FILLED_AT_ONCE], |row| row.get(0))?;
            for id in &ids {
                let mut checksum = Xxh3::new();
                let read = stream_by_id(db, *id, Verify::Sha256, |piece| {
                    checksum.update(piece);
                    Ok(())
                });
                match read {
                    Ok(()) => {
                        let sql = sql!("UPDATE blob SET checksum = ?2 WHERE id = ?1");
                        db.run(sql, params![id, checksum.digest().cast_signed()])?;
                    }
                    Err(error) if error.code() == Code::Damaged => {
                        tracing::warn!(%error, "found while checksums were filled in")
                    }
                    Err(error) => return Err(error),
                }
            }
            Ok(ids)
        })?;
        match filled.last() {
            Some(id) => last = *id,
            None => return Ok(()),
        }
    }
}

pub fn sha256(db: &Db<'_>, id: i64) -> Result<[u8; 32]> {
    db.single(sql!("SELECT sha256 FROM blob WHERE id = ?1"), params![id], |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Store;

    #[test]
    fn get_and_show_find_damaged_bytes_and_a_wrong_checksum() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("test.db")).unwrap();
        let large: Vec<u8> = (0..2 * PIECE + 7).map(|n| n as u8).collect();
        for (bytes, change) in [
            (b"small".to_vec(), sql!("UPDATE blob SET head = substr(head, 2) WHERE id = ?1")),
            (b"other".to_vec(), sql!("UPDATE blob SET checksum = checksum + 1 WHERE id = ?1")),
            (large.clone(), sql!("UPDATE chunk SET bytes = substr(bytes, 2) WHERE blob_id = ?1 AND n = 2")),
            (large[1..].to_vec(), sql!("DELETE FROM chunk WHERE blob_id = ?1 AND n = 2")),
        ] {
            let id = store.write(|db| put(db, &bytes)).unwrap();
            for read in [get, show] {
                assert!(store.read(|db| read(db, id)).unwrap() == bytes, "{bytes:?}");
            }
            store.write(|db| db.run(change, params![id])).unwrap();
            for read in [get, show] {
                assert_eq!(store.read(|db| read(db, id)).unwrap_err().code(), Code::Damaged);
            }
        }
    }

    #[test]
    fn content_without_a_checksum_is_verified_by_its_sha256() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("test.db")).unwrap();
        let large = vec![7; PIECE + 1];
        let ids = store.write(|db| Ok([put(db, b"whole")?, put(db, b"hurt")?, put(db, &large)?])).unwrap();
        let change = sql!("UPDATE blob SET checksum = NULL, head = CASE id WHEN 2 THEN substr(head, 2) ELSE head END");
        store.write(|db| db.run(change, params![])).unwrap();
        let read = |id| store.read(|db| show(db, id)).map_err(|error| error.code());
        let all = || ids.map(read);
        let expected = [Ok(b"whole".to_vec()), Err(Code::Damaged), Ok(large.clone())];
        assert!(all() == expected);
        fill_checksums(store.engine.pooled_writer().unwrap().link()).unwrap();
        assert!(all() == expected);
        let with = sql!("SELECT id FROM blob WHERE checksum IS NOT NULL ORDER BY id");
        assert_eq!(store.read(|db| db.all(with, params![], |row| row.get::<i64>(0))).unwrap(), [1, 3]);
    }

    #[test]
    fn checksums_are_filled_in_batch_by_batch() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("test.db")).unwrap();
        let contents = 2 * FILLED_AT_ONCE + 1;
        store.write(|db| (0..contents).try_for_each(|n| put(db, &n.to_le_bytes()).map(drop))).unwrap();
        let count = |sql| store.read(|db| db.single(sql, params![], |row| row.get::<i64>(0))).unwrap();
        let (all, without) =
            (sql!("SELECT count(*) FROM blob"), sql!("SELECT count(*) FROM blob WHERE checksum IS NULL"));
        store.write(|db| db.run(sql!("UPDATE blob SET checksum = NULL"), params![])).unwrap();
        assert_eq!((count(all), count(without)), (i64::from(contents), i64::from(contents)));
        fill_checksums(store.engine.pooled_writer().unwrap().link()).unwrap();
        assert_eq!(count(without), 0);
    }
}
