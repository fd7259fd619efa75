//! Audits the files that a plan writes.

use super::{After, Change};
use crate::source::Site;
use mcpkg_agents::audit::rules::Severity;
use mcpkg_agents::audit::{Report, Scanner, scan_bytes};
use mcpkg_content::ignored;
use mcpkg_core::op::Context;

/// Returns a line for each rule with warnings or critical findings in the new content: their number, and an example.
pub fn lines(context: &Context, changes: &[Change], site: &Site) -> Vec<String> {
    report(context, changes, site).lines(Severity::Warning)
}

/// Audits the new content of the files. Findings that the old content has too, or that the user ignores, are not
/// reported.
pub fn report(context: &Context, changes: &[Change], site: &Site) -> Report {
    let (mut report, mut scanner) = (Report::default(), Scanner::default());
    for change in changes {
        let path = change.path.strip_prefix(&site.place.root).unwrap_or(&change.path).to_string_lossy();
        let After::File { bytes, sha256, .. } = &change.after else { continue };
        let mut found = scanner.scan(&path, bytes, sha256);
        if !found.is_empty() {
            let before = change.before.bytes().and_then(|bytes| scan_bytes(&path, bytes)).unwrap_or_default();
            found.retain(|new| !before.iter().any(|old| old.rule.id == new.rule.id && old.sha256 == new.sha256));
        }
        report.add(found);
    }
    ignored::without_harmless(report, context)
}
