//! Parses `$` placeholders in a command's text, by the rules of the agent that the command was written for.
//!
//! The rules were measured with Claude Code 2.1.330 and OpenCode 1.18.33. `docs/reference/slash-commands.md` lists them in
//! tables, and `tests/e2e` compares them with Claude Code itself.

pub use mcpkg_store::prompts::Dialect;

/// The meaning of a placeholder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Placeholder {
    /// Everything that the user typed after the command.
    All,
    /// One word of the typed text, counted from zero.
    Word(usize),
    /// OpenCode's `$0`, which stands for no word. OpenCode replaces it with `undefined`.
    Nothing,
}

/// A part of a command's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'t> {
    /// Text, without the backslash of an escaped placeholder.
    Text(&'t str),
    /// A placeholder as typed, and its meaning.
    Placeholder(&'t str, Placeholder),
}

impl Piece<'_> {
    /// Returns the piece's text in the file, without an escaping backslash.
    pub fn typed(&self) -> &str {
        match self {
            Self::Text(typed) | Self::Placeholder(typed, _) => typed,
        }
    }

    /// Returns the placeholder's meaning; `None` for text.
    pub fn place(&self) -> Option<Placeholder> {
        match self {
            Self::Placeholder(_, place) => Some(*place),
            Self::Text(_) => None,
        }
    }

    /// Returns the number of the word that the placeholder stands for, counted from zero.
    pub fn word(&self) -> Option<usize> {
        match self {
            Self::Placeholder(_, Placeholder::Word(word)) => Some(*word),
            _ => None,
        }
    }
}

/// Splits a command's text into pieces. `names` are the names of its words, which only Claude Code supports.
pub fn pieces<'t>(dialect: Dialect, text: &'t str, names: &[String]) -> Vec<Piece<'t>> {
    let mut pieces = Vec::new();
    let (mut from, mut at) = (0, 0);
    let push = |pieces: &mut Vec<Piece<'t>>, text: &'t str| {
        if !text.is_empty() {
            pieces.push(Piece::Text(text));
        }
    };
    while let Some(found) = text[at..].find('$') {
        let dollar = at + found;
        let (before, here) = text.split_at(dollar);
        at = dollar + 1;
        if dialect == Dialect::Claude && is_escaped(before) {
            if can_be_escaped(here, names) {
                push(&mut pieces, &text[from..dollar - 1]);
                from = dollar;
            }
        } else if let Some((place, length)) = place(dialect, here, names) {
            push(&mut pieces, &text[from..dollar]);
            at = dollar + length;
            pieces.push(Piece::Placeholder(&text[dollar..at], place));
            from = at;
        }
    }
    push(&mut pieces, &text[from..]);
    pieces
}

/// Escapes what Claude Code would take for a placeholder. A placeholder after a backslash stays unchanged, because
/// another backslash would not escape it.
pub fn escape(text: &str, names: &[String]) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut from = 0;
    for (at, _) in text.match_indices('$') {
        if place(Dialect::Claude, &text[at..], names).is_some() && !text[..at].ends_with('\\') {
            escaped.push_str(&text[from..at]);
            escaped.push('\\');
            from = at;
        }
    }
    escaped + &text[from..]
}

/// Returns Claude Code's placeholder for a meaning. `next` is the text that follows: it must not become part of a name.
pub fn claude(place: Placeholder, names: &[String], next: &str) -> String {
    match place {
        Placeholder::All => "$ARGUMENTS".to_owned(),
        Placeholder::Nothing => "undefined".to_owned(),
        Placeholder::Word(word) => {
            let name = names.get(word).filter(|name| names.iter().position(|known| known == *name) == Some(word));
            let typed = name.map_or_else(|| format!("${word}"), |name| format!("${name}"));
            let stands_alone = !next.starts_with(continues_name);
            if stands_alone { typed } else { format!("$ARGUMENTS[{word}]") }
        }
    }
}

/// Returns whether the text before a placeholder ends with exactly one backslash, which escapes the placeholder.
/// After two or more, Claude Code fills in the placeholder as if there were none.
fn is_escaped(before: &str) -> bool {
    before.ends_with('\\') && !before.ends_with("\\\\")
}

/// Returns whether Claude Code drops a backslash before `here`, which begins with `$`.
fn can_be_escaped(here: &str, names: &[String]) -> bool {
    let word = &here[1..];
    word.starts_with(|c: char| c.is_ascii_digit()) || word.starts_with("ARGUMENTS") || named(word, names).is_some()
}

/// Returns the placeholder at the start of `here`, and its length.
fn place(dialect: Dialect, here: &str, names: &[String]) -> Option<(Placeholder, usize)> {
    const ALL: &str = "ARGUMENTS";
    let word = &here[1..];
    let digits = |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let all = word.starts_with(ALL).then_some((Placeholder::All, 1 + ALL.len()));
    let number = |text: &str| text[..digits(text)].parse::<usize>().ok();
    if dialect == Dialect::OpenCode {
        let numbered = number(word).map(|number| number.checked_sub(1).map_or(Placeholder::Nothing, Placeholder::Word));
        return numbered.map(|place| (place, 1 + digits(word))).or(all);
    }
    if let Some(index) = word.strip_prefix(ALL).and_then(|rest| rest.strip_prefix('['))
        && let Some(number) = number(index)
        && index[digits(index)..].starts_with(']')
    {
        return Some((Placeholder::Word(number), ALL.len() + digits(index) + 3));
    }
    if let Some((index, name)) = named(word, names) {
        return Some((Placeholder::Word(index), 1 + name.len()));
    }
    let ends = !word[digits(word)..].starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    number(word).filter(|_| ends).map(|number| (Placeholder::Word(number), 1 + digits(word))).or(all)
}

/// Finds the longest name at the start of `word`, and its position in `names`. The name must end there: `$files` does
/// not contain the name `file`.
fn named<'n>(word: &str, names: &'n [String]) -> Option<(usize, &'n String)> {
    let begins =
        |name: &&String| word.strip_prefix(name.as_str()).is_some_and(|rest| !rest.starts_with(continues_name));
    let longest = names.iter().filter(begins).max_by_key(|name| name.len())?;
    names.iter().position(|name| name == longest).map(|index| (index, longest))
}

/// Returns whether this character, directly after a name, makes Claude Code read a longer name.
fn continues_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '['
}

/// Splits the text typed after a command into words, as the agent does. Quotes keep a word together.
pub fn split(dialect: Dialect, line: &str) -> Vec<String> {
    match dialect {
        Dialect::Claude => split_like_a_shell(line),
        Dialect::OpenCode => split_at_quotes(line),
    }
}

/// Splits like Claude Code. If a quote is never closed, it and everything after it is plain text.
fn split_like_a_shell(line: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        rest = match c {
            _ if c.is_whitespace() => {
                words.extend(word.take());
                after
            }
            '\'' | '"' => {
                let into = word.get_or_insert_default();
                match closing(after, c) {
                    Some(end) => {
                        into.push_str(&after[..end]);
                        &after[end + 1..]
                    }
                    None => {
                        into.push_str(rest);
                        ""
                    }
                }
            }
            '\\' => {
                let next = after.chars().next();
                word.get_or_insert_default().push(next.unwrap_or('\\'));
                &after[next.map_or(0, char::len_utf8)..]
            }
            _ => {
                word.get_or_insert_default().push(c);
                after
            }
        };
    }
    words.extend(word);
    words
}

/// Returns the position of the closing quote. Within double quotes, a backslash escapes the next character.
fn closing(text: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    text.char_indices().find_map(|(at, c)| {
        let ends = c == quote && !escaped;
        escaped = quote == '"' && c == '\\' && !escaped;
        ends.then_some(at)
    })
}

fn split_at_quotes(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        let end = match c {
            '\'' | '"' => rest[1..].find(c).map_or(1, |end| end + 2),
            _ if c.is_whitespace() => c.len_utf8(),
            _ => rest.find(|c: char| c.is_whitespace() || c == '\'' || c == '"').unwrap_or(rest.len()),
        };
        let (word, after) = rest.split_at(end);
        if !c.is_whitespace() && word != "'" && word != "\"" {
            words.push(word.trim_matches(['\'', '"']).to_owned());
        }
        rest = after;
    }
    words
}

/// Joins words into a line as a user would type them, with quotes where needed.
pub fn join<'w>(words: impl IntoIterator<Item = &'w str>) -> String {
    let quoted = |word: &str| {
        let plain = !word.is_empty() && !word.contains(|c: char| c.is_whitespace() || c == '"' || c == '\'');
        match (plain, word.contains('"')) {
            (true, _) => word.to_owned(),
            (false, false) => format!("\"{word}\""),
            (false, true) => format!("'{word}'"),
        }
    };
    words.into_iter().map(quoted).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    /// Returns the text with each placeholder's meaning in brackets.
    fn shown(dialect: Dialect, text: &str, named: &[&str]) -> String {
        let show = |piece: &Piece<'_>| match piece {
            Piece::Text(text) => (*text).to_owned(),
            Piece::Placeholder(_, Placeholder::All) => "[all]".to_owned(),
            Piece::Placeholder(_, Placeholder::Word(word)) => format!("[{word}]"),
            Piece::Placeholder(_, Placeholder::Nothing) => "[nothing]".to_owned(),
        };
        pieces(dialect, text, &names(named)).iter().map(show).collect()
    }

    #[test]
    fn claude_code_knows_positions_names_and_escapes() {
        for (named, text, expected) in [
            (&[][..], "$0 $1 $10 $01 $1-2 $0é", "[0] [1] [10] [1] [1]-2 [0]é"),
            (&[], "$0s $0_ ${1} $ $x $", "$0s $0_ ${1} $ $x $"),
            (&[], "$ARGUMENTS $ARGUMENTSs $ARGUMENTS[x]", "[all] [all]s [all][x]"),
            (&[], "$ARGUMENTS[1]s $ARGUMENTS[01]", "[1]s [1]"),
            (&[], r"\$0 \$0_ \$ARGUMENTS \$x \$ \\$0 \\\$0", r"$0 $0_ $ARGUMENTS \$x \$ \\[0] \\\[0]"),
            (&["a", "ab"], "$a$ab $abc $a_ $a[ $a- $1 ${a} $A", "[0][1] $abc $a_ $a[ [0]- [1] ${a} $A"),
            (&["my-topic"], r"$my-topic $my \$my-topic", "[0] $my $my-topic"),
            (&["topic,", "reader"], "$topic $topic, $reader", "$topic [0] [1]"),
        ] {
            assert_eq!(shown(Dialect::Claude, text, named), expected, "{text}");
        }
    }

    #[test]
    fn opencode_counts_from_one() {
        assert_eq!(
            shown(Dialect::OpenCode, r"$0 $1 $2x $ARGUMENTSs \$1 $name", &[]),
            r"[nothing] [0] [1]x [all]s \[0] $name"
        );
    }

    #[test]
    fn words_are_split_as_the_agents_do() {
        for (line, words) in [
            ("'sorting algorithms' juniors", &["sorting algorithms", "juniors"][..]),
            (r#" a\ b "c \" d" e'f g'h "" "#, &["a b", r#"c \" d"#, "ef gh", ""]),
            ("a it's fine", &["a", "it's fine"]),
            (r#"a "b c"#, &["a", r#""b c"#]),
            (r"\n \\", &["n", r"\"]),
        ] {
            assert_eq!(split(Dialect::Claude, line), words, "{line}");
        }
        assert_eq!(split(Dialect::OpenCode, r#"a "b c" 'd' it's x"#), ["a", "b c", "d", "it", "s", "x"]);
        assert_eq!(join(["a", "b c", "", "d\"e"]), r#"a "b c" "" 'd"e'"#);
    }

    #[test]
    fn escaped_placeholders_are_read_as_text() {
        for (text, named) in [("costs $0.50 or $5", &[][..]), ("$topic and $ARGUMENTS, $x", &["topic"]), ("$$0", &[])] {
            let escaped = escape(text, &names(named));
            assert_ne!(escaped, text);
            assert_eq!(shown(Dialect::Claude, &escaped, named), text);
        }
        assert_eq!(claude(Placeholder::Word(1), &names(&["a", "b"]), "s"), "$ARGUMENTS[1]");
        assert_eq!(claude(Placeholder::Word(1), &names(&["a", "b"]), "."), "$b");
    }
}
