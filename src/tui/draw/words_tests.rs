//! Tests the console's own texts: the keys of a screen, the current name of an edited text, and reports of what was
//! done.

use std::sync::mpsc;

use mcpkg_console::place::{Following, Place, Text, Undo};
use mcpkg_console::screen::{List, Row, Screen};
use mcpkg_console::{Action, Invocation};
use mcpkg_core::op::Reply;
use ratatui::crossterm::event::KeyCode;
use serde_json::json;

use super::form_tests::{open, picks, planned};
use super::tests::{app, editor, frame, press};
use crate::tui::app::{App, Typing};
use crate::tui::editor::Lower;
use crate::tui::level::Shown;
use crate::tui::message::{Message, Question, Task, Work};

fn types(app: &mut App, text: &str) {
    text.chars().for_each(|c| drop(press(app, KeyCode::Char(c))));
}

#[test]
fn typed_words_are_the_last_row_of_a_picker() {
    let mut app = planned();
    picks(&mut app);
    let text = frame(&mut app, 80, 24);
    assert!(text.contains("enter pick  e type a value  / search  esc close"), "{text}");
    // `region` takes `eu | us` here.
    press(&mut app, KeyCode::Char('/'));
    types(&mut app, "asia");
    assert!(frame(&mut app, 80, 24).contains("Nothing fits here."));
    (0..4).for_each(|_| drop(press(&mut app, KeyCode::Backspace)));
    types(&mut app, "us");
    press(&mut app, KeyCode::Down);
    let text = frame(&mut app, 80, 24);
    assert!(text.lines().any(|line| line.starts_with("> us ") && line.contains("this value")), "{text}");
    // The first esc ends the typing, the second one closes the picker.
    press(&mut app, KeyCode::Esc);
    assert!(app.typing == Typing::Nothing && matches!(open(&app).lower, Lower::Picker(_)));
    let tasks = press(&mut app, KeyCode::Enter);
    let [Task::Work(_, _, Work::Set { pointer, value, .. })] = &tasks[..] else { panic!("a value is set") };
    assert_eq!((pointer.as_str(), value.as_deref()), ("/steps/0/with/region", Some("us")));
    let mut app = planned();
    picks(&mut app);
    press(&mut app, KeyCode::Esc);
    assert_eq!(open(&app).lower, Lower::Findings);
    // `e` closes the picker and types the value into the form.
    picks(&mut app);
    press(&mut app, KeyCode::Char('e'));
    assert!(app.typing == Typing::Value && frame(&mut app, 80, 24).contains("inputs.regoin_"));
}

#[test]
fn the_console_shows_the_name_that_the_text_has_now() {
    let mut app = editor();
    app.level_mut().place = Place::Editor(Text::Empty);
    let editor = app.level_mut().editor.as_mut().expect("an editor");
    let text = editor.text().replace("workflow: app_with_db", "workflow: \"blog_setup\" # new");
    editor.replace(&text);
    press(&mut app, KeyCode::Char('s'));
    for key in [None, Some(KeyCode::PageDown)] {
        key.map(|key| press(&mut app, key));
        let text = frame(&mut app, 80, 40);
        assert!(text.contains("Workflows > blog_setup"), "{text}");
        assert!(text.contains("Save as new workflow blog_setup?   y yes, other keys no"), "{text}");
        assert!(!text.contains("app_with_db"), "{text}");
    }
    press(&mut app, KeyCode::PageUp);
    assert!(frame(&mut app, 80, 40).contains("--- (new)"));
    assert!(press(&mut app, KeyCode::Char('y')).iter().any(|task| matches!(task, Task::Save(..))));
}

/// Returns the feed with a preview of an undo on top.
fn undo() -> App {
    let mut app = app();
    press(&mut app, KeyCode::Char('2'));
    let all = Following {
        actor: "mcp:codex".to_owned(),
        since: "2026-11-28T12:48:20Z".to_owned(),
        first: 3,
        except: Vec::new(),
        denied: Vec::new(),
    };
    app.open(Place::Undo(Undo::By(all)), &mut Vec::new());
    let action = Action { what: "3 changes".to_owned(), ..Action::call('a', "undo", Invocation::new("undo")) };
    let list = List { rows: vec![Row::default()], ..List::default() };
    app.level_mut().shown = Shown::Screen(Box::new(Screen::list("Feed > Undo", list).with([action])));
    app
}

#[test]
fn an_undo_that_was_done_leads_back_to_the_feed() {
    let mut app = undo();
    assert!(frame(&mut app, 80, 24).contains(" a undo 3 changes "));
    press(&mut app, KeyCode::Char('a'));
    let (answer, _answered) = mpsc::channel();
    let text = "Undo 3 changes?".to_owned();
    app.update(Message::Asked(Question { lines: Vec::new(), text, is_line: false, name: None, call: None, answer }));
    let text = frame(&mut app, 80, 24);
    assert!(text.contains("WAITING FOR YOU") && !text.contains("RUNNING"), "{text}");
    press(&mut app, KeyCode::Char('y'));
    assert!(frame(&mut app, 80, 24).contains("RUNNING"));
    let done = |undone: u64| {
        let event = (undone > 0).then_some(9);
        let reply = Reply::sentence(format!("Undid {undone} changes"), json!({ "undone": undone, "event": event }));
        Message::Done(Invocation::new("undo"), Ok(Box::new(reply)))
    };
    // The user may look at something else meanwhile.
    press(&mut app, KeyCode::Char('1'));
    app.update(done(0));
    assert_eq!(app.stacks[1].len(), 2, "nothing was undone, so the preview stays");
    app.update(done(3));
    assert!(frame(&mut app, 80, 24).contains("Undid 3 changes   u undo"));
    press(&mut app, KeyCode::Char('u'));
    assert_eq!(app.level().place, Place::Undo(Undo::Event(9)), "while the message is shown, u undoes the undo");
    app.update(done(3));
    press(&mut app, KeyCode::Char('2'));
    assert_eq!(app.level().place, Place::Feed);
    press(&mut app, KeyCode::Char('u'));
    assert_eq!(app.level().place, Place::Feed);
}

#[test]
fn the_help_begins_with_the_keys_of_the_screen_and_presses_the_selected_one() {
    for (columns, rows) in [(40, 10), (80, 24), (120, 40), (200, 50)] {
        let mut app = undo();
        press(&mut app, KeyCode::Char('?'));
        insta::assert_snapshot!(format!("help-{columns}"), frame(&mut app, columns, rows));
        (0..60).for_each(|_| drop(press(&mut app, KeyCode::Down)));
        let text = frame(&mut app, columns, rows);
        assert!(text.contains("> Ctrl-S, Ctrl-R") && text.contains("save, redo"), "no words are cut: {text}");
        press(&mut app, KeyCode::Esc);
        assert!(matches!(app.level().place, Place::Undo(_)));
    }
    let mut app = undo();
    press(&mut app, KeyCode::Char('?'));
    types(&mut app, "undo 3");
    assert!(matches!(press(&mut app, KeyCode::Enter)[..], [Task::Load(_), .., Task::Run(_)]));
    assert!(matches!(app.level().place, Place::Undo(_)));
    // The row `arrows, h j k l` does not begin with a single key, so no key is pressed.
    press(&mut app, KeyCode::Char('?'));
    types(&mut app, "arrows");
    press(&mut app, KeyCode::Enter);
    assert!(frame(&mut app, 80, 24).contains("These keys work without the help: arrows, h j k l"));
}

#[test]
fn a_key_of_the_table_that_does_nothing_says_so() {
    let mut app = undo();
    for (key, name) in [('p', "p"), (' ', "space"), ('z', "z")] {
        assert!(press(&mut app, KeyCode::Char(key)).is_empty());
        let text = frame(&mut app, 80, 24);
        assert!(text.contains(&format!("{name} does nothing here; ? shows the keys of this place")), "{text}");
    }
    press(&mut app, KeyCode::Char('w'));
    assert!(!frame(&mut app, 80, 24).contains("does nothing here"));
}

#[test]
fn a_decision_is_reported_with_its_limit_and_its_note_first() {
    let mut app = app();
    let request = json!({
        "summary": "Run shop:apps:create (writes: POST http://127.0.0.1/apps)", "asked_by": "mcp:codex",
        "expires_at": "2026-11-28T12:48:20Z",
    });
    let mut done = |call: Invocation| {
        let reply = Reply::sentence("Approved: a long sentence", request.clone());
        app.update(Message::Done(call, Ok(Box::new(reply))));
        frame(&mut app, 80, 24)
    };
    let text = done(Invocation::new("consent approve").with("1"));
    assert!(text.contains(" Approved once, until ") && text.contains(". mcp:codex can run it now: Run "), "{text}");
    let text = done(Invocation::new("consent deny").option("--note", "no").with("1"));
    assert!(text.contains(" Denied: Run shop:apps:create. The agent gets your note."), "{text}");
}

#[test]
fn a_long_note_shows_its_end_and_the_keys() {
    let mut app = app();
    app.typing = Typing::Note;
    types(&mut app, &format!("{}the end", "x".repeat(90)));
    let text = frame(&mut app, 80, 24);
    assert!(text.contains("xthe end_   enter keep  esc stop"), "{text}");
}

#[test]
fn a_new_request_is_announced_where_the_inbox_is_not_on_the_screen() {
    let mut app = app();
    let row = |id: &str| Row {
        id: format!("ask {id}"),
        cells: ["ASK", "mcp:codex", "Run shop:apps:list"].map(mcpkg_console::screen::Span::plain).into(),
        ..Row::default()
    };
    let inbox = |app: &mut App, ids: &[&str]| {
        let list = List { rows: ids.iter().map(|id| row(id)).collect(), ..List::default() };
        let tasks = app.update(Message::Surveyed);
        let ticket = tasks.into_iter().find_map(|task| match task {
            Task::Load(ticket) if ticket.place == Place::Inbox => Some(ticket),
            _ => None,
        });
        app.update(Message::Loaded(ticket.expect("a load"), Ok(Box::new(Screen::list("Inbox", list)))));
    };
    inbox(&mut app, &["1"]);
    press(&mut app, KeyCode::Char('2'));
    inbox(&mut app, &["1"]);
    assert!(app.message.is_none());
    inbox(&mut app, &["1", "2"]);
    assert!(frame(&mut app, 80, 24).contains("mcp:codex asks: Run shop:apps:list   1 Inbox"));
    press(&mut app, KeyCode::Char('1'));
    inbox(&mut app, &["1", "2", "3"]);
    assert!(app.message.is_none());
}

/// Returns the inbox with requests of different ids.
fn requests() -> App {
    let mut app = super::tests::inbox();
    let Shown::Screen(screen) = &mut app.level_mut().shown else { panic!("a screen") };
    let mcpkg_console::screen::Body::List(list) = &mut screen.body else { panic!("a list") };
    for (at, row) in list.rows.iter_mut().enumerate() {
        let call = |words: &str| Invocation::new(words).with(at.to_string());
        let deny = call("consent deny").asking("Deny it?");
        row.actions = vec![Action::call('d', "deny", deny), Action::note()];
    }
    app
}

#[test]
fn a_note_stays_with_its_request_and_is_sent_with_no_other() {
    let mut app = requests();
    press(&mut app, KeyCode::Char('n'));
    types(&mut app, "not now");
    press(&mut app, KeyCode::Enter);
    let shown = "Your note, sent with a or d: not now";
    assert!(frame(&mut app, 80, 24).contains(shown));
    press(&mut app, KeyCode::Down);
    assert!(!frame(&mut app, 80, 24).contains(shown), "the note is about the other request");
    let sent = |tasks: Vec<Task>| match tasks.into_iter().next_back() {
        Some(Task::Run(call)) => call.command(),
        _ => panic!("nothing runs"),
    };
    assert_eq!(sent(press(&mut app, KeyCode::Char('d'))), "mcpkg consent deny 1");
    press(&mut app, KeyCode::Up);
    assert!(frame(&mut app, 80, 24).contains(shown));
    assert_eq!(sent(press(&mut app, KeyCode::Char('d'))), "mcpkg consent deny '--note=not now' 0");
}

#[test]
fn n_at_the_question_of_a_decision_adds_a_note_and_asks_again() {
    let mut app = requests();
    let ask = |app: &mut App, call: &Invocation| {
        let (answer, answered) = mpsc::channel();
        let (text, call) = ("Deny it?".to_owned(), Some(call.clone()));
        app.update(Message::Asked(Question { lines: Vec::new(), text, is_line: false, name: None, call, answer }));
        frame(app, 80, 24);
        answered
    };
    let call = Invocation::new("consent deny").with("0").asking("Deny it?");
    let answered = ask(&mut app, &call);
    assert!(frame(&mut app, 80, 24).contains(" y yes, n note first, other keys no"));
    press(&mut app, KeyCode::Char('n'));
    assert_eq!((answered.try_recv(), &app.typing), (Ok(None), &Typing::Note));
    types(&mut app, "no");
    let tasks = press(&mut app, KeyCode::Enter);
    let [Task::Run(noted)] = &tasks[..] else { panic!("it asks again") };
    assert_eq!(noted.question.as_deref(), Some("Deny it? Your note: \"no\""));
    // A second note replaces the first one. Esc gives up.
    ask(&mut app, noted);
    press(&mut app, KeyCode::Char('n'));
    types(&mut app, "pe");
    let tasks = press(&mut app, KeyCode::Enter);
    let [Task::Run(noted)] = &tasks[..] else { panic!("it asks again") };
    assert_eq!(noted.command(), "mcpkg consent deny '--note=nope' 0");
    ask(&mut app, noted);
    press(&mut app, KeyCode::Char('n'));
    press(&mut app, KeyCode::Esc);
    assert!(app.asking.is_none() && press(&mut app, KeyCode::Enter).iter().all(|task| !matches!(task, Task::Run(_))));
}

#[test]
fn a_filter_that_is_given_up_selects_a_row_with_its_keys_and_its_preview() {
    let mut app = super::tests::inbox();
    press(&mut app, KeyCode::Char('j'));
    let load = |tasks: &[Task]| {
        tasks.iter().find_map(|task| match task {
            Task::Load(ticket) if ticket.place != Place::Inbox => Some(ticket.clone()),
            _ => None,
        })
    };
    press(&mut app, KeyCode::Char('k'));
    let tasks = press(&mut app, KeyCode::Char('j'));
    let late = load(&tasks).expect("a preview");
    types(&mut app, "/zzz");
    app.update(Message::Loaded(late, Ok(Box::new(Screen::text("", vec![mcpkg_console::screen::Line::plain("LATE")])))));
    let text = frame(&mut app, 80, 24);
    assert!(text.contains("Nothing matches the filter.") && !text.contains("LATE"), "{text}");
    press(&mut app, KeyCode::Esc);
    let tasks = press(&mut app, KeyCode::Esc);
    assert!(load(&tasks).is_some_and(|ticket| ticket.place == Place::Consent("Run shop:apps:delete".to_owned())));
    let text = frame(&mut app, 80, 24);
    assert!(text.contains(" enter look  a approve  d deny"), "{text}");
    assert!(text.lines().any(|line| line.starts_with("> ASK    mcp:claude-code")), "{text}");
}

#[test]
fn the_fix_key_is_offered_only_where_there_is_a_fix_and_never_moves_the_cursor() {
    let mut app = planned();
    assert!(frame(&mut app, 80, 24).contains("f fix"));
    app.level_mut().editor.as_mut().expect("an editor").findings[0].fix = None;
    let text = frame(&mut app, 80, 24);
    assert!(!text.contains("f fix") && !text.contains("/ filter") && text.contains("? keys"), "{text}");
    for (line, said) in [(8, "No fix for this finding"), (1, "No finding here")] {
        app.level_mut().editor.as_mut().expect("an editor").jump(line, 26);
        let cursor = open(&app).cursor();
        assert!(press(&mut app, KeyCode::Char('f')).is_empty());
        assert_eq!(open(&app).cursor(), cursor);
        assert!(frame(&mut app, 80, 24).contains(said), "{said}");
    }
}

#[test]
fn after_a_save_the_list_selects_what_was_saved() {
    use mcpkg_console::document::Saved;
    let row = |name: &str| Row { id: format!("workflow {name}"), ..Row::default() };
    let list = |names: &[&str]| {
        let list = List { rows: names.iter().map(|name| row(name)).collect(), ..List::default() };
        Box::new(Screen::list("Workflows", list))
    };
    let mut app = editor();
    let level = app.stacks[0].pop().expect("the editor");
    app.go(4, &mut Vec::new());
    app.level_mut().take(list(&["a", "b"]));
    app.stacks[4].push(level);
    let version = open(&app).version();
    let reply = Reply::sentence("", json!({ "workflows": [{ "name": "new", "revision": 1 }] }));
    let saved = crate::tui::message::Edited::Saved(open(&app).text(), Saved::Done(Box::new(reply)));
    app.update(Message::Edited(version, saved));
    let tasks = match app.level().place == Place::Workflows {
        true => app.update(Message::Restored(String::new())),
        false => press(&mut app, KeyCode::Esc),
    };
    let ticket = tasks.into_iter().find_map(|task| match task {
        Task::Load(ticket) if ticket.place == Place::Workflows => Some(ticket),
        _ => None,
    });
    app.update(Message::Loaded(ticket.expect("a load"), Ok(list(&["a", "b", "new"]))));
    assert_eq!(app.level().selected, "workflow new");
}
