//! Tests lists that are only partly loaded: more rows load when the selection nears the end, and a filter searches the
//! database.

use mcpkg_console::place::Place;
use mcpkg_console::screen::{List, Row, Screen, Span, Tone};
use mcpkg_console::{Action, Does};
use ratatui::crossterm::event::KeyCode;

use super::tests::{app, frame, press};
use crate::tui::app::App;
use crate::tui::message::{Message, Task, Ticket};

fn row(name: &str) -> Row {
    Row { id: name.to_owned(), cells: vec![Span::plain(name)], ..Row::default() }
}

/// Returns a screen with this many rows and, if `has_more`, one more row, which loads further ones.
fn screen(rows: usize, has_more: bool) -> Box<Screen> {
    let mut rows: Vec<Row> = (0..rows).map(|at| row(&format!("row-{at:04}"))).collect();
    rows.extend(has_more.then(|| Row {
        id: "more".to_owned(),
        cells: vec![Span::new(Tone::Dim, "... more prompts")],
        actions: vec![Action::new('\n', "more", Does::More)],
        ..Row::default()
    }));
    let list = List { columns: &[], rows, empty: "", is_narrow: true, ..List::default() };
    Box::new(Screen::list("Content", list))
}

/// Returns the ticket of the task that loads the content, if there is one.
fn wanted(tasks: Vec<Task>) -> Option<Ticket> {
    tasks.into_iter().find_map(|task| match task {
        Task::Load(ticket) if ticket.place == Place::Content => Some(ticket),
        _ => None,
    })
}

/// Returns a console that shows the content, with only the first 1,000 rows loaded.
fn content() -> App {
    let mut app = app();
    let ticket = wanted(press(&mut app, KeyCode::Char('3'))).expect("a load");
    assert_eq!(ticket.part.rows, 1_000);
    app.update(Message::Loaded(ticket, Ok(screen(1_000, true))));
    frame(&mut app, 80, 24);
    app
}

#[test]
fn rows_are_loaded_when_the_selection_nears_the_end_and_once() {
    let mut app = content();
    assert!(wanted(press(&mut app, KeyCode::PageDown)).is_none());
    let ticket = wanted(press(&mut app, KeyCode::Char('G'))).expect("more rows");
    assert_eq!(ticket.part.rows, 2_000);
    assert!(wanted(press(&mut app, KeyCode::Char('j'))).is_none(), "they are being loaded");
    press(&mut app, KeyCode::Char('k'));
    let selected = app.level().selected.clone();
    app.update(Message::Loaded(ticket, Ok(screen(1_500, false))));
    assert_eq!(app.level().selected, selected);
    assert!(wanted(press(&mut app, KeyCode::Char('G'))).is_none(), "the list is whole");
    assert_eq!(app.level().selected, "row-1499");
}

#[test]
fn enter_on_the_last_row_loads_more() {
    let mut app = content();
    app.level_mut().selected = "more".to_owned();
    assert!(frame(&mut app, 80, 24).contains("enter more"));
    assert_eq!(wanted(press(&mut app, KeyCode::Enter)).expect("more rows").part.rows, 2_000);
}

#[test]
fn a_filter_of_a_long_list_asks_the_database() {
    let mut app = content();
    press(&mut app, KeyCode::Char('/'));
    let ticket = wanted(press(&mut app, KeyCode::Char('z'))).expect("a search");
    assert_eq!(ticket.part.words, "z");
    let list = List {
        columns: &[],
        rows: vec![row("zebra"), row("of its text")],
        empty: "",
        is_narrow: true,
        ..List::default()
    };
    app.update(Message::Loaded(ticket, Ok(Box::new(Screen::list("Content: 2 found", list)))));
    // A row is shown even if only its text matches, and not its name.
    assert!(frame(&mut app, 80, 24).contains("of its text"));
    assert_eq!(app.level().selected, "zebra");
    press(&mut app, KeyCode::Esc);
    let ticket = wanted(press(&mut app, KeyCode::Esc)).expect("the whole list");
    assert_eq!(ticket.part.words, "");
    app.update(Message::Loaded(ticket, Ok(screen(20, false))));
    // A list that is fully loaded is filtered without the database.
    press(&mut app, KeyCode::Char('/'));
    assert!(wanted(press(&mut app, KeyCode::Char('7'))).is_none());
    assert_eq!(app.level().rows().len(), 2);
}
