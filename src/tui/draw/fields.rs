//! Draws the form of a workflow, and the picker.

use mcpkg_console::fields::{Field, Kind};
use mcpkg_console::screen::Tone;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span as Drawn};
use ratatui::widgets::Paragraph;
use unicode_width::UnicodeWidthStr;

use super::look::{cut, style};
use crate::tui::editor::{Editor, Half, Picking};

/// Below this width, the form hides the column that says which values an argument takes.
const NARROW: usize = 56;

/// The text of a form without steps and inputs.
const NOTHING: &str = " Nothing yet. + adds a step or an input.";

/// Draws the rows of the form, scrolled so that the selected one is visible.
pub fn draw(frame: &mut Frame<'_>, editor: &Editor, area: Rect, is_typing: bool, is_ascii: bool) {
    let rows = &editor.fields.rows;
    let height = usize::from(area.height).max(1);
    if rows.is_empty() {
        return frame.render_widget(Paragraph::new(NOTHING).wrap(ratatui::widgets::Wrap { trim: false }), area);
    }
    let at = rows.iter().position(|field| field.kind != Kind::Heading && field.pointer == editor.chosen);
    let first = at.unwrap_or(0).saturating_sub(height / 2).min(rows.len().saturating_sub(height));
    let width = usize::from(area.width);
    let widest = |of: fn(&Field) -> &str, most: usize| {
        let fields = rows.iter().filter(|field| !matches!(field.kind, Kind::Step | Kind::Heading));
        fields.map(|field| of(field).width()).max().unwrap_or(0).min(most)
    };
    let names = widest(|field| &field.name, 16);
    let takes = if width < NARROW { 0 } else { widest(|field| &field.takes, 24) };
    let mut lines = Vec::new();
    for (index, field) in rows.iter().enumerate().skip(first).take(height) {
        let is_marked = at == Some(index) && editor.half == Half::Form;
        let mark = if at == Some(index) { ">" } else { " " };
        let typed = (is_marked && is_typing).then_some(editor.words.as_str());
        lines.push(row(editor, field, mark, is_marked, typed, [names, takes, width], is_ascii));
    }
    if rows.len() == 1 {
        // A new workflow has only the row for its name, so the hint is drawn below it.
        lines.extend([Line::default(), Line::raw(cut(NOTHING, width, is_ascii))]);
    }
    frame.render_widget(Paragraph::new(lines), area);
}

fn row(
    editor: &Editor,
    field: &Field,
    mark: &str,
    is_marked: bool,
    typed: Option<&str>,
    [names, takes, width]: [usize; 3],
    is_ascii: bool,
) -> Line<'static> {
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let look = if is_marked { bold.add_modifier(Modifier::REVERSED) } else { Style::new() };
    if field.kind == Kind::Heading {
        return Line::from(Drawn::styled(cut(&format!(" {}", field.name), width, is_ascii), bold));
    }
    let finding = editor.fields.finding(field, &editor.findings);
    let (sign, tone) = match finding {
        Some(finding) if finding.is_error => ("E", Tone::Bad),
        Some(_) => ("w", Tone::Warning),
        None => (" ", Tone::Dim),
    };
    let mut spans = vec![Drawn::styled(mark.to_owned(), bold), Drawn::styled(sign, style(tone)), Drawn::raw(" ")];
    let mut room = width.saturating_sub(3);
    let mut push = |text: String, look: Style| {
        let text = cut(&text, room, is_ascii);
        room = room.saturating_sub(text.width());
        spans.push(Drawn::styled(text, look));
    };
    if field.kind == Kind::Step {
        push(format!("{}  ", mcpkg_base::marks::line(&field.name)), bold.patch(look));
        push(mcpkg_base::marks::line(&field.value).into_owned(), style(Tone::Name).patch(look));
        if !field.effect.is_empty() {
            let (word, tone) = mcpkg_console::effect(&field.effect);
            push(format!("  {}", word.to_uppercase()), style(tone));
        }
        push(format!("  {}", field.takes), style(Tone::Dim));
    } else {
        push(padded(&format!("  {}", mcpkg_base::marks::line(&field.name)), names + 4, is_ascii), look);
        if takes > 0 {
            push(padded(&field.takes, takes + 2, is_ascii), style(Tone::Dim).patch(look));
        }
        let is_missing = field.value.is_empty() && field.kind == Kind::Argument;
        match typed {
            Some(words) => push(format!("{}_", mcpkg_base::marks::line(words)), look),
            None if is_missing && takes == 0 && field.takes.contains("needed") => push("(required)".to_owned(), look),
            None if is_missing => push("-".to_owned(), style(Tone::Dim).patch(look)),
            None => push(mcpkg_base::marks::line(&field.value).into_owned(), look),
        }
    }
    if let Some(finding) = finding.filter(|_| typed.is_none()) {
        match &finding.fix {
            Some(fix) => push(format!("  f: {}", mcpkg_base::marks::line(&fix.text)), style(Tone::Good)),
            None => push(format!("  {}", mcpkg_base::marks::line(&finding.message)), style(tone)),
        }
    }
    Line::from(spans)
}

/// Draws the picker: its title with the typed words, and below it the rows around the selected one.
pub fn picker(frame: &mut Frame<'_>, picking: &Picking, area: Rect, is_ascii: bool) {
    let width = usize::from(area.width);
    let title = match &picking.picker {
        Some(picker) => picker.title.as_str(),
        None => "reading...",
    };
    let words = if picking.words.is_empty() { String::new() } else { format!("   / {}", picking.words) };
    let title = format!(" {}{}", mcpkg_base::marks::line(title), mcpkg_base::marks::line(&words));
    let mut lines =
        vec![Line::from(Drawn::styled(cut(&title, width, is_ascii), Style::new().add_modifier(Modifier::BOLD)))];
    let rows = picking.rows();
    let detail = rows.get(picking.marked).map(|pick| pick.cells[3].clone());
    let height = usize::from(area.height).saturating_sub(1).max(1);
    let first = picking.marked.saturating_sub(height / 2).min(rows.len().saturating_sub(height));
    let visible = &rows[first.min(rows.len())..rows.len().min(first + height)];
    let names = visible.iter().map(|pick| pick.cells[0].text().width()).max().unwrap_or(0).min(width / 2);
    let kinds = visible.iter().map(|pick| pick.cells[1].text().width()).max().unwrap_or(0).min(width / 4);
    let mut is_cut = false;
    for (index, pick) in visible.iter().enumerate() {
        let is_marked = first + index == picking.marked;
        let look = match is_marked {
            true => Style::new().add_modifier(Modifier::BOLD | Modifier::REVERSED),
            false => Style::new(),
        };
        let mut spans = vec![Drawn::styled(if is_marked { "> " } else { "  " }, look)];
        spans.push(Drawn::styled(
            padded(pick.cells[0].text(), names + 1, is_ascii),
            style(pick.cells[0].tone).patch(look),
        ));
        let mut room = width.saturating_sub(names + 3);
        for (at, cell) in pick.cells.iter().enumerate().skip(1).filter(|(_, cell)| !cell.text().is_empty()) {
            // The kinds are padded to one width, so that the text after them is aligned.
            let least = if at == 1 { kinds } else { 0 };
            let text = format!(" {:<least$} ", cell.text());
            is_cut |= is_marked && text.trim_end().width() > room;
            let text = cut(&text, room, is_ascii);
            room = room.saturating_sub(text.width());
            spans.push(Drawn::styled(text, style(cell.tone).patch(look)));
        }
        lines.push(Line::from(spans));
    }
    // The user must see the whole request of a provider before choosing it. If the marked row is cut, its detail is
    // repeated in the last row.
    if let Some(detail) = detail.filter(|detail| is_cut && !detail.text().is_empty()) {
        lines.truncate(height.max(2));
        lines.push(Line::from(Drawn::styled(cut(&format!(" {}", detail.text()), width, is_ascii), style(detail.tone))));
    }
    if rows.is_empty() && picking.picker.is_some() {
        lines.push(Line::raw(" Nothing fits here."));
    }
    frame.render_widget(Paragraph::new(lines), area);
}

fn padded(text: &str, width: usize, is_ascii: bool) -> String {
    let cut = cut(text, width.saturating_sub(1), is_ascii);
    let blank = width.saturating_sub(cut.width());
    cut + &" ".repeat(blank)
}
