//! What a terminal shows. Texts of others reach it in one way: as a part of a [`Shown`], which marks what they hide.

use anstyle::{AnsiColor, Style};
use unicode_width::UnicodeWidthChar;

use crate::marks;
use crate::op::{Body, cell};
use crate::present;

pub(super) const RED: Style = AnsiColor::Red.on_default();
pub(super) const GREEN: Style = AnsiColor::Green.on_default();
pub(super) const YELLOW: Style = AnsiColor::Yellow.on_default();
pub(super) const CYAN: Style = AnsiColor::Cyan.on_default();
pub(super) const BOLD: Style = Style::new().bold();

/// Begins a row that goes on with the line above it.
const GOES_ON: &str = "↳ ";

/// Characters of a line that a question shows: four rows of a narrow terminal.
const LONGEST: usize = 320;

/// Text for a terminal or a pipe: parts, each with the style that the shell gives it.
#[derive(Clone, Debug, Default)]
pub(super) struct Shown(Vec<(Style, String)>);

impl Shown {
    /// Returns a text without a style.
    pub(super) fn plain(text: impl Into<String>) -> Self {
        Self::default().then(text)
    }

    /// Returns a text with a style.
    pub(super) fn styled(style: Style, text: impl Into<String>) -> Self {
        Self(vec![(style, text.into())])
    }

    /// Adds a text without a style.
    pub(super) fn then(mut self, text: impl Into<String>) -> Self {
        self.0.push((Style::new(), text.into()));
        self
    }

    /// Adds a part after this one.
    pub(super) fn and(mut self, more: Self) -> Self {
        self.0.extend(more.0);
        self
    }

    /// Returns it without the end of its last line, for what is typed behind it.
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

    /// Returns a unified diff with its colors.
    pub(super) fn diff(text: &str) -> Self {
        text.split_inclusive('\n').fold(Self::default(), |shown, line| match of_diff(line) {
            Some(style) => shown.and(Self::styled(style, line.trim_end_matches('\n'))).then("\n"),
            None => shown.then(line),
        })
    }

    /// Returns the text with its styles: for a terminal with marks instead of what acts there or is not seen.
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

/// The lines that a person reads before they answer.
pub(super) struct Lines(Vec<(Style, String)>);

impl Lines {
    /// Returns those of a body, whose tables are so wide.
    pub(super) fn of(body: Body, width: u16) -> Self {
        let mut lines = Self(Vec::new());
        lines.add(body, width);
        lines
    }

    /// Returns a question as the only line, and whether a part of it was left out: its beginning and its end stay.
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

    /// Returns the lines as rows of so many columns: those that go on with a line begin with a mark. Where `cut`, a long line ends
    /// with its size. Also returns how many rows there are, and whether any line was cut.
    pub(super) fn rows(&self, columns: u16, cut: bool) -> (Shown, usize, bool) {
        let (mut shown, mut count, mut is_cut) = (Shown::default(), 0, false);
        for (style, line) in &self.0 {
            let short = line.char_indices().nth(LONGEST).filter(|_| cut).map(|(end, _)| {
                is_cut = true;
                format!("{}… (cut; the line has {} characters)", &line[..end], line.chars().count())
            });
            for row in wrapped(short.as_deref().unwrap_or(line), usize::from(columns)) {
                shown = shown.and(Shown::styled(*style, row)).then("\n");
                count += 1;
            }
        }
        (shown, count, is_cut)
    }
}

/// Returns a line as rows of so many columns, which end behind a blank where one is near.
fn wrapped(line: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(8);
    let mut rows = vec![String::new()];
    let mut room = columns;
    for c in line.chars() {
        let width = columns_of(c);
        if width > room {
            let mut next = GOES_ON.to_owned();
            if let Some(row) = rows.last_mut() {
                let blank = row.rfind(' ').map(|at| at + 1).filter(|at| *at > row.len() / 2 && *at < row.len());
                next.push_str(&row.split_off(blank.unwrap_or(row.len())));
            }
            room = columns.saturating_sub(next.chars().map(columns_of).sum());
            rows.push(next);
        }
        room = room.saturating_sub(width);
        if let Some(row) = rows.last_mut() {
            row.push(c);
        }
    }
    rows
}

/// Returns how many columns a character may take: a terminal that takes fewer breaks no row that we did not break.
fn columns_of(c: char) -> usize {
    match c {
        // It makes the one before it an emoji, which is wider.
        '\u{fe0f}' => 1,
        // Half of a flag; alone it is as wide as one.
        '\u{1f1e6}'..='\u{1f1ff}' => 2,
        _ => c.width().unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_others_have_no_style_on_a_terminal_and_are_left_alone_in_a_pipe() {
        let shown = Shown::styled(BOLD, "a\x1b[31m").then("\u{202e}b");
        assert_eq!(shown.written(true), "\x1b[1ma^[[31m\x1b[0m<U+202E>b");
        assert_eq!(shown.written(false), "\x1b[1ma\x1b[31m\x1b[0m\u{202e}b");
        let diff = Shown::diff("--- a\n+\x1b]52;c;eA==\x07\n x\n");
        assert_eq!(diff.written(true), "\x1b[1m--- a\x1b[0m\n\x1b[32m+^[]52;c;eA==^G\x1b[0m\n x\n");
    }

    #[test]
    fn a_line_goes_on_with_a_mark_and_is_cut_with_its_size() {
        assert_eq!(wrapped("0123456789ab", 8), ["01234567", "↳ 89ab"]);
        assert_eq!(wrapped("日本語日本", 8), ["日本語日", "↳ 本"]);
        // Behind a blank, unless the row would lose more than half.
        assert_eq!(wrapped("01 3456789", 8), ["01 34567", "↳ 89"]);
        assert_eq!(wrapped("012345 789", 8), ["012345 ", "↳ 789"]);
        assert_eq!(
            wrapped("⚠\u{fe0f}⚠\u{fe0f}⚠\u{fe0f}⚠\u{fe0f}!", 8),
            ["⚠\u{fe0f}⚠\u{fe0f}⚠\u{fe0f}⚠\u{fe0f}", "↳ !"]
        );
        assert_eq!(wrapped("", 8), [""]);
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
