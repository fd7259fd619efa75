//! Contract 000: what a project or a config repo gives to agents, where they read it on disk; planned, confirmed,
//! applied, and taken back.

pub mod apply;
pub mod catalog;
pub mod confirm;
pub mod deploying;
pub mod desired;
pub mod disk;
pub mod doctor;
pub mod explain;
pub mod gather;
pub mod module;
pub mod modules;
pub mod plan;
pub mod planning;
pub mod project;
pub mod repo;
pub mod rollback;
pub mod source;
pub mod status;
pub mod targets;
pub mod undo;

use crate::op::Entry;

pub use undo::recover;

/// The toolset of this domain.
pub const TOOLSET: &str = "deploy";

/// The operations of this domain; the tools in contract 000's order.
pub const OPS: &[Entry] = &[
    Entry::of::<planning::ShowPlan>(),
    Entry::of::<planning::ShowDiff>(),
    Entry::of::<planning::Preview>(),
    Entry::of::<status::Status>(),
    Entry::of::<doctor::Doctor>(),
    Entry::of::<deploying::Deploy>(),
    Entry::of::<deploying::DeployApply>(),
    Entry::of::<deploying::DeployShell>(),
    Entry::of::<rollback::Rollback>(),
    Entry::of::<explain::Explain>(),
];
