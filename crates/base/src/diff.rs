//! Computes unified diffs.

use serde::Serialize;
use similar::{ChangeTag, DiffOp, DiffTag, TextDiff};

use crate::error::{Code, Error, Result};
use crate::plural::count;

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
    /// The hunk's first line in the old text, counted from 1. If the hunk has no lines in the old text, this is the
    /// line before it.
    pub old_start: usize,
    /// The number of the hunk's lines in the old text.
    pub old_lines: usize,
    /// The hunk's first line in the new text, counted in the same way.
    pub new_start: usize,
    /// The number of the hunk's lines in the new text.
    pub new_lines: usize,
    /// The lines without line ends, each prefixed with a blank, `-` or `+`.
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

/// Returns `before` with only some of its changes: the hunks in `numbers`, as [`hunks`] lists them, counted from 1.
///
/// # Errors
/// `E_INVALID_ARGUMENT` if a number has no hunk.
pub fn only(before: &str, after: &str, numbers: &[usize]) -> Result<String> {
    let diff = TextDiff::from_lines(before, after);
    let groups = diff.grouped_ops(3);
    if let Some(number) = numbers.iter().find(|number| !(1..=groups.len()).contains(*number)) {
        let why = format!("There is no hunk {number}: the change has {}", count(groups.len(), "hunk"));
        return Err(Error::new(Code::InvalidArgument, why));
    }
    let is_wanted = |op: &DiffOp| {
        let is_in = |group: &Vec<DiffOp>| group.iter().any(|other| other.as_tag_tuple() == op.as_tag_tuple());
        groups.iter().position(is_in).is_some_and(|at| numbers.contains(&(at + 1)))
    };
    let mut text = String::with_capacity(before.len().max(after.len()));
    for op in diff.ops() {
        let takes = if op.tag() != DiffTag::Equal && is_wanted(op) { ChangeTag::Insert } else { ChangeTag::Delete };
        let lines = diff.iter_changes(op).filter(|change| change.tag() == ChangeTag::Equal || change.tag() == takes);
        lines.for_each(|line| text.push_str(line.value()));
    }
    Ok(text)
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
    fn a_text_takes_the_hunks_that_were_chosen() {
        let before: String = (1..=40).map(|n| format!("{n}\n")).collect();
        let after = before.replace("\n2\n", "\ntwo\n").replace("\n20\n", "\n").replace("39\n40\n", "39\n40\n41");
        for (numbers, expected) in [
            (&[][..], before.clone()),
            (&[1], before.replace("\n2\n", "\ntwo\n")),
            (&[2], before.replace("\n20\n", "\n")),
            (&[3, 1], before.replace("\n2\n", "\ntwo\n") + "41"),
            (&[1, 2, 3], after.clone()),
        ] {
            assert_eq!(only(&before, &after, numbers).unwrap(), expected, "{numbers:?}");
        }
        let error = only(&before, &after, &[1, 4]).unwrap_err();
        assert_eq!(error.message(), "There is no hunk 4: the change has 3 hunks");
        assert!(only("", "", &[1]).is_err() && only("a", "b", &[0]).is_err());
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
