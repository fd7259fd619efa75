//! Checks everything that tools need: runners, registries, trust, stored archives, installs and the cache.
//!
//! `mcpkg doctor` leaves out most findings without a problem, and contacts no other hosts. `mcpkg tool doctor`
//! reports every finding.

mod cache;
mod installs;
mod look;
mod operation;
mod packages;
mod registries;
mod runners;
mod trust;

use self::look::{Depth, Look};
use mcpkg_core::op::{Context, Entry, Finding, Health};
use mcpkg_store::tools::installs as installed;

/// The operations, in documentation order.
pub const OPS: &[Entry] = &[Entry::of::<operation::Doctor>()];

/// The areas in report order, each with the function that checks it.
const AREAS: [(&str, Look); 6] = [
    (runners::AREA, runners::look),
    (registries::AREA, registries::look),
    (trust::AREA, trust::look),
    (packages::AREA, packages::look),
    (installs::AREA, installs::look),
    (cache::AREA, cache::look),
];

/// Returns the findings that `mcpkg doctor` reports: those that are not [`Health::Ok`], and, if tools are installed,
/// all findings about runners.
pub fn health(context: &Context) -> Vec<Finding> {
    // If the database cannot be read, the finding of `mcpkg doctor` itself reports it.
    let is_used = context.store.read(installed::any).unwrap_or(false);
    let is_told = |finding: &Finding| match finding.area {
        runners::AREA => is_used,
        _ => finding.health != Health::Ok,
    };
    AREAS
        .iter()
        .filter(|(area, _)| is_used || *area != runners::AREA)
        .flat_map(|area| looked(area, context, Depth::Brief))
        .filter(is_told)
        .collect()
}

/// Runs the check of one area. If the check fails, its error becomes the finding.
fn looked((area, look): &(&'static str, Look), context: &Context, depth: Depth) -> Vec<Finding> {
    look(context, depth).unwrap_or_else(|error| {
        let finding = Finding::new(area, Health::Problem, error.message());
        vec![match error.hints() {
            [hint, ..] => finding.action(hint),
            [] => finding,
        }]
    })
}
