//! The tables about tools (contract 002), such as registries, packages, installs and runs.

pub mod aliases;
pub mod answers;
pub mod attestations;
pub mod builds;
pub mod env;
pub mod grants;
pub mod installs;
pub mod listings;
pub mod names;
pub mod packages;
pub mod registries;
pub mod runs;
pub mod session;
pub mod settings;
pub mod toolsets;
pub mod trust;
pub mod unused;
