//! Contract 000: what a project or a config repo gives to agents, where they read it on disk; planned, confirmed,
//! applied, and taken back.

pub mod apply;
pub mod confirm;
pub mod desired;
pub mod module;
pub mod operations;
pub mod plan;
pub mod project;
pub mod repo;
pub mod rollback;
pub mod source;
pub mod targets;

pub use apply::undo::recover;
pub use operations::OPS;

/// The group of this domain.
pub const GROUP: &str = "deploy";
