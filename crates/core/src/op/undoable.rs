//! How a domain's changes are undone: its part of `mcpkg undo`.

use super::{Context, Reply};
use mcpkg_base::error::Result;
use mcpkg_store::Db;
use mcpkg_store::events::Event;
use mcpkg_store::revisions::Author;

/// A domain's table for `mcpkg undo`.
#[derive(Clone, Copy)]
pub struct Undo {
    /// The kinds of items whose changes can be undone, together with others, in one transaction.
    pub items: &'static [&'static dyn Undoable],
    /// Kinds of events that can be undone only alone, because that changes files. See [`Alone`].
    pub alone: &'static [(&'static str, Alone)],
    /// Why events cannot be undone, by the beginning of their kind, such as `tool` or `command.run`.
    pub lasting: &'static [(&'static str, &'static str)],
}

/// Undoes one event, or with `true` only shows what that would change.
pub type Alone = fn(&Context, &Event, bool) -> Result<Reply>;

impl Undo {
    pub const NOTHING: Self = Self { items: &[], alone: &[], lasting: &[] };
}

/// A kind of item that the trail records the states of; see [`mcpkg_store::Change`]. The empty state means that the item does
/// not exist.
pub trait Undoable: Sync {
    /// The kind as the trail records it.
    fn kind(&self) -> &'static str;

    /// Returns the current state of an item.
    fn now(&self, context: &Context, db: &Db<'_>, item: &str) -> Result<String>;

    /// Returns what an item is in a state. Two states are the same if this is equal. `None` if that is no longer stored.
    fn content(&self, db: &Db<'_>, item: &str, state: &str) -> Result<Option<String>>;

    /// Returns the item's name in a state, such as `prompt review`; `None` if it is unknown.
    fn name(&self, db: &Db<'_>, item: &str, state: &str) -> Result<Option<String>>;

    /// Returns what the user will see if the item goes from one state to another, such as `back to revision 1`, or the reason
    /// why it cannot.
    fn going(&self, db: &Db<'_>, item: &str, from: &str, to: &str) -> Result<Result<String, String>>;

    /// Returns the reason why the item cannot go to `to` now, such as a name that is taken. `moves` says which other items
    /// change in the same undo.
    fn obstacle(&self, _db: &Db<'_>, _item: &str, _to: &str, _moves: &dyn Fn(&str) -> bool) -> Result<Option<String>> {
        Ok(None)
    }

    /// Frees the item's name for others that change in the same undo.
    fn aside(&self, _db: &Db<'_>, _author: Author<'_>, _item: &str) -> Result<()> {
        Ok(())
    }

    /// Brings the item into a state.
    fn put(&self, context: &Context, db: &Db<'_>, author: Author<'_>, item: &str, to: &str) -> Result<()>;
}
