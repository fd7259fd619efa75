//! Diffs: hunks of changed lines, with marked words, and folds of the unchanged lines between the hunks.
//!
//! Every screen that compares texts uses this module: for two texts, as a unified diff or side by side, and for three
//! texts, as base, yours and theirs.

mod parse;
mod rows;
mod three;

use std::borrow::Cow;

use mcpkg_base::{marks, sha256};

use crate::action::{Action, Does};
use crate::line::{Line, Span, Tone};
use crate::place::Place;

pub use parse::parse;
pub use rows::{Shown, View};
pub use three::three;

/// A comparison of two or three texts.
#[derive(Clone, Debug, Default)]
pub struct Diff {
    /// A heading for each compared text; empty if a parsed diff does not name its texts.
    pub sides: Vec<String>,
    /// Remarks above the diff, such as a warning.
    pub head: Vec<Line>,
    parts: Vec<Part>,
}

#[derive(Clone, Debug)]
enum Part {
    /// A line that is not part of a hunk, such as the name of a file.
    Note(Line),
    /// Unchanged lines, hidden until the user unfolds them.
    Fold(Vec<Row>),
    Hunk(Hunk),
}

#[derive(Clone, Debug)]
struct Hunk {
    /// Where the hunk is, such as `@@ -3,3 +3,3 @@` or, for three texts, `from line 3`.
    head: String,
    /// For the old and the new text: the number of the first line, counted from 1, and the number of lines. Zeros for
    /// three texts.
    ranges: [(usize, usize); 2],
    rows: Vec<Row>,
    /// Whether `a` (approve or accept) includes this hunk; `None` if hunks cannot be chosen.
    is_in: Option<bool>,
    actions: Vec<Action>,
}

/// The lines of all texts that belong side by side. A cell is `None` where a text has no such line.
#[derive(Clone, Debug)]
struct Row {
    cells: Vec<Option<Cell>>,
    is_same: bool,
    /// A remark instead of cells, such as `\ No newline at end of file`.
    note: Option<Line>,
}

#[derive(Clone, Debug)]
struct Cell {
    number: usize,
    spans: Vec<Span>,
    has_hidden: bool,
}

impl Row {
    fn same(numbers: &[usize], text: &str) -> Self {
        let cell = |number: &usize| Some(Cell::new(*number, Tone::Plain, text));
        Self { cells: numbers.iter().map(cell).collect(), is_same: true, note: None }
    }

    fn note(line: Line) -> Self {
        Self { cells: Vec::new(), is_same: false, note: Some(line) }
    }

    fn changed(cells: Vec<Option<Cell>>) -> Self {
        Self { cells, is_same: false, note: None }
    }
}

impl Cell {
    fn new(number: usize, tone: Tone, text: &str) -> Self {
        Self { number, spans: vec![Span::new(tone, text)], has_hidden: has_hidden(text) }
    }
}

fn has_hidden(text: &str) -> bool {
    matches!(marks::line(&text.replace('\t', " ")), Cow::Owned(_))
}

impl Diff {
    /// Returns the diff of two complete texts. The unchanged lines outside of hunks are folds.
    pub fn of(old: &str, new: &str, sides: [String; 2]) -> Self {
        let unified = mcpkg_base::diff::unified(old, new, "", "");
        Self { sides: sides.into(), ..parse(&unified).with_text(new, 1) }
    }

    #[must_use]
    pub fn named(self, sides: [&str; 2]) -> Self {
        Self { sides: sides.map(str::to_owned).into(), ..self }
    }

    #[must_use]
    pub fn under(self, head: Vec<Line>) -> Self {
        Self { head, ..self }
    }

    pub fn hunks(&self) -> usize {
        self.parts.iter().filter(|part| matches!(part, Part::Hunk(_))).count()
    }

    /// Returns the actions of the hunk with this number, counted from 1.
    pub fn actions(&self, hunk: usize) -> &[Action] {
        let mut hunks = self.parts.iter().filter_map(|part| match part {
            Part::Hunk(hunk) => Some(hunk),
            _ => None,
        });
        hunk.checked_sub(1).and_then(|at| hunks.nth(at)).map_or(&[], |hunk| &hunk.actions)
    }

    /// Lets the user choose hunks. `out` has the numbers of the excluded hunks. `place` returns the screen of the same
    /// diff with the given hunks excluded.
    #[must_use]
    pub fn choosing(mut self, out: &[usize], place: impl Fn(Vec<usize>) -> Place) -> Self {
        let hunks = self.parts.iter_mut().filter_map(|part| match part {
            Part::Hunk(hunk) => Some(hunk),
            _ => None,
        });
        for (number, hunk) in (1..).zip(hunks) {
            let mut other: Vec<usize> = out.iter().copied().filter(|known| *known != number).collect();
            if other.len() == out.len() {
                other.push(number);
                other.sort_unstable();
            }
            let is_in = !out.contains(&number);
            hunk.is_in = Some(is_in);
            hunk.actions = vec![Action::switch(is_in, place(other))];
        }
        self
    }

    /// Returns the numbers of the hunks that are not excluded.
    pub fn chosen(&self, out: &[usize]) -> Vec<usize> {
        (1..=self.hunks()).filter(|number| !out.contains(number)).collect()
    }
}

/// Returns the hash under which [`crate::reviewed`] records that the user reviewed a diff. If the diff changes, so does
/// the hash.
pub fn digest(unified: &str) -> String {
    sha256::hex(unified.as_bytes())
}

/// Returns the action that marks a diff as reviewed, or takes the mark back. Returns `None` for an empty diff.
pub fn review(unified: &str) -> Option<Action> {
    (!unified.is_empty()).then(|| Action::new('m', "reviewed", Does::Review(digest(unified))))
}

/// Adds `reviewed` to the title of a diff that has the mark.
pub fn titled(title: String, is_reviewed: bool) -> String {
    if is_reviewed { title + ", reviewed" } else { title }
}

/// Returns a unified diff as lines, for a screen that shows it within other text.
pub fn lines(unified: &str) -> Vec<Line> {
    parse(unified).lines()
}

#[cfg(test)]
mod tests;
