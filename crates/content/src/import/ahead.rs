//! What is stored of an import before the transaction that makes it visible, which is short then: others write
//! meanwhile.

use std::collections::HashMap;

use super::item::Item;
use super::manifest::What;
use super::merge::Action;
use mcpkg_base::error::{Error, Result};
use mcpkg_core::op::Context;
use mcpkg_store::Db;
use mcpkg_store::new_content::NewContent;
use mcpkg_store::projects::Project;
use mcpkg_store::revisions::Kind;
use mcpkg_store::search::{IndexedAhead, Words};

/// Content that was stored ahead; it is deleted on drop.
#[must_use = "dropping it deletes the stored content"]
pub struct Ahead<'c> {
    contents: mcpkg_store::Ahead<'c>,
    words: IndexedAhead<'c>,
    /// The places of the items whose words are indexed.
    indexed: Vec<usize>,
}

impl<'c> Ahead<'c> {
    /// Stores the contents that a plan for the project that applies needs, those of `forms` too, and indexes the words of what is
    /// new, where they are many.
    ///
    /// # Errors
    /// As [`Store::store_ahead`](mcpkg_store::Store::store_ahead) and [`Store::index_ahead`](mcpkg_store::Store::index_ahead);
    /// `cancelled` where the user gives up.
    pub fn store<'i>(
        context: &'c Context,
        planned: impl Iterator<Item = (&'i Item, &'i Action)> + Clone,
        forms: impl IntoIterator<Item = &'i NewContent>,
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
        let contents = planned.clone().filter_map(content).chain(forms);
        let contents = context.store.store_ahead(contents, between("Storing"))?;
        let (indexed, words): (Vec<_>, Vec<_>) =
            planned.enumerate().filter_map(|(at, planned)| Some((at, words(planned)?))).unzip();
        let project = context.read(|_, project| Ok(project.id))?;
        let words = context.store.index_ahead(project, &words, between("Indexing"))?;
        Ok(Self { contents, words, indexed })
    }

    /// Returns the keys under which words of items are indexed, by the places of the items, for the transaction that
    /// writes them.
    pub fn keys(&self, db: &Db<'_>, project: &Project) -> Result<HashMap<usize, i64>> {
        Ok(self.indexed.iter().copied().zip(self.words.claim(db, project.id)?).collect())
    }

    /// Leaves all of it stored, since a transaction that refers to it was committed.
    pub fn keep(self) {
        self.contents.keep();
        self.words.keep();
    }
}

/// Returns the content that an item brings.
fn content<'i>((item, action): (&'i Item, &Action)) -> Option<&'i NewContent> {
    let is_stored = !matches!(item.entry.what, What::Server);
    let is_written = matches!(action, Action::Create | Action::Update(_));
    (is_stored && is_written).then_some(&item.content)
}

/// Returns the words that a new item brings. Those of one that is there stand in the index under its key, and are seen.
fn words<'i>((item, action): (&'i Item, &Action)) -> Option<Words<'i>> {
    let (kind, description) = match &item.entry.what {
        What::Prompt(attributes) => (Kind::Prompt, &attributes.description),
        What::Resource(attributes) if attributes.text => (Kind::Resource, &attributes.description),
        What::Resource(_) | What::AgentFile { .. } | What::Server => return None,
    };
    let words = Words { kind, name: &item.entry.name, description: description.as_deref(), content: &item.content };
    matches!(action, Action::Create).then_some(words)
}
