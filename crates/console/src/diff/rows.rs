//! Renders a diff as rows: unified, side by side, or three texts in columns or below each other.

use std::collections::BTreeSet;

use super::{Cell, Diff, Hunk, Part, Row};
use crate::line::{Line, Span, Tone};

/// The labels of three texts, in the order of their columns.
const THREE: [&str; 3] = ["base", "yours", "theirs"];

/// How to show a diff.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// The folds that are open, counted from 0.
    pub open: BTreeSet<usize>,
    /// Whether the texts are in columns.
    pub is_split: bool,
}

/// A row of a diff on the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// One line for the whole width, or one for each column; `None` if a column has no line in this row.
    pub cells: Vec<Option<Line>>,
    /// The number of the hunk that the row belongs to, counted from 1; `None` outside of hunks.
    pub hunk: Option<usize>,
    /// The fold that Enter opens on this row, counted from 0.
    pub fold: Option<usize>,
}

impl Shown {
    fn whole(line: Line) -> Self {
        Self { cells: vec![Some(line)], hunk: None, fold: None }
    }

    /// Returns whether `.` and `,` stop here: at the first row of a hunk, or at hidden characters.
    pub fn is_stop(&self) -> bool {
        self.cells.iter().flatten().any(|line| line.is_stop)
    }
}

impl Diff {
    /// Returns the rows to show.
    pub fn rows(&self, view: &View) -> Vec<Shown> {
        let mut rows: Vec<Shown> = self.head.iter().cloned().map(Shown::whole).collect();
        if view.is_split && self.sides.len() > 1 {
            let name = |name: &String| Some(Line::of(Tone::Strong, name));
            rows.push(Shown { cells: self.sides.iter().map(name).collect(), hunk: None, fold: None });
        } else if self.sides.len() == THREE.len() {
            let name = |(label, name): (&&str, &String)| Line::of(Tone::Strong, &format!("{label:<6}  {name}"));
            rows.extend(THREE.iter().zip(&self.sides).map(name).map(Shown::whole));
        }
        let total = self.hunks();
        let notes = self.parts.iter().filter(|part| matches!(part, Part::Note(_))).count();
        let (mut number, mut folds) = (0, 0);
        for part in &self.parts {
            match part {
                // If there is only one file, the headings of the columns show its names already.
                Part::Note(_) if view.is_split && notes <= 2 => {}
                Part::Note(line) => rows.push(Shown::whole(line.clone())),
                Part::Fold(lines) => {
                    match view.open.contains(&folds) {
                        true => push(lines, None, view, &mut rows),
                        false => {
                            let text = format!("... {} unchanged lines, enter shows them", lines.len());
                            let shown = Shown::whole(Line::of(Tone::Dim, &text));
                            rows.push(Shown { fold: Some(folds), ..shown });
                        }
                    }
                    folds += 1;
                }
                Part::Hunk(hunk) => {
                    number += 1;
                    rows.push(Shown { hunk: Some(number), ..Shown::whole(hunk.heading(number, total)) });
                    push(&hunk.rows, Some(number), view, &mut rows);
                }
            }
        }
        rows
    }

    /// Returns the lines of the diff without columns, with all folds closed.
    pub fn lines(&self) -> Vec<Line> {
        self.rows(&View::default()).into_iter().filter_map(|row| row.cells.into_iter().flatten().next()).collect()
    }
}

impl Hunk {
    fn heading(&self, number: usize, total: usize) -> Line {
        let line = match self.is_in {
            Some(true) => Line::of(Tone::Good, "IN   ").then(Tone::Dim, &format!("hunk {number} of {total}  ")),
            Some(false) => Line::of(Tone::Warning, "OUT  ").then(Tone::Dim, &format!("hunk {number} of {total}  ")),
            None => Line::default(),
        };
        line.then(Tone::Dim, &self.head).stop()
    }
}

fn push(lines: &[Row], hunk: Option<usize>, view: &View, rows: &mut Vec<Shown>) {
    let is_alike = |one: &Row, other: &Row| (one.is_same, one.note.is_some()) == (other.is_same, other.note.is_some());
    for chunk in lines.chunk_by(is_alike) {
        let shown: Vec<Shown> = match (view.is_split, &chunk[0]) {
            (_, Row { note: Some(_), .. }) => {
                chunk.iter().filter_map(|row| row.note.clone()).map(Shown::whole).collect()
            }
            (true, _) => chunk.iter().map(columns).collect(),
            (false, row) => one_below_the_other(chunk, row.cells.len()).into_iter().map(Shown::whole).collect(),
        };
        rows.extend(shown.into_iter().map(|row| Shown { hunk, ..row }));
    }
}

/// Returns a row with a column for each text.
fn columns(row: &Row) -> Shown {
    let cell = |(at, cell): (usize, &Option<Cell>)| {
        let cell = cell.as_ref()?;
        let sign = match (row.is_same, row.cells.len(), at) {
            (true, ..) => ' ',
            (false, 2, 0) => '-',
            (false, 2, _) => '+',
            _ => ' ',
        };
        Some(line(&sign.to_string(), cell, row.is_same))
    };
    Shown { cells: row.cells.iter().enumerate().map(cell).collect(), hunk: None, fold: None }
}

/// Returns rows as lines without columns. The rows are all unchanged or all changed. An unchanged row becomes one line;
/// of changed rows, all lines of the first text come first, then those of the next text.
fn one_below_the_other(rows: &[Row], sides: usize) -> Vec<Line> {
    if rows[0].is_same {
        let last = |row: &Row| row.cells.iter().flatten().last().map(|cell| line(&sign(sides, None), cell, true));
        return rows.iter().filter_map(last).collect();
    }
    let of_side = |side: usize| {
        rows.iter()
            .filter_map(move |row| row.cells.get(side).and_then(Option::as_ref))
            .map(move |cell| line(&sign(sides, Some(side)), cell, false))
    };
    (0..sides).flat_map(of_side).collect()
}

/// Returns the text before the line number: `-`, `+`, a label of [`THREE`], or spaces for an unchanged line.
fn sign(sides: usize, side: Option<usize>) -> String {
    match (sides, side) {
        (3, Some(side)) => format!("{:<6}", THREE[side]),
        (3, None) => " ".repeat(6),
        (_, Some(0)) => "-".to_owned(),
        (_, Some(_)) => "+".to_owned(),
        (_, None) => " ".to_owned(),
    }
}

/// Returns a numbered line, such as `-   4  Look for missing tests first.`
fn line(sign: &str, cell: &Cell, is_same: bool) -> Line {
    let first = cell.spans.first().map_or(Tone::Plain, |span| span.tone);
    let tone = match (is_same, first) {
        (true, _) => Tone::Dim,
        (false, Tone::Changed) if sign.starts_with('-') => Tone::Removed,
        (false, Tone::Changed) => Tone::Added,
        (false, tone) => tone,
    };
    let spans = std::iter::once(Span::new(tone, &format!("{sign}{:>4}  ", cell.number))).chain(cell.spans.clone());
    Line { spans: spans.collect(), is_quoted: true, is_stop: cell.has_hidden, is_row: false }
}
