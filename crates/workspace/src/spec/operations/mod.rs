//! Contains the `mcpkg spec` commands, one file per command.

mod archive;
mod list;
mod new;
mod status;
mod tasks;
mod validate;

use serde_json::json;

use super::report::{Finding, Report};
use super::trees::SpecPlace;
use mcpkg_base::error::{Code, Error};
use mcpkg_core::op::{Changes, Entry, Reach};

/// The operations, in documentation order.
pub(super) const OPS: &[Entry] = &[
    Entry::of::<new::New>(),
    Entry::of::<list::List>(),
    Entry::of::<status::Status>(),
    Entry::of::<validate::Validate>(),
    Entry::of::<tasks::Tasks>(),
    Entry::of::<archive::Archive>(),
];

/// What creating or archiving a spec changes for clients: the resources of the spec appear or disappear.
const CHANGES: Changes = Changes { resources: true, reach: Reach::Everybody, ..Changes::NO_LIST };

/// The maximum number of findings in an error message. The details contain all of them.
const SHOWN: usize = 10;

/// Returns the reply of validation for one spec.
fn validated(found: &SpecPlace, report: &Report) -> serde_json::Value {
    json!({
        "repo": found.repo,
        "name": found.name,
        "qualified": found.qualified(),
        "result": {
            "name": found.name,
            "valid": report.errors.is_empty(),
            "issues": report.errors.iter().map(Finding::shown).collect::<Vec<_>>(),
            "errors": report.errors,
            "warnings": report.warnings,
        },
    })
}

/// Returns the error for a spec with findings. `why` follows the name of the spec in the message, for example `is not valid`.
fn invalid(found: &SpecPlace, report: &Report, why: &str, because: &[Finding]) -> Error {
    let shown: String = because.iter().take(SHOWN).map(|finding| format!("\n  {}", finding.shown())).collect();
    let more = because.len().saturating_sub(SHOWN);
    let more = if more == 0 { String::new() } else { format!("\n  and {more} more") };
    let message = format!("Spec '{}' {why}:{shown}{more}", found.qualified());
    Error::new(Code::SpecInvalid, message).with_details(validated(found, report))
}
