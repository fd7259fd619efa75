//! Collects the findings of several texts, and summarizes them by rule.

use std::collections::{BTreeMap, BTreeSet};

use super::found::Finding;
use super::rules::{Rule, Severity};
use mcpkg_base::plural;

/// The findings of several texts.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub findings: Vec<Finding>,
    /// The number of texts.
    pub texts: usize,
    /// The number of findings that the user marked as harmless.
    pub ignored: usize,
}

/// The findings of one rule.
pub struct OfRule<'r> {
    pub rule: &'static Rule,
    pub findings: Vec<&'r Finding>,
}

impl OfRule<'_> {
    /// Returns the number of findings and files, as in `3 in 2 files`.
    pub fn counted(&self) -> String {
        let files = self.findings.iter().map(|finding| finding.path.as_str()).collect::<BTreeSet<_>>().len();
        format!("{} in {}", self.findings.len(), plural::count(files, "file"))
    }
}

impl Report {
    pub fn add(&mut self, findings: Vec<Finding>) {
        self.texts += 1;
        self.findings.extend(findings);
    }

    /// Adds the findings of another report. Skips a finding if the same rule already reported lines with the same
    /// content.
    pub fn add_new(&mut self, other: Self) {
        let known: BTreeSet<_> = self.findings.iter().map(|finding| (finding.rule.id, finding.sha256)).collect();
        let is_new = |finding: &Finding| !known.contains(&(finding.rule.id, finding.sha256));
        self.findings.extend(other.findings.into_iter().filter(is_new));
    }

    /// Returns the same report with only the findings that `keep` accepts.
    #[must_use]
    pub fn filtered(&self, keep: impl Fn(&Finding) -> bool) -> Self {
        let findings = self.findings.iter().filter(|finding| keep(finding)).cloned().collect();
        Self { findings, ..*self }
    }

    /// Returns the critical findings.
    pub fn critical(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.rule.severity == Severity::Critical)
    }

    /// Returns the findings by rule, the most serious first.
    pub fn by_rule(&self) -> Vec<OfRule<'_>> {
        let mut rules: BTreeMap<_, OfRule<'_>> = BTreeMap::new();
        for finding in &self.findings {
            let rule = finding.rule;
            let of_rule = || OfRule { rule, findings: Vec::new() };
            rules.entry((std::cmp::Reverse(rule.severity), rule.id)).or_insert_with(of_rule).findings.push(finding);
        }
        rules.into_values().collect()
    }

    /// Returns the number of findings with at least this severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.rule.severity >= severity).count()
    }

    /// Returns one line for each rule with findings of at least this severity: the number of findings, and an example.
    pub fn lines(&self, severity: Severity) -> Vec<String> {
        let rules = self.by_rule().into_iter().filter(|of_rule| of_rule.rule.severity >= severity);
        let line = |of_rule: OfRule<'_>| {
            let Rule { id, severity, what, .. } = of_rule.rule;
            let first =
                of_rule.findings.first().map_or_else(String::new, |first| format!(": {} {}", first.at(), first.shown));
            // These lines are usually shown as warnings, so only critical findings get a word for their severity.
            let how_bad = if *severity == Severity::Critical { "critical " } else { "" };
            format!("{how_bad}{id}: {what}, {}{first}", of_rule.counted())
        };
        rules.map(line).collect()
    }
}
