//! Draws the editor: the text with a gutter that marks lines with findings, the form, and the lower pane.

use mcpkg_console::screen::{Line as Told, Tone};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span as Drawn};
use ratatui::widgets::Paragraph;
use unicode_width::UnicodeWidthStr;

use super::look::style;
use super::{fields, text};
use crate::tui::app::Typing;
use crate::tui::editor::{Editor, Half, Lower};
use crate::tui::level::Level;

/// The width of the signs and line numbers.
const GUTTER: u16 = 9;

/// From this width on, the form is drawn next to the text, and the plan next to the findings.
const THREE: u16 = 120;

/// Below this size, a picker, a diff or a conflict takes the whole body of the screen.
const SMALL: (u16, u16) = (60, 14);

/// Draws the editor of a level. Returns the height of a page in rows.
pub fn draw(frame: &mut Frame<'_>, level: &mut Level, area: Rect, typing: &Typing, is_ascii: bool) -> usize {
    let Some(editor) = &mut level.editor else { return 1 };
    let is_wide = area.width >= THREE;
    editor.has_plan = is_wide;
    let is_long = matches!(editor.lower, Lower::Difference(_) | Lower::Meanwhile(_));
    let is_open = is_long || matches!(editor.lower, Lower::Picker(_));
    if is_open && (area.width < SMALL.0 || area.height < SMALL.1) {
        lower(frame, editor, area, is_ascii);
        return usize::from(area.height).max(1);
    }
    let share = match is_long {
        true => area.height / 2,
        false => (area.height / 3).clamp(3, 12),
    };
    let [upper, rule, below] =
        Layout::vertical([Constraint::Fill(1), Constraint::Length(1), Constraint::Length(share)]).areas(area);
    let dash = if is_ascii { "-" } else { "─" };
    let text = dash.repeat(3) + &state(editor) + &dash.repeat(usize::from(rule.width));
    frame.render_widget(Paragraph::new(Line::raw(text)).style(style(Tone::Dim)), rule);
    match is_wide {
        true => {
            let [left, right] = columns(frame, upper, is_ascii);
            buffer(frame, editor, left, *typing == Typing::Editor);
            fields::draw(frame, editor, right, *typing == Typing::Value, is_ascii);
        }
        false if editor.half == Half::Form => fields::draw(frame, editor, upper, *typing == Typing::Value, is_ascii),
        false => buffer(frame, editor, upper, *typing == Typing::Editor),
    }
    // The plan is drawn next to the findings or the picker, but a diff needs the whole width.
    match is_wide && matches!(editor.lower, Lower::Findings | Lower::Picker(_)) {
        true => {
            let [left, right] = columns(frame, below, is_ascii);
            lower(frame, editor, left, is_ascii);
            text::draw(frame, &editor.plan, 0, right, is_ascii);
        }
        false => lower(frame, editor, below, is_ascii),
    }
    let page = if is_long { below.height } else { upper.height };
    usize::from(page).max(1)
}

/// Returns the keys and their labels. The footer has room for the first ones, and the help lists all.
pub fn keys(editor: &Editor) -> impl Iterator<Item = (&'static str, &'static str)> {
    let can_fix = editor.finding().is_some_and(|(_, finding)| finding.fix.is_some());
    let all: &[_] = match (&editor.lower, editor.half) {
        (Lower::Picker(picking), _) if picking.is_search() => &[("enter", "pick"), ("/", "search"), ("esc", "close")],
        (Lower::Picker(_), _) => &[("enter", "pick"), ("e", "type a value"), ("/", "search"), ("esc", "close")],
        (Lower::Lost(_), _) => &[("y", "throw away"), ("PgDn", "more")],
        (Lower::Difference(_), _) => &[("y", "save"), ("PgDn", "more")],
        (Lower::Meanwhile(_), _) => &[("a", "take in theirs"), ("s", "save over"), ("PgDn", "more"), ("esc", "edit")],
        (_, Half::Form) => &[
            ("enter", "pick"),
            ("e", "type a value"),
            ("+", "step"),
            ("f", "fix"),
            ("p", "plan"),
            ("s", "save"),
            ("v", "yaml"),
            ("space", "take out an argument"),
            ("u", "undo"),
            ("@", "ask your agent"),
            ("E", "edit in $EDITOR"),
            ("D", "throw away"),
        ],
        (_, Half::Yaml) => &[
            ("e", "edit"),
            ("+", "step"),
            ("f", "fix"),
            ("p", "plan"),
            ("s", "save"),
            ("v", "form"),
            ("u", "undo"),
            ("@", "ask your agent"),
            ("E", "edit in $EDITOR"),
            ("D", "throw away"),
        ],
    };
    all.iter().copied().filter(move |(key, _)| *key != "f" || can_fix)
}

/// Returns the number of findings for the title, such as `1 error, 4 warnings`, or `checking...`.
pub fn counts(editor: &Editor) -> String {
    let (errors, warnings) = editor.counts();
    match editor.is_checked {
        true => mcpkg_console::finding::counts(errors as u64, warnings as u64),
        false => "checking...".to_owned(),
    }
}

/// Splits an area into two columns with a rule between them.
fn columns(frame: &mut Frame<'_>, area: Rect, is_ascii: bool) -> [Rect; 2] {
    let [left, rule, right] =
        Layout::horizontal([Constraint::Percentage(50), Constraint::Length(1), Constraint::Fill(1)]).areas(area);
    let bar = if is_ascii { "|" } else { "│" };
    let rules: Vec<Line<'static>> = (0..rule.height).map(|_| Line::raw(bar)).collect();
    frame.render_widget(Paragraph::new(rules).style(style(Tone::Dim)), rule);
    [left, right]
}

/// Draws the lower pane.
fn lower(frame: &mut Frame<'_>, editor: &mut Editor, area: Rect, is_ascii: bool) {
    let shown;
    let lines = match &editor.lower {
        Lower::Findings => return findings(frame, editor, area, is_ascii),
        Lower::Picker(picking) => return fields::picker(frame, picking, area, is_ascii),
        Lower::Plan => &editor.plan,
        Lower::Difference(lines) | Lower::Lost(lines) => lines,
        Lower::Meanwhile(versions) => {
            shown = mcpkg_console::editor::meanwhile(&versions.name, versions, &editor.text());
            &shown
        }
    };
    let height = text::height(lines, area.width, is_ascii);
    let most = height.saturating_sub(usize::from(area.height));
    let scroll = if editor.lower == Lower::Plan { 0 } else { editor.scroll.min(most) };
    text::draw_rows(frame, lines, scroll, area, is_ascii);
    editor.scroll = scroll;
}

/// Returns the position of the cursor and a summary of the findings, such as ` 13:26, finding 3 of 5 `.
fn state(editor: &Editor) -> String {
    let (line, column) = editor.cursor();
    let changed = if editor.is_changed() { ", not saved" } else { "" };
    match (editor.is_checked, editor.finding()) {
        (false, _) => format!(" {line}:{column}{changed}, checking... "),
        (true, Some((at, _))) => format!(" {line}:{column}{changed}, finding {} of {} ", at + 1, editor.findings.len()),
        (true, None) => {
            let (errors, warnings) = editor.counts();
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
    // The help of the selected row is shown only if there is no finding at the cursor.
    let about = editor.field().map(|field| field.about.as_str()).filter(|about| !about.is_empty());
    if let (None, Some(about)) = (here, about) {
        lines.push(Told::quoted(about));
    }
    text::draw(frame, &lines, 0, area, is_ascii);
}
