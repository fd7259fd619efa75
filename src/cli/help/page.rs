//! Shows a page of the documentation on a terminal, without the Markdown that only browsers need.

use std::fmt::Write as _;

use anstyle::Style;
use clap::builder::Styles;

use super::super::styled_text::folded;

/// The maximum width of help texts. Longer lines are hard to read.
pub(crate) const WIDEST: u16 = 100;

pub(crate) fn header() -> Style {
    *Styles::styled().get_header()
}

pub(crate) fn literal() -> Style {
    *Styles::styled().get_literal()
}

/// The indentation of code, and of the second and later cells of a table row.
const INDENT: &str = "    ";

/// Returns a Markdown page with terminal styles, wrapped to the given width.
pub(super) fn rendered(markdown: &str, width: u16) -> String {
    let width = usize::from(width).max(20);
    let (mut text, mut paragraph, mut is_code) = (String::new(), String::new(), false);
    for line in markdown.lines() {
        if line.trim_start().starts_with("```") {
            flush(&mut text, &mut paragraph, width);
            is_code = !is_code;
        } else if is_code {
            let _ = writeln!(text, "{}", format!("{INDENT}{line}").trim_end());
        } else if let Some(title) = line.strip_prefix('#') {
            flush(&mut text, &mut paragraph, width);
            let (style, title) = (header(), plain(title.trim_start_matches('#').trim()));
            let _ = writeln!(text, "{style}{title}{style:#}");
        } else if line.starts_with('|') {
            flush(&mut text, &mut paragraph, width);
            row(&mut text, line, width);
        } else if line.is_empty() || line.starts_with("- ") {
            flush(&mut text, &mut paragraph, width);
            paragraph.push_str(line);
            if line.is_empty() && !text.ends_with("\n\n") && !text.is_empty() {
                text.push('\n');
            }
        } else {
            // A backslash at the end of a line forces a line break.
            let gap = match paragraph.strip_suffix('\\') {
                Some(_) => "\n",
                None if paragraph.is_empty() => "",
                None => " ",
            };
            let _ = write!(paragraph, "{gap}{}", line.trim());
        }
    }
    flush(&mut text, &mut paragraph, width);
    text
}

/// Writes the paragraph or list item collected so far.
fn flush(text: &mut String, paragraph: &mut String, width: usize) {
    let (mark, rest) = match paragraph.strip_prefix("- ") {
        Some(rest) => ("- ", rest),
        None => ("", paragraph.as_str()),
    };
    let rest = plain(rest).replace("\\\n", "\n");
    let rows = rest.lines().flat_map(|line| folded(line, width - mark.len())).filter(|row| !row.is_empty());
    for (place, row) in rows.enumerate() {
        let mark = if place == 0 { mark } else { &"  "[..mark.len()] };
        let _ = writeln!(text, "{mark}{row}");
    }
    paragraph.clear();
}

/// Writes a table row: its first cell, and the other cells below it. The separator line under the headings is skipped.
fn row(text: &mut String, line: &str, width: usize) {
    let mut cells: Vec<String> = vec![String::new()];
    let (mut is_code, mut before) = (false, ' ');
    for c in line.trim().trim_matches('|').chars() {
        is_code ^= c == '`';
        match cells.last_mut() {
            Some(cell) if c != '|' || is_code || before == '\\' => cell.push(c),
            _ => cells.push(String::new()),
        }
        before = c;
    }
    let cells: Vec<String> = cells.iter().map(|cell| plain(cell.trim()).replace("\\|", "|")).collect();
    let is_rule = cells.iter().all(|cell| cell.bytes().all(|byte| matches!(byte, b'-' | b':')));
    if is_rule {
        return;
    }
    let (first, others) = cells.split_first().map_or(("", &[][..]), |(first, others)| (first.as_str(), others));
    let (style, others) = (literal(), others.iter().filter(|cell| !cell.is_empty()).cloned().collect::<Vec<_>>());
    for row in folded(first, width) {
        let _ = writeln!(text, "{style}{row}{style:#}");
    }
    for row in folded(&others.join("; "), width - INDENT.len()).iter().filter(|row| !row.is_empty()) {
        let _ = writeln!(text, "{INDENT}{row}");
    }
}

/// Returns a line without link addresses and emphasis marks. Code keeps its backticks.
fn plain(line: &str) -> String {
    let (mut text, mut rest) = (String::new(), line);
    while let Some(at) = rest.find(['[', '`', '*']) {
        let (before, found) = rest.split_at(at);
        text.push_str(before);
        let (shown, taken) = if let Some(code) = found.strip_prefix('`') {
            let end = code.find('`').map_or(found.len(), |end| end + 2);
            (&found[..end], end)
        } else if let Some((words, taken)) = link(found) {
            (words, taken)
        } else if found.starts_with("**") {
            ("", 2)
        } else {
            (&found[..1], 1)
        };
        text.push_str(shown);
        rest = &found[taken..];
    }
    text + rest
}

/// Parses the link at the start of a text. Returns its words and how many bytes it takes.
fn link(text: &str) -> Option<(&str, usize)> {
    let (words, behind) = text.strip_prefix('[')?.split_once("](")?;
    let end = behind.find(')')?;
    (!words.contains(['[', ']'])).then_some((words, words.len() + end + 4))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_becomes_rows() {
        let page = "# Words\n\nA [project](a.md) is **what** you `select [x](y)`,\nand more.\n\n- one\\\n  two\n- three\n\n\
            | a | b |\n| --- | --- |\n| `x|y` | z |\n\n```sh\nmcpkg init\n```\n";
        let text = anstream::adapter::strip_str(&rendered(page, 30)).to_string();
        assert_eq!(
            text,
            "Words\n\nA project is what you\n`select [x](y)`, and more.\n\n- one\n  two\n- three\n\na\n    b\n`x|y`\n    z\n\n    mcpkg init\n"
        );
    }
}
