//! The interface with which a domain supports `mcpkg undo`.

use super::{Context, Reply};
use mcpkg_base::error::Result;
use mcpkg_store::Db;
use mcpkg_store::events::Event;
use mcpkg_store::revisions::Author;

/// A domain's table for `mcpkg undo`.
#[derive(Clone, Copy)]
pub struct Undo {
    /// The kinds of items whose changes can be undone. One transaction can undo several of them.
    pub items: &'static [&'static dyn Undoable],
    /// The kinds of events that must be undone on their own, because undoing them changes files. See [`Alone`].
    pub alone: &'static [(&'static str, Alone)],
    /// Events that cannot be undone: the prefix of their kind, such as `tool` or `command.run`, and the reason.
    pub lasting: &'static [(&'static str, &'static str)],
}

/// Undoes one event. If the flag is `true`, changes nothing and only describes the changes.
pub type Alone = fn(&Context, &Event, bool) -> Result<Reply>;

impl Undo {
    pub const NOTHING: Self = Self { items: &[], alone: &[], lasting: &[] };
}

/// A kind of item whose states the audit trail records (see [`mcpkg_store::Change`]). The empty state means that the
/// item does not exist.
pub trait Undoable: Sync {
    /// Returns the kind as the audit trail records it.
    fn kind(&self) -> &'static str;

    /// Returns the current state of an item.
    fn now(&self, context: &Context, db: &Db<'_>, item: &str) -> Result<String>;

    /// Returns the item's content in a state; `None` if it is no longer stored. States with equal content count as
    /// equal.
    fn content(&self, db: &Db<'_>, item: &str, state: &str) -> Result<Option<String>>;

    /// Returns the item's name in a state, such as `prompt review`; `None` if it is unknown.
    fn name(&self, db: &Db<'_>, item: &str, state: &str) -> Result<Option<String>>;

    /// Describes the step from one state to another for the user, such as `back to revision 1`. The inner error says why the
    /// step is impossible.
    fn going(&self, db: &Db<'_>, item: &str, from: &str, to: &str) -> Result<Result<String, String>>;

    /// Returns the reason why the item cannot change to `to` now, such as a name that is taken. `moves` takes the key of
    /// another item, and returns whether the same undo changes that item too.
    fn obstacle(&self, _db: &Db<'_>, _item: &str, _to: &str, _moves: &dyn Fn(&str) -> bool) -> Result<Option<String>> {
        Ok(None)
    }

    /// Frees the item's name for other items that change in the same undo.
    fn aside(&self, _db: &Db<'_>, _author: Author<'_>, _item: &str) -> Result<()> {
        Ok(())
    }

    /// Changes the item to the state `to`.
    fn put(&self, context: &Context, db: &Db<'_>, author: Author<'_>, item: &str, to: &str) -> Result<()>;
}
