//! Applies a unified diff to one file, exactly where git would apply it.

use diffy::{Line, Patch};

use mcpkg_base::diff;

/// Why a patch was not applied.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// The text is not a patch of this file alone.
    Malformed(String),
    /// The file does not match the patch.
    Differs(String),
}

/// Applies the unified diff `patch` to the `text` of the file `path`.
pub(super) fn apply(text: &str, patch: &str, path: &str) -> Result<String, Failure> {
    let malformed = |why: &str| Failure::Malformed(why.to_owned());
    if patch.lines().any(|line| line == "GIT binary patch" || line.starts_with("Binary files ")) {
        return Err(malformed("it is a binary patch"));
    }
    let parsed = Patch::from_str(patch).map_err(|error| Failure::Malformed(error.to_string()))?;
    for (name, prefix) in [(parsed.original(), "a/"), (parsed.modified(), "b/")] {
        match name.ok_or_else(|| malformed("it has no `---` and `+++` lines"))? {
            "/dev/null" => {
                return Err(malformed(
                    "it creates or deletes a file, but a patch overlay can only change existing files",
                ));
            }
            name if name.strip_prefix(prefix).unwrap_or(name) == path => {}
            name => {
                return Err(Failure::Malformed(format!("it changes `{name}`, but the patch is named after `{path}`")));
            }
        }
    }
    if parsed.hunks().is_empty() {
        return Err(malformed("it changes nothing"));
    }
    // The flag marks lines that were inserted or matched. They are not matched again.
    let mut image: Vec<(&str, bool)> = text.split_inclusive('\n').map(|line| (line, false)).collect();
    for (number, hunk) in (1..).zip(parsed.hunks()) {
        let before: Vec<&str> = hunk.lines().iter().filter_map(old).collect();
        let after = hunk.lines().iter().filter_map(new).map(|line| (line, true));
        let at = place(&image, &before, hunk).ok_or_else(|| {
            Failure::Differs(format!("hunk {number}, for line {}, does not match", hunk.old_range().start()))
        })?;
        image.splice(at..at + before.len(), after);
    }
    Ok(image.into_iter().map(|(line, _)| line).collect())
}

/// Returns the patch that turns `before` into `after`. Returns `None` if they are equal.
pub(super) fn create(before: &str, after: &str, path: &str) -> Option<String> {
    let patch = diff::unified(before, after, &format!("a/{path}"), &format!("b/{path}"));
    (!patch.is_empty()).then_some(patch)
}

fn old<'a>(line: &Line<'a, str>) -> Option<&'a str> {
    match line {
        Line::Context(text) | Line::Delete(text) => Some(text),
        Line::Insert(_) => None,
    }
}

fn new<'a>(line: &Line<'a, str>) -> Option<&'a str> {
    match line {
        Line::Context(text) | Line::Insert(text) => Some(text),
        Line::Delete(_) => None,
    }
}

/// Finds where a hunk applies: the match nearest to the line number that the hunk states. As in git, a hunk for the
/// first line must match at the beginning of the file, and a hunk without trailing context at the end.
fn place(image: &[(&str, bool)], before: &[&str], hunk: &diffy::Hunk<'_, str>) -> Option<usize> {
    let last = image.len().checked_sub(before.len())?;
    let matches = |at: usize| {
        before.iter().zip(&image[at..at + before.len()]).all(|(wanted, (line, done))| !done && wanted == line)
    };
    let at_beginning = hunk.old_range().start() <= 1;
    let at_end = !matches!(hunk.lines().last(), Some(Line::Context(_)));
    if at_beginning || at_end {
        let at = if at_beginning { 0 } else { last };
        return (matches(at) && (!at_end || at == last)).then_some(at);
    }
    let start = hunk.new_range().start().saturating_sub(1).min(last);
    let farthest = start.max(last - start);
    (0..=farthest)
        .flat_map(|distance| [start.checked_sub(distance), Some(start + distance)])
        .flatten()
        .find(|at| *at <= last && matches(*at))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";

    fn patch(hunks: &str) -> String {
        format!("diff --git a/d/f.md b/d/f.md\nindex 1..2 100644\n--- a/d/f.md\n+++ b/d/f.md\n{hunks}")
    }

    #[test]
    fn applies_what_git_applies() {
        let change = patch("@@ -3,3 +3,3 @@ x\n three\n-four\n+4\n five\n");
        assert_eq!(apply(TEXT, &change, "d/f.md").unwrap(), TEXT.replace("four", "4"));
        let moved = format!("zero\nnew\n{TEXT}");
        assert_eq!(apply(&moved, &change, "d/f.md").unwrap(), moved.replace("four", "4"));
        let end = patch("@@ -7 +7,2 @@\n seven\n+eight\n\\ No newline at end of file\n");
        assert_eq!(apply(TEXT, &end, "d/f.md").unwrap(), format!("{TEXT}eight"));
        let unprefixed = change.replace("a/d", "d").replace("b/d", "d");
        assert_eq!(apply(TEXT, &unprefixed, "d/f.md").unwrap(), TEXT.replace("four", "4"));
    }

    #[test]
    fn patches_that_do_not_fit_are_refused() {
        let differs = |text: &str, hunks: &str| {
            assert!(matches!(apply(text, &patch(hunks), "d/f.md"), Err(Failure::Differs(_))), "{hunks}");
        };
        differs(TEXT, "@@ -3,3 +3,3 @@\n three\n-vier\n+4\n five\n");
        differs(&format!("zero\n{TEXT}"), "@@ -1,2 +1,2 @@\n-one\n+1\n two\n");
        differs(&format!("{TEXT}eight\n"), "@@ -6,2 +6,2 @@\n six\n-seven\n+7\n");
        differs("", "@@ -1,2 +1,2 @@\n-one\n+1\n two\n");
    }

    #[test]
    fn refuses_texts_that_are_not_a_patch_of_the_file() {
        let change = "@@ -1,2 +1,2 @@\n-one\n+1\n two\n";
        for (text, says) in [
            (patch(change).replace("--- a/d/f.md", "--- /dev/null"), "creates or deletes"),
            (patch(change).replace("+++ b/d/f.md", "+++ b/d/g.md"), "it changes `b/d/g.md`"),
            (patch(&format!("{change}--- a/x\n+++ b/x\n{change}")), "error parsing"),
            (patch(""), "changes nothing"),
            (change.to_owned(), "has no `---`"),
            ("words".to_owned(), "has no `---`"),
            (patch("@@ -1,9 +1,2 @@\n-one\n"), "error parsing"),
            ("diff --git a/x b/x\nGIT binary patch\n".to_owned(), "binary"),
        ] {
            match apply(TEXT, &text, "d/f.md") {
                Err(Failure::Malformed(why)) => assert!(why.contains(says), "{why}"),
                other => panic!("{text}: {other:?}"),
            }
        }
    }

    #[test]
    fn applies_what_it_creates() {
        for (before, after) in [(TEXT, "one\nTWO\nthree\nfour\nfive\nsix\nseven"), ("", "a"), ("a\n", ""), ("é", "é\n")]
        {
            let patch = create(before, after, "d/f.md").unwrap();
            assert_eq!(apply(before, &patch, "d/f.md").unwrap(), after, "{patch}");
        }
        assert_eq!(create(TEXT, TEXT, "x"), None);
    }
}
