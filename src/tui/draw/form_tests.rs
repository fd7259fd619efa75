//! Draws the form, the picker and the conflict after a save at several sizes, and checks what their keys do.

use mcpkg_console::document::{Saved, Versions};
use mcpkg_console::picker::{self, Spot};
use mcpkg_console::place::{Place, Text};
use mcpkg_console::screen::{Line, Tone};
use ratatui::crossterm::event::KeyCode;
use serde_json::json;

use super::tests::{editor, frame, press};
use crate::tui::app::App;
use crate::tui::editor::{Editor, Lower};
use crate::tui::message::{Edited, Message, Task, Work};

#[test]
fn the_form_at_four_widths() {
    for (columns, rows) in [(40, 12), (80, 24), (120, 24), (200, 40)] {
        let mut app = planned();
        press(&mut app, KeyCode::Char('v'));
        insta::assert_snapshot!(format!("form-{columns}"), frame(&mut app, columns, rows));
    }
}

#[test]
fn the_picker_at_four_widths() {
    for (columns, rows) in [(40, 12), (80, 24), (120, 24), (200, 40)] {
        let mut app = planned();
        picks(&mut app);
        insta::assert_snapshot!(format!("picker-{columns}"), frame(&mut app, columns, rows));
    }
}

#[test]
fn a_save_conflict_at_four_widths() {
    for (columns, rows) in [(40, 12), (80, 24), (120, 24), (200, 40)] {
        let mut app = planned();
        overtake(&mut app);
        insta::assert_snapshot!(format!("meanwhile-{columns}"), frame(&mut app, columns, rows));
    }
}

pub(super) fn open(app: &App) -> &Editor {
    app.level().editor.as_deref().expect("an editor")
}

/// Sends the editor a result for its current text.
fn answer(app: &mut App, result: Edited) -> Vec<Task> {
    let version = open(app).version();
    app.update(Message::Edited(version, result))
}

/// Returns an editor whose plan has arrived.
pub(super) fn planned() -> App {
    let mut app = editor();
    let lines = vec![
        Line::of(Tone::Bad, "1 error, the first at 8:26").then(Tone::Plain, "; without them:"),
        Line::of(Tone::Strong, "1 write on 127.0.0.1:18291; needs region"),
        Line::of(Tone::Dim, "yes   ").then(Tone::Name, "create_app").then(Tone::Plain, "  POST /apps"),
    ];
    answer(&mut app, Edited::Planned(lines));
    app
}

/// Opens the picker for the argument `region`, and sends it rows.
pub(super) fn picks(app: &mut App) {
    press(app, KeyCode::Char('v'));
    let tasks = press(app, KeyCode::Enter);
    let [Task::Work(_, _, Work::Suggest { spot, number, .. })] = &tasks[..] else { panic!("a picker was asked for") };
    assert_eq!(*spot, Spot::Pointer("/steps/0/with/region".to_owned()));
    let data = json!({
        "pointer": "/steps/0/with/region", "argument": "shop:apps:create.region", "accepts": ["region_id", "region_name"],
        "prefer": "region_id",
        "values": [
            { "value": "steps.look.output.id", "type": "string", "tags": ["region_id"], "preferred": true },
            { "value": "steps.look.output.name", "type": "string", "tags": ["region_name", "display"] },
        ],
        "providers": [{
            "id": "shop:regions:list", "select": { "value_field": "id", "display_field": "name" },
            "request": "GET 127.0.0.1:18291/regions", "why": ["it is the declared provider"],
        }],
    });
    answer(app, Edited::Picked(*number, Ok(picker::of(&data, spot, ""))));
}

/// Reports to the editor that somebody else has saved the workflow.
fn overtake(app: &mut App) {
    let text = open(app).text();
    let versions = Versions {
        name: "app_with_db".to_owned(),
        theirs: text.replace("create_app", "make_app"),
        base: text.clone(),
        revision: 4,
        by: "mcp:codex".to_owned(),
        of_draft: false,
    };
    answer(app, Edited::Saved(text, Saved::Overtaken(versions)));
}

#[test]
fn the_form_and_the_text_have_one_cursor() {
    let mut app = planned();
    assert_eq!(open(&app).chosen, "/steps/0/with/region");
    press(&mut app, KeyCode::Char('k'));
    press(&mut app, KeyCode::Char('k'));
    press(&mut app, KeyCode::Char('k'));
    assert_eq!((open(&app).cursor().0, open(&app).chosen.as_str()), (5, "/steps/0"));
    press(&mut app, KeyCode::Char('v'));
    // An argument that is missing in the text has a row too. For that row, the cursor of the text stays at the step.
    press(&mut app, KeyCode::Char('j'));
    assert_eq!((open(&app).cursor().0, open(&app).chosen.as_str()), (5, "/steps/0/with/name"));
    press(&mut app, KeyCode::Char('j'));
    assert_eq!((open(&app).cursor(), open(&app).chosen.as_str()), ((8, 7), "/steps/0/with/region"));
    press(&mut app, KeyCode::Char('v'));
    press(&mut app, KeyCode::Char('g'));
    press(&mut app, KeyCode::Char('.'));
    assert_eq!(open(&app).cursor(), (8, 26));
}

#[test]
fn a_value_of_the_form_is_typed_picked_and_taken_out() {
    let mut app = planned();
    press(&mut app, KeyCode::Char('v'));
    // `e` types a value into the row, which starts with the current value.
    press(&mut app, KeyCode::Char('e'));
    assert!(frame(&mut app, 80, 24).contains("inputs.regoin_"));
    (0..3).for_each(|_| drop(press(&mut app, KeyCode::Backspace)));
    "ion".chars().for_each(|c| drop(press(&mut app, KeyCode::Char(c))));
    let tasks = press(&mut app, KeyCode::Enter);
    let [Task::Work(_, text, Work::Set { pointer, value, new_input: false })] = &tasks[..] else {
        panic!("a value is set")
    };
    assert_eq!((pointer.as_str(), value.as_deref()), ("/steps/0/with/region", Some("inputs.region")));
    let fixed = text.replace("regoin", "region");
    let tasks = answer(&mut app, Edited::Set(Ok(fixed.clone())));
    assert!(open(&app).text() == fixed && matches!(tasks[..], [Task::Check(..)]));
    press(&mut app, KeyCode::Char('u'));
    assert_eq!(open(&app).text(), *text, "it is one step of undo");
    // In the picker, enter takes the selected value.
    let mut app = planned();
    picks(&mut app);
    press(&mut app, KeyCode::Char('j'));
    let tasks = press(&mut app, KeyCode::Enter);
    let [Task::Work(_, _, Work::Set { value, .. })] = &tasks[..] else { panic!("a value is set") };
    assert_eq!(value.as_deref(), Some("steps.look.output.name"));
    // mcpkg asks a provider only when its row is chosen, and the row names the request.
    let mut app = planned();
    picks(&mut app);
    (0..3).for_each(|_| drop(press(&mut app, KeyCode::Char('j'))));
    for (columns, rows) in [(40, 12), (80, 24), (120, 24)] {
        assert!(frame(&mut app, columns, rows).contains("asks GET 127.0.0.1:18291/regions"), "at {columns} columns");
    }
    let tasks = press(&mut app, KeyCode::Enter);
    assert!(matches!(&tasks[..], [Task::Work(_, _, Work::Ask { provider, .. })] if provider == "shop:regions:list"));
    // Space removes an argument.
    let mut app = planned();
    press(&mut app, KeyCode::Char('v'));
    let tasks = press(&mut app, KeyCode::Char(' '));
    assert!(matches!(&tasks[..], [Task::Work(_, _, Work::Set { value: None, .. })]));
}

#[test]
fn a_row_that_is_selected_while_a_value_is_set_stays_selected() {
    let mut app = planned();
    picks(&mut app);
    press(&mut app, KeyCode::Enter);
    press(&mut app, KeyCode::Char('g'));
    let first = open(&app).chosen.clone();
    assert_ne!(first, "/steps/0/with/region");
    let (text, fields) = (open(&app).text().replace("regoin", "region"), open(&app).fields.clone());
    answer(&mut app, Edited::Set(Ok(text)));
    answer(&mut app, Edited::Described(fields.clone()));
    assert_eq!(open(&app).chosen, first);
    // If the user presses no key in between, the row of the new value is selected.
    let mut app = planned();
    picks(&mut app);
    press(&mut app, KeyCode::Enter);
    let text = open(&app).text().replace("regoin", "region");
    answer(&mut app, Edited::Set(Ok(text)));
    answer(&mut app, Edited::Described(fields));
    assert_eq!(open(&app).chosen, "/steps/0/with/region");
}

#[test]
fn an_answer_for_an_older_text_is_dropped() {
    let mut app = planned();
    let old = open(&app).version();
    press(&mut app, KeyCode::Char('f'));
    let text = open(&app).text();
    app.update(Message::Edited(old, Edited::Set(Ok("workflow: other\n".to_owned()))));
    app.update(Message::Edited(old, Edited::Checked(Ok(Vec::new()))));
    assert!(open(&app).text() == text && !open(&app).is_checked);
    assert!(frame(&mut app, 80, 24).contains("the value was not set"));
}

#[test]
fn nothing_is_lost_when_somebody_saves_first() {
    let mut app = editor();
    app.level_mut().place = Place::Editor(Text::Workflow("app_with_db".to_owned()));
    press(&mut app, KeyCode::Char('f'));
    overtake(&mut app);
    // A merge needs a base that both sides have changed.
    let yours = open(&app).text();
    let base = yours.replace("inputs.region", "inputs.regoin");
    let versions = Versions {
        name: "app_with_db".to_owned(),
        theirs: format!("# theirs\n{base}"),
        base,
        revision: 4,
        by: String::new(),
        of_draft: false,
    };
    answer(&mut app, Edited::Saved(yours.clone(), Saved::Overtaken(versions)));
    assert_eq!(open(&app).text(), yours);
    press(&mut app, KeyCode::Char('a'));
    assert_eq!(open(&app).text(), yours, "it was typed before the two versions were drawn");
    frame(&mut app, 80, 24);
    press(&mut app, KeyCode::Char('a'));
    assert_eq!(open(&app).text(), format!("# theirs\n{yours}"));
    press(&mut app, KeyCode::Char('s'));
    frame(&mut app, 80, 24);
    let tasks = press(&mut app, KeyCode::Char('y'));
    let [Task::Save(_, document, _)] = &tasks[..] else { panic!("it is saved") };
    assert_eq!(document.revision, 4, "a save replaces only what was shown");
}

#[test]
fn a_stale_draft_opens_with_the_conflict() {
    let mut app = editor();
    let mut document = open(&app).document.clone();
    let text = document.text.clone();
    document.meanwhile = Some(Versions {
        name: "app_with_db".to_owned(),
        base: text.clone(),
        theirs: text,
        revision: 0,
        by: "shell".to_owned(),
        of_draft: false,
    });
    app.level_mut().editor = Some(Box::new(Editor::new(document)));
    assert!(frame(&mut app, 80, 30).contains("shell deleted the workflow in the meantime"));
    press(&mut app, KeyCode::Esc);
    assert_eq!(open(&app).lower, Lower::Findings);
}

#[test]
fn tab_completes_while_typing() {
    let mut app = planned();
    press(&mut app, KeyCode::Char('e'));
    let tasks = press(&mut app, KeyCode::Tab);
    let [Task::Work(_, _, Work::Suggest { spot, number, .. })] = &tasks[..] else {
        panic!("completions were asked for")
    };
    assert_eq!(*spot, Spot::Cursor(8, 26));
    let data = json!({
        "pointer": "/steps/0/with/region", "values": [{ "value": "inputs.region", "text": "inputs.region" }],
        "span": { "line": 8, "column": 19, "end_line": 8, "end_column": 32 },
    });
    // A single suggestion is inserted at once.
    answer(&mut app, Edited::Picked(*number, Ok(picker::of(&data, spot, ""))));
    assert!(open(&app).text().contains("region: ${{ inputs.region }}\n"), "{}", open(&app).text());
    assert_eq!(open(&app).cursor(), (8, 32));
    // F6 lists the values that fit, and esc closes only the list.
    let tasks = press(&mut app, KeyCode::F(6));
    let [Task::Work(_, _, Work::Suggest { number, .. })] = &tasks[..] else { panic!("a picker was asked for") };
    answer(&mut app, Edited::Picked(*number, Ok(picker::of(&data, &Spot::Cursor(8, 32), ""))));
    assert!(matches!(open(&app).lower, Lower::Picker(_)));
    press(&mut app, KeyCode::Esc);
    assert!(frame(&mut app, 80, 24).contains("TYPING") && open(&app).lower == Lower::Findings);
    // At the beginning of a line, Tab indents.
    app.level_mut().editor.as_mut().expect("an editor").jump(8, 1);
    press(&mut app, KeyCode::Tab);
    assert!(open(&app).text().contains("\n        region: "));
}

#[test]
fn a_read_only_console_edits_nothing() {
    let mut app = planned();
    app.is_read_only = true;
    let text = open(&app).text();
    press(&mut app, KeyCode::Char('v'));
    for key in ['e', 'f', '+', ' ', 'u', 's'] {
        assert!(press(&mut app, KeyCode::Char(key)).is_empty(), "{key}");
        assert!(frame(&mut app, 80, 24).contains("read-only: the console was started with --read-only"));
    }
    assert!(press(&mut app, KeyCode::Enter).is_empty() && open(&app).text() == text);
}
