//! Writes findings as SARIF 2.1.0, which code hosts and editors show next to the lines.

use serde_json::{Value, json};

use mcpkg_agents::audit::rules::{RULES, Rule, Severity};
use mcpkg_agents::audit::{Finding, Report};
use mcpkg_base::hex;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// The characters to percent-encode in a path, so that the path is a valid relative URI.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'.').remove(b'-').remove(b'_').remove(b'~');

pub(super) fn log(report: &Report) -> Value {
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "mcpkg",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": RULES.iter().map(|rule| described(rule)).collect::<Value>(),
            } },
            "columnKind": "unicodeCodePoints",
            "results": report.findings.iter().map(result).collect::<Value>(),
        }],
    })
}

fn described(rule: &Rule) -> Value {
    json!({
        "id": rule.id,
        "shortDescription": { "text": format!("Finds {}", rule.what) },
        "fullDescription": { "text": rule.why },
        "defaultConfiguration": { "level": level(rule.severity) },
    })
}

fn result(finding: &Finding) -> Value {
    let rule = finding.rule;
    let index = RULES.iter().position(|known| known.id == rule.id);
    let mut place = json!({ "artifactLocation": { "uri": utf8_percent_encode(&finding.path, ESCAPED).to_string() } });
    if let Some((line, column)) = finding.place {
        place["region"] = json!({ "startLine": line, "startColumn": column });
    }
    json!({
        "ruleId": rule.id,
        "ruleIndex": index,
        "level": level(rule.severity),
        "message": { "text": format!("Found {}: {}", rule.what, finding.shown) },
        "locations": [{ "physicalLocation": place }],
        "partialFingerprints": { "textSha256/v1": hex::encode(&finding.sha256) },
    })
}

/// Returns SARIF's word for a severity.
const fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}
