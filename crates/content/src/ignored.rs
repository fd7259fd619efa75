//! Keeps a project's list of audit findings that the user marked as harmless.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use serde_json::json;

use mcpkg_agents::audit::rules::{RULES, Rule, Severity};
use mcpkg_agents::audit::{Finding, Report};
use mcpkg_base::approved::Kind;
use mcpkg_base::error::{Error, Result};
use mcpkg_base::{hex, sha256};
use mcpkg_core::op::{Confirmation, Context};
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

    /// Returns the name of the record which says that a person accepted the finding.
    pub fn key(&self) -> String {
        sha256::hex(format!("{}\0{}", self.rule, self.sha256))
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

/// Removes the findings in the list from a report, and adds their number to the report.
pub fn without(report: &Report, list: &[Ignored]) -> Report {
    let kept = report.filtered(|finding| !list.iter().any(|ignored| ignored.covers(finding)));
    Report { ignored: report.ignored + report.findings.len() - kept.findings.len(), ..kept }
}

/// The critical findings that the selected project ignores and that this user accepted on this machine.
///
/// A database may come from somebody else, so its list alone does not count: there must also be a record outside the
/// database. A finding is identified by its rule and its lines, not by its file, because a deploy writes the lines to
/// other files.
#[derive(Debug, Default)]
pub struct Accepted(HashSet<(String, String)>);

impl Accepted {
    pub fn of(context: &Context) -> Self {
        Self::among(&context.read(list).unwrap_or_default(), context)
    }

    fn among(list: &[Ignored], context: &Context) -> Self {
        let has_record =
            |known: &&Ignored| context.approved.get(Kind::Finding, &known.key()).is_ok_and(|it| it.is_some());
        let critical = list.iter().filter(|known| RULES.iter().any(|rule| rule.id == known.rule && is_critical(rule)));
        Self(critical.filter(has_record).map(|known| (known.rule.clone(), known.sha256.clone())).collect())
    }

    pub fn has(&self, finding: &Finding) -> bool {
        !self.0.is_empty() && self.0.contains(&(finding.rule.id.to_owned(), hex::encode(&finding.sha256)))
    }
}

fn is_critical(rule: &Rule) -> bool {
    rule.severity == Severity::Critical
}

/// Removes the findings that the selected project ignores. Critical ones stay, unless they are [`Accepted`].
pub fn without_harmless(report: Report, context: &Context) -> Report {
    if report.findings.is_empty() {
        return report;
    }
    let list = context.read(list).unwrap_or_default();
    let accepted = Accepted::among(&list, context);
    report.filtered(|finding| match is_critical(finding.rule) {
        true => !accepted.has(finding),
        false => !list.iter().any(|ignored| ignored.covers(finding)),
    })
}

/// Remembers the critical findings that a person has just accepted, and where, so that mcpkg does not ask about these
/// lines again. Does nothing for other callers. Returns warnings.
pub fn accept<'f>(findings: impl Iterator<Item = &'f Finding>, context: &Context) -> Vec<String> {
    let findings: Vec<&Finding> = findings.filter(|finding| is_critical(finding.rule)).collect();
    // `mcpkg up` tries everything in a copy of the database first; there, nobody has accepted anything yet.
    let is_by_person =
        context.caller.is_shell() && context.confirmation == Confirmation::Ask && context.stands_for.is_none();
    if findings.is_empty() || !is_by_person {
        return Vec::new();
    }
    let first = findings.first().map(|finding| Ignored::new(finding, None));
    let first = first.map(|first| format!("{} {}", first.rule, first.path)).unwrap_or_default();
    let subject = match findings.len() {
        1 => first,
        several => format!("{first} and {} more", several - 1),
    };
    let reason = format!("accepted {}", context.asked_in.words());
    let listed = context.write("finding.accept", &subject, |db, project, _| {
        let mut list = list(db, project)?;
        let before = list.len();
        for finding in &findings {
            if !list.iter().any(|known| known.covers(finding)) {
                list.push(Ignored::new(finding, Some(reason.clone())));
            }
        }
        if list.len() == before { Ok(()) } else { set(db, project, &list) }
    });
    match listed.and_then(|()| findings.iter().try_for_each(|finding| approve(finding, context))) {
        Ok(()) => Vec::new(),
        Err(error) => vec![format!("the accepted findings are not recorded, so mcpkg will ask again: {error}")],
    }
}

/// Records that a person accepted a critical finding.
pub fn approve(finding: &Finding, context: &Context) -> Result<()> {
    let known = Ignored::new(finding, None);
    let note = json!({ "rule": known.rule, "path": known.path, "text": finding.shown });
    context.approved.put(Kind::Finding, &known.key(), &note)
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
