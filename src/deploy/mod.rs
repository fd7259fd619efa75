//! Contract 000: what a project or a config repo gives to agents, where they read it on disk; planned, confirmed,
//! applied, and taken back.

pub mod apply;
pub mod back;
pub mod block;
pub mod catalog;
pub mod compare;
pub mod confirm;
pub mod deploying;
pub mod desired;
pub mod doctor;
pub mod evolve;
pub mod explain;
pub mod gather;
pub mod journal;
pub mod module;
pub mod modules;
pub mod plan;
pub mod planning;
pub mod project;
pub mod proposing;
pub mod repo;
pub mod restore;
pub mod rollback;
pub mod roots;
pub mod snapshots;
pub mod source;
pub mod status;
pub mod targets;
pub mod undo;
pub mod unmap;

use crate::op::Entry;

pub use crate::disk;
pub use undo::recover;

/// The group of this domain.
pub const GROUP: &str = "deploy";

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
    Entry::of::<evolve::Propose>(),
    Entry::of::<restore::Restore>(),
    Entry::of::<explain::Explain>(),
    Entry::of::<proposing::List>(),
    Entry::of::<proposing::Show>(),
    Entry::of::<proposing::Accept>(),
    Entry::of::<proposing::Reject>(),
    Entry::of::<snapshots::List>(),
    Entry::of::<snapshots::Show>(),
    Entry::of::<snapshots::Diff>(),
    Entry::of::<snapshots::Prune>(),
    Entry::of::<snapshots::Pin>(),
];
