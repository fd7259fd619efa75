//! The operations of the domain, a file for each command.

pub mod deploy;
pub mod doctor;
pub mod evolve;
pub mod explain;
pub mod module;
pub mod plan;
pub mod rollback;
pub mod snapshot;
pub mod status;

use crate::op::Entry;

/// The JSON Schema that contract 000 fixes for a tool.
macro_rules! with_schema {
    ($name:literal) => {
        Some(include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/deploy/schemas/", $name, ".json")))
    };
}
pub(in crate::deploy) use with_schema;

/// The operations of this domain; the tools in contract 000's order.
pub const OPS: &[Entry] = &[
    Entry::of::<plan::ShowPlan>(),
    Entry::of::<plan::ShowDiff>(),
    Entry::of::<plan::Preview>(),
    Entry::of::<status::Status>(),
    Entry::of::<doctor::Doctor>(),
    Entry::of::<deploy::Deploy>(),
    Entry::of::<deploy::DeployApply>(),
    Entry::of::<deploy::DeployShell>(),
    Entry::of::<rollback::Rollback>(),
    Entry::of::<evolve::propose::Propose>(),
    Entry::of::<evolve::restore::Restore>(),
    Entry::of::<explain::Explain>(),
    Entry::of::<evolve::proposals::List>(),
    Entry::of::<evolve::proposals::Show>(),
    Entry::of::<evolve::proposals::Accept>(),
    Entry::of::<evolve::proposals::Reject>(),
    Entry::of::<snapshot::List>(),
    Entry::of::<snapshot::Show>(),
    Entry::of::<snapshot::Diff>(),
    Entry::of::<snapshot::Prune>(),
    Entry::of::<snapshot::Pin>(),
    Entry::of::<module::List>(),
    Entry::of::<module::Show>(),
    Entry::of::<module::change::Set>(),
    Entry::of::<module::change::Add>(),
    Entry::of::<module::change::Remove>(),
];
