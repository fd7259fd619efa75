//! Detects unresolved merge conflicts in a text.

use memchr::memmem;

/// The reason to skip a file with conflict markers.
pub const WHY: &str = "is unmerged: it contains conflict markers from version control";

/// The reason to skip a file that git lists as unmerged. Such a file may have no markers, for example if one side deleted it.
pub const UNRESOLVED: &str = "is unmerged: resolve its conflict in git first (`git status` shows it)";

/// The beginning of the first line of a conflict.
const OURS: &[u8] = b"<<<<<<< ";

/// Returns whether a text contains git's conflict markers. Markers directly below a code fence are an example, and do not
/// count.
pub fn is_in(text: &[u8]) -> bool {
    // Search for the first marker before anything else: this is fast, and nearly no text contains one.
    if memmem::find(text, OURS).is_none() {
        return false;
    }
    let mut sides = 0;
    let mut above: &[u8] = b"";
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |at| at + 1);
        let line = rest[..end].trim_ascii_end();
        rest = &rest[end..];
        sides = match sides {
            _ if line.starts_with(OURS) => usize::from(!is_fence(above)),
            1 if line == b"=======" => 2,
            2 if line.starts_with(b">>>>>>> ") => return true,
            sides => sides,
        };
        above = line;
    }
    false
}

fn is_fence(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    line.starts_with(b"```") || line.starts_with(b"~~~")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_three_markers_at_the_beginnings_of_lines_are_a_conflict() {
        let conflict = "one\n<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> main\n";
        assert!(is_in(conflict.as_bytes()));
        assert!(is_in(conflict.replace('\n', "\r\n").as_bytes()));
        assert!(is_in(conflict.replace("=======", "||||||| base\nbase\n=======").as_bytes()), "diff3");
        for text in [
            "",
            "Title\n=======\n",
            "<<<<<<< HEAD\n=======\n",
            "<<<<<<< a\n>>>>>>> b\n",
            &conflict.replace("<<<", " <<<"),
            &conflict.replace("one", "```"),
        ] {
            assert!(!is_in(text.as_bytes()), "{text}");
        }
    }
}
