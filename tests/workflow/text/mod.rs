//! Tests how the text of workflows is checked, rendered and planned. The commands are those of a small API in memory.

mod api;
mod expressions;
mod findings;
mod fixes;
mod golden;
mod hostile;
mod kinds;
mod plans;
mod properties;
mod shell;

use mcpkg_workflow::check::{Checked, checked};
use mcpkg_workflow::finding::Finding;

/// Checks a text against the API in memory.
#[track_caller]
fn check(text: &str) -> Checked {
    checked(text, &api::Api::new()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Returns the findings of a text: code, line, column.
#[track_caller]
fn places(text: &str) -> Vec<(&'static str, usize, usize)> {
    check(text).findings.iter().map(|found| (found.code.name(), found.span.line, found.span.column)).collect()
}

/// Returns the only finding of this code.
#[track_caller]
fn only(text: &str, code: &str) -> Finding {
    let checked = check(text);
    let mut found = checked.findings.iter().filter(|found| found.code.name() == code);
    let first = found.next().unwrap_or_else(|| panic!("no {code} in {:#?}\n{text}", checked.findings));
    assert!(found.next().is_none(), "{code} comes twice\n{text}");
    first.clone()
}
