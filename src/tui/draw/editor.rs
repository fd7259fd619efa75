//! Draws the editor: the text, a gutter that marks lines with findings, and the second pane.

use mcpkg_console::screen::{Line as Told, Tone};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span as Drawn};
use ratatui::widgets::Paragraph;
use unicode_width::UnicodeWidthStr;

use super::look::style;
use super::text;
use crate::tui::editor::{Editor, Lower};
use crate::tui::level::Level;

/// The width of the signs and line numbers.
const GUTTER: u16 = 9;

/// Draws the editor of a level. Returns the height of a page in rows.
pub fn draw(frame: &mut Frame<'_>, level: &mut Level, area: Rect, is_typing: bool, is_ascii: bool) -> usize {
    let scroll = level.scroll;
    let Some(editor) = &mut level.editor else { return 1 };
    let is_beside = area.width >= 120;
    let (upper, rule, lower) = match is_beside {
        true => {
            let [upper, rule, lower] =
                Layout::horizontal([Constraint::Percentage(55), Constraint::Length(1), Constraint::Fill(1)])
                    .areas(area);
            (upper, rule, lower)
        }
        false => {
            let share = (area.height / 3).clamp(3, 12);
            let [upper, rule, lower] =
                Layout::vertical([Constraint::Fill(1), Constraint::Length(1), Constraint::Length(share)]).areas(area);
            (upper, rule, lower)
        }
    };
    buffer(frame, editor, upper, is_typing);
    let (bar, dash) = if is_ascii { ("|", "-") } else { ("│", "─") };
    let rules: Vec<Line<'static>> = match is_beside {
        true => (0..rule.height).map(|_| Line::raw(bar)).collect(),
        false => vec![Line::raw(dash.repeat(3) + &state(editor) + &dash.repeat(usize::from(rule.width)))],
    };
    frame.render_widget(Paragraph::new(rules).style(style(Tone::Dim)), rule);
    match &editor.lower {
        Lower::Findings => findings(frame, editor, lower, is_ascii),
        Lower::Plan(lines) | Lower::Difference(lines) => {
            text::draw(frame, lines, scroll.min(lines.len().saturating_sub(1)), lower, is_ascii);
        }
    }
    usize::from(upper.height).max(1)
}

/// Returns the position of the cursor and a summary of the findings, such as ` 13:26, finding 3 of 5 `.
fn state(editor: &Editor) -> String {
    let (line, column) = editor.cursor();
    let changed = if editor.is_changed() { ", not saved" } else { "" };
    match (editor.is_checked, editor.finding()) {
        (false, _) => format!(" {line}:{column}{changed}, checking... "),
        (true, Some((at, _))) => format!(" {line}:{column}{changed}, finding {} of {} ", at + 1, editor.findings.len()),
        (true, None) => {
            let errors = editor.findings.iter().filter(|finding| finding.is_error).count();
            let warnings = editor.findings.len() - errors;
            format!(" {line}:{column}{changed}, errors {errors}, warnings {warnings} ")
        }
    }
}

fn buffer(frame: &mut Frame<'_>, editor: &mut Editor, area: Rect, is_typing: bool) {
    let rows = usize::from(area.height).max(1);
    let (line, column) = editor.cursor();
    editor.top = editor.top.min(line - 1).max(line.saturating_sub(rows));
    let width = usize::from(area.width.saturating_sub(GUTTER));
    // A long line scrolls so that the cursor stays visible.
    let left = column.saturating_sub(width.max(1));
    let mut lines = Vec::new();
    for (at, text) in editor.buffer.lines().iter().enumerate().skip(editor.top).take(rows) {
        let number = at + 1;
        let here: Vec<_> = editor.findings.iter().filter(|finding| finding.line == number).collect();
        let (sign, tone) = match here.iter().find(|finding| finding.is_error).or(here.first()) {
            Some(finding) if finding.is_error => ("E", Tone::Bad),
            Some(_) => ("w", Tone::Warning),
            None => (" ", Tone::Dim),
        };
        let mark = if number == line { ">" } else { " " };
        let mut spans = vec![
            Drawn::styled(mark, Style::new().add_modifier(Modifier::BOLD)),
            Drawn::styled(sign, style(tone)),
            Drawn::styled(format!("{number:>5}  "), style(Tone::Dim)),
        ];
        for (index, c) in text.chars().enumerate().skip(left).take(width) {
            let is_found = here.iter().any(|finding| {
                finding.column <= index + 1 && (finding.end_line > number || index + 1 < finding.end_column)
            });
            let look = if is_found { style(tone).add_modifier(Modifier::UNDERLINED) } else { Style::new() };
            spans.push(Drawn::styled(mcpkg_base::marks::line(&c.to_string()).into_owned(), look));
        }
        lines.push(Line::from(spans));
    }
    frame.render_widget(Paragraph::new(lines), area);
    let before: String = editor
        .buffer
        .lines()
        .get(line - 1)
        .map(|text| text.chars().skip(left).take(column - 1 - left.min(column - 1)).collect())
        .unwrap_or_default();
    let x = area.x + GUTTER + u16::try_from(mcpkg_base::marks::line(&before).width()).unwrap_or(0);
    let y = area.y + u16::try_from(line - 1 - editor.top).unwrap_or(0);
    if is_typing {
        frame.set_cursor_position(Position::new(x.min(area.right().saturating_sub(1)), y));
    }
}

/// Draws the finding at the cursor with its explanation and fix, then the other findings.
fn findings(frame: &mut Frame<'_>, editor: &Editor, area: Rect, is_ascii: bool) {
    let mut lines: Vec<Told> = Vec::new();
    let here = editor.finding();
    if let Some((_, finding)) = here {
        let (sign, tone) = if finding.is_error { ("E ", Tone::Bad) } else { ("w ", Tone::Warning) };
        let code = format!("  [{}]", finding.code);
        lines.push(Told::of(tone, sign).then(Tone::Plain, &finding.message).then(Tone::Dim, &code));
        if let Some(fix) = &finding.fix {
            lines.push(Told::of(Tone::Good, "  f fixes it: ").then(Tone::Plain, &fix.text));
        }
        for line in [&finding.hint, &finding.why].into_iter().filter(|line| !line.is_empty()) {
            lines.push(Told::of(Tone::Dim, &format!("  {line}")));
        }
    }
    let at = here.map(|(at, _)| at);
    let others = editor.findings.iter().enumerate().filter(|(index, _)| Some(*index) != at);
    lines.extend(others.map(|(_, finding)| mcpkg_console::editor::line(finding)));
    if lines.is_empty() {
        lines.push(Told::of(Tone::Good, "No findings."));
    }
    text::draw(frame, &lines, 0, area, is_ascii);
}
