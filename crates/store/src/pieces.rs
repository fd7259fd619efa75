//! Sends stored content piece by piece, so that each piece can have its own transaction.
//!
//! A slow client must not keep a transaction open, and no unverified content may leave the store. So the whole
//! content is first read once, and verified by its SHA-256. The checksum of each piece stays in memory. Each piece
//! that is sent is read again and compared with its checksum. A few recent pieces also stay in memory, for content
//! that many clients download at the same time.

use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use super::Db;
use super::blobs::{self, PIECE, damaged, damaged_value};
use super::engine::{Row, params, sql};
use mcpkg_base::cache::Cache;
use mcpkg_base::error::Result;
use mcpkg_base::sha256::{self, Sha};

/// How many pieces stay in memory, each of up to 1 MiB.
const MAX_RECENT: usize = 16;

/// The verified contents, by key and SHA-256. Content never changes, so entries stay valid. In a restored database, a key may
/// belong to another content, but then its SHA-256 differs.
static VERIFIED: Cache<(i64, Sha), Arc<Pieces>> = Cache::new(256);

/// Recently read pieces: the content's key and SHA-256, the number of the piece, and its bytes.
static RECENT: Cache<(i64, Sha, usize), Arc<[u8]>> = Cache::new(MAX_RECENT);

/// A stored content whose SHA-256 was verified in this process.
#[derive(Debug, PartialEq, Eq)]
pub struct Pieces {
    id: i64,
    sha256: [u8; 32],
    size: u64,
    /// The XXH3 of each piece.
    checksums: Vec<u64>,
}

impl Pieces {
    /// The size of a piece in bytes; the last piece may be shorter.
    pub const SIZE: u64 = PIECE as u64;

    /// Returns the pieces of the blob with this key and SHA-256. Reads and verifies the whole content first, unless this
    /// process has already done so.
    pub fn verified(db: &Db<'_>, id: i64, sha256: &[u8; 32]) -> Result<Arc<Self>> {
        if let Some(pieces) = VERIFIED.get(&(id, *sha256)) {
            return Ok(pieces);
        }
        let (mut hash, mut size, mut checksums) = (sha256::Hasher::new(), 0, Vec::new());
        blobs::stream_by_id(db, id, blobs::Verify::Checksum, |piece| {
            hash.update(piece);
            size += piece.len() as u64;
            checksums.push(xxh3_64(piece));
            Ok(())
        })?;
        if hash.finish()[..] != sha256[..] {
            return Err(damaged(sha256));
        }
        let pieces = Arc::new(Self { id, sha256: *sha256, size, checksums });
        VERIFIED.put((id, *sha256), Arc::clone(&pieces));
        Ok(pieces)
    }

    /// Returns the size of the content in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns the piece that begins at byte `n * Pieces::SIZE`.
    ///
    /// # Errors
    /// `E_DAMAGED` if the piece has changed since the content was verified.
    pub fn read(&self, db: &Db<'_>, n: usize) -> Result<Arc<[u8]>> {
        let found = match i64::try_from(n).unwrap_or(i64::MAX) {
            0 => db.one(sql!("SELECT head FROM blob WHERE id = ?1"), params![self.id], piece)?,
            n => db.one(sql!("SELECT bytes FROM chunk WHERE blob_id = ?1 AND n = ?2"), params![self.id, n], piece)?,
        };
        let piece = found.ok_or_else(|| damaged_value("content was deleted while mcpkg was sending it"))?;
        if self.is_intact(n, &piece) { Ok(piece) } else { Err(damaged(&self.sha256)) }
    }

    /// Like [`Pieces::read`], but keeps recent pieces in memory, so that a piece that many clients ask for is read
    /// only once. A piece from memory is also compared with its checksum. Content of more than 16 pieces is not kept
    /// in memory.
    pub fn read_shared(&self, db: &Db<'_>, n: usize) -> Result<Arc<[u8]>> {
        if self.checksums.len() > MAX_RECENT {
            return self.read(db, n);
        }
        let key = (self.id, self.sha256, n);
        if let Some(piece) = RECENT.get(&key).filter(|piece| self.is_intact(n, piece)) {
            return Ok(piece);
        }
        let piece = self.read(db, n)?;
        RECENT.put(key, Arc::clone(&piece));
        Ok(piece)
    }

    fn is_intact(&self, n: usize, piece: &[u8]) -> bool {
        self.checksums.get(n) == Some(&xxh3_64(piece))
    }
}

fn piece(row: &Row<'_>) -> Result<Arc<[u8]>> {
    row.get::<&[u8]>(0).map(Arc::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Store;
    use mcpkg_base::error::Code;

    fn bytes(size: usize) -> Vec<u8> {
        (0..size).map(|n| (n / 7 % 251) as u8).collect()
    }

    #[test]
    fn the_pieces_are_the_content_and_a_changed_one_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("a.db")).unwrap();
        for size in [0, 1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE + 17] {
            let content = bytes(size);
            let sha256: [u8; 32] = sha256::of(&content);
            let id = store.write(|db| blobs::put(db, &content)).unwrap();
            let pieces = store.read(|db| Pieces::verified(db, id, &sha256)).unwrap();
            let count = size.div_ceil(PIECE).max(1);
            let again: Vec<u8> =
                (0..count).flat_map(|n| store.read(|db| pieces.read(db, n)).unwrap().to_vec()).collect();
            assert_eq!((pieces.size(), again == content), (size as u64, true));
            let beyond = store.read(|db| pieces.read(db, count)).unwrap_err();
            assert_eq!(beyond.code(), Code::Damaged);
            let other = store.read(|db| Pieces::verified(db, id, &[7; 32])).unwrap_err();
            assert_eq!(other.code(), Code::Damaged);
            let (flipped, other) = (sql!("UPDATE blob SET head = ?2 WHERE id = ?1"), b"changed".as_slice());
            store.write(|db| db.run(flipped, params![id, other])).unwrap();
            assert_eq!(store.read(|db| pieces.read(db, 0)).unwrap_err().code(), Code::Damaged);
        }
    }

    #[test]
    fn a_piece_that_stays_in_memory_is_compared_with_its_checksum() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("a.db")).unwrap();
        let content = bytes(3 * PIECE + 17);
        let sha256: [u8; 32] = sha256::of(&content);
        let id = store.write(|db| blobs::put(db, &content)).unwrap();
        let pieces = store.read(|db| Pieces::verified(db, id, &sha256)).unwrap();
        let shared = |n| store.read(|db| pieces.read_shared(db, n));
        let first: Vec<Arc<[u8]>> = (0..4).map(|n| shared(n).unwrap()).collect();
        assert!((0..4).all(|n| Arc::ptr_eq(&shared(n).unwrap(), &first[n])), "each is read once");
        // Flip a bit of the piece in memory: it is read again from the database.
        let mut flipped = RECENT.get(&(id, sha256, 1)).unwrap().to_vec();
        flipped[7] ^= 1;
        RECENT.put((id, sha256, 1), flipped.into());
        assert_eq!(shared(1).unwrap(), first[1]);
        assert!(!Arc::ptr_eq(&shared(1).unwrap(), &first[1]));
        assert!((0..4).all(|n| RECENT.get(&(id, sha256, n)).is_some()));
    }
}
