//! Draws the panel that asks the user's agent: the fields above, and below them what the agent does.

use mcpkg_console::form::Form;
use mcpkg_console::screen::{Line as Told, Row, Span, Tone};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span as Drawn};
use ratatui::widgets::Paragraph;

use super::look::style;
use super::text;
use crate::tui::level::Level;

/// Draws the panel. Returns the height of a page in rows.
pub fn draw(frame: &mut Frame<'_>, level: &Level, form: &Form, is_typing: bool, area: Rect, is_ascii: bool) -> usize {
    let (selected, reports) = (level.field, &level.reports);
    let mut lines: Vec<Line<'static>> = Vec::new();
    for (at, field) in form.fields.iter().enumerate() {
        lines.extend(self::field(form, at, at == selected, is_typing && at == selected, area.width, is_ascii));
        if at == selected && reports.is_empty() {
            let values =
                if field.values.is_empty() { String::new() } else { format!(" ({})", field.values.join(", ")) };
            lines.push(Line::from(Drawn::styled(format!("    {}{values}", field.about), style(Tone::Dim))));
        }
    }
    // Once the agent has reported something, the fields take at most half of the panel, however long the request is.
    let most = if reports.is_empty() { area.height } else { area.height / 2 };
    let height = u16::try_from(lines.len()).unwrap_or(u16::MAX).min(most);
    let [fields, rule, below] =
        Layout::vertical([Constraint::Length(height), Constraint::Length(1), Constraint::Fill(1)]).areas(area);
    let hidden = lines.len().saturating_sub(usize::from(height));
    let scroll = if is_typing { u16::try_from(hidden).unwrap_or(u16::MAX) } else { 0 };
    frame.render_widget(Paragraph::new(lines).scroll((scroll, 0)), fields);
    let dash = if is_ascii { "-" } else { "─" };
    frame.render_widget(Paragraph::new(dash.repeat(usize::from(rule.width))).style(style(Tone::Dim)), rule);
    rows(frame, reports, selected.checked_sub(form.fields.len()), below, is_ascii)
}

/// Returns the lines of a field. A long value is wrapped at the width.
fn field(form: &Form, at: usize, is_selected: bool, is_typing: bool, width: u16, is_ascii: bool) -> Vec<Line<'static>> {
    let field = &form.fields[at];
    let name = form.fields.iter().map(|field| field.name.chars().count()).max().unwrap_or(0);
    let value = match field.value.is_empty() && field.is_required && !is_typing {
        true => "(required)".to_owned(),
        false => mcpkg_base::marks::line(&field.value).into_owned() + if is_typing { "_" } else { "" },
    };
    let look = if is_selected { Style::new().add_modifier(Modifier::BOLD | Modifier::REVERSED) } else { Style::new() };
    let mark = if is_selected { ">" } else { " " };
    let margin = u16::try_from(name + 4).unwrap_or(u16::MAX);
    let pieces = text::wrapped(&Told::plain(&value), width.saturating_sub(margin), is_ascii);
    let line = |(row, piece): (usize, Line<'static>)| {
        let head = if row == 0 { format!("{mark} {:<name$} ", field.name) } else { " ".repeat(name + 3) };
        Line::from_iter(std::iter::once(Drawn::styled(head, look)).chain(piece.spans))
    };
    pieces.into_iter().enumerate().map(line).collect()
}

/// Draws what the agent did, scrolled to the selected draft or else to the newest line. The rows are behind a bar, since
/// they contain the agent's own text.
fn rows(frame: &mut Frame<'_>, reports: &[Row], marked: Option<usize>, area: Rect, is_ascii: bool) -> usize {
    let mut opening = 0;
    let mut at_marked = None;
    let mut lines = Vec::new();
    for row in reports {
        let is_marked = row.look.is_some() && marked == Some(opening);
        opening += usize::from(row.look.is_some());
        if is_marked {
            at_marked = Some(lines.len());
        }
        lines.push(told(row, is_marked));
    }
    let last = text::height(&lines, area.width, is_ascii).saturating_sub(usize::from(area.height));
    let above = at_marked.map(|at| text::height(&lines[..at], area.width, is_ascii));
    text::draw_rows(frame, &lines, above.unwrap_or(last).min(last), area, is_ascii)
}

fn told(row: &Row, is_marked: bool) -> Told {
    let gap = Span::plain(" ");
    let mut spans: Vec<Span> = Vec::new();
    for cell in &row.cells {
        let tone = if is_marked { Tone::Changed } else { cell.tone };
        spans.extend([Span::new(tone, cell.text()), gap.clone()]);
    }
    if row.look.is_some() {
        spans.push(Span::new(Tone::Dim, " enter opens it"));
    }
    Told { spans, is_quoted: true, ..Told::default() }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use mcpkg_base::error::{Code, Error};
    use mcpkg_console::Place;
    use mcpkg_console::screen::Body;
    use mcpkg_core::op::{Context, Reply};
    use mcpkg_store::Store;
    use ratatui::crossterm::event::KeyCode;
    use serde_json::json;

    use super::super::tests::{app, frame, press};
    use crate::tui::app::{App, Typing};
    use crate::tui::message::{Message, Task};

    /// Returns a panel with a filled-in request and two agents to choose from.
    fn panel() -> App {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(&folder.path().join("a.db")).expect("a database");
        let context = Context::shell(crate::DOMAINS, store, Default::default());
        let mut screen =
            mcpkg_console::load(&Place::Ask(None), &context, &mcpkg_console::Part::default()).expect("a screen");
        let Body::Form(form) = &mut screen.body else { panic!("no form") };
        for field in &mut form.fields {
            match field.name.as_str() {
                "text" => {
                    field.value = "Create a staging app with a small Postgres, by id, in the region eu.".to_owned()
                }
                "--agent" => {
                    field.values = vec!["claude-code".to_owned(), "codex".to_owned()];
                    field.value = "claude-code".to_owned();
                }
                _ => {}
            }
        }
        let mut app = app();
        app.go(4, &mut Vec::new());
        app.open(Place::Ask(None), &mut Vec::new());
        assert_eq!(app.typing, Typing::Field);
        app.typing = Typing::Nothing;
        app.level_mut().take(Box::new(screen));
        app
    }

    /// Starts the agent, which makes two calls.
    fn running() -> App {
        let mut app = panel();
        let tasks = press(&mut app, KeyCode::Char('r'));
        let [Task::Follow(call, _)] = &tasks[..] else { panic!("nothing runs") };
        let call = call.clone();
        let command = call.command();
        assert!(command.starts_with("mcpkg ask '--agent=claude-code' '--timeout=10m' 'Create"), "{command}");
        // The items have no times, because the drawn times would depend on the time zone.
        let items = json!([
            { "kind": "call", "tool": "search_commands", "outcome": "ok", "shown": "search_commands: 665 bytes" },
            { "kind": "call", "tool": "execute", "outcome": "E_CONSENT_REQUIRED", "shown": "execute: E_CONSENT_REQUIRED" },
            { "kind": "text", "shown": "I wait for you.\u{1b}[2J\nApproved: nothing to see" },
        ]);
        let reply = Reply::sentence("", json!({ "progress": items }));
        app.update(Message::Reported(call, Box::new(reply), 0));
        app
    }

    #[test]
    fn the_panel_at_three_widths() {
        for (columns, rows) in [(40, 12), (80, 24), (120, 24)] {
            insta::assert_snapshot!(format!("ask-{columns}"), frame(&mut running(), columns, rows));
        }
        let text = frame(&mut running(), 80, 24);
        assert!(!text.contains('\u{1b}'), "{text}");
        let forged = text.lines().find(|line| line.contains("Approved: nothing")).expect("the line");
        assert!(forged.trim_start().starts_with('|'), "{forged}");
    }

    #[test]
    fn enter_chooses_an_agent_and_one_agent_runs_at_a_time() {
        let mut app = panel();
        press(&mut app, KeyCode::Char('j'));
        press(&mut app, KeyCode::Enter);
        assert!(frame(&mut app, 80, 24).contains("--agent    codex"), "{}", frame(&mut app, 80, 24));
        assert_eq!(app.typing, Typing::Nothing);
        assert_eq!(press(&mut app, KeyCode::Char('r')).len(), 1);
        assert_eq!(press(&mut app, KeyCode::Char('r')).len(), 0);
        assert!(frame(&mut app, 80, 24).contains("x stops it"));
        // A closed panel comes back while its agent runs.
        press(&mut app, KeyCode::Esc);
        app.open(Place::Ask(None), &mut Vec::new());
        assert!(frame(&mut app, 80, 24).contains("--agent    codex"));
        let warned = app.update(Message::Key(
            ratatui::crossterm::event::KeyEvent::new(
                KeyCode::Char('c'),
                ratatui::crossterm::event::KeyModifiers::CONTROL,
            ),
            Instant::now(),
        ));
        assert!(warned.is_empty() && frame(&mut app, 80, 24).contains("An agent is still running"));
    }

    #[test]
    fn x_cancels_and_a_failure_stays_on_the_panel() {
        let mut app = panel();
        let tasks = press(&mut app, KeyCode::Char('r'));
        let [Task::Follow(call, cancelled)] = &tasks[..] else { panic!("nothing runs") };
        press(&mut app, KeyCode::Char('x'));
        assert!(cancelled.is_cancelled());
        let error =
            Error::new(Code::Cancelled, "Cancelled; mcpkg ended Claude Code").hint("`mcpkg draft diff 1` shows it");
        app.update(Message::Done(call.clone(), Err(error)));
        let text = frame(&mut app, 80, 24);
        assert!(
            text.contains("error: Cancelled; mcpkg ended Claude Code") && text.contains("hint: `mcpkg draft diff 1`"),
            "{text}"
        );
        assert_eq!((app.running, app.is_asking()), (0, false));
    }

    #[test]
    fn a_draft_opens_if_its_panel_is_still_on_top() {
        for stayed in [true, false] {
            let mut app = panel();
            let tasks = press(&mut app, KeyCode::Char('r'));
            let [Task::Follow(call, _)] = &tasks[..] else { panic!("nothing runs") };
            if !stayed {
                press(&mut app, KeyCode::Char('1'));
            }
            let item = json!({ "kind": "call", "outcome": "ok", "shown": "draft 1", "draft": { "id": "d1" } });
            let reply = Reply::sentence("", json!({ "progress": [item] }));
            app.update(Message::Reported(call.clone(), Box::new(reply), 0));
            assert_eq!(app.level().place == Place::DraftDiff("d1".to_owned(), Vec::new()), stayed);
            press(&mut app, if stayed { KeyCode::Esc } else { KeyCode::Char('5') });
            // In the panel, `G` and Enter open the reported draft.
            press(&mut app, KeyCode::Char('G'));
            press(&mut app, KeyCode::Enter);
            assert_eq!(app.level().place, Place::DraftDiff("d1".to_owned(), Vec::new()));
        }
    }
}
