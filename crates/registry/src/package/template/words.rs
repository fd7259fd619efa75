//! Splits a command line into arguments as a shell would, before any value is inserted.

use super::piece::{Piece, literal, template};

/// Splits a text at whitespace. Quotes group words, and a backslash escapes the next character, as in a shell. A
/// `{{param}}` may contain whitespace, inside or outside of quotes.
pub(super) fn split(text: &str) -> Result<Vec<Vec<Piece>>, String> {
    let mut arguments = Vec::new();
    let mut current: Option<Vec<Piece>> = None;
    let mut quote = None;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if let Some(inside) = rest.strip_prefix("{{") {
            let (piece, after) = template(inside)?;
            current.get_or_insert_default().push(piece);
            rest = after;
            continue;
        }
        rest = &rest[c.len_utf8()..];
        match (quote, c) {
            (None, '\'' | '"') => {
                quote = Some(c);
                // Empty quotes also make an argument.
                current.get_or_insert_default();
            }
            (Some(open), _) if open == c => quote = None,
            (None, _) if c.is_ascii_whitespace() => arguments.extend(current.take()),
            (None | Some('"'), '\\') => {
                let Some(next) = rest.chars().next() else {
                    return Err("it ends with a backslash".to_owned());
                };
                let argument = current.get_or_insert_default();
                // Inside double quotes, a backslash escapes only these characters.
                if quote.is_some() && !matches!(next, '"' | '\\' | '$' | '`' | '\n' | '{') {
                    literal(argument, "\\");
                }
                rest = &rest[next.len_utf8()..];
                if next != '\n' {
                    literal(argument, next.encode_utf8(&mut [0; 4]));
                }
            }
            _ => literal(current.get_or_insert_default(), c.encode_utf8(&mut [0; 4])),
        }
    }
    if quote.is_some() {
        return Err("a quote is not closed".to_owned());
    }
    arguments.extend(current);
    Ok(arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        let shown = |piece: &Piece| match piece {
            Piece::Literal(text) => text.clone(),
            Piece::Value(name) => format!("<{name}>"),
            Piece::File(name) => format!("<file {name}>"),
        };
        split(text).unwrap().iter().map(|argument| argument.iter().map(shown).collect()).collect()
    }

    #[test]
    fn x21_blanks_in_templates_and_quotes_group() {
        assert_eq!(shown("python main.py {{ city }}"), ["python", "main.py", "<city>"]);
        assert_eq!(shown("a '{{x}} b' \"{{ y }}\""), ["a", "<x> b", "<y>"]);
        assert_eq!(shown("a --name='{{x}}'\t{{x}}{{y}}\n-"), ["a", "--name=<x>", "<x><y>", "-"]);
        assert_eq!(shown("cat {{file: text }}"), ["cat", "<file text>"]);
    }

    #[test]
    fn text_is_split_as_a_shell_would() {
        assert_eq!(shown("a  b\\ c ''  \"d'e\" 'f\"g'h"), ["a", "b c", "", "d'e", "f\"gh"]);
        assert_eq!(shown(r#""a\"b" "c\d" e\\f"#), ["a\"b", "c\\d", "e\\f"]);
        assert_eq!(shown("a\\{{b"), ["a{{b"]);
        assert_eq!(shown("  "), Vec::<String>::new());
        for text in ["a b 'c d' \"e f\"", "x\\ y", "a''b \"\" c", "a\"b\\\\\"c"] {
            assert_eq!(shown(text), shlex::split(text).unwrap(), "{text}");
        }
    }

    #[test]
    fn a_malformed_command_line_is_refused_with_the_reason() {
        for (text, says) in [
            ("a 'b", "quote"),
            ("a \\", "backslash"),
            ("a {{b", "no `}}`"),
            ("a {{}}", "names no parameter"),
            ("a {{b c}}", "names no parameter"),
            ("a {{.Name}}", "names no parameter"),
            ("a {{file:}}", "names no parameter"),
        ] {
            assert!(split(text).unwrap_err().contains(says), "{text}");
        }
    }
}
