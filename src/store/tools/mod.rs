//! Tools: what is kept of them, and what was run.

pub mod env;
pub mod grants;
pub mod installs;
pub mod names;
pub mod runs;
pub mod toolsets;
