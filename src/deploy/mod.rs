//! Contract 000: what a project or a config repo gives to agents, where they read it on disk; planned, confirmed,
//! applied, and taken back.

pub mod catalog;
pub mod disk;
pub mod gather;
pub mod module;
pub mod project;

/// The toolset of this domain.
pub const TOOLSET: &str = "deploy";
