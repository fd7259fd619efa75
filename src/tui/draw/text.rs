//! Draws lines of text, and forms. Quoted lines are drawn behind a bar.

use mcpkg_console::form::Form;
use mcpkg_console::screen::{Line as Told, Tone};
use ratatui::Frame;
use ratatui::crossterm::style::Colored;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span as Drawn};
use ratatui::widgets::Paragraph;
use unicode_width::UnicodeWidthChar;

use super::look::{cut, style};

/// Draws wrapped lines, starting at line `scroll`. Returns the height of a page in rows.
pub fn draw(frame: &mut Frame<'_>, lines: &[Told], scroll: usize, area: Rect, is_ascii: bool) -> usize {
    let rows = usize::from(area.height);
    let shown: Vec<Line<'static>> =
        lines.iter().skip(scroll).take(rows).flat_map(|line| wrapped(line, area.width, is_ascii)).take(rows).collect();
    frame.render_widget(Paragraph::new(shown), area);
    rows
}

/// Like [`draw`], but `scroll` counts screen rows, so that you can scroll within a long line.
pub fn draw_rows(frame: &mut Frame<'_>, lines: &[Told], scroll: usize, area: Rect, is_ascii: bool) -> usize {
    let rows = usize::from(area.height);
    let all = lines.iter().flat_map(|line| wrapped(line, area.width, is_ascii));
    let shown: Vec<Line<'static>> = all.skip(scroll).take(rows).collect();
    frame.render_widget(Paragraph::new(shown), area);
    rows
}

/// Returns the number of screen rows that the lines need at a width.
pub fn height(lines: &[Told], width: u16, is_ascii: bool) -> usize {
    lines.iter().map(|line| wrapped(line, width, is_ascii).len()).sum()
}

/// Wraps a line at the width, between words. A quoted line keeps all its blanks, and its long words are cut at the
/// width. Each row of a quoted line starts with a bar, so that quoted text cannot imitate the console's own text.
pub(super) fn wrapped(line: &Told, width: u16, is_ascii: bool) -> Vec<Line<'static>> {
    let marked;
    let line = match marks_words(is_ascii) && line.spans.iter().any(|span| span.tone == Tone::Changed) {
        true => {
            marked = line.clone().with_words_marked();
            &marked
        }
        false => line,
    };
    let bar = match (line.is_quoted, is_ascii) {
        (true, true) => " | ",
        (true, false) => " │ ",
        (false, _) => " ",
    };
    let room = usize::from(width).saturating_sub(bar.chars().count()).max(1);
    let cells: Vec<(char, Tone)> =
        line.spans.iter().flat_map(|span| span.text().chars().map(|c| (c, span.tone))).collect();
    let mut rows = Vec::new();
    let mut from = 0;
    loop {
        let to = row_end(&cells, from, room, line.is_quoted);
        let mut row = vec![Drawn::styled(bar, style(Tone::Dim))];
        for piece in cells[from..to].chunk_by(|(_, one), (_, other)| one == other) {
            row.push(Drawn::styled(piece.iter().map(|(c, _)| *c).collect::<String>(), style(piece[0].1)));
        }
        rows.push(Line::from(row));
        from = to;
        while !line.is_quoted && cells.get(from).is_some_and(|(c, _)| *c == ' ') {
            from += 1;
        }
        if from >= cells.len() {
            return rows;
        }
    }
}

/// Returns whether changed words are enclosed in markers ([`Told::with_words_marked`]), because the terminal may not
/// show reverse video.
fn marks_words(is_ascii: bool) -> bool {
    is_ascii || Colored::ansi_color_disabled_memoized()
}

/// A quoted row ends between words only if that fills at least a third (1/[`FILLED`]) of its width. So a long word,
/// such as a JSON text, begins on the row of the words before it.
const FILLED: usize = 3;

/// Returns the end of the row that starts at `from`: after the last word that fits, or inside a long word. In a quoted
/// line, the blank after the last word is on the same row.
fn row_end(cells: &[(char, Tone)], from: usize, room: usize, is_quoted: bool) -> usize {
    let mut used = 0;
    for (at, (c, _)) in cells.iter().enumerate().skip(from) {
        used += c.width().unwrap_or(0);
        if used > room {
            let blank = cells[from..at].iter().rposition(|(c, _)| *c == ' ');
            let end = match is_quoted {
                true if *c == ' ' => None,
                true => blank.filter(|blank| *blank >= room / FILLED).map(|blank| blank + 1),
                false => blank,
            };
            return end.map_or(at, |end| from + end).max(from + 1);
        }
    }
    cells.len()
}

/// Draws the fields of a form, and below them the help of the selected field.
pub fn form(frame: &mut Frame<'_>, form: &Form, selected: usize, is_typing: bool, area: Rect, is_ascii: bool) -> usize {
    let width = usize::from(area.width);
    let name = form.fields.iter().map(|field| field.name.chars().count()).max().unwrap_or(0).min(24);
    let mut lines = vec![Line::raw(cut(&format!(" {}", form.about), width, is_ascii)), Line::default()];
    let room = usize::from(area.height).saturating_sub(5).max(1);
    let first = selected.saturating_sub(room.saturating_sub(1));
    for (at, field) in form.fields.iter().enumerate().skip(first).take(room) {
        let is_marked = at == selected;
        let value = match (field.is_flag, field.value.is_empty()) {
            (true, true) => "off".to_owned(),
            (false, true) if field.is_required => "(required)".to_owned(),
            _ => mcpkg_base::marks::line(&field.value).into_owned(),
        };
        let cursor = if is_marked && is_typing { "_" } else { "" };
        let text = format!("{} {:<name$}  {value}{cursor}", if is_marked { ">" } else { " " }, field.name);
        let look =
            if is_marked { Style::new().add_modifier(Modifier::BOLD | Modifier::REVERSED) } else { Style::new() };
        lines.push(Line::from(Drawn::styled(cut(&text, width, is_ascii), look)));
    }
    if form.fields.is_empty() {
        lines.push(Line::raw(" It takes no arguments. r runs it."));
    }
    if let Some(field) = form.fields.get(selected) {
        lines.push(Line::default());
        let values = if field.values.is_empty() { String::new() } else { format!(" ({})", field.values.join(", ")) };
        lines.extend(wrapped(&Told::of(Tone::Dim, &format!("{}{values}", field.about)), area.width, is_ascii));
    }
    frame.render_widget(Paragraph::new(lines), area);
    usize::from(area.height)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(line: &Told, width: u16) -> Vec<String> {
        wrapped(line, width, true)
            .iter()
            .map(|row| row.spans.iter().map(|span| span.content.as_ref()).collect())
            .collect()
    }

    #[test]
    fn a_quoted_line_wraps_between_words_and_keeps_its_blanks() {
        assert_eq!(rows(&Told::quoted("retry 127.0.0.1:9 now"), 17), [" | retry ", " | 127.0.0.1:9 ", " | now"]);
        // A word that is longer than a row begins after the words before it.
        assert_eq!(rows(&Told::quoted("a {\"name\":\"shop\"}"), 15), [" | a {\"name\":\"s", " | hop\"}"]);
        let long = format!("x{}y", " ".repeat(30));
        let kept: usize = rows(&Told::quoted(&long), 16).iter().map(|row| row.len() - 3).sum();
        assert_eq!(kept, long.len(), "no blank is lost");
    }
}
