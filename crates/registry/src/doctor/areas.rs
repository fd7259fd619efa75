//! Lists the areas that are checked, and runs their checks.

use super::{Depth, cache, installs, packages, registries, runners, trust};
use mcpkg_base::error::Result;
use mcpkg_core::op::{Context, Finding, Health};
use mcpkg_store::tools::installs as installed;

type Check = fn(&Context, Depth) -> Result<Vec<Finding>>;

/// The areas in report order, each with the function that checks it.
pub(super) const AREAS: [(&str, Check); 6] = [
    (runners::AREA, runners::check),
    (registries::AREA, registries::check),
    (trust::AREA, trust::check),
    (packages::AREA, packages::check),
    (installs::AREA, installs::check),
    (cache::AREA, cache::check),
];

/// Returns the findings that `mcpkg doctor` reports: those that are not [`Health::Ok`]. The area of runners is an
/// exception: all of its findings are reported if tools are installed, and none otherwise.
pub fn health(context: &Context) -> Vec<Finding> {
    // If the database cannot be read, `mcpkg doctor` reports that itself.
    let is_used = context.store.read(installed::any).unwrap_or(false);
    let is_reported = |finding: &Finding| match finding.area {
        runners::AREA => is_used,
        _ => finding.health != Health::Ok,
    };
    AREAS
        .iter()
        .filter(|(area, _)| is_used || *area != runners::AREA)
        .flat_map(|area| findings(area, context, Depth::Brief))
        .filter(is_reported)
        .collect()
}

/// Runs the check of one area. If the check fails, its error becomes the finding.
pub(super) fn findings((area, check): &(&'static str, Check), context: &Context, depth: Depth) -> Vec<Finding> {
    check(context, depth).unwrap_or_else(|error| {
        let finding = Finding::new(area, Health::Problem, error.message());
        vec![match error.hints() {
            [hint, ..] => finding.action(hint),
            [] => finding,
        }]
    })
}
