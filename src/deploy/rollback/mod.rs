//! Going back: what a rollback goes back to, and what it would do to each file.

pub mod goal;
pub mod plan;
