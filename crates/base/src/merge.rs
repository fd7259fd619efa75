//! Merges two changes of a text, line by line.

use std::collections::HashMap;

/// The maximum size of a text that is merged, in bytes. A larger text conflicts as a whole, because merging would take too
/// long: the time grows with the number of lines times the number of changes.
const MAX: usize = 1 << 20;

/// Returns the text with the changes of both sides. Keeps line endings, and does not add one to the last line. `None`
/// in these cases:
/// - Both sides changed a line in different ways.
/// - One of the three is not text, or is larger than [`MAX`].
/// - The merge would lose a line.
pub fn merge(base: &[u8], theirs: &[u8], ours: &[u8]) -> Option<Vec<u8>> {
    let [base, theirs, ours] = [text(base)?, text(theirs)?, text(ours)?];
    let merged = diffy::merge(base, ours, theirs).ok()?;
    holds_both(base, theirs, ours, &merged).then(|| merged.into_bytes())
}

fn text(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok()?;
    (text.len() <= MAX && !text.contains('\0')).then_some(text)
}

/// Checks that a merge lost no line. For each distinct line, this is the minimum number of copies in `merged`: the
/// copies in `base`, minus the copies that each side removed, plus the copies that one side added (the larger number
/// of the two).
fn holds_both(base: &str, theirs: &str, ours: &str, merged: &str) -> bool {
    let mut counts: HashMap<&str, [i64; 4]> = HashMap::new();
    for (at, text) in [base, theirs, ours, merged].into_iter().enumerate() {
        for line in text.split_inclusive('\n') {
            counts.entry(line).or_default()[at] += 1;
        }
    }
    counts.values().all(|&[base, theirs, ours, merged]| {
        let removed = (base - theirs).max(0) + (base - ours).max(0);
        let added = (theirs - base).max(ours - base).max(0);
        merged >= (base - removed).max(0) + added
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(base: &str, theirs: &str, ours: &str) -> Option<String> {
        merge(base.as_bytes(), theirs.as_bytes(), ours.as_bytes()).map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn changes_of_different_lines_come_together() {
        assert_eq!(merged("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n").as_deref(), Some("A\nb\nC\n"));
        assert_eq!(merged("a\nb\nc\n", "b\nc\n", "a\nb\nc\nd\n").as_deref(), Some("b\nc\nd\n"));
        assert_eq!(merged("a\nb\nc\n", "x\nb\nc\n", "x\nb\ny\n").as_deref(), Some("x\nb\ny\n"), "the same change");
    }

    #[test]
    fn different_changes_of_one_line_conflict() {
        assert_eq!(merged("a\nb\n", "x\nb\n", "y\nb\n"), None);
        assert_eq!(merged("", "x\n", "y\n"), None);
        assert_eq!(merged("a\nb\nc\n", "a\nc\n", "a\nB\nc\n"), None, "deleted there, changed here");
    }

    #[test]
    fn line_ends_stay_as_they_are() {
        assert_eq!(merged("a\r\nb\r\nc", "A\r\nb\r\nc", "a\r\nb\r\nC").as_deref(), Some("A\r\nb\r\nC"));
        assert_eq!(merged("a\nb\nc", "A\nb\nc", "a\nb\nc\n").as_deref(), Some("A\nb\nc\n"));
        assert_eq!(merged("a\nb\n", "a\r\nb\r\n", "a\nb\nc\n"), None, "all lines changed");
    }

    #[test]
    fn binary_and_very_large_files_are_not_merged() {
        assert_eq!(merge(b"a\n\0\n", b"b\n\0\n", b"a\n\0\nc\n"), None);
        assert_eq!(merge(b"a\nb\n", b"a\n\xff\n", b"x\nb\n"), None);
        let large = "line\n".repeat(MAX / 5 + 1);
        assert_eq!(merged(&large, &format!("x\n{large}"), &format!("{large}y\n")), None);
    }
}
