//! Keeps a project's list of audit findings that the user marked as harmless.

use serde::{Deserialize, Serialize};

use mcpkg_agents::audit::rules::Severity;
use mcpkg_agents::audit::{Finding, Report};
use mcpkg_base::error::{Error, Result};
use mcpkg_base::hex;
use mcpkg_core::op::Context;
use mcpkg_store::projects::Project;
use mcpkg_store::{Db, ignored};

/// A finding that a user marked as harmless. If its lines change, an audit reports it again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ignored {
    pub rule: String,
    pub path: String,
    /// The SHA-256 of the lines, in hex.
    pub sha256: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Ignored {
    pub fn new(finding: &Finding, reason: Option<String>) -> Self {
        let Finding { rule, path, sha256, .. } = finding;
        Self { rule: rule.id.to_owned(), path: path.clone(), sha256: hex::encode(sha256), reason }
    }

    pub fn covers(&self, finding: &Finding) -> bool {
        self.rule == finding.rule.id
            && self.sha256 == hex::encode(&finding.sha256)
            && is_same(&self.path, &finding.path)
    }
}

/// Returns whether two paths may mean the same file. The audit of a folder shows a longer path than the audit of one of
/// its subfolders, and a skill's file on disk has a URI in a project.
pub fn is_same(one: &str, other: &str) -> bool {
    let [one, other] = [one, other].map(|path| path.split_once("://").map_or(path, |(_, rest)| rest).trim_matches('/'));
    let is_end =
        |long: &str, short: &str| long.strip_suffix(short).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'));
    !one.is_empty() && !other.is_empty() && (is_end(one, other) || is_end(other, one))
}

pub fn list(db: &Db<'_>, project: &Project) -> Result<Vec<Ignored>> {
    let Some(text) = ignored::get(db, project)? else { return Ok(Vec::new()) };
    serde_json::from_str(&text).map_err(|error| Error::internal("a list of findings cannot be read").with_source(error))
}

pub fn set(db: &Db<'_>, project: &Project, list: &[Ignored]) -> Result<()> {
    let text = serde_json::to_string(list)
        .map_err(|error| Error::internal("a list of findings cannot be written").with_source(error))?;
    ignored::set(db, project, &text)
}

/// Removes the findings in the list from a report, and counts them.
pub fn without(report: &Report, list: &[Ignored]) -> Report {
    let kept = report.filtered(|finding| !list.iter().any(|ignored| ignored.covers(finding)));
    Report { ignored: report.ignored + report.findings.len() - kept.findings.len(), ..kept }
}

/// Removes the findings that the selected project ignores. Critical findings stay: a database may come from somebody
/// else, so its list must not be able to hide them.
pub fn without_harmless(report: Report, context: &Context) -> Report {
    if report.findings.is_empty() {
        return report;
    }
    let list = context.read(list).unwrap_or_default();
    let is_critical = |finding: &Finding| finding.rule.severity == Severity::Critical;
    report.filtered(|finding| is_critical(finding) || !list.iter().any(|ignored| ignored.covers(finding)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_one_file_are_the_same() {
        for (one, other) in [
            ("a.md", "a.md"),
            ("skills/pdf/SKILL.md", "SKILL.md"),
            ("skill://pdf/SKILL.md", "skills/pdf/SKILL.md"),
            ("file:///docs/a.md", "docs/a.md"),
        ] {
            assert!(is_same(one, other) && is_same(other, one), "{one} {other}");
        }
        assert!(!is_same("a.md", "ba.md") && !is_same("a/SKILL.md", "b/SKILL.md") && !is_same("", "a"));
    }
}
