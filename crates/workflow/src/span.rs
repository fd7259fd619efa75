//! A span: the position of something in a text.

use std::ops::Range;

use serde::Serialize;

/// A part of a text. Lines and columns count from 1, columns count code points, and the end is exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Span {
    #[serde(skip)]
    pub start: usize,
    #[serde(skip)]
    pub end: usize,
    pub line: usize,
    pub column: usize,
    pub end_line: usize,
    pub end_column: usize,
}

impl Span {
    pub const BEGINNING: Self = Self { start: 0, end: 0, line: 1, column: 1, end_line: 1, end_column: 1 };

    pub fn bytes(&self) -> Range<usize> {
        self.start..self.end
    }

    /// Extends this span to the end of `last`.
    #[must_use]
    pub fn to_end_of(self, last: Self) -> Self {
        Self { end: last.end, end_line: last.end_line, end_column: last.end_column, ..self }
    }

    /// Returns the part of this span at a byte range that is relative to its start. `None` if the span is not on a single line
    /// of `text`, or the range does not fall on character boundaries.
    pub fn part(&self, text: &str, range: Range<usize>) -> Option<Self> {
        if self.line != self.end_line {
            return None;
        }
        let whole = text.get(self.bytes())?;
        let (before, inside) = (whole.get(..range.start)?, whole.get(range.clone())?);
        let column = self.column + before.chars().count();
        Some(Self {
            start: self.start + range.start,
            end: self.start + range.end,
            line: self.line,
            column,
            end_line: self.line,
            end_column: column + inside.chars().count(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_has_columns_in_characters_and_stays_inside() {
        let text = "é: \"ä ${{ x }}\"";
        let whole = Span { start: 4, end: text.len(), line: 1, column: 4, end_line: 1, end_column: 15 };
        let at = text.find("${{").unwrap() - 4;
        let part = whole.part(text, at..at + 3).unwrap();
        assert_eq!((part.column, part.end_column, &text[part.bytes()]), (7, 10, "${{"));
        assert_eq!(whole.part(text, 2..3), None, "not between characters");
        assert_eq!(whole.part(text, 0..100), None);
        assert_eq!(Span { end_line: 2, ..whole }.part(text, 0..1), None);
    }
}
