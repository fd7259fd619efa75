//! Stores content ahead of the transaction that refers to it.
//!
//! A transaction that writes many files would block other writers for a long time. Their content is therefore stored
//! first, in several short transactions. Content is addressed by its hash, so storing it again changes nothing. The
//! final transaction stores any content that is still missing. Until it commits, nothing refers to the content. If the
//! process is killed before that, `mcpkg compact` removes the unused content.

use std::collections::HashSet;

use super::blobs::NewContent;
use super::engine::BETWEEN_WRITES;
use super::{Store, blobs};
use mcpkg_base::error::Result;

/// How many contents and bytes one transaction may store. A smaller write stores its content in the transaction that
/// refers to it.
const AT_ONCE: (usize, u64) = (1000, 16 << 20);

/// Contents that were stored ahead of the transaction that refers to them. Dropping this removes the contents that
/// nothing refers to, unless [`Ahead::keep`] was called.
#[must_use = "dropping it takes back what was stored"]
pub struct Ahead<'s> {
    store: &'s Store,
    stored: Vec<i64>,
}

impl Ahead<'_> {
    /// Stores one content in its own transaction, unless it is already stored.
    ///
    /// # Errors
    /// `E_FILE_FAILED` if a file cannot be read or has changed.
    pub fn store(&mut self, content: &NewContent) -> Result<()> {
        let stored = self.store.write(|db| match blobs::find(db, content)? {
            // The content was already stored, perhaps by another process, so `drop` must not remove it.
            Some(_) => Ok(None),
            None => blobs::put_source(db, content).map(Some),
        })?;
        self.stored.extend(stored);
        Ok(())
    }

    /// Keeps the stored contents. Call this after committing the transaction that refers to them.
    pub fn keep(mut self) {
        self.stored.clear();
    }
}

impl Drop for Ahead<'_> {
    fn drop(&mut self) {
        for ids in self.stored.chunks(AT_ONCE.0) {
            if let Err(error) = self.store.write(|db| ids.iter().try_for_each(|id| blobs::take_back(db, *id))) {
                tracing::warn!(%error, "unused content is still stored; `mcpkg compact` deletes it");
                return;
            }
        }
    }
}

impl Store {
    /// Starts storing contents ahead one by one, so that they need not all be in memory at once.
    pub fn ahead(&self) -> Ahead<'_> {
        Ahead { store: self, stored: Vec::new() }
    }

    /// Stores `contents` ahead of the transaction that will refer to them, unless they fit into one short transaction. Skips
    /// contents that are already stored. Calls `between` before each transaction, with the number of contents stored so
    /// far and the total.
    ///
    /// # Errors
    /// Errors of `between`, after which the stored contents are removed. `E_FILE_FAILED` if a file cannot be read or
    /// has changed.
    pub fn store_ahead<'c>(
        &self,
        contents: impl IntoIterator<Item = &'c NewContent>,
        mut between: impl FnMut(u64, u64) -> Result<()>,
    ) -> Result<Ahead<'_>> {
        let mut ahead = self.ahead();
        let missing = self.missing(contents)?;
        let batches = batches(&missing, AT_ONCE, |content| content.size());
        if batches.len() < 2 {
            return Ok(ahead);
        }
        let (mut done, total) = (0, missing.len() as u64);
        for batch in batches {
            between(done, total)?;
            if done > 0 {
                std::thread::sleep(BETWEEN_WRITES);
            }
            let stored = self.write(|db| {
                let mut stored = Vec::with_capacity(batch.len());
                for content in batch {
                    // Another process may have stored the content after `missing` looked for it. Then `drop` must not
                    // remove it.
                    if blobs::find(db, content)?.is_none() {
                        stored.push(blobs::put_source(db, content)?);
                    }
                }
                Ok(stored)
            })?;
            ahead.stored.extend(stored);
            done += batch.len() as u64;
        }
        Ok(ahead)
    }

    /// Returns the contents that are not stored yet, without duplicates.
    fn missing<'c>(&self, contents: impl IntoIterator<Item = &'c NewContent>) -> Result<Vec<&'c NewContent>> {
        self.read(|db| {
            let (mut seen, mut missing) = (HashSet::new(), Vec::new());
            for content in contents {
                if seen.insert(content.sha256()) && blobs::find(db, content)?.is_none() {
                    missing.push(content);
                }
            }
            Ok(missing)
        })
    }
}

/// Splits `all` into parts with a limited number of contents and bytes. A content that is larger gets a part of its own.
pub(super) fn batches<T>(all: &[T], (most, most_bytes): (usize, u64), size: impl Fn(&T) -> u64) -> Vec<&[T]> {
    let (mut batches, mut rest) = (Vec::new(), all);
    while !rest.is_empty() {
        let mut bytes = 0;
        let fit = rest.iter().take(most).take_while(|one| {
            bytes += size(one);
            bytes <= most_bytes
        });
        let (batch, after) = rest.split_at(fit.count().max(1));
        batches.push(batch);
        rest = after;
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{params, sql};
    use mcpkg_base::error::{Code, Error};

    fn contents(count: usize) -> Vec<NewContent> {
        (0..count).map(|n| format!("content {n}").into_bytes().into()).collect()
    }

    fn stored(store: &Store) -> i64 {
        store.read(|db| db.single(sql!("SELECT count(*) FROM blob"), params![], |row| row.get(0))).unwrap()
    }

    #[test]
    fn batches_hold_all_contents_in_order_within_the_limits() {
        let small = contents(2 * AT_ONCE.0 + 1);
        let large: Vec<NewContent> = [1, AT_ONCE.1 as usize + 1, 2].map(|size| vec![7; size].into()).into();
        for (contents, lengths) in [(&small, &[AT_ONCE.0, AT_ONCE.0, 1][..]), (&large, &[1, 1, 1]), (&Vec::new(), &[])]
        {
            let contents: Vec<&NewContent> = contents.iter().collect();
            let batches = batches(&contents, AT_ONCE, |content| content.size());
            assert_eq!(batches.iter().map(|batch| batch.len()).collect::<Vec<_>>(), lengths);
            assert!(batches.concat() == contents);
        }
    }

    #[test]
    fn others_write_between_batches_and_a_failure_takes_back_what_was_stored() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("test.db")).unwrap();
        let other = Store::open(&folder.path().join("test.db")).unwrap();
        let contents = contents(2 * AT_ONCE.0 + 1);
        let mut told = Vec::new();
        let ahead = store
            .store_ahead(&contents, |done, total| {
                told.push((done, total));
                other.write(|db| blobs::put(db, format!("beside {done}").as_bytes()).map(drop))
            })
            .unwrap();
        assert_eq!(told, [(0, 2001), (1000, 2001), (2000, 2001)]);
        assert_eq!(stored(&store), 2001 + 3);
        drop(ahead);
        assert_eq!(stored(&store), 3, "only what others stored is left");
        let cancelled = store.store_ahead(&contents, |done, _| match done {
            0 => Ok(()),
            _ => Err(Error::new(Code::Cancelled, "given up")),
        });
        assert!(cancelled.is_err_and(|error| error.code() == Code::Cancelled));
        assert_eq!(stored(&store), 3);
        store.store_ahead(&contents, |_, _| Ok(())).unwrap().keep();
        assert_eq!(stored(&store), 2001 + 3);
        let none = store.store_ahead(&contents, |_, _| panic!("all are stored")).unwrap();
        drop(none);
        assert_eq!(stored(&store), 2001 + 3, "what was there before is not taken back");
    }

    #[test]
    fn contents_stored_one_by_one_are_removed_if_they_were_new() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("test.db")).unwrap();
        let contents = contents(2);
        store.write(|db| blobs::put_source(db, &contents[0]).map(drop)).unwrap();
        let mut ahead = store.ahead();
        contents.iter().try_for_each(|content| ahead.store(content)).unwrap();
        assert_eq!(stored(&store), 2);
        drop(ahead);
        assert_eq!(stored(&store), 1);
    }

    #[test]
    fn contents_left_by_a_killed_process_are_removed_by_compact() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("test.db")).unwrap();
        std::mem::forget(store.store_ahead(&contents(AT_ONCE.0 + 1), |_, _| Ok(())).unwrap());
        assert_eq!(stored(&store), 1001);
        store.compact().unwrap();
        assert_eq!(stored(&store), 0);
    }

    #[test]
    fn a_few_contents_are_not_stored_ahead() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("test.db")).unwrap();
        store.store_ahead(&contents(AT_ONCE.0), |_, _| panic!("they are few")).unwrap().keep();
        assert_eq!(stored(&store), 0);
    }
}
