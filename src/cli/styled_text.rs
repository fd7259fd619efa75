//! Builds text for a terminal. [`StyledText`] makes hidden characters visible, because stored text is not trusted.

use anstyle::{AnsiColor, Style};
use unicode_width::UnicodeWidthChar;

use mcpkg_base::marks;
use mcpkg_core::op::{Body, cell};
use mcpkg_core::present;

pub(super) const RED: Style = AnsiColor::Red.on_default();
pub(super) const GREEN: Style = AnsiColor::Green.on_default();
pub(super) const YELLOW: Style = AnsiColor::Yellow.on_default();
pub(super) const CYAN: Style = AnsiColor::Cyan.on_default();
pub(super) const BOLD: Style = Style::new().bold();

/// The mark at the start of a row that continues the line above.
const GOES_ON: &str = "↳ ";

/// The number of characters of a long line that a preview shows: four rows of a narrow terminal.
const LONGEST: usize = 320;

/// Text for a terminal or a pipe, in parts that each have a style.
#[derive(Clone, Debug, Default)]
pub(super) struct StyledText(Vec<(Style, String)>);

impl StyledText {
    pub(super) fn plain(text: impl Into<String>) -> Self {
        Self::default().then(text)
    }

    pub(super) fn styled(style: Style, text: impl Into<String>) -> Self {
        Self(vec![(style, text.into())])
    }

    /// Appends text without a style.
    pub(super) fn then(mut self, text: impl Into<String>) -> Self {
        self.0.push((Style::new(), text.into()));
        self
    }

    /// Appends another text.
    pub(super) fn and(mut self, more: Self) -> Self {
        self.0.extend(more.0);
        self
    }

    /// Removes the newline at the end, so that the person types on the same line.
    pub(super) fn without_end(mut self) -> Self {
        if self.0.last().is_some_and(|(_, text)| text == "\n") {
            self.0.pop();
        }
        self
    }

    /// Returns the text for a terminal, without styles.
    pub(super) fn plainly(&self) -> String {
        self.0.iter().map(|(_, text)| marks::text(text)).collect()
    }

    pub(super) fn diff(text: &str) -> Self {
        text.split_inclusive('\n').fold(Self::default(), |shown, line| match of_diff(line) {
            Some(style) => shown.and(Self::styled(style, line.trim_end_matches('\n'))).then("\n"),
            None => shown.then(line),
        })
    }

    /// Returns the text with its styles. For a terminal, visible marks replace control characters and invisible characters.
    pub(super) fn written(&self, for_terminal: bool) -> String {
        let mut written = String::new();
        for (style, text) in &self.0 {
            let text = if for_terminal { marks::text(text) } else { text.as_str().into() };
            written.push_str(&format!("{style}{text}{style:#}"));
        }
        written
    }
}

fn of_diff(line: &str) -> Option<Style> {
    match line.as_bytes().first() {
        _ if line.starts_with("+++ ") || line.starts_with("--- ") => Some(BOLD),
        Some(b'+') => Some(GREEN),
        Some(b'-') => Some(RED),
        Some(b'@') => Some(CYAN),
        _ => None,
    }
}

/// The lines that a person reads before they answer a question.
pub(super) struct Lines(Vec<(Style, String)>);

impl Lines {
    /// Returns the lines of a body, with tables of this width.
    pub(super) fn of(body: Body, width: u16) -> Self {
        let mut lines = Self(Vec::new());
        lines.add(body, width);
        lines
    }

    /// Returns a question as one line, and whether its middle was cut out.
    pub(super) fn question(text: &str) -> (Self, bool) {
        let text = marks::line(text);
        let one = |text: String| Self(vec![(Style::new(), text)]);
        let count = text.chars().count();
        if count <= 3 * LONGEST {
            return (one(text.into_owned()), false);
        }
        let (start, end) = (text.chars().take(2 * LONGEST), text.chars().skip(count - LONGEST / 2));
        (
            one(format!("{} … ({count} characters in all) … {}", start.collect::<String>(), end.collect::<String>())),
            true,
        )
    }

    /// Returns these lines with `more` appended to the last one.
    pub(super) fn ending_with(&self, more: &str) -> Self {
        let mut lines = self.0.clone();
        if let Some((_, last)) = lines.last_mut() {
            last.push_str(more);
        }
        Self(lines)
    }

    fn add(&mut self, body: Body, width: u16) {
        match body {
            Body::Sentence(text) | Body::Text(text) => self.plain(&text),
            Body::Diff(text) => self.text(&text, |line| of_diff(line).unwrap_or_default()),
            Body::Table(table) if table.rows.is_empty() => self.plain(&table.empty),
            Body::Table(table) => {
                let text = present::aligned(&table, Some(width));
                let (heading, rows) = text.split_once('\n').unwrap_or((&text, ""));
                self.text(heading, |_| BOLD);
                self.plain(rows);
            }
            Body::Media(media) => self.plain(&format!("{} bytes", media.bytes.len())),
            Body::Several(bodies) => bodies.into_iter().for_each(|body| self.add(body, width)),
            Body::Below(folder, body) => {
                if !present::is_empty(&body) {
                    self.plain(&format!("Below {}:", cell(&folder)));
                }
                self.add(present::relative(*body, &folder), width);
            }
        }
    }

    fn plain(&mut self, text: &str) {
        self.text(text, |_| Style::new());
    }

    fn text(&mut self, text: &str, style: impl Fn(&str) -> Style) {
        let line = |line: &str| (style(line), marks::text(&line.replace('\t', "    ")).into_owned());
        self.0.extend(text.lines().map(line));
    }

    /// Wraps the lines to this many columns. A mark begins each row that continues a line. With `cut`, a long line is
    /// cut and ends with its size. Also returns the number of rows, and whether any line was cut.
    pub(super) fn rows(&self, columns: u16, cut: bool) -> (StyledText, usize, bool) {
        let (mut shown, mut count, mut is_cut) = (StyledText::default(), 0, false);
        for (style, line) in &self.0 {
            let short = line.char_indices().nth(LONGEST).filter(|_| cut).map(|(end, _)| {
                is_cut = true;
                format!("{}… (cut; the line has {} characters)", &line[..end], line.chars().count())
            });
            for row in wrapped(short.as_deref().unwrap_or(line), usize::from(columns)) {
                shown = shown.and(StyledText::styled(*style, row)).then("\n");
                count += 1;
            }
        }
        (shown, count, is_cut)
    }
}

/// Wraps a line to this many columns. A row ends after a space if there is one in its second half. A grapheme, which
/// may consist of several characters, is split only if it is wider than a row.
pub(super) fn wrapped(line: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(8);
    let mut rows = vec![String::new()];
    let mut room = columns;
    for sign in signs(line, columns - GOES_ON.chars().count()) {
        let width = sign.chars().map(columns_of).sum();
        if width > room {
            let mut next = GOES_ON.to_owned();
            if let Some(row) = rows.last_mut() {
                let blank = row.rfind(' ').map(|at| at + 1).filter(|at| *at > row.len() / 2 && *at < row.len());
                next.push_str(&row.split_off(blank.unwrap_or(row.len())));
            }
            room = columns.saturating_sub(next.chars().map(columns_of).sum());
            if width > room {
                rows.push(std::mem::replace(&mut next, GOES_ON.to_owned()));
                room = columns - GOES_ON.chars().count();
            }
            rows.push(next);
        }
        room = room.saturating_sub(width);
        if let Some(row) = rows.last_mut() {
            row.push_str(sign);
        }
    }
    rows
}

/// Splits a line into graphemes. A terminal draws a grapheme as one character: a letter with its accents, an emoji of
/// several characters, a flag. A grapheme that is wider than a row is split.
fn signs(line: &str, columns: usize) -> Vec<&str> {
    let mut signs = Vec::new();
    let (mut start, mut width, mut before) = (0, 0, None);
    for (at, c) in line.char_indices() {
        let goes_on = before.is_some_and(|before| is_one_sign(&line[start..at], before, c));
        if at > start && (!goes_on || width + columns_of(c) > columns) {
            signs.push(&line[start..at]);
            (start, width) = (at, 0);
        }
        width += columns_of(c);
        before = Some(c);
    }
    signs.extend((start < line.len()).then(|| &line[start..]));
    signs
}

/// Returns whether the character `c` continues the grapheme `sign`, which ends with `before`.
fn is_one_sign(sign: &str, before: char, c: char) -> bool {
    let is_flag = |c: char| matches!(c, '\u{1f1e6}'..='\u{1f1ff}');
    // These characters continue a grapheme: skin tones, the variation selector, any character after a joiner,
    // characters without a width of their own, and the second half of a flag.
    matches!(c, '\u{fe0f}' | '\u{1f3fb}'..='\u{1f3ff}')
        || before == '\u{200d}'
        || columns_of(c) == 0
        || is_flag(before) && is_flag(c) && sign.chars().count() == 1
}

/// Wraps a text between words to this many columns. Text in backticks stays in one row, because people copy it. If it
/// is longer than a row, the terminal wraps it.
pub(super) fn folded(text: &str, columns: usize) -> Vec<String> {
    let mut rows = vec![String::new()];
    let (mut room, mut rest) = (columns, text);
    while !rest.is_empty() {
        let (unit, behind) = rest.split_at(unit(rest));
        rest = behind.trim_start_matches(' ');
        let width = unit.chars().map(columns_of).sum::<usize>();
        if let Some(row) = rows.last_mut().filter(|row| row.is_empty() || width < room) {
            if !row.is_empty() {
                row.push(' ');
                room = room.saturating_sub(1);
            }
            row.push_str(unit);
            room = room.saturating_sub(width);
        } else {
            rows.push(unit.to_owned());
            room = columns.saturating_sub(width);
        }
    }
    rows
}

/// Returns the number of bytes at the start of a text that stay together: up to the first space outside backticks.
fn unit(text: &str) -> usize {
    let (mut at, mut is_code) = (0, false);
    while let Some(found) = text[at..].find([' ', '`']) {
        let place = at + found;
        let is_blank = text.as_bytes()[place] == b' ';
        if is_blank && !is_code {
            return place;
        }
        // A backtick without a closing one is ordinary text.
        is_code = is_blank || !is_code && text[place + 1..].contains('`');
        at = place + 1;
    }
    text.len()
}

/// Returns the maximum width of a character on any terminal, so that no terminal wraps a row by itself.
fn columns_of(c: char) -> usize {
    match c {
        // The variation selector turns the character before it into an emoji, which is one column wider.
        '\u{fe0f}' => 1,
        // One half of a flag. Alone, it is as wide as a whole flag.
        '\u{1f1e6}'..='\u{1f1ff}' => 2,
        _ => c.width().unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_marked_on_a_terminal_and_unchanged_in_a_pipe() {
        let shown = StyledText::styled(BOLD, "a\x1b[31m").then("\u{202e}b");
        assert_eq!(shown.written(true), "\x1b[1ma^[[31m\x1b[0m<U+202E>b");
        assert_eq!(shown.written(false), "\x1b[1ma\x1b[31m\x1b[0m\u{202e}b");
        let diff = StyledText::diff("--- a\n+\x1b]52;c;eA==\x07\n x\n");
        assert_eq!(diff.written(true), "\x1b[1m--- a\x1b[0m\n\x1b[32m+^[]52;c;eA==^G\x1b[0m\n x\n");
    }

    #[test]
    fn rows_end_between_words_and_commands_stay_whole() {
        assert_eq!(folded("one two `three four` five", 12), ["one two", "`three four`", "five"]);
        assert_eq!(folded("a `command that is longer` b", 10), ["a", "`command that is longer`", "b"]);
        assert_eq!(folded("it's ` a b", 4), ["it's", "` a", "b"]);
        assert_eq!(folded("日本 日本", 6), ["日本", "日本"]);
        assert_eq!(folded("", 8), [""]);
    }

    #[test]
    fn each_further_row_of_a_line_starts_with_a_mark() {
        assert_eq!(wrapped("0123456789ab", 8), ["01234567", "↳ 89ab"]);
        assert_eq!(wrapped("日本語日本", 8), ["日本語日", "↳ 本"]);
        // A row breaks after a blank, unless more than half of the row would then stay empty.
        assert_eq!(wrapped("01 3456789", 8), ["01 34567", "↳ 89"]);
        assert_eq!(wrapped("012345 789", 8), ["012345 ", "↳ 789"]);
        assert_eq!(
            wrapped("⚠\u{fe0f}⚠\u{fe0f}⚠\u{fe0f}⚠\u{fe0f}!", 8),
            ["⚠\u{fe0f}⚠\u{fe0f}⚠\u{fe0f}⚠\u{fe0f}", "↳ !"]
        );
        assert_eq!(wrapped("", 8), [""]);
    }

    #[test]
    fn a_grapheme_of_several_characters_stays_whole() {
        for (sign, columns) in [
            ("⚠\u{fe0f}", 2),
            ("👩\u{200d}💻", 4),
            ("❤\u{fe0f}\u{200d}🔥", 4),
            ("👍\u{1f3fd}", 4),
            ("🇩🇪", 4),
            ("e\u{301}", 1),
        ] {
            let begins = "0".repeat(8 - columns + 1);
            assert_eq!(wrapped(&format!("{begins}{sign}!"), 8), [begins, format!("↳ {sign}!")], "{sign}");
            let fits = format!("{}{sign}", "0".repeat(8 - columns));
            assert_eq!(wrapped(&format!("{fits}!"), 8), [fits, "↳ !".to_owned()], "{sign}");
        }
        // Two regional indicators make one flag. A grapheme wider than a row is split, and no row is too wide.
        assert_eq!(wrapped("🇩🇪🇫🇷🇮🇹", 8), ["🇩🇪🇫🇷", "↳ 🇮🇹"]);
        for line in ["👩\u{200d}".repeat(40), "ab 🇩🇪🇫🇷 c⚠\u{fe0f}d".repeat(9), format!("x{}", "\u{fe0f}".repeat(50))]
        {
            let rows = wrapped(&line, 8);
            assert!(rows.iter().all(|row| row.chars().map(columns_of).sum::<usize>() <= 8), "{rows:?}");
            assert_eq!(rows.concat().replace(GOES_ON, ""), line);
        }
    }

    #[test]
    fn a_long_line_is_cut_with_its_size() {
        let lines = Lines::of(Body::lines(["a\nb".to_owned(), "x".repeat(400)]), 80);
        let (shown, count, is_cut) = lines.rows(80, true);
        assert_eq!((count, is_cut), (6, true), "{shown:?}");
        let text = shown.written(true);
        assert!(text.starts_with("a^Jb\n") && text.ends_with("… (cut; the line has 400 characters)\n"), "{text}");
        let (question, is_cut) = Lines::question(&format!("Run {}. Consent to it?", "x".repeat(2_000)));
        let (shown, count, _) = question.rows(80, false);
        let text = shown.written(true).replace("\n↳ ", "");
        assert!(is_cut && count <= 12 && text.starts_with("Run x") && text.ends_with("x. Consent to it?\n"), "{text}");
        assert_eq!((lines.rows(80, false).1, lines.rows(80, false).2), (7, false));
    }
}
