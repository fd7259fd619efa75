//! Converts byte offsets in a text to line numbers.

/// The offsets at which lines start.
pub(super) struct Lines(Vec<usize>);

impl Lines {
    pub(super) fn of(text: &str) -> Self {
        let after = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Self(std::iter::once(0).chain(after).collect())
    }

    /// Returns the line number of a byte offset, counted from 1.
    pub(super) fn of_byte(&self, at: usize) -> usize {
        self.0.partition_point(|begins| *begins <= at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_from_one() {
        let lines = Lines::of("a\n\nb\r\nc");
        let counted: Vec<usize> = (0..8).map(|at| lines.of_byte(at)).collect();
        assert_eq!(counted, [1, 1, 2, 3, 3, 3, 4, 4]);
        assert_eq!(Lines::of("").of_byte(0), 1);
    }
}
