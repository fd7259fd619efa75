//! Fills a caller's values into a prompt's text, by the rules of the agent that the prompt was written for.

use std::collections::BTreeMap;

use super::dialect::{self, Dialect, Piece, Placeholder};
use super::word_names::{LINE, Names, number_of};
use crate::template;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_store::prompts::Argument;

/// A prompt to render.
#[derive(Clone, Copy, Debug)]
pub struct CommandText<'s> {
    pub name: &'s str,
    /// The syntax of the prompt's placeholders; `None` for Jinja.
    pub dialect: Option<Dialect>,
    /// The front matter of the imported file, if the prompt was imported.
    pub front_matter: Option<&'s str>,
    pub text: &'s str,
    pub declared: &'s [Argument],
}

/// Renders a prompt. Fails with `E_INVALID_ARGUMENT` if a required argument is missing, and with `E_TOO_LARGE` if the
/// result would have more than `limit` bytes. A Jinja template can also fail in other ways; see [`template::render`].
pub fn fill(source: &CommandText<'_>, given: &BTreeMap<String, String>, limit: u64) -> Result<String> {
    let Some(dialect) = source.dialect else {
        return template::render(source.name, source.text, source.declared, given, limit);
    };
    if let Some(missing) =
        source.declared.iter().find(|argument| argument.required && !given.contains_key(&argument.name))
    {
        return Err(template::missing(source.name, &missing.name));
    }
    let names = Names::of(dialect, source.front_matter);
    let typed = Typed::of(dialect, &names, given);
    let mut output = Output { text: String::new(), limit, name: source.name };
    // Claude Code drops the empty lines between front matter and text.
    let behind_matter = dialect == Dialect::Claude && source.front_matter.is_some();
    let text = if behind_matter { source.text.trim_start() } else { source.text };
    let pieces = dialect::pieces(dialect, text, &names.0);
    let last = pieces.iter().filter_map(Piece::word).max();
    let mut changed = false;
    for piece in &pieces {
        let Piece::Placeholder(place, what) = piece else {
            output.push(piece.typed())?;
            continue;
        };
        let value = match *what {
            Placeholder::All => typed.line.clone(),
            Placeholder::Nothing => "undefined".to_owned(),
            Placeholder::Word(word) if dialect == Dialect::OpenCode && Some(word) == last => typed.from(word),
            Placeholder::Word(word) => match typed.words.get(word).and_then(Option::as_ref) {
                Some(value) => value.clone(),
                None if dialect == Dialect::Claude && is_number(place) => (*place).to_owned(),
                None => String::new(),
            },
        };
        changed |= dialect == Dialect::OpenCode || value != *place;
        output.push(&value)?;
    }
    if !changed && !typed.line.is_empty() {
        output.push(if dialect == Dialect::Claude { "\n\nARGUMENTS: " } else { "\n\n" })?;
        output.push(&typed.line)?;
    }
    // OpenCode trims the text before it sends it.
    Ok(if dialect == Dialect::OpenCode { output.text.trim().to_owned() } else { output.text })
}

/// Returns whether a placeholder is numbered, such as `$1`. If the user types too few words, Claude Code leaves numbered
/// placeholders in the text and removes named ones.
fn is_number(place: &str) -> bool {
    place.starts_with("$ARGUMENTS[") || place[1..].starts_with(|c: char| c.is_ascii_digit())
}

/// The arguments, as the user of an agent would type them after the command.
struct Typed {
    line: String,
    words: Vec<Option<String>>,
}

impl Typed {
    /// Builds the typed line from values by name. The value of `arguments` is the whole line; any other value is one word.
    fn of(dialect: Dialect, names: &Names, given: &BTreeMap<String, String>) -> Self {
        /// A limit above any real number of words, so that a name such as `arg99999` does not allocate that many.
        const MAX_WORDS: usize = 1000;
        let line = given.get(LINE).filter(|_| names.position(LINE).is_none());
        let mut words: Vec<Option<String>> =
            line.map(|line| dialect::split(dialect, line).into_iter().map(Some).collect()).unwrap_or_default();
        for (name, value) in given {
            let position = names.position(name).or_else(|| number_of(dialect, name));
            if let Some(position) = position.filter(|position| *position < MAX_WORDS) {
                words.resize(words.len().max(position + 1), None);
                words[position] = Some(value.clone());
            }
        }
        let line = match line {
            Some(line) => line.trim().to_owned(),
            // A single value stays unquoted, because the line is not split again.
            None => match words.iter().flatten().collect::<Vec<_>>().as_slice() {
                [only] => (*only).clone(),
                several => dialect::join(several.iter().map(|word| word.as_str())),
            },
        };
        Self { line, words }
    }

    /// Returns this word and all words after it, as text.
    fn from(&self, word: usize) -> String {
        let words: Vec<&str> = self.words.iter().skip(word).flatten().map(String::as_str).collect();
        words.join(" ")
    }
}

struct Output<'n> {
    text: String,
    limit: u64,
    name: &'n str,
}

impl Output<'_> {
    /// Appends text. Checks the size limit each time, because a placeholder may occur any number of times.
    fn push(&mut self, text: &str) -> Result<()> {
        if (self.text.len() + text.len()) as u64 > self.limit {
            let message = format!("The rendered text of prompt '{}' is larger than {} bytes", self.name, self.limit);
            return Err(Error::new(Code::TooLarge, message));
        }
        self.text.push_str(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(dialect: Dialect, front: Option<&str>, text: &str, given: &[(&str, &str)]) -> String {
        let given = given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let source = CommandText { name: "p", dialect: Some(dialect), front_matter: front, text, declared: &[] };
        fill(&source, &given, 1 << 20).unwrap()
    }

    fn line(line: &str) -> [(&str, &str); 1] {
        [("arguments", line)]
    }

    #[test]
    fn a_line_is_filled_in_as_claude_code_does() {
        let named = Some("---\narguments: [topic, reader]\n---\n");
        for (front, text, typed, expected) in [
            (
                named,
                "Explain $topic to $reader",
                "'sorting algorithms' juniors",
                "Explain sorting algorithms to juniors",
            ),
            (named, "Explain $topic to $reader", "sorting", "Explain sorting to "),
            (named, "none here", "x y z", "none here\n\nARGUMENTS: x y z"),
            (named, "$0 [$topic] $1", "", "$0 [] $1"),
            (named, "\n\n  plain $0", "y", "plain y"),
            (Some("---\narguments: topic, reader\n---\n"), "[$topic] [$reader] [$0]", "x y", "[$topic] [y] [x]"),
            (Some("---\narguments: topic reader\n---\n"), "[$topic] [$reader]", "x y", "[x] [y]"),
            (Some("---\narguments:\n- name: topic\n---\n"), "[$topic] [$0]", "x y", "[$topic] [x]"),
            (None, "a $0 b $1 c $ARGUMENTS e", "x", "a x b $1 c x e"),
            (None, "a $0 b $ARGUMENTS e", "", "a $0 b  e"),
            (None, "a $0 d $ARGUMENTS e", "x 'y z' w", "a x d x 'y z' w e"),
            (None, r"costs $0.50 or \$0.50 or \\$0.50", "x", r"costs x.50 or $0.50 or \\x.50"),
            (None, r"costs \$0.50 $5", "x", "costs $0.50 $5\n\nARGUMENTS: x"),
            (None, "plain\n", "x", "plain\n\n\nARGUMENTS: x"),
            (None, "plain", "", "plain"),
        ] {
            assert_eq!(filled(Dialect::Claude, front, text, &line(typed)), expected, "{text} with {typed}");
        }
    }

    #[test]
    fn a_line_is_filled_in_as_opencode_does() {
        for (text, typed, expected) in [
            ("$1 and $2", "a b c", "a and b c"),
            ("$1 and $2", "a", "a and"),
            ("$0 $1", "a b", "undefined a b"),
            ("$ARGUMENTS", "a 'b c'", "a 'b c'"),
            ("none", "a b", "none\n\na b"),
        ] {
            assert_eq!(filled(Dialect::OpenCode, None, text, &line(typed)), expected, "{text} with {typed}");
        }
    }

    #[test]
    fn values_by_name_are_words() {
        let named = Some("---\narguments: [topic, reader]\n---\n");
        let given = [("topic", "two words"), ("reader", "me")];
        assert_eq!(filled(Dialect::Claude, named, "$topic|$1|$ARGUMENTS", &given), "two words|me|\"two words\" me");
        assert_eq!(filled(Dialect::Claude, None, "Fix $1, not $0", &[("arg1", "7")]), "Fix 7, not $0");
        assert_eq!(filled(Dialect::OpenCode, None, "Fix $1 of $2", &[("arg1", "7"), ("arg2", "a b")]), "Fix 7 of a b");
        assert_eq!(filled(Dialect::Claude, None, "$0", &[("arg99999999999", "x")]), "$0");
    }

    #[test]
    fn an_answer_stays_within_its_limit() {
        let text = "$ARGUMENTS".repeat(1000);
        let given = BTreeMap::from([("arguments".to_owned(), "x".repeat(1000))]);
        let source =
            CommandText { name: "p", dialect: Some(Dialect::Claude), front_matter: None, text: &text, declared: &[] };
        assert_eq!(fill(&source, &given, 10_000).unwrap_err().code(), Code::TooLarge);
    }
}
