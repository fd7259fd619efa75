//! Splits incoming bytes into lines.

/// How many bytes of a line that is too long are kept. They are usually enough to find the id of the request.
const HEAD: usize = 64 << 10;

/// A line without its end, or the beginning of a line that is too long.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Cut<'a> {
    Line(&'a [u8]),
    TooLong { head: &'a [u8] },
}

/// A splitter, which keeps the beginning of a line that is not complete yet.
pub(super) struct Lines {
    partial: Vec<u8>,
    limit: usize,
    skipping: bool,
}

impl Lines {
    /// Creates a splitter for lines of at most `limit` bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self { partial: Vec::new(), limit, skipping: false }
    }

    /// Calls `each` with the lines that end in `piece`. A line that is completely in `piece` is not copied.
    pub(super) fn feed(&mut self, mut piece: &[u8], mut each: impl FnMut(Cut<'_>)) {
        while let Some(end) = memchr::memchr(b'\n', piece) {
            let (rest, next) = (&piece[..end], &piece[end + 1..]);
            piece = next;
            if std::mem::take(&mut self.skipping) {
                continue; // this line was already reported as too long
            }
            if self.partial.is_empty() {
                each(self.cut(rest));
                continue;
            }
            self.partial.extend_from_slice(rest);
            let line = std::mem::take(&mut self.partial);
            each(self.cut(&line));
        }
        if self.skipping {
            return;
        }
        self.partial.extend_from_slice(piece);
        if self.partial.len() > self.limit {
            let line = std::mem::take(&mut self.partial);
            each(self.cut(&line));
            self.skipping = true;
        }
    }

    /// Calls `each` with the last line, if it had no line end.
    pub(super) fn finish(self, mut each: impl FnMut(Cut<'_>)) {
        if !self.partial.is_empty() {
            each(self.cut(&self.partial));
        }
    }

    fn cut<'a>(&self, line: &'a [u8]) -> Cut<'a> {
        if line.len() > self.limit { Cut::TooLong { head: &line[..line.len().min(HEAD)] } } else { Cut::Line(line) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cut(pieces: &[&[u8]], limit: usize) -> Vec<String> {
        let mut lines = Lines::new(limit);
        let mut seen = Vec::new();
        let mut each = |cut: Cut<'_>| {
            seen.push(match cut {
                Cut::Line(line) => String::from_utf8_lossy(line).into_owned(),
                Cut::TooLong { head } => format!("too long: {}", String::from_utf8_lossy(head)),
            });
        };
        for piece in pieces {
            lines.feed(piece, &mut each);
        }
        lines.finish(&mut each);
        seen
    }

    #[test]
    fn a_line_that_is_too_long_is_reported_once_and_the_next_line_is_complete() {
        assert_eq!(cut(&[b"abc", b"defgh", b"ijk", b"l\nok\n", b"last"], 5), ["too long: abcdefgh", "ok", "last"]);
        assert_eq!(cut(&[b"abcdefgh\nok"], 5), ["too long: abcdefgh", "ok"]);
        assert_eq!(cut(&[b"\n\n"], 5), ["", ""]);
    }

    proptest! {
        #![proptest_config(crate::seed::config(256))]

        #[test]
        fn lines_do_not_depend_on_how_the_input_arrives(text in "[a-z\n]{0,200}", at in proptest::collection::vec(0_usize..200, 0..5)) {
            let mut at: Vec<usize> = at.into_iter().map(|at| at.min(text.len())).collect();
            at.extend([0, text.len()]);
            at.sort_unstable();
            let pieces: Vec<&[u8]> = at.windows(2).map(|pair| &text.as_bytes()[pair[0]..pair[1]]).collect();
            let mut expected: Vec<&str> = text.split('\n').collect();
            if expected.last() == Some(&"") {
                expected.pop();
            }
            prop_assert_eq!(cut(&pieces, 1000), expected);
        }
    }
}
