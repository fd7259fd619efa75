//! What was typed is not lost: throwing a text away asks, a form's field stays, and a copy that failed says so.

use mcpkg_console::form::Form;
use mcpkg_console::place::{Place, Text};
use mcpkg_console::screen::{Body, Screen};
use mcpkg_core::op::Context;
use mcpkg_store::Store;
use mcpkg_store::projects::Selection;
use ratatui::crossterm::event::KeyCode;

use super::tests::{app, editor, frame, press};
use crate::tui::app::{App, Typing};
use crate::tui::level::Shown;
use crate::tui::message::{Edited, Message, Task};

/// Returns an editor on the workflows' stack, with a line that is not saved.
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
        assert!(text.contains("y throw away"), "{text}");
        let text = frame(&mut app, 80, 60);
        assert!(text.contains("--- app_with_db") && text.contains("+++ edited"), "{text}");
        press(&mut app, key);
        assert!(is_open(&app) && app.level().is_unsaved(), "{key:?}");
    }
    press(&mut app, KeyCode::Char('D'));
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
    let screen = Screen { title: String::new(), body: Body::Form(form), actions: Vec::new(), views: &[] };
    app.level_mut().shown = Shown::Screen(Box::new(screen));
    press(&mut app, KeyCode::Char(' '));
    assert_eq!(app.level_mut().form().expect("a form").fields[0].value, "review");
    assert_eq!(app.typing, Typing::Field);
}

#[test]
fn a_command_that_is_too_long_to_copy_is_shown() {
    let mut app = app();
    app.update(Message::Copied("mcpkg inbox".to_owned(), true));
    assert!(frame(&mut app, 80, 24).contains("Copied: mcpkg inbox"));
    app.update(Message::Copied(format!("mcpkg deploy {}", "--only=file ".repeat(9_000)), false));
    let text = frame(&mut app, 80, 24);
    assert!(text.contains("Not copied: the command is too long") && text.contains("--only=file"), "{text}");
}
