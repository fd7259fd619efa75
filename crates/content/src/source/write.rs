//! Adds a new source and its items to a project.

use super::cancelled;
use super::contents::{Contents, SourceFile};
use super::offer::{self, Offer};
use crate::import::merge::apply;
use crate::import::merge::bulk::Bulk;
use crate::stored;
use mcpkg_base::error::{Error, Result};
use mcpkg_core::op::Context;
use mcpkg_store::Db;
use mcpkg_store::projects::Project;
use mcpkg_store::revisions::Author;
use mcpkg_store::sources::{self, ItemRow, Origin};

/// Writes a new source and its items, in the transaction of `db`. `bulk` contains the content that was stored before
/// the transaction. Fails if the name of the source or of an item is already used.
pub fn first(
    db: &Db<'_>,
    project: &Project,
    author: Author<'_>,
    origin: &Origin,
    contents: &Contents,
    bulk: &Bulk<'_>,
    context: &Context,
) -> Result<Offer> {
    let id = sources::insert(db, project, origin, contents.plugins().as_deref(), author.now)?;
    let offer = Offer::new(db, project, contents, id)?;
    offer.refuse_clashes(origin, contents)?;
    let items: Vec<_> = contents.items.iter().map(|taken| &taken.item).collect();
    let total = items.len() as u64;
    let planned = (&items[..], &offer.actions[..]);
    let indexed = bulk.keys(db, project)?;
    apply::apply(db, author, project, &context.clock, planned, &indexed, |written| {
        if context.is_cancelled() {
            return Err(cancelled());
        }
        (context.progress)("Writing", written as u64, total);
        Ok(())
    })?;
    for taken in &contents.items {
        let found = stored::find(db, project, &taken.item.entry)?;
        let found = found.ok_or_else(|| Error::internal("an item is missing right after it was written"))?;
        sources::put_item(db, id, &row(db, taken, found.key())?)?;
    }
    Ok(offer)
}

/// Stores the content of a new source's items before the transaction that writes the items.
pub fn store_bulk<'c>(context: &'c Context, offer: &Offer, contents: &Contents) -> Result<Bulk<'c>> {
    let items = contents.items.iter().map(|taken| &taken.item);
    Bulk::store(context, items.zip(&offer.actions), [], cancelled)
}

/// Returns the row that records the item of a file. The row becomes the base of the next update.
pub fn row(db: &Db<'_>, taken: &SourceFile, item: String) -> Result<ItemRow> {
    Ok(ItemRow {
        path: taken.path.clone(),
        item,
        entry: taken.item.entry.json()?,
        blob: offer::blob(db, taken)?,
        sha256: taken.sha256,
        executable: taken.executable,
        shared: taken.shared,
        proposal: None,
    })
}
