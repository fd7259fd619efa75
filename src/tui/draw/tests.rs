//! Draws frames at several sizes, and checks their text and what keys do.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use mcpkg_console::document::Document;
use mcpkg_console::fields::Fields;
use mcpkg_console::finding::{Finding, Fix};
use mcpkg_console::place::{Place, Text};
use mcpkg_console::screen::{Body, Line, List, Row, Screen, Span, Tone};
use mcpkg_console::{Action, Invocation};
use mcpkg_core::op::Domains;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::json;

use crate::tui::app::App;
use crate::tui::editor::Editor;
use crate::tui::level::Shown;
use crate::tui::message::{Message, Question, Task};

pub(super) fn app() -> App {
    App::new(Domains::NONE, "shop-api".to_owned(), false, true)
}

/// Returns a console with four items in its inbox, and a preview of the first.
pub(super) fn inbox() -> App {
    let row = |kind: &str, from: &str, what: &str, effect: (&str, Tone), until: &str| Row {
        id: format!("{kind} {what}"),
        cells: vec![
            Span::plain(kind),
            Span::new(Tone::Name, from),
            Span::plain(what),
            Span::new(effect.1, effect.0),
            Span::new(Tone::Dim, until),
        ],
        look: Some(Place::Consent(what.to_owned())),
        actions: vec![
            Action::call('a', "approve", Invocation::new("consent approve").with("1").destroying("app_91c")),
            Action::call('d', "deny", Invocation::new("consent deny").with("1")),
            Action::note(),
        ],
        is_heading: false,
    };
    let list = List {
        columns: &["KIND", "FROM", "WHAT", "", "UNTIL"],
        rows: vec![
            row("ASK", "mcp:claude-code", "Run shop:apps:delete", ("destroys", Tone::Bad), "13:48"),
            row("ASK", "mcp:codex", "Run shop:apps:list", ("reads", Tone::Good), "13:49"),
            row("RUN", "shell", "app_with_db uncertain", ("", Tone::Plain), ""),
            row(
                "DRIFT",
                "disk",
                ".claude/commands/review.md: changed on disk since it was deployed",
                ("", Tone::Plain),
                "",
            ),
        ],
        empty: "",
        is_narrow: false,
        ..List::default()
    };
    let mut app = app();
    app.waiting = Some(4);
    app.unseen = 7;
    let level = app.level_mut();
    level.take(Box::new(Screen::list("Inbox: 4 wait for you, the first until 13:48", list)));
    level.previewed = level.look().cloned();
    level.preview = Shown::Screen(Box::new(consent()));
    app
}

/// Returns a request with a value that contains escape sequences and hidden characters.
fn consent() -> Screen {
    let hostile = "note = \"ok\u{1b}[2J\u{202e}gnp.exe\u{200b} Approved by ada\u{1b}]52;c;aGk=\u{7}\"";
    let lines = vec![
        Line::of(Tone::Name, "mcp:claude-code")
            .then(Tone::Plain, " asks: Run shop:apps:delete  ")
            .then(Tone::Bad, "destroys"),
        Line::blank(),
        Line::quoted("DELETE http://127.0.0.1:18291/apps/app_91c"),
        Line::quoted(hostile),
        Line::blank(),
        Line::plain("A yes counts once, for 10 minutes, for exactly these values."),
    ];
    Screen::text("Inbox > Run shop:apps:delete", lines)
}

/// Returns the form of the editor's text.
pub(super) fn form() -> Fields {
    Fields::of(&json!({
        "inputs": [{ "pointer": "/inputs/region", "name": "region", "type": "string", "needed": true, "line": 3, "column": 3 }],
        "steps": [{
            "pointer": "/steps/0", "id": "create_app", "run": "shop:apps:create", "command": "shop:apps:create",
            "effect": "write", "method": "POST", "path": "/apps", "line": 5, "column": 5, "fields": [],
            "arguments": [
                { "pointer": "/steps/0/with/name", "name": "name", "type": "string", "needed": true, "about": "Name of the app" },
                {
                    "pointer": "/steps/0/with/region", "name": "region", "type": "string", "values": ["eu", "us"],
                    "needed": false, "value": "inputs.regoin", "line": 8, "column": 7,
                },
                { "pointer": "/steps/0/with/labels", "name": "labels", "type": "object", "needed": false },
            ],
        }],
    }))
}

pub(super) fn editor() -> App {
    let text = "workflow: app_with_db\ninputs:\n  region: {}\nsteps:\n  - id: create_app\n    run: shop:apps:create\n    with:\n      region: ${{ inputs.regoin }}\n";
    let finding = Finding {
        code: "unknown_input_ref".to_owned(),
        pointer: "/steps/0/with/region".to_owned(),
        severity: "error",
        is_error: true,
        message: "there is no input `regoin`".to_owned(),
        hint: "did you mean `region`?".to_owned(),
        why: String::new(),
        line: 8,
        column: 26,
        end_line: 8,
        end_column: 32,
        fix: Some(Fix { line: 8, column: 26, end_line: 8, end_column: 32, text: "region".to_owned() }),
    };
    let document = Document {
        origin: Text::Draft("1".to_owned()),
        name: "app_with_db".to_owned(),
        by: "mcp:claude-code".to_owned(),
        text: text.to_owned(),
        saved: String::new(),
        revision: 0,
        findings: vec![finding],
        fields: form(),
        meanwhile: None,
    };
    let mut app = app();
    app.open(Place::Editor(document.origin.clone()), &mut Vec::new());
    let level = app.level_mut();
    level.shown = Shown::Screen(Box::new(Screen::of(
        "Workflows > app_with_db (draft of mcp:claude-code)",
        Body::Editor(Box::new(document.clone())),
    )));
    level.editor = Some(Box::new(Editor::new(document)));
    app
}

/// Draws one frame. Returns its text.
pub(super) fn frame(app: &mut App, columns: u16, rows: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).expect("a terminal");
    terminal.draw(|frame| super::draw(frame, app)).expect("a frame");
    app.drawn(Instant::now());
    let buffer = terminal.backend().buffer();
    let row = |y: u16| -> String {
        let cells = (0..columns).map(|x| buffer[(x, y)].symbol());
        cells.collect::<String>().trim_end().to_owned()
    };
    (0..rows).map(|y| row(y) + "\n").collect()
}

pub(super) fn press(app: &mut App, key: KeyCode) -> Vec<Task> {
    app.update(Message::Key(KeyEvent::new(key, KeyModifiers::NONE), Instant::now() + Duration::from_millis(1)))
}

#[test]
fn the_inbox_at_four_widths() {
    for (columns, rows) in [(40, 10), (80, 24), (120, 24), (200, 30)] {
        insta::assert_snapshot!(format!("inbox-{columns}"), frame(&mut inbox(), columns, rows));
    }
}

#[test]
fn the_editor_at_four_widths() {
    for (columns, rows) in [(40, 12), (80, 24), (120, 24), (200, 40)] {
        insta::assert_snapshot!(format!("editor-{columns}"), frame(&mut super::form_tests::planned(), columns, rows));
    }
}

#[test]
fn a_terminal_that_is_too_small_says_so() {
    let text = frame(&mut inbox(), 32, 8);
    assert!(text.starts_with("mcpkg needs 40x10; this is 32x8."), "{text}");
    for size in [(1, 1), (39, 10), (40, 9), (3, 300)] {
        frame(&mut inbox(), size.0, size.1);
    }
}

#[test]
fn text_from_agents_stays_behind_the_bar_and_has_no_effect() {
    let mut app = inbox();
    press(&mut app, KeyCode::Tab);
    for width in [40, 60, 80, 120] {
        let text = frame(&mut app, width, 24);
        assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}', '\u{200b}']), "{text}");
        assert!(text.contains("^["), "{text}");
        let approved = text.lines().find(|line| line.contains("Approved")).expect("the forged line");
        assert!(approved.contains('|'), "{approved}");
    }
}

#[test]
fn only_y_after_the_end_was_seen_means_yes() {
    let ask = |app: &mut App, name: Option<&str>| {
        let (answer, answered) = mpsc::channel();
        let lines = (0..60).map(|line| Line::quoted(&format!("line {line}"))).collect();
        let (text, name) = ("Consent to it?".to_owned(), name.map(str::to_owned));
        app.update(Message::Asked(Question { lines, text, is_line: false, name, call: None, answer }));
        answered
    };
    let mut app = inbox();
    // A key that was pressed before the question was drawn does not answer it.
    let answered = ask(&mut app, None);
    press(&mut app, KeyCode::Char('y'));
    frame(&mut app, 80, 24);
    assert!(answered.try_recv().is_err());
    // Before the last line was visible, a key only scrolls down.
    press(&mut app, KeyCode::Char('y'));
    assert!(app.asking.is_some() && answered.try_recv().is_err());
    for _ in 0..4 {
        frame(&mut app, 80, 24);
        press(&mut app, KeyCode::PageDown);
    }
    frame(&mut app, 80, 24);
    press(&mut app, KeyCode::Char('y'));
    assert_eq!(answered.try_recv(), Ok(Some(String::new())));
    // Every other key means no, including enter.
    for key in [KeyCode::Enter, KeyCode::Char('n'), KeyCode::Char('a'), KeyCode::Esc, KeyCode::Char('Y')] {
        let answered = ask(&mut app, None);
        for _ in 0..5 {
            frame(&mut app, 80, 24);
            press(&mut app, KeyCode::PageDown);
        }
        frame(&mut app, 80, 24);
        press(&mut app, key);
        assert_eq!(answered.try_recv(), Ok(None), "{key:?}");
    }
    // A destructive call needs the typed name. Enter without a name does nothing.
    let answered = ask(&mut app, Some("app_91c"));
    for _ in 0..5 {
        frame(&mut app, 80, 24);
        press(&mut app, KeyCode::PageDown);
    }
    frame(&mut app, 80, 24);
    press(&mut app, KeyCode::Enter);
    press(&mut app, KeyCode::Char('y'));
    assert!(app.asking.is_some());
    press(&mut app, KeyCode::Backspace);
    app.update(Message::Pasted("app_91c\n".to_owned()));
    press(&mut app, KeyCode::Enter);
    assert_eq!(answered.try_recv(), Ok(Some("app_91c".to_owned())));
}

#[test]
fn the_selection_stays_on_its_item_when_rows_come_and_go() {
    let mut app = inbox();
    press(&mut app, KeyCode::Down);
    let selected = app.level().selected.clone();
    let Some(Screen { body: Body::List(list), .. }) = app.level().shown.screen() else { panic!("a list") };
    let mut grown = list.clone();
    grown.rows.insert(0, Row { id: "new".to_owned(), cells: vec![Span::plain("ASK")], ..Row::default() });
    app.level_mut().take(Box::new(Screen::list("Inbox", grown.clone())));
    assert_eq!(app.level().selected, selected);
    grown.rows.retain(|row| row.id != selected);
    app.level_mut().take(Box::new(Screen::list("Inbox", grown)));
    assert_eq!(app.level().selected, "RUN app_with_db uncertain", "the row that took its place");
}

#[test]
fn a_key_fixes_the_mistake_and_u_takes_that_back() {
    let mut app = editor();
    let text = |app: &App| app.level().editor.as_ref().expect("an editor").text();
    let before = text(&app);
    let tasks = press(&mut app, KeyCode::Char('f'));
    assert!(text(&app).contains("inputs.region }}") && matches!(tasks[..], [Task::Check(..)]));
    // One step of undo takes back the whole fix.
    press(&mut app, KeyCode::Char('u'));
    assert_eq!(text(&app), before);
    // Letters are commands until `e` starts typing.
    press(&mut app, KeyCode::Char('e'));
    assert!(frame(&mut app, 80, 24).contains("TYPING"));
    press(&mut app, KeyCode::Char('x'));
    press(&mut app, KeyCode::Esc);
    assert_ne!(text(&app), before);
    press(&mut app, KeyCode::Esc);
    assert!(app.level().editor.is_some(), "unsaved text is not thrown away");
    // Saving a workflow first shows the diff, and only `y` saves. Drafts are different: `draft approve` asks by itself.
    app.level_mut().place = Place::Editor(Text::Workflow("app_with_db".to_owned()));
    press(&mut app, KeyCode::Char('s'));
    frame(&mut app, 80, 24);
    assert!(!press(&mut app, KeyCode::Enter).iter().any(|task| matches!(task, Task::Save(..))));
    press(&mut app, KeyCode::Char('s'));
    assert!(press(&mut app, KeyCode::Char('y')).is_empty(), "it was typed before the diff was drawn");
    frame(&mut app, 80, 24);
    assert!(press(&mut app, KeyCode::Char('y')).iter().any(|task| matches!(task, Task::Save(..))));
}

#[test]
fn a_read_only_console_offers_and_does_nothing_that_writes() {
    let mut app = inbox();
    app.is_read_only = true;
    let text = frame(&mut app, 80, 24);
    assert!(text.contains("READ-ONLY") && !text.contains("a approve"), "{text}");
    assert!(press(&mut app, KeyCode::Char('a')).is_empty());
    assert!(frame(&mut app, 80, 24).contains("read-only: the console was started with --read-only"));
}

proptest::proptest! {
    #![proptest_config(crate::seed::config(64))]
    #[test]
    fn no_key_size_or_event_breaks_the_screen(keys in proptest::collection::vec(0_u8..64, 1..80), sizes in proptest::collection::vec((1_u16..130, 1_u16..50), 1..6)) {
        for mut app in [inbox(), editor()] {
            for (at, key) in keys.iter().enumerate() {
                let all = b"jkgGhl.,v/?:Mcadnebtfpszx+@D123456 \x1b\r\t\x08iuqEUSy[]oWrw<>=~!01-_";
                let code = match all[usize::from(*key) % all.len()] {
                    b'\r' => KeyCode::Enter,
                    b'\x1b' => KeyCode::Esc,
                    b'\t' => KeyCode::Tab,
                    8 => KeyCode::PageDown,
                    letter => KeyCode::Char(char::from(letter)),
                };
                let tasks = press(&mut app, code);
                // Only `y` saves. Drafts are an exception, because `draft approve` asks by itself.
                let is_draft = matches!(&app.level().place, Place::Editor(Text::Draft(_)));
                let saves = tasks.iter().any(|task| matches!(task, Task::Save(..)));
                proptest::prop_assert!(!saves || is_draft || code == KeyCode::Char('y'));
                let (columns, rows) = sizes[at % sizes.len()];
                frame(&mut app, columns, rows);
            }
        }
    }
}
