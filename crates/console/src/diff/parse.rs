//! Parses unified diffs, and marks the words that differ.

use similar::{ChangeTag, TextDiff};

use super::{Cell, Diff, Hunk, Part, Row, has_hidden};
use crate::line::{Line, Span, Tone};

/// Two lines are compared word by word if more than this share of their words is equal.
const SIMILAR: f32 = 0.4;

/// The longest two lines, together and in bytes, that are compared word by word.
const LONGEST: usize = 8 << 10;

/// Parses a unified diff of one or several files. In a replaced line that is similar to the old one, the words that
/// differ have [`Tone::Changed`].
pub fn parse(unified: &str) -> Diff {
    let mut diff = Diff::default();
    let mut lines = unified.lines().peekable();
    while let Some(line) = lines.next() {
        let Some((old, new)) = ranges(line) else {
            name(&mut diff, line);
            continue;
        };
        let mut hunk =
            Hunk { head: line.to_owned(), ranges: [old, new], rows: Vec::new(), is_in: None, actions: Vec::new() };
        let (mut at, end) = ((old.0, new.0), (old.0 + old.1, new.0 + new.1));
        // Rely on the counts for the end of the hunk: a removed line may look like the name of the next file, such as
        // `--- a/x`.
        while at.0 < end.0 || at.1 < end.1 {
            let Some(line) = lines.next() else { break };
            let text = line.get(1..).unwrap_or_default();
            match line.chars().next() {
                Some('-' | '+') => {
                    let (mut removed, mut added) = (Vec::new(), Vec::new());
                    let mut end_note = None;
                    if line.starts_with('-') {
                        removed.push(text)
                    } else {
                        added.push(text)
                    }
                    while let Some(next) = lines.peek() {
                        let more = &next.get(1..).unwrap_or_default();
                        match next.chars().next() {
                            Some('-') if added.is_empty() && at.0 + removed.len() < end.0 => removed.push(more),
                            Some('+') if at.1 + added.len() < end.1 => added.push(more),
                            // `\ No newline at end of file` of the old text would separate removed from added lines, so
                            // that they would not be paired. Show it after both.
                            Some('\\') if added.is_empty() => end_note = Some(*next),
                            _ => break,
                        }
                        lines.next();
                    }
                    hunk.rows.extend(pairs(&removed, &added, at));
                    hunk.rows.extend(end_note.map(|note| Row::note(Line::of(Tone::Dim, note))));
                    at = (at.0 + removed.len(), at.1 + added.len());
                }
                Some('\\') => hunk.rows.push(Row::note(Line::of(Tone::Dim, line))),
                _ => {
                    hunk.rows.push(Row::same(&[at.0, at.1], text));
                    at = (at.0 + 1, at.1 + 1);
                }
            }
        }
        if let Some(line) = lines.next_if(|line| line.starts_with('\\')) {
            hunk.rows.push(Row::note(Line::of(Tone::Dim, line)));
        }
        diff.parts.push(Part::Hunk(hunk));
    }
    diff
}

/// Adds a line outside of hunks, such as `--- a/x`. The first two names of files also become the headings of the
/// columns.
fn name(diff: &mut Diff, line: &str) {
    let side = line.strip_prefix("--- ").or(line.strip_prefix("+++ "));
    match side {
        Some(side) if diff.sides.len() < 2 => diff.sides.push(side.to_owned()),
        _ => {}
    }
    if side.is_none_or(|name| !name.is_empty()) {
        diff.parts.push(Part::Note(Line::of(Tone::Strong, line)));
    }
}

/// Parses the first line of a hunk: for each side, the number of its first line and the number of lines. A side without
/// lines has the number of the line before the hunk, so add one: `@@ -0,0 +1,2 @@` -> (1, 0) and (1, 2).
fn ranges(line: &str) -> Option<((usize, usize), (usize, usize))> {
    let mut sides = line.strip_prefix("@@ -")?.split(' ');
    let range = |side: &str| {
        let (first, count) = side.split_once(',').unwrap_or((side, "1"));
        let (first, count): (usize, usize) = (first.parse().ok()?, count.parse().ok()?);
        Some((if count == 0 { first.checked_add(1)? } else { first }, count))
    };
    Some((range(sides.next()?)?, range(sides.next()?.strip_prefix('+')?)?))
}

/// Pairs removed lines with added ones in their order, and marks the words that differ in each pair.
fn pairs(removed: &[&str], added: &[&str], (old, new): (usize, usize)) -> Vec<Row> {
    let row = |at: usize| {
        let (before, after) = (removed.get(at).copied(), added.get(at).copied());
        let (before, after) = match (before, after) {
            (Some(before), Some(after)) => {
                let (one, other) = words(before, after);
                (Some(one), Some(other))
            }
            (before, after) => (
                before.map(|text| vec![Span::new(Tone::Removed, text)]),
                after.map(|text| vec![Span::new(Tone::Added, text)]),
            ),
        };
        let cell = |spans: Option<Vec<Span>>, number, text: Option<&&str>| {
            spans.map(|spans| Cell { number, spans, has_hidden: text.is_some_and(|text| has_hidden(text)) })
        };
        Row::changed(vec![cell(before, old + at, removed.get(at)), cell(after, new + at, added.get(at))])
    };
    (0..removed.len().max(added.len())).map(row).collect()
}

/// Returns both lines as spans. If the lines are similar, the words that differ have [`Tone::Changed`].
pub(super) fn words(old: &str, new: &str) -> (Vec<Span>, Vec<Span>) {
    let whole = || (vec![Span::new(Tone::Removed, old)], vec![Span::new(Tone::Added, new)]);
    // The comparison takes time in proportion to the square of the number of words.
    if old.len() + new.len() > LONGEST {
        return whole();
    }
    let diff = TextDiff::from_words(old, new);
    if diff.ratio() <= SIMILAR {
        return whole();
    }
    let side = |tag, tone| {
        let mut spans: Vec<(Tone, String)> = Vec::new();
        for change in diff.iter_all_changes().filter(|change| [ChangeTag::Equal, tag].contains(&change.tag())) {
            let tone = if change.tag() == tag { Tone::Changed } else { tone };
            match spans.last_mut() {
                Some((known, text)) if *known == tone => text.push_str(change.value()),
                _ => spans.push((tone, change.value().to_owned())),
            }
        }
        spans.into_iter().map(|(tone, text)| Span::new(tone, &text)).collect()
    };
    (side(ChangeTag::Delete, Tone::Removed), side(ChangeTag::Insert, Tone::Added))
}

impl Diff {
    /// Adds the unchanged lines between the hunks as folds. `text` is the complete old text (side 0) or new text (side
    /// 1). Adds nothing if the unchanged lines in the hunks differ from the same lines of `text`: the diff was then
    /// made from another text.
    #[must_use]
    pub fn with_text(mut self, text: &str, side: usize) -> Self {
        let text: Vec<&str> = text.lines().collect();
        let mut parts = Vec::new();
        // The number of the next line in each text.
        let mut next = [1, 1];
        for part in &self.parts {
            let Part::Hunk(hunk) = part else {
                parts.push(part.clone());
                continue;
            };
            let gap = hunk.ranges[side].0.checked_sub(next[side]);
            let Some(gap) = gap.filter(|_| hunk.is_of(&text, side)) else { return self };
            parts.extend(fold(&text, next, side, gap));
            next = hunk.ranges.map(|(first, count)| first + count);
            parts.push(part.clone());
        }
        parts.extend(fold(&text, next, side, (text.len() + 1).saturating_sub(next[side])));
        self.parts = parts;
        self
    }
}

impl Hunk {
    /// Returns whether `text` has the unchanged lines of the hunk at the same line numbers.
    fn is_of(&self, text: &[&str], side: usize) -> bool {
        self.rows.iter().filter(|row| row.is_same).all(|row| {
            let Some(Some(cell)) = row.cells.get(side) else { return false };
            let Some(line) = cell.number.checked_sub(1).and_then(|at| text.get(at)) else { return false };
            cell.spans == [Span::new(Tone::Plain, line)]
        })
    }
}

/// Returns a fold of `count` unchanged lines. `next` has the number of the first of them in each text.
fn fold(text: &[&str], next: [usize; 2], side: usize, count: usize) -> Option<Part> {
    let row = |at: usize| Some(Row::same(&next.map(|number| number + at), text.get(next[side] - 1 + at)?));
    let rows: Vec<Row> = (0..count).filter_map(row).collect();
    (!rows.is_empty()).then_some(Part::Fold(rows))
}
