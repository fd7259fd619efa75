//! Stored content. Each content is stored once, under its SHA-256.
//!
//! Reads verify the content by the checksum that is stored with it, or also by its SHA-256 ([`Verify`]). The search
//! index is the exception: it reads content without verifying it.

mod new_content;
mod survey;
mod users;

use std::borrow::Cow;
use std::collections::HashMap;

use serde::de::DeserializeOwned;
use serde_json::Value;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::Db;
use super::engine::{Intent, Link, Row, params, sql};
use super::sums::DAMAGED;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::sha256;
use survey::Text;

pub use new_content::{NewContent, Reader};
pub(super) use survey::PIECE;
pub(super) use users::users;

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

/// Stores `bytes` unless they are already stored, and returns their key.
pub fn put(db: &Db<'_>, bytes: &[u8]) -> Result<i64> {
    put_hashed(db, bytes).map(|(id, _)| id)
}

/// Like [`put`], but also returns the SHA-256.
pub(super) fn put_hashed(db: &Db<'_>, bytes: &[u8]) -> Result<(i64, [u8; 32])> {
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
        // Another process has stored it in the meantime.
        return by_hash(db, sha256)?.ok_or_else(|| damaged_value("a blob was neither inserted nor found"));
    };
    for (n, piece) in (1_i64..).zip(pieces) {
        db.run(sql!("INSERT INTO chunk (blob_id, n, bytes) VALUES (?1, ?2, ?3)"), params![id, n, piece?])?;
    }
    Ok(id)
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

/// Returns the key of the blob that holds `content`, if it is stored.
pub fn find(db: &Db<'_>, content: &NewContent) -> Result<Option<i64>> {
    by_hash(db, &content.sha256)
}

/// Returns the key of the blob with this SHA-256, if it is stored.
pub fn by_hash(db: &Db<'_>, sha256: &[u8]) -> Result<Option<i64>> {
    db.one(sql!("SELECT id FROM blob WHERE sha256 = ?1"), params![sha256], |row| row.get(0))
}

/// The condition for a row of `blob` that nothing refers to.
macro_rules! unreferenced {
    () => {
        "NOT EXISTS (SELECT 1 FROM prompt WHERE blob_id = blob.id)
                            AND NOT EXISTS (SELECT 1 FROM resource WHERE blob_id = blob.id)
                            AND NOT EXISTS (SELECT 1 FROM revision WHERE blob_id = blob.id)
                            AND NOT EXISTS (SELECT 1 FROM agent_file WHERE blob_id = blob.id)
                            AND NOT EXISTS (SELECT 1 FROM link WHERE blob_id = blob.id)
                            AND NOT EXISTS (SELECT 1 FROM snapshot_file WHERE before_blob = blob.id)
                            AND NOT EXISTS (SELECT 1 FROM snapshot_file WHERE after_blob = blob.id)
                            AND NOT EXISTS (SELECT 1 FROM deployed WHERE applied_blob = blob.id)
                            AND NOT EXISTS (SELECT 1 FROM deployed WHERE pristine_blob = blob.id)
                            AND NOT EXISTS (SELECT 1 FROM proposal WHERE base_blob = blob.id)
                            AND NOT EXISTS (SELECT 1 FROM proposal WHERE blob_id = blob.id)
                            AND NOT EXISTS (SELECT 1 FROM sync_item WHERE blob_id = blob.id)
                            AND NOT EXISTS (SELECT 1 FROM sync_write WHERE blob_id = blob.id)
                            AND NOT EXISTS (SELECT 1 FROM source_item WHERE blob_id = blob.id)
                            AND NOT EXISTS (SELECT 1 FROM tool_package WHERE blob_id = blob.id)
                            AND NOT EXISTS (SELECT 1 FROM tool_build WHERE blob_id = blob.id)
                            AND NOT EXISTS (SELECT 1 FROM build_row WHERE blob_id = blob.id)
                            AND NOT EXISTS (SELECT 1 FROM gate_model WHERE blob_id = blob.id)
                            AND NOT EXISTS (SELECT 1 FROM workflow WHERE blob_id = blob.id)
                            AND NOT EXISTS (SELECT 1 FROM workflow_revision WHERE blob_id = blob.id)
                            AND NOT EXISTS (SELECT 1 FROM workflow_draft WHERE blob_id = blob.id)
                            AND NOT EXISTS (SELECT 1 FROM workflow_draft WHERE base_blob = blob.id)
                            AND NOT EXISTS (SELECT 1 FROM workflow_template WHERE blob_id = blob.id)
                            AND NOT EXISTS (SELECT 1 FROM run WHERE blob_id = blob.id)
                            AND NOT EXISTS (SELECT 1 FROM run WHERE output_blob = blob.id)
                            AND NOT EXISTS (SELECT 1 FROM run_step WHERE blob_id = blob.id)"
    };
}

/// The condition of `unreferenced!` as a constant. A test compares its tables with those that `check` searches for
/// users of a blob.
#[cfg(test)]
pub(super) const UNREFERENCED: &str = unreferenced!();

/// Removes the blobs that nothing refers to. Does nothing if other writers may be active during this transaction, because
/// they may be about to refer to such a blob. `mcpkg compact` or a later call then removes it.
pub(super) fn sweep(db: &Db<'_>) -> Result<()> {
    if db.is_beside_writers() {
        return Ok(());
    }
    db.run(sql!("DELETE FROM blob WHERE ", unreferenced!()), params![]).map(drop)
}

/// Removes the blob with key `id` if nothing refers to it. Like [`sweep`], does nothing if other writers may be active.
pub(super) fn take_back(db: &Db<'_>, id: i64) -> Result<()> {
    if db.is_beside_writers() {
        return Ok(());
    }
    db.run(sql!("DELETE FROM blob WHERE id = ?1 AND ", unreferenced!()), params![id]).map(drop)
}

pub fn sha256(db: &Db<'_>, id: i64) -> Result<[u8; 32]> {
    db.single(sql!("SELECT sha256 FROM blob WHERE id = ?1"), params![id], |row| row.get(0))
}

/// Returns the error for a value that mcpkg would never have written.
pub fn damaged_value(what: &str) -> Error {
    Error::new(Code::Damaged, format!("The database is damaged: {what}"))
        .hint("`mcpkg check --deep` shows details; `mcpkg restore FILE` restores a backup")
}

/// Parses JSON that mcpkg wrote into the database. `what` names it in errors.
pub fn stored_json<T: DeserializeOwned>(json: &str, what: &str) -> Result<T> {
    serde_json::from_str(json).map_err(|error| damaged_value(&format!("{what} is malformed")).with_source(error))
}

/// Parses JSON that mcpkg wrote and that is only shown. Returns [`DAMAGED`] if it cannot be parsed.
pub fn shown_json(json: &str) -> Value {
    serde_json::from_str(json).unwrap_or_else(|_| DAMAGED.into())
}

pub(super) fn damaged(sha256: &[u8]) -> Error {
    let hex = mcpkg_base::hex::encode(sha256);
    Error::new(Code::Damaged, format!("The stored content with SHA-256 {hex} is damaged"))
        .hint("the damaged content was not served; `mcpkg restore FILE` restores a backup")
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
