//! Draws a list whose last cells are prose: they wrap, so that no word is cut.

use mcpkg_console::screen::{Line as Told, Row, Span};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span as Drawn};
use ratatui::widgets::Paragraph;
use unicode_width::UnicodeWidthStr;

use super::look::{GAP, NARROW, cut, padded, style};
use super::text;

/// How far the prose is indented if it has rows of its own.
const INDENT: usize = 4;

/// Draws the rows, scrolled so that the marked one is visible. Returns the height of a page in rows.
pub fn draw(frame: &mut Frame<'_>, rows: &[&Row], marked: Option<usize>, area: Rect, is_ascii: bool) -> usize {
    let named = rows.iter().filter(|row| !row.is_heading).map(|row| head(row).iter().map(|cell| cell.text().width()));
    let widths = named.fold(Vec::new(), |mut widths: Vec<usize>, cells| {
        for (at, width) in cells.enumerate() {
            match widths.get_mut(at) {
                Some(known) => *known = width.max(*known),
                None => widths.push(width),
            }
        }
        widths
    });
    let drawn = |at: usize| row(rows[at], &widths, marked == Some(at), area.width, is_ascii);
    let (room, at) = (usize::from(area.height), marked.unwrap_or(0).min(rows.len().saturating_sub(1)));
    // Go up from the marked row until half of the screen is full, or further if the rows below do not fill the rest.
    let below: usize = (at..rows.len())
        .map(|at| drawn(at).len())
        .scan(0, |sum, height| {
            *sum += height;
            (*sum <= room).then_some(*sum)
        })
        .last()
        .unwrap_or(0);
    let above = (room / 2).max(room.saturating_sub(below));
    let mut used = 0;
    let first = (0..at)
        .rev()
        .take_while(|at| {
            used += drawn(*at).len();
            used <= above
        })
        .last()
        .unwrap_or(at);
    let lines: Vec<Line<'static>> = (first..rows.len()).flat_map(drawn).take(room).collect();
    frame.render_widget(Paragraph::new(lines), area);
    room
}

/// Returns the cells before the prose.
fn head(row: &Row) -> &[Span] {
    &row.cells[..row.cells.len().saturating_sub(1)]
}

fn row(row: &Row, widths: &[usize], is_marked: bool, width: u16, is_ascii: bool) -> Vec<Line<'static>> {
    let all = usize::from(width);
    let look = if is_marked { Style::new().add_modifier(Modifier::BOLD | Modifier::REVERSED) } else { Style::new() };
    let Some(prose) = row.cells.last() else { return Vec::new() };
    if row.is_heading {
        let text = cut(&format!(" {}", prose.text()), all, is_ascii);
        return vec![Line::from(Drawn::styled(text, Style::new().add_modifier(Modifier::BOLD)))];
    }
    let mut first = vec![Drawn::styled(if is_marked { "> " } else { "  " }, look)];
    for (cell, width) in head(row).iter().zip(widths) {
        first.push(Drawn::styled(padded(cell.text(), (*width).min(all), is_ascii), style(cell.tone).patch(look)));
        first.push(Drawn::styled(" ".repeat(GAP), look));
    }
    let beside = 2 + widths.iter().map(|width| width + GAP).sum::<usize>();
    // On a narrow screen, prose that does not fit next to the other cells goes below them.
    let is_below = width < NARROW && beside + prose.text().width() > all;
    let indent = if is_below { INDENT } else { beside };
    let room = u16::try_from(all.saturating_sub(indent) + 1).unwrap_or(width);
    // Skip the first span of each wrapped row: it is the margin of a text, and the list draws a margin of its own.
    let wrapped = text::wrapped(&Told::of(prose.tone, prose.text()), room, is_ascii);
    let pieces = wrapped.into_iter().map(|line| line.spans.into_iter().skip(1).collect::<Vec<_>>());
    let mut lines = Vec::new();
    for piece in pieces {
        let mut spans = match lines.is_empty() && !is_below {
            true => std::mem::take(&mut first),
            false => vec![Drawn::raw(" ".repeat(indent))],
        };
        spans.extend(piece.into_iter().map(|span| span.patch_style(look)));
        lines.push(Line::from(spans));
    }
    if is_below {
        lines.insert(0, Line::from(first));
    }
    lines
}
