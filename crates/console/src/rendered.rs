//! Lines that show rendered Markdown in a terminal.

use crate::line::{Line, Tone};
use crate::markdown::{Part, Piece};

/// Returns the lines to show. They are marked as quoted, because the text may come from anyone.
pub fn lines(pieces: &[Piece]) -> Vec<Line> {
    let mut writer = Writer::default();
    pieces.iter().for_each(|piece| writer.take(piece));
    writer.end_line();
    while writer.lines.last().is_some_and(|line| line.spans.is_empty()) {
        writer.lines.pop();
    }
    writer.lines
}

#[derive(Default)]
struct Writer {
    lines: Vec<Line>,
    line: Line,
    /// The prefixes of each line: one for each quote and list item around it.
    indent: Vec<&'static str>,
    /// The next number of each open list.
    lists: Vec<Option<u64>>,
    /// The mark of a list item that has no text yet, such as `- `.
    mark: String,
    /// The number of open parts that make the text strong.
    strong: usize,
}

impl Writer {
    fn take(&mut self, piece: &Piece) {
        match piece {
            Piece::Open(part) => self.open(part),
            Piece::Close(part) => self.close(part),
            Piece::Text(text) => self.push(if self.strong > 0 { Tone::Strong } else { Tone::Plain }, text),
            Piece::Code(text) => self.push(Tone::Name, text),
            Piece::Address(address) => self.push(Tone::Dim, &format!(" ({address})")),
            Piece::Image(_) => self.push(Tone::Dim, "image: "),
            Piece::Break => self.end_line(),
            Piece::Rule => {
                self.push(Tone::Dim, "---");
                self.end();
            }
            Piece::Block(about, text) => {
                self.end_line();
                if !about.is_empty() {
                    self.push(Tone::Dim, &format!("({about})"));
                    self.end_line();
                }
                for line in text.lines() {
                    self.push(Tone::Name, &format!("    {line}"));
                    self.end_line();
                }
                self.end();
            }
        }
    }

    fn open(&mut self, part: &Part) {
        if matches!(part, Part::Paragraph | Part::Heading(_) | Part::Quote | Part::List(_) | Part::Item | Part::Table) {
            self.end_line();
        }
        match part {
            Part::Heading(_) | Part::Strong | Part::Cell(true) => self.strong += 1,
            Part::Quote => self.indent.push("| "),
            Part::List(first) => self.lists.push(*first),
            Part::Item => {
                self.indent.push("  ");
                self.mark = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        let mark = format!("{number}. ");
                        *number = number.saturating_add(1);
                        mark
                    }
                    _ => "- ".to_owned(),
                };
            }
            _ => {}
        }
    }

    fn close(&mut self, part: &Part) {
        match part {
            Part::Heading(_) => {
                self.strong -= 1;
                self.end();
            }
            Part::Strong => self.strong -= 1,
            Part::Cell(is_head) => {
                self.strong -= usize::from(*is_head);
                self.push(Tone::Dim, "  ");
            }
            Part::Row => self.end_line(),
            Part::Paragraph | Part::Table => self.end(),
            Part::Quote => {
                self.end_line();
                self.indent.pop();
            }
            Part::Item => {
                self.end_line();
                self.indent.pop();
                self.mark.clear();
            }
            Part::List(_) => {
                self.lists.pop();
                self.end();
            }
            _ => {}
        }
    }

    /// Adds text to the line, after the indentation if the line begins.
    fn push(&mut self, tone: Tone, text: &str) {
        if self.line.spans.is_empty() {
            let mark = std::mem::take(&mut self.mark);
            let indent = if mark.is_empty() { self.indent.len() } else { self.indent.len() - 1 };
            let indent = format!("{}{mark}", self.indent[..indent].concat());
            self.line = if indent.is_empty() { Line::default() } else { Line::of(Tone::Dim, &indent) };
            self.line.is_quoted = true;
        }
        self.line.is_stop |= Line::quoted(text).is_stop;
        self.line = std::mem::take(&mut self.line).then(tone, text);
    }

    fn end_line(&mut self) {
        if !self.line.spans.is_empty() {
            self.lines.push(std::mem::take(&mut self.line));
        }
    }

    /// Ends the line, and adds a blank line unless it is inside a list.
    fn end(&mut self) {
        self.end_line();
        if self.lists.is_empty() && self.lines.last().is_some_and(|line| !line.spans.is_empty()) {
            self.lines.push(Line { is_quoted: true, ..Line::default() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markdown::pieces;

    #[test]
    fn markdown_reads_as_lines() {
        let text = "# Title\n\nSome **bold** `code` [here](https://a.example).\n\n- one\n  continued\n  > q\n\n  1. inner\n  2. next\n- two\n\n> quote\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\n```sh\nls\n```\n<b>x</b>\u{202e}";
        let lines = lines(&pieces(text, ""));
        let shown: Vec<String> = lines.iter().map(|line| line.text().trim_end().to_owned()).collect();
        assert_eq!(
            shown,
            [
                "Title",
                "",
                "Some bold code here (https://a.example).",
                "",
                "- one continued",
                "  | q",
                "  1. inner",
                "  2. next",
                "- two",
                "",
                "| quote",
                "",
                "a  b",
                "1  2",
                "",
                "(sh)",
                "    ls",
                "",
                "<b>x</b><U+202E>",
            ]
        );
        assert!(lines.iter().all(|line| line.is_quoted));
        assert!(lines.last().is_some_and(|line| line.is_stop));
        assert_eq!(lines[0].spans[0].tone, Tone::Strong);
    }
}
