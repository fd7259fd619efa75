//! Contract 000: what a project or a config repo gives to agents, where they read it on disk; planned, confirmed,
//! applied, and taken back.

pub mod module;
pub mod repo;

/// The toolset of this domain.
pub const TOOLSET: &str = "deploy";
