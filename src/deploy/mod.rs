//! Contract 000: what a project or a config repo gives to agents, where they read it on disk; planned, confirmed,
//! applied, and taken back.

pub mod desired;
pub mod disk;
pub mod gather;
pub mod module;
pub mod targets;

/// The toolset of this domain.
pub const TOOLSET: &str = "deploy";
