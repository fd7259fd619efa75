//! Undo: takes back what events of the trail changed, and leaves what somebody changed later.
//!
//! Each event lists the items it changed, with their states before and after ([`mcpkg_store::Change`]). [`preview`] goes through
//! the events from the newest to the oldest. If an item is in the state after an event, it goes back to the state before. If
//! not, somebody changed it later, and it stays. The domains know the states ([`Undoable`]); nothing here names a domain.

pub(super) mod operation;
mod plan;

pub use plan::{Asked, Later, Line, Preview, Status, preview};
