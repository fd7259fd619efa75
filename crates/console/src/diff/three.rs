//! Compares three texts: a base, and two texts that were made from it.

use std::ops::Range;

use similar::{DiffTag, TextDiff};

use super::parse::words;
use super::{Cell, Diff, Hunk, Part, Row, has_hidden};
use crate::line::{Span, Tone};

/// The number of unchanged lines around a change.
const AROUND: usize = 3;

/// Returns the comparison of three texts. Lines that differ from the base are marked. `sides` has a heading for each
/// text.
pub fn three(base: &str, yours: &str, theirs: &str, sides: [String; 3]) -> Diff {
    let lines: Vec<&str> = base.lines().collect();
    let [yours, theirs] = [Side::new(base, yours, lines.len()), Side::new(base, theirs, lines.len())];
    let mut rows = Vec::new();
    for at in 0..=lines.len() {
        let (mine, other) = (&yours.inserted[at], &theirs.inserted[at]);
        for line in 0..mine.len().max(other.len()) {
            let cell = |cells: &[Cell]| cells.get(line).cloned();
            rows.push(Row::changed(vec![None, cell(mine), cell(other)]));
        }
        let Some(text) = lines.get(at) else { continue };
        let (mine, other) = (yours.kept[at].clone(), theirs.kept[at].clone());
        let is_same = |cell: &Option<Cell>| {
            cell.as_ref().is_some_and(|cell| cell.spans.iter().all(|span| span.tone == Tone::Plain))
        };
        let is_unchanged = is_same(&mine) && is_same(&other);
        let cells = vec![Some(Cell::new(at + 1, Tone::Plain, text)), mine, other];
        rows.push(Row { cells, is_same: is_unchanged, note: None });
    }
    Diff { sides: sides.into(), head: Vec::new(), parts: parts(rows) }
}

/// One of the two texts, laid out along the lines of the base.
struct Side {
    /// For each line of the base, the line that it became; `None` if it was removed.
    kept: Vec<Option<Cell>>,
    /// The lines that were added before each line of the base, and at its end.
    inserted: Vec<Vec<Cell>>,
}

impl Side {
    fn new(base: &str, text: &str, count: usize) -> Self {
        let diff = TextDiff::from_lines(base, text);
        let line = |line: &str| line.trim_end_matches(['\n', '\r']).to_owned();
        let old: Vec<String> = diff.iter_old_slices().map(line).collect();
        let new: Vec<String> = diff.iter_new_slices().map(line).collect();
        let mut side = Self { kept: vec![None; count], inserted: vec![Vec::new(); count + 1] };
        for op in diff.ops() {
            let (from, to) = (op.old_range(), op.new_range());
            match op.tag() {
                DiffTag::Equal => {
                    for (at, now) in from.zip(to) {
                        side.kept[at] = Some(Cell::new(now + 1, Tone::Plain, &new[now]));
                    }
                }
                DiffTag::Delete => {}
                DiffTag::Insert => side.insert(from.start, to, &new),
                DiffTag::Replace => {
                    let pairs = from.len().min(to.len());
                    for (at, now) in from.clone().zip(to.clone()) {
                        let spans = words(&old[at], &new[now]).1;
                        let has_hidden = has_hidden(&new[now]);
                        side.kept[at] = Some(Cell { number: now + 1, spans, has_hidden });
                    }
                    side.insert(from.start + pairs, to.start + pairs..to.end, &new);
                }
            }
        }
        side
    }

    fn insert(&mut self, before: usize, lines: Range<usize>, new: &[String]) {
        let cell = |at: usize| Cell {
            number: at + 1,
            spans: vec![Span::new(Tone::Added, &new[at])],
            has_hidden: has_hidden(&new[at]),
        };
        self.inserted[before].extend(lines.map(cell));
    }
}

/// Puts changed rows, with up to [`AROUND`] unchanged rows around them, into hunks. All other rows become folds.
fn parts(rows: Vec<Row>) -> Vec<Part> {
    let is_near = |at: usize| {
        let near = at.saturating_sub(AROUND)..rows.len().min(at + AROUND + 1);
        rows[near].iter().any(|row| !row.is_same)
    };
    let near: Vec<bool> = (0..rows.len()).map(is_near).collect();
    let mut parts = Vec::new();
    let mut rows = rows.into_iter().zip(near).peekable();
    while let Some((row, is_near)) = rows.next() {
        let mut group = vec![row];
        while let Some((row, _)) = rows.next_if(|(_, next)| *next == is_near) {
            group.push(row);
        }
        parts.push(match is_near {
            false => Part::Fold(group),
            true => {
                let head = group.iter().flat_map(|row| row.cells.first()).flatten().next();
                let head = head.map_or_else(|| "at the end".to_owned(), |cell| format!("from line {}", cell.number));
                Part::Hunk(Hunk { head, ranges: [(0, 0); 2], rows: group, is_in: None, actions: Vec::new() })
            }
        });
    }
    parts
}
