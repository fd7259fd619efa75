//! Applies the steps of a change to a workspace, and reverts them.

mod apply;
mod carrier;
mod folders;
mod look;
mod revert;

pub use self::apply::apply;
pub use self::carrier::{Carrier, Leftover, MARK, TEMPORARY};
pub use self::folders::{clear, not_placed, remove_tree};
pub use self::look::{config, head, is_done};
pub use self::revert::{put_files_back, revert};
