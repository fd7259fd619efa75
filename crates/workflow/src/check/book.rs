//! Collects the findings of a check. The JSON pointer of a value gives the position of its finding in the text.

use std::collections::HashSet;
use std::ops::Range;

use serde_json::json;

use crate::finding::{Finding, Kind};
use crate::limits::MAX_FINDINGS;
use crate::span::Span;
use crate::yaml::places::Places;

/// The findings so far, and the positions of all values in the text.
pub(super) struct Book<'a> {
    text: &'a str,
    places: &'a Places,
    findings: Vec<Finding>,
}

impl<'a> Book<'a> {
    pub(super) fn new(text: &'a str, places: &'a Places, findings: Vec<Finding>) -> Self {
        Self { text, places, findings }
    }

    /// Adds a finding about a value. If the text does not have the value, the finding points to its nearest parent.
    pub(super) fn at(&mut self, kind: Kind, pointer: &str, message: impl Into<String>) -> &mut Finding {
        let place = self.places.nearest(pointer);
        let span = match self.places.get(pointer) {
            Some(place) => place.value,
            // Point to the key of the parent, because its value may be long.
            None => place.key.unwrap_or_else(|| first_line(self.text, place.value)),
        };
        self.push(kind, pointer, span, message)
    }

    /// Adds a finding about the key of a value.
    pub(super) fn at_key(&mut self, kind: Kind, pointer: &str, message: impl Into<String>) -> &mut Finding {
        let place = self.places.nearest(pointer);
        let span = place.key.unwrap_or_else(|| first_line(self.text, place.value));
        self.push(kind, pointer, span, message)
    }

    /// Adds a finding about a byte range inside a scalar. If the scalar's source differs from its value, for example because of
    /// escapes, the finding covers the scalar's first line.
    pub(super) fn inside(
        &mut self,
        kind: Kind,
        pointer: &str,
        range: &Range<usize>,
        message: impl Into<String>,
    ) -> &mut Finding {
        let span =
            self.part(pointer, range).unwrap_or_else(|| first_line(self.text, self.places.nearest(pointer).value));
        self.push(kind, pointer, span, message)
    }

    /// Returns the span of a byte range inside a scalar. `None` if the scalar's source differs from its value.
    pub(super) fn part(&self, pointer: &str, range: &Range<usize>) -> Option<Span> {
        self.places.get(pointer)?.exact?.part(self.text, range.clone())
    }

    pub(super) fn text(&self) -> &'a str {
        self.text
    }

    pub(super) fn places(&self) -> &'a Places {
        self.places
    }

    /// Returns whether the text has a value at this pointer.
    pub(super) fn has(&self, pointer: &str) -> bool {
        self.places.get(pointer).is_some()
    }

    /// Returns whether there is a finding at this pointer.
    pub(super) fn is_found(&self, pointer: &str) -> bool {
        self.findings.iter().any(|found| found.path == pointer)
    }

    fn push(&mut self, kind: Kind, pointer: &str, span: Span, message: impl Into<String>) -> &mut Finding {
        let mut found = Finding::new(kind, pointer, span, message);
        let defined_at = self.places.nearest(pointer).defined_at;
        found.details = defined_at.map(|at| json!({ "defined_at": { "line": at.line, "column": at.column } }));
        self.findings.push(found);
        self.findings.last_mut().expect("it was pushed just now")
    }

    pub(super) fn has_errors(&self) -> bool {
        crate::finding::has_errors(&self.findings)
    }

    /// Returns the findings sorted by line, column and code, without duplicates. If there are too many, the first ones are kept,
    /// and one more finding says how many are missing.
    pub(super) fn close(self) -> Vec<Finding> {
        let mut findings = self.findings;
        findings.sort_by(|a, b| {
            let key = |found: &Finding| (found.span.line, found.span.column, found.code.name());
            key(a).cmp(&key(b))
        });
        let mut seen = HashSet::new();
        findings.retain(|found| seen.insert((found.code, found.span.start, found.span.end, found.message.clone())));
        if findings.len() > MAX_FINDINGS {
            let more = findings.len() - MAX_FINDINGS;
            let errors =
                findings[MAX_FINDINGS..].iter().any(|found| found.code.severity() == crate::finding::Severity::Error);
            findings.truncate(MAX_FINDINGS);
            let last = findings.last().map_or(Span::BEGINNING, |found| found.span);
            let message =
                format!("{more} more findings are not shown{}", if errors { ", including errors" } else { "" });
            findings.push(Finding::new(Kind::LimitExceeded, "", last, message));
        }
        findings
    }
}

fn first_line(text: &str, span: Span) -> Span {
    if span.line == span.end_line {
        return span;
    }
    let line = text.get(span.bytes()).and_then(|value| value.lines().next()).unwrap_or_default();
    Span { end: span.start + line.len(), end_line: span.line, end_column: span.column + line.chars().count(), ..span }
}
