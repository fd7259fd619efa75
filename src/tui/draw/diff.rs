//! Draws a diff, unified or with one column for each text. The row of the cursor starts with `>`.

use mcpkg_console::diff::{Diff, Shown};
use mcpkg_console::screen::Tone;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span as Drawn};
use ratatui::widgets::Paragraph;

use super::look::style;
use super::text::wrapped;
use crate::tui::level::Level;

/// Draws a diff so that the cursor is visible. Returns the height of a page in rows.
pub fn draw(frame: &mut Frame<'_>, diff: &Diff, level: &Level, has_cursor: bool, area: Rect, is_ascii: bool) -> usize {
    let height = usize::from(area.height);
    let rows = diff.rows(&level.diff);
    let cursor = level.scroll.min(rows.len().saturating_sub(1));
    let drawn = |row: &Shown| drawn(row, area.width, is_ascii);
    // At most half of the screen shows rows before the cursor. A long row of the diff takes several screen rows.
    let (mut first, mut above) = (cursor, 0);
    while let Some(row) = first.checked_sub(1).map(|at| &rows[at]).filter(|_| has_cursor || cursor > 0) {
        above += drawn(row).len();
        if above > height / 2 {
            break;
        }
        first -= 1;
    }
    let mut lines: Vec<Line<'static>> = Vec::new();
    for (at, row) in rows.iter().enumerate().skip(first) {
        if lines.len() >= height {
            break;
        }
        let mut shown = drawn(row);
        if has_cursor && at == cursor {
            mark(&mut shown);
        }
        lines.extend(shown);
    }
    lines.truncate(height);
    frame.render_widget(Paragraph::new(lines), area);
    height
}

/// Replaces the first blank of a row with `>`, the sign of the cursor.
fn mark(lines: &mut [Line<'static>]) {
    let Some(first) = lines.first_mut() else { return };
    if let Some(span) = first.spans.first_mut() {
        let rest = span.content.strip_prefix(' ').unwrap_or_default().to_owned();
        span.content = rest.into();
    }
    first.spans.insert(0, Drawn::styled(">", Style::new().add_modifier(Modifier::BOLD)));
}

/// Returns the screen rows of one row of the diff.
fn drawn(row: &Shown, width: u16, is_ascii: bool) -> Vec<Line<'static>> {
    if let [cell] = &row.cells[..] {
        return cell.as_ref().map(|line| wrapped(line, width, is_ascii)).unwrap_or_default();
    }
    let count = u16::try_from(row.cells.len()).unwrap_or(1).max(1);
    let column = (width.saturating_sub(count - 1) / count).max(1);
    let cells: Vec<Vec<Line<'static>>> = row
        .cells
        .iter()
        .map(|cell| cell.as_ref().map(|line| wrapped(line, column, is_ascii)).unwrap_or_default())
        .collect();
    let rule = if is_ascii { "|" } else { "│" };
    let height = cells.iter().map(Vec::len).max().unwrap_or(0);
    let line = |at: usize| {
        let mut spans = Vec::new();
        for (index, cell) in cells.iter().enumerate() {
            if index > 0 {
                spans.push(Drawn::styled(rule, style(Tone::Dim)));
            }
            let used = cell.get(at).map_or(0, Line::width);
            spans.extend(cell.get(at).into_iter().flat_map(|line| line.spans.clone()));
            spans.push(Drawn::raw(" ".repeat(usize::from(column).saturating_sub(used))));
        }
        Line::from(spans)
    };
    (0..height).map(line).collect()
}
