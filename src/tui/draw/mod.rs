//! Draws a frame: two header rows, the body, and two footer rows. A small terminal has one header and one footer row.

mod ask;
mod diff;
mod editor;
mod fields;
mod list;
mod look;
mod prose;
mod text;

use mcpkg_console::place::{Place, ROOTS};
use mcpkg_console::screen::{Body, List, Row, Tone};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span as Drawn};
use ratatui::widgets::Paragraph;
use unicode_width::UnicodeWidthStr;

use super::app::{App, Typing};
use super::level::{Level, Shown};
use look::{cut, style};

/// The smallest supported terminal: columns and rows.
const SMALLEST: (u16, u16) = (40, 10);

/// Below this size, only the focused pane is drawn, and header and footer have one row each.
const TWO_PANES: (u16, u16) = (60, 16);

/// From this width on, the preview of a list with long rows is to the right of the list.
const WIDE: u16 = 100;

/// From this width on, the preview of a list with short rows is to the right of the list.
const MEDIUM: u16 = 80;

/// From this width on, a diff is in columns unless the user changed that with `v`.
const BESIDE: u16 = 120;

/// Draws one frame. Sets `app.page` to the height of the focused pane.
pub fn draw(frame: &mut Frame<'_>, app: &mut App) {
    let area = frame.area();
    if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
        let text = format!("mcpkg needs 40x10; this is {}x{}. mcpkg inbox prints the same.", area.width, area.height);
        return frame.render_widget(Paragraph::new(text).wrap(ratatui::widgets::Wrap { trim: false }), area);
    }
    let is_small = area.width < TWO_PANES.0 || area.height < TWO_PANES.1;
    let (above, below) = if is_small { (1, 1) } else { (2, 2) };
    let [head, body, foot] =
        Layout::vertical([Constraint::Length(above), Constraint::Fill(1), Constraint::Length(below)]).areas(area);
    frame.render_widget(Paragraph::new(header(app, is_small, area.width)), head);
    match app.asking.is_some() {
        true => question(frame, app, body),
        false => screen(frame, app, body, is_small),
    }
    if app.state == "LOST" {
        frame.buffer_mut().set_style(body, style(Tone::Dim));
    }
    frame.render_widget(Paragraph::new(footer(app, is_small, area.width)), foot);
}

fn header(app: &App, is_small: bool, width: u16) -> Vec<Line<'static>> {
    let level = app.level();
    let title = match &level.shown {
        Shown::Screen(screen) => screen.title.clone(),
        Shown::Loading => format!("{}  reading...", ROOTS[app.root].1),
        Shown::Failed(_) => ROOTS[app.root].1.to_owned(),
    };
    let title = match level.shown.screen().map(|screen| &screen.body) {
        Some(Body::Diff(diff)) if diff.hunks() > 0 => format!("{title}   hunk {} of {}", level.hunk(), diff.hunks()),
        _ => title,
    };
    let title = match &level.editor {
        Some(editor) => mcpkg_console::editor::title(&editor.document, editor.name()),
        None => title,
    };
    let title = match level.views().get(level.preview_view) {
        Some(view) if level.preview_view > 0 => format!("{title}, {view}"),
        _ => title,
    };
    let title = match level.filter.is_empty() || matches!(level.place, Place::Palette) {
        true => title,
        false => format!("{title}   / {}", level.filter),
    };
    let mut words: Vec<String> = level.editor.as_deref().map(editor::counts).into_iter().collect();
    if app.is_read_only {
        words.push("READ-ONLY".to_owned());
    }
    match app.asking.is_some() {
        true => words.push("WAITING FOR YOU".to_owned()),
        false if app.running > 0 => words.push("RUNNING".to_owned()),
        false => {}
    }
    words.extend(Some(app.state).filter(|state| !state.is_empty()).map(str::to_owned));
    let state = words.join(" ");
    let room = usize::from(width).saturating_sub(state.width() + 3);
    let title = format!(" {}", mcpkg_base::marks::line(&title));
    let title = match title.width() > room && level.place == Place::Inbox {
        // `Inbox: 9 wait for you, the first until 13:48` -> `Inbox: 9, the first until 13:48`
        true => title.replacen(" wait for you", "", 1).replacen(" waits for you", "", 1),
        false => title,
    };
    let title = cut(&title, room, app.is_ascii);
    let blank = usize::from(width).saturating_sub(title.width() + state.width() + 1);
    let second = Line::from(vec![
        Drawn::styled(title, Style::new().add_modifier(Modifier::BOLD)),
        Drawn::raw(" ".repeat(blank)),
        Drawn::styled(state, style(Tone::Warning)),
    ]);
    if is_small {
        return vec![second];
    }
    let mut first = vec![Drawn::styled(format!(" mcpkg {} ", mcpkg_base::marks::line(&app.project)), style(Tone::Dim))];
    for (at, (key, name, _)) in ROOTS.iter().enumerate() {
        let count = match at {
            0 => app.waiting.filter(|waiting| *waiting > 0).map(|waiting| format!(" {waiting}")),
            1 if app.unseen > 0 => Some(format!(" +{}", app.unseen)),
            _ => None,
        };
        let count = count.unwrap_or_default();
        first.push(match at == app.root {
            true => Drawn::styled(
                format!(" {key} {}{count}", name.to_uppercase()),
                Style::new().add_modifier(Modifier::BOLD | Modifier::REVERSED),
            ),
            false => Drawn::raw(format!("  {key} {name}{count}").split_off(1)),
        });
        first.push(Drawn::raw(" "));
    }
    vec![Line::from(first), second]
}

fn footer(app: &App, is_small: bool, width: u16) -> Vec<Line<'static>> {
    let width = usize::from(width);
    let message = match (&app.asking, &app.message) {
        (Some(asking), _) => question_line(asking),
        (None, Some((tone, text))) => Line::from(Drawn::styled(
            cut(&format!(" {}", mcpkg_base::marks::line(text)), width, app.is_ascii),
            style(*tone),
        )),
        (None, None) => Line::default(),
    };
    let keys = match &app.asking {
        Some(asking) if asking.is_read && asking.is_typed() => Line::raw(" enter go on  esc cancel"),
        Some(_) => Line::default(),
        None => keys(app, width),
    };
    match is_small {
        true if app.asking.is_some() || app.message.is_some() => vec![message],
        true => vec![keys],
        false => vec![message, keys],
    }
}

fn question_line(asking: &super::question::Asking) -> Line<'static> {
    let strong = Style::new().add_modifier(Modifier::BOLD);
    let text = mcpkg_base::marks::line(&asking.question.text).into_owned();
    if !asking.is_read {
        return Line::from(Drawn::styled(" More to read: space goes on, esc cancels", strong));
    }
    match &asking.question.name {
        Some(name) => Line::from(vec![
            Drawn::styled(format!(" Type {} to go on: ", mcpkg_base::marks::line(name)), strong),
            Drawn::raw(mcpkg_base::marks::line(&asking.typed).into_owned()),
            Drawn::styled("_", strong),
        ]),
        None if asking.question.is_line => {
            let typed = mcpkg_base::marks::line(&asking.typed).into_owned();
            Line::from(vec![Drawn::styled(format!(" {text} "), strong), Drawn::raw(typed), Drawn::styled("_", strong)])
        }
        None if asking.question.call.as_ref().is_some_and(mcpkg_console::Invocation::decides) => {
            Line::from(Drawn::styled(" y yes, n note first, other keys no", strong))
        }
        None => Line::from(Drawn::styled(" y yes, other keys no", strong)),
    }
}

/// Returns the line of keys: the first keys of this screen, the help key and, if there is room, the filter and palette
/// keys. While the user types, returns the keys that end or help typing. While an editor asks a question, returns only
/// the key that scrolls.
fn keys(app: &App, width: usize) -> Line<'static> {
    let typing = |text: &str| {
        Line::from(vec![
            Drawn::styled(" TYPING ", Style::new().add_modifier(Modifier::BOLD | Modifier::REVERSED)),
            Drawn::raw(format!(" {text}")),
        ])
    };
    match &app.typing {
        Typing::Filter if app.level().place == Place::Palette => {
            return typing(&format!(": {}_   enter open  esc stop", app.level().filter));
        }
        Typing::Filter if app.level().place == Place::Help => {
            return typing(&format!("? {}_   enter press it  esc stop", app.level().filter));
        }
        Typing::Filter => return typing(&format!("/ {}_   enter keep  esc stop", app.level().filter)),
        Typing::Note => {
            // A long note shows its end, where the cursor is.
            let room = width.saturating_sub(" TYPING  note: _   enter keep  esc stop".width());
            let note = mcpkg_base::marks::line(app.note());
            let mut end = note.as_ref();
            while end.width() > room {
                end = &end[end.chars().next().map_or(0, char::len_utf8)..];
            }
            return typing(&format!("note: {end}_   enter keep  esc stop"));
        }
        Typing::Field => return typing("enter next field  esc stop"),
        Typing::Editor => return typing("esc stop  Tab complete  F6 pick  F4 fix  F2 form  Ctrl-S save"),
        Typing::Value => return typing("enter set  esc stop  F6 pick"),
        Typing::Pick => return typing("enter pick  esc stop"),
        Typing::Nothing => {}
    }
    let is_editor = app.level().editor.is_some();
    if app.level().editor.as_ref().is_some_and(|editor| editor.question().is_some()) {
        // The message above names the keys that answer. All others mean no.
        return Line::raw(" PgDn more");
    }
    let mut keys = offered(app);
    if app.failure.is_some() {
        keys.retain(|(key, _)| key != "enter");
        keys.insert(0, ("enter".to_owned(), "the whole error".to_owned()));
    }
    keys.truncate(if is_editor { 7 } else { 5 });
    let shown: Vec<String> = keys.iter().map(|(key, label)| format!("{key} {label}")).collect();
    let left = |count: usize| format!(" {}", shown[..count].join("  "));
    let room = |right: &str| width.saturating_sub(right.width() + 1);
    let has_filter = app.level().has_filter() && !keys.iter().any(|(key, _)| key == "/");
    let all = if has_filter { "/ filter  ? keys  : palette " } else { "? keys  : palette " };
    let help = "? keys ";
    // If not all keys fit, leave out the last ones, but keep `? keys`, which lists all of them.
    let (left, right) = match left(shown.len()) {
        left if left.width() <= room(all) => (left, all),
        left if left.width() <= room(help) => (left, help),
        _ => (left((0..shown.len()).rfind(|count| left(*count).width() <= room(help)).unwrap_or_default()), help),
    };
    let gap = width.saturating_sub(left.width() + right.width());
    Line::raw(format!("{left}{}{right}", " ".repeat(gap)))
}

/// Returns the keys of the top screen, each with its label.
pub fn offered(app: &App) -> Vec<(String, String)> {
    let level = app.level();
    let mut keys: Vec<(String, String)> = Vec::new();
    if let Some(editor) = &level.editor {
        keys.extend(editor::keys(editor).map(|(key, label)| (key.to_owned(), label.to_owned())));
    } else if matches!(level.place, Place::Ask(_)) {
        for (key, label) in [("e", "write"), ("enter", "choose, open"), ("r", "run"), ("x", "stop"), ("c", "copy")] {
            keys.push((key.to_owned(), label.to_owned()));
        }
    } else if matches!(level.shown.screen().map(|screen| &screen.body), Some(Body::Form(_))) {
        for (key, label) in [("e", "type"), ("space", "choose"), ("r", "run"), ("c", "copy")] {
            keys.push((key.to_owned(), label.to_owned()));
        }
    } else {
        let takes = |row: &mcpkg_console::screen::Row| row.actions.iter().any(|action| action.key == '\n');
        if level.selected_row().is_some_and(|row| row.look.is_some() && !takes(row)) {
            keys.push(("enter".to_owned(), "look".to_owned()));
        }
        // While the database cannot be read, nothing can run.
        let cannot =
            |action: &mcpkg_console::Action| app.state == "LOST" || app.is_read_only && action.changes(app.domains);
        let offered = level.actions().into_iter().filter(|action| !cannot(action));
        keys.extend(offered.map(|action| (key_name(action.key), action.words())));
        if !level.views().is_empty() {
            keys.push(("v".to_owned(), "view".to_owned()));
        }
    }
    keys
}

fn key_name(key: char) -> String {
    match key {
        ' ' => "space".to_owned(),
        '\n' => "enter".to_owned(),
        key => key.to_string(),
    }
}

fn screen(frame: &mut Frame<'_>, app: &mut App, area: Rect, is_small: bool) {
    let is_ascii = app.is_ascii;
    let rows = usize::from(area.height);
    let (typing, is_filling) = (app.typing.clone(), app.typing == Typing::Field);
    let level = app.level_mut();
    if level.editor.is_some() {
        app.page = editor::draw(frame, app.level_mut(), area, &typing, is_ascii);
        return;
    }
    if level.has_columns() {
        level.split(level.is_split.unwrap_or(area.width >= BESIDE));
    }
    let note = app.decides_with();
    let level = app.level();
    let area = match level.shown.screen().map(|screen| &screen.body) {
        Some(Body::Text(_) | Body::Diff(_)) => noted(frame, note, area, is_ascii),
        _ => area,
    };
    let page = match &level.shown {
        Shown::Loading => rows,
        Shown::Failed(lines) => text::draw(frame, lines, level.scroll, area, is_ascii),
        Shown::Screen(screen) => match &screen.body {
            Body::Text(lines) => text::draw(frame, lines, level.scroll, area, is_ascii),
            Body::Form(form) if matches!(level.place, Place::Ask(_)) => {
                ask::draw(frame, level, form, is_filling, area, is_ascii)
            }
            Body::Diff(found) => diff::draw(frame, found, level, true, area, is_ascii),
            Body::Form(form) => text::form(frame, form, level.field, is_filling, area, is_ascii),
            Body::Editor(_) => rows,
            Body::List(found) => panes(frame, level, found, note, area, is_small, is_ascii),
        },
    };
    app.page = page.max(1);
}

/// Draws a list with its preview to the right of it or below it. On a small terminal, draws only the focused pane.
fn panes(
    frame: &mut Frame<'_>,
    level: &Level,
    found: &List,
    note: &str,
    area: Rect,
    is_small: bool,
    is_ascii: bool,
) -> usize {
    let is_palette = level.place == Place::Palette;
    let can_look = |row: &Row| row.look.as_ref().is_some_and(Place::has_preview);
    let has_preview = !is_palette && found.rows.iter().any(can_look);
    if !has_preview || is_small {
        return match level.in_preview {
            true => preview(frame, level, note, area, is_ascii),
            false => list::draw(frame, level, found, area, is_ascii),
        };
    }
    let is_beside = area.width >= if found.is_narrow { MEDIUM } else { WIDE };
    let rule = if is_ascii { (" |", "-") } else { (" │", "─") };
    let (first, line, second) = match is_beside {
        true => {
            let (least, most) = if found.is_narrow { (25, 45) } else { (35, 55) };
            let share = |percent: u16| area.width * percent / 100;
            let width = list::natural(found).clamp(share(least), share(most));
            let [first, line, second] =
                Layout::horizontal([Constraint::Length(width), Constraint::Length(2), Constraint::Fill(1)]).areas(area);
            (first, line, second)
        }
        false => {
            let wanted = u16::try_from(found.rows.len() + 1).unwrap_or(u16::MAX);
            let most = area.height.saturating_mul(3) / 5;
            let [first, line, second] = Layout::vertical([
                Constraint::Length(wanted.min(most).max(3)),
                Constraint::Length(1),
                Constraint::Fill(1),
            ])
            .areas(area);
            (first, line, second)
        }
    };
    let rules: Vec<Line<'static>> = match is_beside {
        true => (0..line.height).map(|_| Line::raw(rule.0)).collect(),
        false => vec![Line::raw(rule.1.repeat(usize::from(line.width)))],
    };
    frame.render_widget(Paragraph::new(rules).style(style(Tone::Dim)), line);
    let of_list = list::draw(frame, level, found, first, is_ascii);
    let of_preview = preview(frame, level, note, second, is_ascii);
    if level.in_preview { of_preview } else { of_list }
}

/// Draws the user's note about the request, if there is one, and returns the rest of the area.
fn noted(frame: &mut Frame<'_>, note: &str, area: Rect, is_ascii: bool) -> Rect {
    if note.is_empty() {
        return area;
    }
    let lines =
        [mcpkg_console::screen::Line::of(Tone::Warning, "Your note, sent with a or d: ").then(Tone::Plain, note)];
    let height = u16::try_from(text::height(&lines, area.width, is_ascii)).unwrap_or(u16::MAX).min(area.height / 3);
    let [above, below] = Layout::vertical([Constraint::Length(height), Constraint::Fill(1)]).areas(area);
    text::draw(frame, &lines, 0, above, is_ascii);
    below
}

fn preview(frame: &mut Frame<'_>, level: &Level, note: &str, area: Rect, is_ascii: bool) -> usize {
    let area = noted(frame, note, area, is_ascii);
    match &level.preview {
        Shown::Loading => usize::from(area.height),
        Shown::Failed(lines) => text::draw(frame, lines, level.scroll, area, is_ascii),
        Shown::Screen(screen) => match &screen.body {
            Body::Text(lines) => text::draw(frame, lines, level.scroll, area, is_ascii),
            Body::Diff(found) => diff::draw(frame, found, level, level.in_preview, area, is_ascii),
            Body::List(found) if found.rows.is_empty() => {
                text::draw(frame, &[mcpkg_console::screen::Line::plain(&found.keys_when_empty())], 0, area, is_ascii)
            }
            Body::List(found) => {
                list::rows(frame, &found.rows.iter().collect::<Vec<_>>(), found.columns, None, area, is_ascii)
            }
            Body::Editor(document) => {
                let lines: Vec<_> = mcpkg_console::screen::quoted(&document.text).collect();
                text::draw(frame, &lines, 0, area, is_ascii)
            }
            Body::Form(_) => usize::from(area.height),
        },
    }
}

/// Draws a question. Once its last line is visible, marks the question as read.
fn question(frame: &mut Frame<'_>, app: &mut App, area: Rect) {
    let is_ascii = app.is_ascii;
    let Some(asking) = &mut app.asking else { return };
    let mut lines = asking.question.lines.clone();
    if !asking.question.is_line {
        lines.push(mcpkg_console::screen::Line::blank());
        lines.push(mcpkg_console::screen::Line::of(Tone::Strong, &asking.question.text));
    }
    let height = text::height(&lines, area.width, is_ascii);
    let rows = usize::from(area.height);
    asking.scroll = asking.scroll.min(height.saturating_sub(rows));
    asking.is_read |= asking.scroll + rows >= height;
    app.page = text::draw_rows(frame, &lines, asking.scroll, area, is_ascii).max(1);
}

#[cfg(test)]
mod diff_tests;
#[cfg(test)]
mod form_tests;
#[cfg(test)]
mod leave_tests;
#[cfg(test)]
mod page_tests;
#[cfg(test)]
mod screens_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod words_tests;
