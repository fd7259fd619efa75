//! Computes unified diffs.

use serde::Serialize;
use similar::{ChangeTag, TextDiff};

/// Returns the unified diff from `before` to `after` with three lines of context; empty if they are equal. `old` and
/// `new` are the names in its first two lines.
pub fn unified(before: &str, after: &str, old: &str, new: &str) -> String {
    if before == after {
        return String::new();
    }
    TextDiff::from_lines(before, after).unified_diff().context_radius(3).header(old, new).to_string()
}

/// A changed part of a text with the lines around it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hunk {
    /// Its first line in the old text, counted from 1. If it has no lines there, the line before it.
    pub old_start: usize,
    /// The number of its lines in the old text.
    pub old_lines: usize,
    /// Its first line in the new text, counted in the same way.
    pub new_start: usize,
    /// The number of its lines in the new text.
    pub new_lines: usize,
    /// Its lines without line ends, each prefixed with a blank, `-` or `+`.
    pub lines: Vec<String>,
}

/// Returns the hunks of the same diff as [`unified`].
pub fn hunks(before: &str, after: &str) -> Vec<Hunk> {
    let diff = TextDiff::from_lines(before, after);
    let hunk = |ops: &Vec<similar::DiffOp>| {
        let (first, last) = (ops.first()?, ops.last()?);
        let old = first.old_range().start..last.old_range().end;
        let new = first.new_range().start..last.new_range().end;
        let line = |change: similar::Change<&str>| {
            let sign = match change.tag() {
                ChangeTag::Equal => ' ',
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
            };
            format!("{sign}{}", change.value().trim_end_matches(['\r', '\n']))
        };
        let start = |range: &std::ops::Range<usize>| if range.is_empty() { range.start } else { range.start + 1 };
        Some(Hunk {
            old_start: start(&old),
            old_lines: old.len(),
            new_start: start(&new),
            new_lines: new.len(),
            lines: ops.iter().flat_map(|op| diff.iter_changes(op)).map(line).collect(),
        })
    };
    diff.grouped_ops(3).iter().filter_map(hunk).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_names_both_sides_and_shows_a_missing_newline() {
        let diff = unified("a\nb\n", "a\nc", "a/f", "b/f");
        assert_eq!(diff, "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n\\ No newline at end of file\n");
        assert_eq!(unified("a\n", "a\n", "a/f", "b/f"), "");
    }

    #[test]
    fn hunks_are_the_parts_of_the_diff() {
        let before: String = (1..=30).map(|n| format!("{n}\n")).collect();
        let after = before.replace("\n2\n", "\ntwo\n").replace("29\n30\n", "29\n30\n31\n");
        let hunks = hunks(&before, &after);
        let heads: Vec<_> = hunks.iter().map(|h| (h.old_start, h.old_lines, h.new_start, h.new_lines)).collect();
        assert_eq!(heads, [(1, 5, 1, 5), (28, 3, 28, 4)]);
        assert_eq!(hunks[0].lines, [" 1", "-2", "+two", " 3", " 4", " 5"]);
        let text = unified(&before, &after, "a", "b");
        for (hunk, (old, lines, new, more)) in hunks.iter().zip(heads) {
            assert!(
                text.contains(&format!("@@ -{old},{lines} +{new},{more} @@\n{}\n", hunk.lines.join("\n"))),
                "{text}"
            );
        }
        assert_eq!(super::hunks("a", "a"), []);
        assert_eq!(super::hunks("", "a\n")[0].old_start, 0);
    }
}
