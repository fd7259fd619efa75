//! Indexes words ahead of the transaction that writes their items.
//!
//! A transaction that writes many items would block other writers for a long time. The words are therefore indexed
//! first, in several short transactions, under ids that a setting reserves. No item has such an id yet, and searches
//! ignore ids without an item. The transaction that writes the items gives the ids to them and deletes the setting. If
//! the process is killed before that, `mcpkg compact` removes the words.

use std::ops::Range;

use super::reserved::{Reserved, is_any_taken, reserve};
use crate::ahead::batches;
use crate::blobs::NewContent;
use crate::engine::BETWEEN_WRITES;
use crate::engine::search as engine;
use crate::revisions::Kind;
use crate::{Db, Store};
use mcpkg_base::error::Result;

/// How many items and bytes one transaction may index. A smaller write indexes its items in its own transaction.
const AT_ONCE: (usize, u64) = (1000, 4 << 20);

/// An item whose words are indexed before it is written.
#[derive(Clone, Copy, Debug)]
pub struct Words<'w> {
    pub kind: Kind,
    pub name: &'w str,
    pub description: Option<&'w str>,
    /// The item's content, which must be text.
    pub content: &'w NewContent,
}

/// Words that were indexed before their items are written. Dropping this removes the words of items that were not written.
#[must_use = "dropping it takes the words out of the index"]
pub struct IndexedAhead<'s> {
    store: &'s Store,
    project: i64,
    reserved: Option<Reserved>,
}

impl Store {
    /// Indexes the words of items that are about to be written to `project`, if they are too many for one short transaction.
    /// Before each transaction, calls `between` with how many are indexed and the total.
    ///
    /// # Errors
    /// Errors of `between`, after which the words are removed from the index; `E_FILE_FAILED` if a file cannot be read or has
    /// changed.
    pub fn index_ahead(
        &self,
        project: i64,
        words: &[Words<'_>],
        mut between: impl FnMut(u64, u64) -> Result<()>,
    ) -> Result<IndexedAhead<'_>> {
        let mut ahead = IndexedAhead { store: self, project, reserved: None };
        let batches = batches(words, AT_ONCE, |words| words.content.size());
        if batches.len() < 2 {
            return Ok(ahead);
        }
        let Some(reserved) = self.write(|db| reserve(db, words.len()))? else { return Ok(ahead) };
        let mut ids = reserved.ids.clone();
        ahead.reserved = Some(reserved.clone());
        let (mut done, total) = (0, words.len() as u64);
        for batch in batches {
            between(done, total)?;
            std::thread::sleep(BETWEEN_WRITES);
            let is_reserved = self.write(|db| {
                // If the reservation is gone, words that are indexed from now on would never belong to an item.
                let is_reserved = reserved.stands(db)?;
                if is_reserved {
                    index(db, project, batch.iter().zip(ids.by_ref()))?;
                }
                Ok(is_reserved)
            })?;
            if !is_reserved {
                break;
            }
            done += batch.len() as u64;
        }
        Ok(ahead)
    }
}

impl IndexedAhead<'_> {
    /// Returns the ids of the words, in the order of the words, for the items that this transaction writes to
    /// `project`. The range is empty if no words were indexed ahead, or if they cannot be used: the reservation is
    /// gone, it was made for another project, or one of its ids is taken. This ends the reservation. If an item is not
    /// written, remove its words with [`super::unindex`].
    pub fn claim(&self, db: &Db<'_>, project: i64) -> Result<Range<i64>> {
        let Some(reserved) = &self.reserved else { return Ok(0..0) };
        if !reserved.stands(db)? {
            return Ok(0..0);
        }
        if project != self.project || is_any_taken(db, &reserved.ids)? {
            reserved.sweep(db)?;
            return Ok(0..0);
        }
        reserved.delete(db)?;
        Ok(reserved.ids.clone())
    }

    /// Removes the words from the index in short transactions, and ends the reservation.
    fn take_back(&self, reserved: &Reserved) -> Result<()> {
        for first in reserved.ids.clone().step_by(AT_ONCE.0) {
            let ids = first..reserved.ids.end.min(first + AT_ONCE.0 as i64);
            self.store.write(|db| if reserved.stands(db)? { engine::unindex_unwritten(db, &ids) } else { Ok(()) })?;
        }
        self.store.write(|db| reserved.sweep(db))
    }

    /// Leaves the words in the index. Call this after committing the transaction that claimed their ids.
    pub fn keep(mut self) {
        self.reserved = None;
    }
}

impl Drop for IndexedAhead<'_> {
    fn drop(&mut self) {
        let Some(reserved) = &self.reserved else { return };
        if let Err(error) = self.take_back(reserved) {
            tracing::warn!(%error, "unused words are still in the index; `mcpkg compact` removes them");
        }
    }
}

fn index<'w>(db: &Db<'_>, project: i64, words: impl Iterator<Item = (&'w Words<'w>, i64)>) -> Result<()> {
    for (words, id) in words {
        let mut body = Vec::new();
        for piece in words.content.pieces().take(super::INDEXED) {
            body.extend_from_slice(&piece?);
        }
        let body = String::from_utf8_lossy(&body);
        super::index(db, words.kind, id, project, words.name, words.description, &body)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use tokio_util::sync::CancellationToken;

    use super::super::reserved::{FREE, reservations};
    use super::*;
    use crate::engine::Progress;
    use crate::items::Ids;
    use crate::projects::{self, Project};
    use crate::prompts;
    use crate::revisions::Author;
    use mcpkg_base::clock;
    use mcpkg_base::error::{Code, Error};

    const COUNT: usize = 2 * AT_ONCE.0 + 1;
    const AUTHOR: Author<'_> = Author { actor: "test", now: 0 };

    /// A store with a project, and the names and contents of new prompts. Each content has the word `needle`.
    struct World {
        _folder: tempfile::TempDir,
        store: Store,
        project: Project,
        new: Vec<(String, NewContent)>,
    }

    impl World {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let store = Store::open(&folder.path().join("test.db")).unwrap();
            let (project, _) = store.write(|db| projects::insert(db, clock::unique(), "p", 0)).unwrap();
            let new = (0..COUNT).map(|n| (format!("new-{n}"), format!("needle {n}").into_bytes().into())).collect();
            Self { _folder: folder, store, project, new }
        }

        fn words(&self) -> Vec<Words<'_>> {
            let all = self.new.iter();
            all.map(|(name, content)| Words { kind: Kind::Prompt, name, description: None, content }).collect()
        }

        /// Writes the prompt `name` with the word `needle`. `indexed` is the id under
        /// which its words were indexed ahead. `None` writes the prompt as another writer would.
        fn create(&self, name: &str, indexed: Option<i64>) -> Result<()> {
            let ids = Ids { uuid: clock::unique(), indexed };
            self.store.write(|db| {
                prompts::insert(db, AUTHOR, &self.project, ids, name, prompts::Attributes::default(), "needle")
                    .map(drop)
            })
        }

        /// Returns the names of the two best prompts with the word `needle`.
        fn found(&self) -> Vec<String> {
            let found = self.store.read(|db| super::super::find(db, None, &["needle"], 2, |_, _| Ok(())));
            found.unwrap().into_iter().map(|(hit, ())| hit.name).collect()
        }

        fn indexed(&self) -> i64 {
            self.store.read(engine::count).unwrap()
        }

        fn faults(&self) -> Vec<String> {
            let found = self.store.inspect(&Progress::new(&|_, _| {}, &CancellationToken::new())).unwrap();
            found.faults().map(str::to_owned).collect()
        }
    }

    #[test]
    fn what_is_indexed_ahead_is_found_once_its_items_are_written() {
        let world = World::new();
        let mut told = Vec::new();
        let between = |done, total| {
            told.push((done, total));
            world.create(&format!("beside-{done}"), None)
        };
        let ahead = world.store.index_ahead(world.project.id, &world.words(), between).unwrap();
        assert_eq!(told, [(0, 2001), (1000, 2001), (2000, 2001)]);
        assert_eq!(world.indexed(), 2001 + 3);
        // Words without an item do not use up places among the results.
        assert_eq!(world.found().len(), 2);
        assert!(world.found().iter().all(|name| name.starts_with("beside-")), "{:?}", world.found());
        assert_eq!(world.faults(), [""; 0]);
        let refused: Result<()> = world.store.write(|db| {
            assert_eq!(ahead.claim(db, world.project.id)?.count(), COUNT);
            Err(Error::new(Code::Cancelled, "given up"))
        });
        assert!(refused.is_err());
        assert!(world.found().iter().all(|name| name.starts_with("beside-")), "nothing was written");
        let written = world.store.write(|db| {
            let keys = ahead.claim(db, world.project.id)?;
            assert!(keys.start >= FREE);
            for (key, (name, content)) in keys.zip(&world.new) {
                let ids = Ids { uuid: clock::unique(), indexed: Some(key) };
                let content = String::from_utf8(content.bytes()?.into_owned()).unwrap();
                prompts::insert(db, AUTHOR, &world.project, ids, name, prompts::Attributes::default(), &content)?;
            }
            Ok(())
        });
        written.unwrap();
        ahead.keep();
        let all = world.store.read(|db| super::super::find(db, None, &["needle"], 3000, |_, _| Ok(()))).unwrap();
        assert_eq!(all.len(), 2001 + 3);
        world.create("after", None).unwrap();
        assert_eq!((world.indexed(), world.faults()), (2001 + 4, Vec::new()));
    }

    #[test]
    fn words_of_items_that_are_not_written_are_removed() {
        let world = World::new();
        let given_up = world.store.index_ahead(world.project.id, &world.words(), |done, _| match done {
            2000 => Err(Error::new(Code::Cancelled, "given up")),
            _ => Ok(()),
        });
        assert!(given_up.is_err_and(|error| error.code() == Code::Cancelled));
        assert_eq!(world.indexed(), 0);
        drop(world.store.index_ahead(world.project.id, &world.words(), |_, _| Ok(())).unwrap());
        assert_eq!(world.indexed(), 0);
        assert_eq!(world.store.read(reservations).unwrap(), []);
    }

    #[test]
    fn words_left_by_a_killed_process_are_harmless_and_removed_by_compact() {
        let world = World::new();
        world.create("there", None).unwrap();
        std::mem::forget(world.store.index_ahead(world.project.id, &world.words(), |_, _| Ok(())).unwrap());
        assert_eq!((world.indexed(), world.found()), (2002, vec!["there".to_owned()]));
        assert_eq!(world.faults(), [""; 0]);
        world.store.compact().unwrap();
        assert_eq!((world.indexed(), world.found()), (1, vec!["there".to_owned()]));
        assert_eq!(world.faults(), [""; 0]);
    }

    #[test]
    fn words_that_compact_removed_are_not_claimed() {
        let world = World::new();
        let between = |done, _| if done == 1000 { world.store.compact() } else { Ok(()) };
        let ahead = world.store.index_ahead(world.project.id, &world.words(), between).unwrap();
        assert_eq!(world.indexed(), 0, "nothing is indexed under what is reserved no more");
        // The next reservation may get the same ids.
        let other = world.store.index_ahead(world.project.id, &world.words(), |_, _| Ok(())).unwrap();
        assert_eq!(world.store.write(|db| ahead.claim(db, world.project.id)).unwrap().count(), 0);
        drop(ahead);
        assert_eq!(world.indexed(), 2001);
        assert_eq!(
            world.store.write(|db| other.claim(db, world.project.id + 1)).unwrap().count(),
            0,
            "of another project"
        );
        assert_eq!(world.indexed(), 0);
    }

    #[test]
    fn ids_that_another_writer_has_taken_are_not_claimed() {
        let world = World::new();
        let ahead = world.store.index_ahead(world.project.id, &world.words(), |_, _| Ok(())).unwrap();
        let first = world.store.read(reservations).unwrap()[0].ids.start;
        world.create("there", Some(first)).unwrap();
        world.create("next", None).unwrap();
        assert_eq!(world.store.write(|db| ahead.claim(db, world.project.id)).unwrap().count(), 0);
        assert_eq!(world.found().len(), 2, "the words of items stay");
        assert_eq!(world.indexed(), 2);
    }

    #[test]
    fn concurrent_reservations_have_separate_ids() {
        let world = World::new();
        let one = world.store.index_ahead(world.project.id, &world.words(), |_, _| Ok(())).unwrap();
        let other = world.store.index_ahead(world.project.id, &world.words(), |_, _| Ok(())).unwrap();
        let reserved = world.store.read(reservations).unwrap();
        assert!(reserved.len() == 2 && reserved[1].ids.start >= reserved[0].ids.end + FREE);
        drop(one);
        assert_eq!(world.indexed(), 2001);
        assert_eq!(world.store.write(|db| other.claim(db, world.project.id)).unwrap(), reserved[1].ids);
        other.keep();
    }
}
