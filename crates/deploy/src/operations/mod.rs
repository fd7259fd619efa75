//! Lists the operations of the deploy domain.

pub mod deploy;
pub mod diff;
pub mod doctor;
pub mod evolve;
pub mod explain;
pub mod module;
pub mod plan;
pub mod preview;
pub mod rollback;
pub mod snapshot;
pub mod status;
pub mod target;
pub mod undo;

mod applying;
mod gates;

use mcpkg_core::op::Entry;

/// Embeds the JSON Schema that contract 000 prescribes for a tool.
macro_rules! with_schema {
    ($name:literal) => {
        Some(include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/schemas/", $name, ".json")))
    };
}
pub(crate) use with_schema;

/// The operations of this domain. Tools are in contract 000's order.
pub const OPS: &[Entry] = &[
    Entry::of::<plan::ShowPlan>(),
    Entry::of::<diff::ShowDiff>(),
    Entry::of::<preview::Preview>(),
    Entry::of::<status::Status>(),
    Entry::of::<doctor::Doctor>(),
    Entry::of::<deploy::Deploy>(),
    Entry::of::<deploy::DeployApply>(),
    Entry::of::<deploy::DeployShell>(),
    Entry::of::<rollback::Rollback>(),
    Entry::of::<evolve::propose::Propose>(),
    Entry::of::<evolve::restore::Restore>(),
    Entry::of::<explain::Explain>(),
    Entry::of::<evolve::list::List>(),
    Entry::of::<evolve::show::Show>(),
    Entry::of::<evolve::accept::Accept>(),
    Entry::of::<evolve::reject::Reject>(),
    Entry::of::<snapshot::list::List>(),
    Entry::of::<snapshot::show::Show>(),
    Entry::of::<snapshot::diff::Diff>(),
    Entry::of::<snapshot::prune::Prune>(),
    Entry::of::<snapshot::pin::Pin>(),
    Entry::of::<module::list::List>(),
    Entry::of::<module::show::Show>(),
    Entry::of::<module::set::Set>(),
    Entry::of::<module::add::Add>(),
    Entry::of::<module::remove::Remove>(),
    Entry::of::<target::list::List>(),
    Entry::of::<target::switch::Enable>(),
    Entry::of::<target::switch::Disable>(),
];
