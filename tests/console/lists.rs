//! Tests the lists of operations: selecting a project, running commands of an item, and answering an uncertain step.

use serde_json::json;

use mcpkg_console::place::{Place, ROOTS};
use mcpkg_console::screen::Body;
use mcpkg_console::{Part, load};
use mcpkg_core::op::Context;
use mcpkg_store::projects::Selection;

use super::{agent, console};
use crate::support::Scratch;
use crate::support::api::Trouble;
use crate::workflow::runs::{Ground, code, execute, with_nonce};

#[test]
fn another_project_is_selected_from_its_list_and_the_header_follows() {
    let scratch = Scratch::with_database();
    for project in ["one", "two"] {
        scratch.ok(&["project", "create", project]);
    }
    scratch.ok(&["project", "select", "one"]);
    let Some(mut screen) = console(&scratch, &[]) else { return };
    screen.wait("mcpkg one ");
    screen.keys("6");
    screen.wait("> project");
    screen.keys("\r");
    screen.wait("All > project");
    screen.keys("/two\ra");
    screen.wait("Select project two? Agents and commands then use it too.");
    screen.keys("y");
    screen.wait("mcpkg two ");
    // The header also follows a selection by another process.
    scratch.ok(&["project", "select", "one"]);
    screen.wait("mcpkg one ");
}

#[test]
fn the_answer_of_an_uncertain_step_is_typed() {
    let ground = Ground::new();
    ground.scratch.ok(&["project", "select", "p"]);
    let mut client = agent(&ground, "codex");
    let lost =
        json!({ "command": "hosting:databases:create", "args": { "plan": "small", "app_id": "app-1" }, "wait_s": 0 });
    let asked = execute(&mut client, lost.clone());
    ground.approve(&asked);
    ground.api.trouble([Trouble::Half]);
    assert_eq!(code(&execute(&mut client, with_nonce(&lost, &asked))), "E_STEP_UNCERTAIN");
    let Some(mut screen) = console(&ground.scratch, &[]) else { return };
    screen.wait("uncertain");
    screen.keys("\r");
    screen.wait("a  done: it worked, and you type its answer");
    // Esc decides nothing, and neither does an answer that is not JSON.
    for (typed, said) in [("\u{1b}", "No answer was given"), ("db-9\r", "The answer is not valid JSON")] {
        screen.keys("a");
        screen.wait("What did 'command' return, as JSON? Nothing means null:");
        screen.keys(typed);
        screen.wait(said);
    }
    screen.keys("a");
    screen.wait("What did 'command' return");
    screen.keys("{\"id\": \"db-9\"}\r");
    screen.wait("SUCCEEDED");
    assert_eq!(ground.run()["final_output"], json!({ "id": "db-9" }));
    assert_eq!(ground.changes(), 1);
}

#[test]
fn r_lists_the_commands_that_take_the_marked_name() {
    let ground = Ground::new();
    let Some(mut screen) = console(&ground.scratch, &[]) else { return };
    screen.wait("Inbox");
    screen.keys("6/catalog\r");
    screen.wait("> catalog ");
    screen.keys("\r");
    screen.wait("All > catalog");
    screen.wait("> hosting");
    screen.keys("r");
    screen.wait("All > catalog hosting > run");
    screen.keys("/refresh\r");
    screen.wait("> catalog refresh");
    screen.keys("\r");
    let text = screen.wait("mcpkg catalog refresh");
    assert!(text.lines().any(|line| line.contains("name") && line.contains("hosting")), "{text}");
}

#[test]
fn a_list_that_needs_a_name_opens_as_a_form_and_an_empty_list_offers_only_what_works() {
    let scratch = Scratch::with_project();
    let context = scratch.context();
    let Body::List(all) = load(&Place::All, &context, &Part::default()).expect("a screen").body else {
        panic!("a list")
    };
    for row in &all.rows {
        let place = row.look.clone().expect("a place");
        let is_form = matches!(place, Place::Form(_));
        assert_eq!(is_form, row.id == "workflow fixture list", "{}", row.id);
        // Some lists need a workspace.
        let Ok(screen) = load(&place, &context, &Part::default()) else { continue };
        if let Body::List(list) = &screen.body {
            let has_new = screen.actions.iter().any(|action| action.key == '+');
            assert_eq!(list.empty.contains("{+} creates one"), has_new, "{}", row.id);
        }
    }
}

#[test]
fn the_page_of_a_row_has_the_keys_of_the_row() {
    let scratch = Scratch::with_project();
    let context = scratch.context();
    let screen = |place: &Place| load(place, &context, &Part::default()).expect("a screen");
    let Body::List(projects) = screen(&Place::List("project list".to_owned())).body else { panic!("a list") };
    let row = &projects.rows[0];
    let page = screen(row.look.as_ref().expect("a place"));
    let keys = |actions: &[mcpkg_console::Action]| actions.iter().map(|action| action.key).collect::<String>();
    assert_eq!((keys(&row.actions).as_str(), keys(&page.actions).as_str()), ("arD", "arD"));
}

#[test]
fn a_screen_that_lacks_a_folder_or_a_project_says_what_to_do() {
    let text = |place: &Place, context: &Context| match load(place, context, &Part::default()).expect("a screen").body {
        Body::Text(lines) => lines.iter().map(|line| line.text() + "\n").collect::<String>(),
        other => panic!("{other:?}"),
    };
    let scratch = Scratch::with_project();
    let selection = Selection { directory: "/".to_owned(), ..scratch.context().selection };
    let shown = text(&Place::Deploy, &Context { selection, ..scratch.context() });
    assert!(shown.contains("cd FOLDER && mcpkg console") && !shown.contains("--root"), "{shown}");
    let empty = Scratch::with_database().context();
    for (_, _, place) in &ROOTS[2..5] {
        assert!(text(place, &empty).contains("No project is selected."), "{place:?}");
    }
}
