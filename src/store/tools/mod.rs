//! Tools: what is installed, under which names agents call it, and which sets of them users made.

pub mod installs;
pub mod names;
pub mod toolsets;
