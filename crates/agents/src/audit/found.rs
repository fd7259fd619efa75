//! Collects the findings in one text.

use std::collections::HashSet;
use std::ops::Range;

use super::rules::Rule;
use mcpkg_base::quote;
use mcpkg_base::redact::redacted;
use mcpkg_base::sha256::{self, Sha};

/// A finding: a place in a text that a rule reports.
#[derive(Clone, Debug)]
pub struct Finding {
    pub rule: &'static Rule,
    /// The path of the file, relative to the audited folder.
    pub path: String,
    /// Line and column, counted from 1; columns count characters. `None` if the finding is about the path.
    pub place: Option<(usize, usize)>,
    /// The reported part of the text: quoted, on one line, with hidden characters shown and secrets redacted.
    pub shown: String,
    /// The SHA-256 of the lines that contain the reported part, or of the path if the finding is about the path.
    pub sha256: Sha,
}

impl Finding {
    /// Returns the place as `PATH:LINE:COLUMN`.
    pub fn at(&self) -> String {
        let path = mcpkg_base::marks::line(&self.path);
        self.place.map_or_else(|| path.to_string(), |(line, column)| format!("{path}:{line}:{column}"))
    }
}

/// The maximum number of findings of one rule in one text. Further findings are not reported.
const MOST: usize = 100;

/// The maximum length of a shown text, in characters.
const SHOWN: usize = 64;

/// The text to audit, and the findings so far.
pub(super) struct Found<'t> {
    pub(super) path: &'t str,
    pub(super) text: &'t str,
    /// The offset of the first byte of each line.
    lines: Vec<usize>,
    seen: HashSet<(&'static str, usize)>,
    of_rules: Vec<OfRule>,
    findings: Vec<(usize, Finding)>,
}

/// What a rule has found so far.
struct OfRule {
    id: &'static str,
    count: usize,
    /// The bytes of the last line with a finding. Such a line may have millions of further hits, which must cost little.
    line: Range<usize>,
}

impl<'t> Found<'t> {
    pub(super) fn new(path: &'t str, text: &'t str) -> Self {
        let ends = memchr::memchr_iter(b'\n', text.as_bytes()).map(|end| end + 1);
        let lines = std::iter::once(0).chain(ends).collect();
        Self { path, text, lines, seen: HashSet::new(), of_rules: Vec::new(), findings: Vec::new() }
    }

    /// Returns the number of the line that contains an offset, counted from 0.
    pub(super) fn line_of(&self, at: usize) -> usize {
        self.lines.partition_point(|start| *start <= at) - 1
    }

    /// Returns the offset of the first byte after a line.
    pub(super) fn end_of(&self, line: usize) -> usize {
        self.lines.get(line + 1).copied().unwrap_or(self.text.len())
    }

    /// Returns the offset of the first byte of a line.
    pub(super) fn start_of(&self, line: usize) -> usize {
        self.lines[line]
    }

    /// Adds a finding, unless the same rule already has one in the same line, or [`MOST`] in the text. The range may
    /// begin and end within characters.
    pub(super) fn add(&mut self, rule: &'static Rule, range: Range<usize>) {
        self.add_with(rule, range, 0);
    }

    /// Adds a finding that is shown with up to `around` bytes of the text on each side.
    pub(super) fn add_with(&mut self, rule: &'static Rule, range: Range<usize>, around: usize) {
        let at = self.of_rules.iter().position(|of_rule| of_rule.id == rule.id).unwrap_or_else(|| {
            self.of_rules.push(OfRule { id: rule.id, count: 0, line: 0..0 });
            self.of_rules.len() - 1
        });
        let of_rule = &self.of_rules[at];
        if of_rule.count >= MOST || of_rule.line.contains(&range.start) {
            return;
        }
        let line = self.line_of(range.start);
        let is_first = self.seen.insert((rule.id, line));
        self.of_rules[at].line = self.start_of(line)..self.end_of(line);
        if !is_first {
            return;
        }
        self.of_rules[at].count += 1;
        let start = self.text.floor_char_boundary(range.start);
        let lines = self.lines[line]..self.end_of(self.line_of(range.end.saturating_sub(1).max(start)));
        let shown = self.text.floor_char_boundary(start.saturating_sub(around).max(lines.start))
            ..self.text.ceil_char_boundary((range.end + around).min(lines.end));
        let finding = Finding {
            rule,
            path: self.path.to_owned(),
            place: Some((line + 1, self.text[self.lines[line]..start].chars().count() + 1)),
            shown: shown_of(self.text[shown].trim_matches(['\n', '\r', ' '])),
            sha256: sha256::of(&self.text[lines]),
        };
        self.findings.push((start, finding));
    }

    /// Adds a finding about the path.
    pub(super) fn add_path(&mut self, rule: &'static Rule) {
        if self.seen.insert((rule.id, usize::MAX)) {
            let (path, shown) = (self.path.to_owned(), shown_of(self.path));
            let finding = Finding { rule, path, place: None, shown, sha256: sha256::of(self.path) };
            self.findings.push((0, finding));
        }
    }

    /// Returns the findings in the order of the text.
    pub(super) fn finish(mut self) -> Vec<Finding> {
        self.findings.sort_by_key(|(at, _)| *at);
        self.findings.into_iter().map(|(_, finding)| finding).collect()
    }
}

fn shown_of(text: &str) -> String {
    let mut short: String = text.chars().take(SHOWN).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    quote::text(&redacted(&short))
}
