//! The tables of contract 002 (the six `enact__*` tools): registries and their packages, installs and their scopes,
//! and runs.

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
