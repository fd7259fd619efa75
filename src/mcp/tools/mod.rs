//! Lists the tools, finds them by name, and runs them.

mod audit;
mod call;
mod find;
mod hot;
mod list;

pub(super) use call::{answer, context, failed};
pub(super) use find::{Tool, find, may_write, operation, writes};
pub(super) use hot::{HotCall, log_again, named, push_failed};
pub use list::listed_tools;
pub(super) use list::{ToolsValidator, listed_groups, names, push_list, validator};
