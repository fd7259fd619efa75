//! Checks whether the commands of catalogs can run, without sending requests.

use super::catalog::Catalog;
use mcpkg_base::error::Result;
use mcpkg_base::secret::Reference;
use mcpkg_core::consent::approvable::Approvable;
use mcpkg_core::op::{Context, Finding, Health};
use mcpkg_store::catalogs;

const AREA: &str = "catalogs";

/// Returns the problems of each catalog.
pub fn health(context: &Context) -> Vec<Finding> {
    // An unreadable database is reported by its own health check.
    let rows = context.store.read(catalogs::list).unwrap_or_default();
    let looked = rows.into_iter().map(|row| Catalog::of(row).and_then(|catalog| look(context, &catalog)));
    let told = looked
        .map(|found| found.unwrap_or_else(|error| vec![Finding::new(AREA, Health::Problem, error.public_message())]));
    told.flatten().collect()
}

fn look(context: &Context, catalog: &Catalog) -> Result<Vec<Finding>> {
    let name = &catalog.name;
    if !catalog.is_approved(context)? {
        let what = format!("'{name}' is not approved on this machine with its current base URL and secrets");
        return Ok(vec![
            Finding::new(AREA, Health::Note, what)
                .action(format!("approve the catalog with `mcpkg catalog refresh {name}` at a terminal")),
        ]);
    }
    let mut findings = Vec::new();
    if catalog.base_url.is_none() {
        let finding = Finding::new(AREA, Health::Note, format!("'{name}' has no base URL"));
        findings.push(finding.action(format!("set the base URL with `mcpkg catalog set {name} --base-url URL`")));
    }
    for reference in catalog.headers.values().chain(catalog.auth.values()) {
        // Health checks must not start programs, so references to commands are not resolved.
        let reference = reference.parse::<Reference>()?;
        if !matches!(reference, Reference::Command(_))
            && let Err(error) = reference.resolve(&context.cancelled)
        {
            let what = format!("a secret of '{name}' is missing: {}", error.message());
            findings.push(
                Finding::new(AREA, Health::Problem, what)
                    .action(format!("`mcpkg catalog show {name}` shows where each secret is stored")),
            );
        }
    }
    Ok(findings)
}
