//! Tests that typed text is not lost: the console asks before it throws a text away, and a form's field keeps its text.

use std::time::{Duration, Instant};

use mcpkg_base::error::{Code, Error};
use mcpkg_console::Invocation;
use mcpkg_console::form::Form;
use mcpkg_console::place::{Place, Text};
use mcpkg_console::screen::{Body, Screen};
use mcpkg_core::op::Context;
use mcpkg_store::Store;
use mcpkg_store::projects::Selection;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::tests::{app, editor, frame, inbox, press};
use crate::tui::app::{App, Typing};
use crate::tui::level::Shown;
use crate::tui::message::{Copied, Edited, Message, Task};

/// Returns an editor on the workflows' stack, with an unsaved change.
fn changed() -> App {
    let mut app = editor();
    press(&mut app, KeyCode::Char('f'));
    assert!(app.level().is_unsaved());
    app
}

fn is_open(app: &App) -> bool {
    matches!(app.level().place, Place::Editor(Text::Draft(_)))
}

#[test]
fn throwing_a_text_away_shows_what_is_lost_and_takes_y() {
    let mut app = changed();
    for key in [KeyCode::Char('D'), KeyCode::Char('q'), KeyCode::Char('n'), KeyCode::Enter, KeyCode::Esc] {
        press(&mut app, KeyCode::Char('D'));
        let text = frame(&mut app, 80, 24);
        assert!(text.contains("Throw away the changes of app_with_db?   y yes, other keys no"), "{text}");
        assert!(text.contains(" PgDn more"), "{text}");
        let text = frame(&mut app, 80, 60);
        assert!(text.contains("--- app_with_db") && text.contains("+++ edited"), "{text}");
        press(&mut app, key);
        assert!(is_open(&app) && app.level().is_unsaved(), "{key:?}");
    }
    // A key that was pressed before the question was drawn does not answer it.
    press(&mut app, KeyCode::Char('D'));
    press(&mut app, KeyCode::Char('y'));
    press(&mut app, KeyCode::Esc);
    assert!(is_open(&app) && frame(&mut app, 80, 24).contains("y yes, other keys no"));
    press(&mut app, KeyCode::Char('y'));
    assert!(!is_open(&app));
    // A text without changes needs no question.
    let mut app = editor();
    press(&mut app, KeyCode::Char('D'));
    assert!(!is_open(&app));
}

#[test]
fn no_key_that_leaves_loses_an_unsaved_text() {
    let mut app = changed();
    for key in ['q', '1'] {
        press(&mut app, KeyCode::Char(key));
        assert!(frame(&mut app, 80, 24).contains("The text is not saved: s saves it, D throws it away"), "{key}");
        assert!(is_open(&app), "{key}");
    }
    // A key that closes the picker does not close the editor too.
    press(&mut app, KeyCode::F(6));
    press(&mut app, KeyCode::Char('q'));
    assert!(is_open(&app));
}

#[test]
fn a_second_ctrl_c_leaves_an_unsaved_text_once_the_warning_was_drawn() {
    let mut app = changed();
    let leaves = |app: &mut App| {
        let key = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        let tasks = app.update(Message::Key(key, Instant::now() + Duration::from_millis(1)));
        matches!(tasks[..], [Task::Quit])
    };
    assert!(!leaves(&mut app) && !leaves(&mut app), "the second one was typed ahead");
    assert!(frame(&mut app, 80, 24).contains("Press Ctrl-C again to throw it away"));
    press(&mut app, KeyCode::Esc);
    assert!(!leaves(&mut app));
    frame(&mut app, 80, 24);
    assert!(leaves(&mut app));
}

#[test]
fn the_text_goes_to_the_users_editor_and_comes_back() {
    let mut app = editor();
    let tasks = press(&mut app, KeyCode::Char('E'));
    let [Task::EditOnTerminal(version, name, text)] = &tasks[..] else { panic!("a task") };
    assert!(name == "app_with_db" && text.starts_with("workflow: app_with_db"));
    let tasks = app.update(Message::Edited(*version, Edited::Rewritten(Ok(format!("# mine\n{text}")))));
    assert!(matches!(tasks[..], [Task::Check(..)]));
    assert!(frame(&mut app, 80, 24).contains("# mine"));
    press(&mut app, KeyCode::Char('u'));
    assert!(!app.level().is_unsaved());
}

#[test]
fn space_on_a_field_for_any_text_keeps_it() {
    let scratch = tempfile::tempdir().expect("a folder");
    let store = Store::open(&scratch.path().join("mcpkg.db")).expect("a database");
    let context = Context::shell(crate::DOMAINS, store, Selection::default());
    let mut app = app();
    app.open(Place::Form("prompt create".to_owned()), &mut Vec::new());
    let mut form = Form::of(&context, "prompt create").expect("a form");
    "review".clone_into(&mut form.fields[0].value);
    let screen = Screen::of("", Body::Form(form));
    app.level_mut().shown = Shown::Screen(Box::new(screen));
    press(&mut app, KeyCode::Char(' '));
    assert_eq!(app.level_mut().form().expect("a form").fields[0].value, "review");
    assert_eq!(app.typing, Typing::Field);
}

#[test]
fn a_command_that_is_too_long_to_copy_is_shown() {
    let mut app = app();
    let command = |text: String| Copied { what: "command", text };
    app.update(Message::Copied(command("mcpkg inbox".to_owned()), true));
    assert!(frame(&mut app, 80, 24).contains("Copied: mcpkg inbox"));
    app.update(Message::Copied(command(format!("mcpkg deploy {}", "--only=file ".repeat(9_000))), false));
    let text = frame(&mut app, 80, 24);
    assert!(text.contains("Not copied: the command is too long") && text.contains("--only=file"), "{text}");
}

#[test]
fn the_marked_row_the_pane_and_the_text_of_an_editor_can_be_copied() {
    let copied = |app: &mut App| match &press(app, KeyCode::Char('C'))[..] {
        [Task::Copy(copied)] => copied.text.clone(),
        _ => panic!("nothing was copied"),
    };
    let mut app = inbox();
    assert_eq!(copied(&mut app), "ASK  mcp:claude-code  Run shop:apps:delete  destroys  13:48");
    press(&mut app, KeyCode::Tab);
    let text = copied(&mut app);
    // Hidden characters are copied as marks, as the screen shows them.
    assert!(text.contains("\nDELETE http://127.0.0.1:18291/apps/app_91c\n"), "{text}");
    assert!(!text.contains(['\u{1b}', '\u{202e}', '\u{200b}']), "{text:?}");
    app.update(Message::Copied(Copied { what: "text", text }, true));
    assert!(frame(&mut app, 80, 24).contains("Copied: 6 lines"));
    assert!(copied(&mut changed()).starts_with("workflow: app_with_db\n"));
    // For a row without an action, `c` copies the command for the place that the row opens.
    let mut app = inbox();
    let Shown::Screen(screen) = &mut app.level_mut().shown else { panic!("a screen") };
    let Body::List(list) = &mut screen.body else { panic!("a list") };
    list.rows[0].actions.clear();
    list.rows[0].look = Some(Place::Event(17));
    assert!(matches!(&press(&mut app, KeyCode::Char('c'))[..], [Task::Copy(copied)] if copied.text == "mcpkg undo 17"));
}

#[test]
fn a_filter_finds_lines_of_a_text() {
    let mut app = inbox();
    let preview = std::mem::take(&mut app.level_mut().preview);
    app.level_mut().shown = preview;
    "/APP_91C".chars().for_each(|c| drop(press(&mut app, KeyCode::Char(c))));
    assert_eq!(app.level().scroll, 2);
    press(&mut app, KeyCode::Char('x'));
    assert!(frame(&mut app, 80, 24).contains("No line has this text"));
    press(&mut app, KeyCode::Backspace);
    press(&mut app, KeyCode::Enter);
    // Without a filter, `.` goes to the lines with hidden characters again.
    press(&mut app, KeyCode::Char('.'));
    assert_eq!(app.level().scroll, 2);
    press(&mut app, KeyCode::Esc);
    press(&mut app, KeyCode::Char('.'));
    assert_eq!(app.level().scroll, 3);
}

#[test]
fn the_view_of_a_preview_holds_for_all_rows_and_for_what_enter_opens() {
    let mut app = inbox();
    app.level_mut().preview_views = &["rendered", "as agents see it"];
    assert!(frame(&mut app, 120, 24).contains("v view"));
    let view = |tasks: &[Task]| {
        tasks.iter().find_map(|task| match task {
            Task::Load(ticket) if ticket.place != Place::Inbox => Some(ticket.part.view),
            _ => None,
        })
    };
    assert_eq!(view(&press(&mut app, KeyCode::Char('v'))), Some(1));
    assert!(frame(&mut app, 120, 24).contains(", as agents see it"));
    assert_eq!(view(&press(&mut app, KeyCode::Char('j'))), Some(1));
}

#[test]
fn enter_shows_a_whole_error_with_its_hints_and_its_command() {
    let mut app = inbox();
    let call = Invocation::new("draft approve").with("1");
    let error = Error::new(Code::WorkflowInvalid, "Draft 1 has 1 error; nothing was changed").hint("fix the draft");
    app.update(Message::Done(call, Err(error)));
    assert!(frame(&mut app, 80, 24).contains(" enter the whole error  a approve"));
    press(&mut app, KeyCode::Enter);
    let text = frame(&mut app, 80, 24);
    let lines =
        ["error: Draft 1 has 1 error; nothing was changed", "hint: fix the draft", "command: mcpkg draft approve 1"];
    assert!(lines.iter().all(|line| text.contains(line)), "{text}");
    press(&mut app, KeyCode::Esc);
    assert!(frame(&mut app, 80, 24).contains(" enter look  a approve"));
}
