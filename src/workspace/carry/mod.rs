//! Carrying steps out, and taking them back.

mod apply;
mod back;
mod folders;
mod ground;
mod look;

pub use self::apply::apply;
pub use self::back::{put_files_back, revert};
pub use self::folders::remove_tree;
pub use self::ground::{Ground, Kept, MARK, TEMPORARY};
pub use self::look::{config, head, is_done};
