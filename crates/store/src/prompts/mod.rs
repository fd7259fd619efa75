//! Prompts: reading, changing and serving them.

mod dialect;
mod prompt;
mod read;
pub(super) mod row;
mod serve;
mod write;

pub use dialect::Dialect;
pub use prompt::{Argument, Attributes, Prompt};
pub use read::{attributes, by_uuid, each_template, find, get, list, names, overview};
pub(super) use row::from_row;
pub use serve::{Body, Line, each, with};
pub use write::{delete, insert, restore, update};
