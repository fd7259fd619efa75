//! Undo: reverts the changes that events in the audit trail (`events`) record, except where somebody changed the item
//! later.
//!
//! Each event lists the items that it changed, with their states before and after ([`mcpkg_store::Change`]).
//! [`preview`] processes the events from the newest to the oldest. If an item is still in the state after the event,
//! the undo restores the state before. Otherwise somebody changed the item later, and the undo skips it. Each domain
//! implements [`Undoable`](crate::op::Undoable) for its items; this module does not depend on any domain.

pub(super) mod operation;
mod plan;

pub use plan::{EventFilter, Later, Line, Preview, Status, alone, preview};
