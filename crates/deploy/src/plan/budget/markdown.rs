//! Reads a Markdown file as an agent does: finds the files that it imports and the parts that the agent skips.

/// Returns the paths that a text imports with `@path`. Code is ignored, and `\ ` stands for a space in a path.
pub fn imports(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut fence: Option<&str> = None;
    for line in text.lines() {
        let trimmed = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| trimmed.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (None, None) => found.extend(without_code(line).into_iter().flat_map(in_line)),
            _ => {}
        }
    }
    found
}

/// Returns the parts of a line that are not in backticks.
fn without_code(line: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = line;
    while let Some(open) = rest.find('`') {
        let ticks = rest[open..].bytes().take_while(|byte| *byte == b'`').count();
        let inner = &rest[open + ticks..];
        let Some(close) = inner.find(&"`".repeat(ticks)) else { break };
        parts.push(&rest[..open]);
        rest = &inner[close + ticks..];
    }
    parts.push(rest);
    parts
}

fn in_line(part: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in part.match_indices('@') {
        if part[..at].chars().next_back().is_some_and(|before| !before.is_whitespace()) {
            continue;
        }
        let mut path = String::new();
        let mut chars = part[at + 1..].chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '\\' if chars.peek() == Some(&' ') => path.extend(chars.next()),
                c if c.is_whitespace() => break,
                c => path.push(c),
            }
        }
        let path = path.trim_end_matches([',', ';', ':', ')']);
        if !path.is_empty() {
            found.push(path.to_owned());
        }
    }
    found
}

/// The marks at the beginning and end of an HTML comment.
const BEGIN: &str = "<!--";
const END: &str = "-->";

/// Returns the length of a text in bytes without its HTML comments. Comments inside code are counted.
pub fn without_comments(text: &str) -> usize {
    let mut left = text.len();
    let (mut in_code, mut comment) = (false, None);
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if comment.is_none() && line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        let mut from = 0;
        // Find the next mark in the line: the beginning of a comment, or its end if one is open.
        while let Some(found) = line[from..].find(if comment.is_some() { END } else { BEGIN }).filter(|_| !in_code) {
            let mark = from + found;
            match comment.take() {
                None => {
                    comment = Some(at + mark);
                    from = mark + BEGIN.len();
                }
                Some(begin) => {
                    from = mark + END.len();
                    left -= at + from - begin;
                }
            }
        }
        at += line.len();
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a7_imports_are_words_outside_of_code() {
        let text =
            "See @docs/a.md, and @b\\ c.md\n`@not` mail@host ``x ` @no`` @e.md\n```\n@fenced\n```\n@/etc/passwd (@x)\n";
        assert_eq!(imports(text), ["docs/a.md", "b c.md", "e.md", "/etc/passwd"]);
    }

    #[test]
    fn a7_comments_are_not_counted() {
        for (text, left) in [
            ("a<!-- b -->c", 2),
            ("a\n<!-- b\nc -->\nd", 4),
            ("a <!-- open", 11),
            ("```\n<!-- code -->\n```\n", 22),
            ("<!---->", 0),
        ] {
            assert_eq!(without_comments(text), left, "{text:?}");
        }
    }
}
