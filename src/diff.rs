//! Unified diffs.

use similar::TextDiff;

/// Returns the unified diff that makes `after` of `before`, with three lines of context; empty where they are equal.
/// `old` and `new` are the names in its first two lines.
pub fn unified(before: &str, after: &str, old: &str, new: &str) -> String {
    if before == after {
        return String::new();
    }
    TextDiff::from_lines(before, after).unified_diff().context_radius(3).header(old, new).to_string()
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
}
