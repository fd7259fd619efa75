//! Which tools there are: tools/list, and what stands behind the name of one.

mod call;
mod find;
mod list;

pub(super) use call::call;
pub(super) use find::{Tool, find, may_write, operation, writes};
pub(super) use list::{Standing, list, listed, names, standing};
