//! Draws a list in columns. The selected row starts with `>` and is bold and reversed, so it stands out without colour.

use mcpkg_console::screen::{Line as Told, List, Row, Span};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span as Drawn};
use ratatui::widgets::Paragraph;
use unicode_width::UnicodeWidthStr;

use super::look::{GAP, NARROW, cut, cut_cell, padded, style};
use super::{prose, text};
use crate::tui::level::Level;

/// The least width of a shortened column, if the list shows more than one. A narrower column would not be readable.
const LEAST: usize = 10;

/// On a narrow screen, a list with at least this many columns takes two screen rows for each of its rows.
const MANY: usize = 3;

/// Draws a level's list. Returns the height of a page in rows.
pub fn draw(frame: &mut Frame<'_>, level: &Level, found: &List, area: Rect, is_ascii: bool) -> usize {
    let rows = level.rows();
    if rows.is_empty() {
        let nothing = || "Nothing matches the filter.".to_owned();
        let text = if level.filter.is_empty() { found.keys_when_empty() } else { nothing() };
        return text::draw(frame, &[Told::plain(&text)], 0, area, is_ascii);
    }
    let marked = (!level.in_preview).then(|| level.position());
    if found.wraps {
        return prose::draw(frame, &rows, marked, area, is_ascii);
    }
    self::rows(frame, &rows, found.columns, marked, area, is_ascii)
}

/// Draws rows, scrolled so that the selected one is visible. Lists may be long, so only visible rows are measured.
pub fn rows(
    frame: &mut Frame<'_>,
    rows: &[&Row],
    columns: &[&str],
    marked: Option<usize>,
    area: Rect,
    is_ascii: bool,
) -> usize {
    if area.width < NARROW && columns.len() >= MANY {
        return in_two(frame, rows, marked, area, is_ascii);
    }
    let has_heading = columns.iter().any(|heading| !heading.is_empty());
    let height = usize::from(area.height).saturating_sub(usize::from(has_heading)).max(1);
    let first = marked.unwrap_or(0).saturating_sub(height / 2).min(rows.len().saturating_sub(height));
    let visible = &rows[first..rows.len().min(first + height)];
    let widths = widths(visible, columns, usize::from(area.width).saturating_sub(2));
    let mut lines = Vec::new();
    if has_heading {
        let shown = columns.iter().zip(&widths).filter(|(_, width)| **width > 0);
        let cells = shown.map(|(heading, width)| padded(heading, *width, is_ascii));
        let text = format!("  {}", cells.collect::<Vec<_>>().join("  "));
        lines.push(Line::from(Drawn::styled(text, Style::new().add_modifier(Modifier::DIM))));
    }
    for (at, row) in visible.iter().enumerate() {
        let is_marked = marked == Some(first + at) && !row.is_heading;
        if row.is_heading {
            let text = row.cells.first().map(|cell| cell.text()).unwrap_or_default();
            let text = cut(&format!(" {text}"), usize::from(area.width), is_ascii);
            lines.push(Line::from(Drawn::styled(text, Style::new().add_modifier(Modifier::BOLD))));
            continue;
        }
        let look =
            if is_marked { Style::new().add_modifier(Modifier::BOLD | Modifier::REVERSED) } else { Style::new() };
        let mut spans = vec![Drawn::styled(if is_marked { "> " } else { "  " }, look)];
        let last = row.cells.len().saturating_sub(1);
        let used = row.cells.iter().rposition(|cell| !cell.text().is_empty()).unwrap_or(0);
        for (column, (cell, width)) in row.cells.iter().zip(&widths).enumerate().take(used + 1) {
            // The last text of a row may also use the room of the empty cells after it.
            let rest = || widths[column + 1..=last].iter().filter(|width| **width > 0).map(|width| width + GAP);
            let width = if column == used { width + rest().sum::<usize>() } else { *width };
            let text = match column == used && !is_marked {
                true => cut_cell(cell.text(), width, is_ascii),
                false => padded(cell.text(), width, is_ascii),
            };
            spans.push(Drawn::styled(text, style(cell.tone).patch(look)));
            if column < used && width > 0 {
                spans.push(Drawn::styled(" ".repeat(GAP), look));
            }
        }
        lines.push(Line::from(spans));
    }
    frame.render_widget(Paragraph::new(lines), area);
    height
}

/// Draws each row in two screen rows: first its first two cells and its last one (in the inbox: kind, source and time),
/// then the cells in between.
fn in_two(frame: &mut Frame<'_>, rows: &[&Row], marked: Option<usize>, area: Rect, is_ascii: bool) -> usize {
    let height = usize::from(area.height / 2).max(1);
    let first = marked.unwrap_or(0).saturating_sub(height / 2).min(rows.len().saturating_sub(height));
    let width = usize::from(area.width).saturating_sub(2);
    // A column of signs keeps its place in rows without a sign.
    let mut visible = rows[first..rows.len().min(first + height)].iter().filter(|row| !row.is_heading);
    let has_signs = visible.all(|row| row.cells.first().is_none_or(|cell| cell.text().width() <= 1));
    let mut lines = Vec::new();
    for (at, row) in rows.iter().enumerate().skip(first).take(height) {
        if row.is_heading {
            let text = row.cells.first().map(Span::text).unwrap_or_default();
            let text = cut(&format!(" {text}"), usize::from(area.width), is_ascii);
            let bold = Style::new().add_modifier(Modifier::BOLD);
            lines.extend([Line::default(), Line::from(Drawn::styled(text, bold))]);
            continue;
        }
        let is_marked = marked == Some(at);
        let look =
            if is_marked { Style::new().add_modifier(Modifier::BOLD | Modifier::REVERSED) } else { Style::new() };
        let joined = |cells: &[Span]| {
            let texts = cells.iter().map(Span::text).filter(|text| !text.is_empty());
            texts.collect::<Vec<_>>().join("  ")
        };
        let (source, rest) = row.cells.split_at(row.cells.len().min(2));
        let (about, end) = match rest {
            [_] => (rest, &rest[1..]),
            _ => rest.split_at(rest.len().saturating_sub(1)),
        };
        // Without a kind and a source, the first screen row shows the cells in between instead.
        let (source, about) = if joined(source).is_empty() { (about, source) } else { (source, about) };
        let blank = has_signs && row.cells.first().is_some_and(|cell| cell.text().is_empty());
        let head = format!("{}{}", if blank { "   " } else { "" }, joined(&[source, end].concat()));
        let mark = if is_marked { "> " } else { "  " };
        lines.push(Line::from(Drawn::styled(format!("{mark}{}", padded(&head, width, is_ascii)), look)));
        lines.push(Line::raw(format!("    {}", cut(&joined(about), width.saturating_sub(2), is_ascii))));
    }
    frame.render_widget(Paragraph::new(lines), area);
    height
}

/// The number of rows that determine the width of a list. Measuring all rows of a long list for each frame would be
/// slow, and the width must not change while the list scrolls.
const MEASURED: usize = 200;

/// Returns the width that a list needs so that nothing is cut.
pub fn natural(found: &List) -> u16 {
    let rows: Vec<&Row> = found.rows.iter().take(MEASURED).collect();
    let widths = widths(&rows, found.columns, usize::MAX);
    let columns = widths.iter().filter(|width| **width > 0).map(|width| width + GAP).sum::<usize>();
    let heading = |row: &&&Row| row.is_heading;
    let headings = rows.iter().filter(heading).filter_map(|row| row.cells.first()).map(|cell| cell.text().width() + 1);
    u16::try_from(columns.max(headings.max().unwrap_or(0))).unwrap_or(u16::MAX)
}

/// Returns the widths of the columns. Each column is as wide as its content. If they do not all fit, the widest ones
/// shrink first. If a column would then be too narrow to read, the last column gets the width 0, which leaves it out.
fn widths(rows: &[&Row], columns: &[&str], width: usize) -> Vec<usize> {
    let count =
        rows.iter().filter(|row| !row.is_heading).map(|row| row.cells.len()).max().unwrap_or(0).max(columns.len());
    let mut widths: Vec<usize> = (0..count)
        .map(|at| {
            let cells = rows.iter().filter(|row| !row.is_heading).filter_map(|row| row.cells.get(at));
            let heading = columns.get(at).map_or(0, |heading| heading.width());
            cells.map(|cell| cell.text().width()).max().unwrap_or(0).max(heading)
        })
        .collect();
    while let Err(last) = shrink(&mut widths, width) {
        widths[last] = 0;
    }
    widths
}

/// Makes the widest columns narrower until all fit. If one of several columns would become narrower than [`LEAST`],
/// changes nothing and returns the last column, which must then be left out.
fn shrink(widths: &mut [usize], width: usize) -> Result<(), usize> {
    let count = widths.iter().filter(|width| **width > 0).count();
    let room = width.saturating_sub(GAP * count.saturating_sub(1));
    let mut narrower = widths.to_vec();
    while narrower.iter().sum::<usize>() > room {
        let Some(widest) = narrower.iter_mut().max() else { break };
        if *widest <= LEAST && count > 1 {
            return Err(widths.iter().rposition(|width| *width > 0).unwrap_or_default());
        }
        *widest -= 1;
    }
    widths.copy_from_slice(&narrower);
    Ok(())
}
