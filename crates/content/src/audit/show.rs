//! Builds the text and the JSON data of `mcpkg audit`.

use serde_json::{Value, json};

use super::subject::{Audited, Subject};
use mcpkg_agents::audit::rules::{RULES, Rule, Severity};
use mcpkg_agents::audit::{Finding, OfRule};
use mcpkg_base::{hex, plural};
use mcpkg_core::op::{Body, Table};

/// The width of the text in columns.
const WIDTH: usize = 79;

/// The maximum number of findings that are listed for each rule.
const LISTED: usize = 5;

/// Returns the findings by rule, for people.
pub(super) fn body(subject: &Subject, audited: &Audited) -> Body {
    let report = &audited.report;
    let texts = plural::count(report.texts, if matches!(subject, Subject::Path(_)) { "file" } else { "item" });
    if report.findings.is_empty() {
        return Body::Sentence(format!("Found nothing in {texts}"));
    }
    let mut lines = vec![format!("Found {} in {texts}:", counted(audited))];
    for OfRule { rule, findings } in report.by_rule() {
        lines.push(String::new());
        lines.push(cut(&format!("{} {} ({}): {}", rule.severity.word(), rule.id, findings.len(), rule.what)));
        lines.extend(wrapped(rule.why));
        let shown = if findings.len() > LISTED { LISTED - 1 } else { findings.len() };
        lines.extend(findings[..shown].iter().map(|finding| cut(&format!("  {}  {}", finding.at(), finding.shown))));
        if findings.len() > shown {
            lines.push(format!("  and {} more", findings.len() - shown));
        }
    }
    Body::lines(lines)
}

/// Returns the number of findings by severity, such as `1 critical finding, 2 warnings`.
pub(super) fn counted(audited: &Audited) -> String {
    let report = &audited.report;
    let (critical, serious, all) =
        (report.count(Severity::Critical), report.count(Severity::Warning), report.findings.len());
    let counts = [(critical, "critical finding"), (serious - critical, "warning"), (all - serious, "note")];
    let counts: Vec<_> =
        counts.iter().filter(|(count, _)| *count > 0).map(|(n, noun)| plural::count(*n, noun)).collect();
    counts.join(", ")
}

/// Returns how many findings the text does not list.
pub(super) fn unlisted(audited: &Audited) -> usize {
    let counts = audited.report.by_rule().into_iter().map(|of_rule| of_rule.findings.len());
    counts.filter(|count| *count > LISTED).map(|count| count - (LISTED - 1)).sum()
}

fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::from(" ")];
    for word in text.split(' ') {
        if lines.last().is_some_and(|line| line.len() + 1 + word.len() > WIDTH) {
            lines.push(String::from(" "));
        }
        if let Some(line) = lines.last_mut() {
            line.push(' ');
            line.push_str(word);
        }
    }
    lines
}

fn cut(line: &str) -> String {
    if line.chars().count() <= WIDTH {
        return line.to_owned();
    }
    line.chars().take(WIDTH - 1).chain(['…']).collect()
}

/// Returns a line about a finding, for `-v`.
pub(super) fn line(finding: &Finding) -> String {
    format!("{}: {} {}: {}", finding.at(), finding.rule.severity.word(), finding.rule.id, finding.shown)
}

pub(super) fn data(subject: &Subject, audited: &Audited) -> Value {
    let report = &audited.report;
    let counts = |severity| report.findings.iter().filter(|finding| finding.rule.severity == severity).count();
    json!({
        "audited": { subject.word(): subject.name() },
        "files": report.texts,
        "counts": {
            "critical": counts(Severity::Critical),
            "warning": counts(Severity::Warning),
            "note": counts(Severity::Note),
        },
        "ignored": report.ignored,
        "skipped": audited.skipped,
        "findings": report.findings.iter().map(|finding| finding_data(finding, audited)).collect::<Value>(),
    })
}

fn finding_data(finding: &Finding, audited: &Audited) -> Value {
    let Rule { id, severity, what, why, .. } = finding.rule;
    let mut data = json!({
        "rule": id,
        "severity": severity,
        "path": finding.path,
        "line": finding.place.map(|(line, _)| line),
        "column": finding.place.map(|(_, column)| column),
        "what": what,
        "why": why,
        "text": finding.shown,
        "sha256": hex::encode(&finding.sha256),
    });
    if let Some(item) = audited.items.get(&finding.path) {
        data["item"] = item.clone();
    }
    data
}

/// Returns the table of all rules, for `--rules`.
pub(super) fn rules() -> (Body, Value) {
    let row = |rule: &&Rule| vec![rule.id.to_owned(), rule.severity.word().to_owned(), rule.what.to_owned()];
    let rows = RULES.iter().map(row).collect();
    let data = |rule: &&Rule| json!({ "rule": rule.id, "severity": rule.severity, "what": rule.what, "why": rule.why });
    let table = Table { columns: &["RULE", "SEVERITY", "FINDS"], rows, empty: String::new() };
    (Body::Table(table), json!({ "rules": RULES.iter().map(data).collect::<Value>() }))
}
