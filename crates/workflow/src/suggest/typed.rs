//! Determines from one line what a person is typing: a command, a key, a value, or a path in a template.

use crate::span::Span;

/// The text that a person is typing: its kind, the part before the cursor, and the span that a suggestion replaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Typed {
    pub kind: Kind,
    pub partial: String,
    pub span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The value of `run:`.
    Command,
    /// A key without its colon.
    Key,
    /// A value after a colon.
    Value,
    /// A path between `${{` and `}}`.
    Path,
}

/// Returns what is being typed at a line and a column, both counted from 1. Returns `None` if nothing can be suggested there.
pub fn typed(text: &str, line: usize, column: usize) -> Option<Typed> {
    let mut start = 0;
    let mut lines = text.split_inclusive('\n');
    for _ in 1..line {
        start += lines.next()?.len();
    }
    let whole = lines.next().unwrap_or_default().trim_end_matches(['\n', '\r']);
    let at = whole.char_indices().nth(column.saturating_sub(1)).map_or(whole.len(), |(at, _)| at);
    let before = &whole[..at];
    let is_open = before.rfind("${{").is_some_and(|open| !before[open..].contains("}}"));
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '[' | ']');
    let (kind, from) = if is_open {
        (Kind::Path, before.rfind(|c| !is_part(c)).map_or(0, |at| at + 1))
    } else {
        let key = before.trim_start_matches([' ', '-']);
        let indent = before.len() - key.len();
        match key.find(": ") {
            None if key.ends_with(':') || !key.chars().all(is_part) => return None,
            None => (Kind::Key, indent),
            Some(colon) => {
                let value = &key[colon + 1..];
                let kind = if &key[..colon] == "run" { Kind::Command } else { Kind::Value };
                (kind, before.len() - value.trim_start().len())
            }
        }
    };
    // Except for keys, a suggestion also replaces what follows the cursor: the rest of the word or, for a value, of the line.
    let rest = &whole[at..];
    let is_word = |c: char| is_part(c) || (kind == Kind::Command && c == ':');
    let to = match kind {
        Kind::Key => at,
        Kind::Value => at + rest.len(),
        Kind::Command | Kind::Path => at + rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
    };
    let count = |end: usize| whole[..end].chars().count() + 1;
    let span =
        Span { start: start + from, end: start + to, line, column: count(from), end_line: line, end_column: count(to) };
    Some(Typed { kind, partial: before[from..].trim_start_matches(['"', '\'']).to_owned(), span })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_up_to_the_cursor_says_what_is_typed() {
        for (line, kind, partial) in [
            ("    run: hosting:ap", Kind::Command, "hosting:ap"),
            ("  - run: ", Kind::Command, ""),
            ("      na", Kind::Key, "na"),
            ("      ", Kind::Key, ""),
            ("      app: ", Kind::Value, ""),
            ("      app: stea", Kind::Value, "stea"),
            ("      app: ${{ steps.cre", Kind::Path, "steps.cre"),
            ("      app: \"${{ inputs.a || steps.", Kind::Path, "steps."),
        ] {
            let text = format!("a: 1\n{line}\nb: 2\n");
            let found = typed(&text, 2, line.len() + 1).unwrap();
            assert_eq!((found.kind, found.partial.as_str()), (kind, partial), "{line}");
            assert_eq!(text[found.span.bytes()].trim_start_matches('"'), partial, "{line}");
        }
        assert_eq!(typed("    with:", 1, 10), None);
        let inside = typed("app: ${{ steps.a.out }}", 1, 16).unwrap();
        assert_eq!((inside.partial.as_str(), inside.span.end_column), ("steps.", 21));
    }
}
