//! Checks everything about tools: runners, registries, trust, and installed packages.
//!
//! `mcpkg doctor` says what is not as it should be, without asking another host; `mcpkg tool doctor` looks at all of it.

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

/// The areas, in the order of the report.
const AREAS: [(&str, Look); 6] = [
    (runners::AREA, runners::look),
    (registries::AREA, registries::look),
    (trust::AREA, trust::look),
    (packages::AREA, packages::look),
    (installs::AREA, installs::look),
    (cache::AREA, cache::look),
];

/// Returns what is wrong, for `mcpkg doctor`, and the runners if tools are installed.
pub fn health(context: &Context) -> Vec<Finding> {
    // Where the database cannot be read, its own finding says so.
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

/// Returns what an area is found to be; where it cannot be looked at, that is what was found.
fn looked((area, look): &(&'static str, Look), context: &Context, depth: Depth) -> Vec<Finding> {
    look(context, depth).unwrap_or_else(|error| {
        let finding = Finding::new(area, Health::Problem, error.message());
        vec![match error.hints() {
            [hint, ..] => finding.action(hint),
            [] => finding,
        }]
    })
}
