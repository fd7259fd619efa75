//! Audits files before they become part of a project, and reports what a person has to decide about them.

use mcpkg_agents::audit::rules::Severity;
use mcpkg_agents::audit::{Finding, Report, scan_bytes};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::file;
use mcpkg_base::plural;
use mcpkg_core::op::{Confirmation, Context};
use mcpkg_store::blobs::NewContent;
use serde_json::{Value, json};

/// The maximum number of critical findings that are shown before a question.
const MOST: usize = 20;

/// Audits the content of a file, and adds what was found. Returns false, without an audit, if the content is not text
/// or is too large.
pub fn add(report: &mut Report, path: &str, content: &NewContent) -> Result<bool> {
    if !content.is_text() || content.size() > file::TEXT {
        return Ok(false);
    }
    let findings = scan_bytes(path, &content.bytes()?);
    Ok(findings.map(|findings| report.add(findings)).is_some())
}

/// Returns the lines to show to a person before texts are stored: the critical findings, and a line for each other rule
/// with warnings.
pub fn lines(report: &Report) -> Vec<String> {
    let others = report.filtered(|finding| finding.rule.severity < Severity::Critical);
    critical_lines(report).into_iter().chain(others.lines(Severity::Warning)).collect()
}

/// Returns the lines about critical findings, under a heading.
pub fn critical_lines(report: &Report) -> Vec<String> {
    let mut lines = Vec::new();
    let critical: Vec<&Finding> = report.critical().collect();
    if !critical.is_empty() {
        lines.push("Hidden or dangerous text, please look at it:".to_owned());
    }
    for finding in critical.iter().take(MOST) {
        lines.push(format!("  {}: {}", finding.at(), finding.rule.what));
        lines.push(format!("    {}", finding.shown));
    }
    if critical.len() > MOST {
        lines.push(format!("  and {} more", critical.len() - MOST));
    }
    lines
}

/// The maximum number of critical findings that a question names.
const NAMED: usize = 3;

/// Returns the sentence which says that a yes also accepts the critical findings; `None` if there are none.
pub fn accepting(report: &Report) -> Option<String> {
    let named: Vec<String> =
        report.critical().map(|finding| format!("`{}` at {}", finding.rule.id, finding.at())).collect();
    let count = plural::count(named.len(), "critical finding");
    (!named.is_empty()).then(|| format!("Yes also accepts {count}: {}.", plural::first(named, NAMED)))
}

/// Fails if there are critical findings and nobody can be asked about them: `--yes` does not accept them. `what` begins a
/// sentence, such as `The source 'kit'`, and `hint` says how to go on without these files.
pub fn refuse(report: &Report, what: &str, hint: &str, context: &Context) -> Result<()> {
    let critical: Vec<&Finding> = report.critical().collect();
    if critical.is_empty() || context.confirmation == Confirmation::Ask {
        return Ok(());
    }
    let listed: Vec<String> = critical
        .iter()
        .take(MOST)
        .map(|finding| format!("{}: {} {}", finding.at(), finding.rule.what, finding.shown))
        .collect();
    let count = plural::count(critical.len(), "critical audit finding");
    let why = format!(
        "{what} has {count}, which only a person at a terminal can accept; nothing was changed:\n  {}",
        listed.join("\n  ")
    );
    let details: Value = critical.iter().map(|finding| data(finding)).collect();
    Err(Error::new(Code::AuditCritical, why)
        .with_details(json!({ "findings": details }))
        .hint("to read and accept them, run the command at a terminal, without --yes")
        .hint(hint))
}

/// Returns a finding as JSON.
pub fn data(finding: &Finding) -> Value {
    json!({
        "rule": finding.rule.id,
        "severity": finding.rule.severity,
        "path": finding.path,
        "line": finding.place.map(|(line, _)| line),
        "column": finding.place.map(|(_, column)| column),
        "text": finding.shown,
    })
}
