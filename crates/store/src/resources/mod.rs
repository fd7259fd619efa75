//! Resources: reading, changing and serving them.

mod read;
mod resource;
pub(super) mod row;
mod serve;
mod write;

pub use read::{attributes, below, by_uuid, find, get, list, names, overview, unchanged};
pub use resource::{Attributes, Key, Resource};
pub(super) use row::from_row;
pub use serve::{Body, Line, each, with};
pub use write::{delete, insert, restore, update};
