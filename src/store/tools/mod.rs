//! Tools: what is kept of them, and what was run.

pub mod env;
pub mod grants;
pub mod runs;
