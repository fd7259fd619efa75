//! Stores most of an import's data before the transaction that makes the data visible. This keeps the transaction
//! short, so that a large import does not block other writers for long.

use std::collections::HashMap;

use super::Action;
use crate::item::{Item, What};
use mcpkg_base::error::{Error, Result};
use mcpkg_core::op::Context;
use mcpkg_store::Db;
use mcpkg_store::blobs::NewContent;
use mcpkg_store::projects::Project;
use mcpkg_store::revisions::Kind;
use mcpkg_store::search::{IndexedAhead, Words};

/// Content and index entries that were stored before the transaction. Dropping this value deletes them.
#[must_use = "dropping it deletes the stored content"]
pub struct Bulk<'c> {
    contents: mcpkg_store::Ahead<'c>,
    words: IndexedAhead<'c>,
    /// The indexes of those items whose words were indexed before the transaction.
    indexed: Vec<usize>,
}

impl<'c> Bulk<'c> {
    /// Stores the contents that a plan needs, including those of `variants`. If there are many new items, also indexes their
    /// words. Fails with `cancelled` if the user cancels.
    pub fn store<'i>(
        context: &'c Context,
        planned: impl Iterator<Item = (&'i Item, &'i Action)> + Clone,
        variants: impl IntoIterator<Item = &'i NewContent>,
        cancelled: fn() -> Error,
    ) -> Result<Self> {
        let between = |doing: &'static str| {
            move |done, total| {
                if context.is_cancelled() {
                    return Err(cancelled());
                }
                (context.progress)(doing, done, total);
                Ok(())
            }
        };
        let contents = planned.clone().filter_map(content).chain(variants);
        let contents = context.store.store_ahead(contents, between("Storing"))?;
        let (indexed, words): (Vec<_>, Vec<_>) =
            planned.enumerate().filter_map(|(at, planned)| Some((at, words(planned)?))).unzip();
        let project = context.read(|_, project| Ok(project.id))?;
        let words = context.store.index_ahead(project, &words, between("Indexing"))?;
        Ok(Self { contents, words, indexed })
    }

    /// Returns a map from the index of an item to the key under which the item's words were indexed before the
    /// transaction. Call this in the transaction that writes the items.
    pub fn keys(&self, db: &Db<'_>, project: &Project) -> Result<HashMap<usize, i64>> {
        Ok(self.indexed.iter().copied().zip(self.words.claim(db, project.id)?).collect())
    }

    /// Keeps everything that was stored. Call this after committing the transaction that refers to it.
    pub fn keep(self) {
        self.contents.keep();
        self.words.keep();
    }
}

/// Returns the content that has to be stored for an item, if any.
fn content<'i>((item, action): (&'i Item, &Action)) -> Option<&'i NewContent> {
    let is_stored = !matches!(item.entry.what, What::Server);
    let is_written = matches!(action, Action::Create | Action::Update(_));
    (is_stored && is_written).then_some(&item.content)
}

/// Returns the words to index for a new item. The index shows an existing item's old words until the transaction, so
/// its new words cannot be indexed earlier.
fn words<'i>((item, action): (&'i Item, &Action)) -> Option<Words<'i>> {
    let (kind, description) = match &item.entry.what {
        What::Prompt(attributes) => (Kind::Prompt, &attributes.description),
        What::Resource(attributes) if attributes.text => (Kind::Resource, &attributes.description),
        What::Resource(_) | What::AgentFile { .. } | What::Server => return None,
    };
    let words = Words { kind, name: &item.entry.name, description: description.as_deref(), content: &item.content };
    matches!(action, Action::Create).then_some(words)
}
