//! SQLite: all that only this engine has.

mod rows;

pub(super) use rows::{Row, each, is_violated, one, run};
