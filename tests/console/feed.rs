//! Tests what the feed shows for an event, and the preview of an undo.

use mcpkg_console::place::Place;
use mcpkg_console::screen::{Body, Row};
use mcpkg_console::{Action, Does, Part, load};
use mcpkg_core::op::Context;
use serde_json::json;

use super::agent;
use crate::support::Scratch;
use crate::workflow::runs::{Ground, code, create, execute};

fn text(place: &Place, context: &Context) -> String {
    match load(place, context, &Part::default()).expect("a screen").body {
        Body::Text(lines) => lines.iter().map(|line| line.text() + "\n").collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_event_shows_its_own_change_and_not_the_newest_one() {
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "review", "One."]);
    for content in ["Two.", "Three."] {
        scratch.ok(&["prompt", "update", "review", "--content", content]);
    }
    let events = scratch.json(&["events"])["events"].as_array().expect("events").clone();
    let seq = |at: usize| {
        let updates = events.iter().filter(|event| event["kind"] == "prompt.update");
        updates.map(|event| event["seq"].as_i64().expect("a number")).nth(at).expect("an update")
    };
    let context = scratch.context();
    let first = text(&Place::Event(seq(0)), &context);
    assert!(first.contains("One.") && first.contains("Two.") && !first.contains("Three."), "{first}");
    let second = text(&Place::Event(seq(1)), &context);
    assert!(second.contains("Two.") && second.contains("Three.") && !second.contains("One."), "{second}");
}

#[test]
fn a_pruned_event_is_not_shown_as_the_next_one() {
    let scratch = Scratch::with_project();
    // No event has the number 0, but events with higher numbers exist.
    assert_eq!(text(&Place::Event(0), &scratch.context()), "The event was pruned.\n");
}

/// Returns the rows of a list, and the label of the key `a`.
fn list(place: &Place, context: &Context) -> (Vec<Row>, Option<String>) {
    let screen = load(place, context, &Part::default()).expect("a screen");
    let undo = screen.actions.iter().find(|action| action.key == 'a').map(Action::words);
    match screen.body {
        Body::List(list) => (list.rows, undo),
        other => panic!("{other:?}"),
    }
}

fn words(rows: &[Row]) -> Vec<String> {
    let of = |row: &Row| row.cells.iter().map(|cell| cell.text()).collect::<Vec<_>>().join(" | ");
    rows.iter().map(of).collect()
}

/// Returns the place that a key of the row opens, such as `space` or `U`.
fn other(row: &Row, key: char) -> Place {
    match row.actions.iter().find(|action| action.key == key).map(|action| &action.does) {
        Some(Does::Replace(place) | Does::Open(place)) => place.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn undoing_all_of_an_agent_leaves_its_requests_open_until_space_includes_them() {
    let ground = Ground::new();
    ground.scratch.ok(&["project", "select", "p"]);
    let mut client = agent(&ground, "codex");
    for name in ["zero", "one", "two"] {
        let arguments = json!({ "name": name, "content": "x" });
        client.result("tools/call", json!({ "name": "create_prompt", "arguments": arguments }));
    }
    assert_eq!(code(&execute(&mut client, create())), "E_CONSENT_REQUIRED");
    // The shell counts requests separately too.
    let shell = ground.scratch.ok(&["undo", "--by", "mcp:codex", "--since", "1h", "--dry-run"]);
    assert!(shell.contains("Would undo 3 changes, deny 1 request"), "{shell}");
    let context = ground.scratch.context();
    let (feed, _) = list(&Place::Feed, &context);
    let first = feed.iter().find(|row| row.cells[3].text() == "prompt create one").expect("an event");
    let all = other(first, 'U');
    // An earlier event of the same second is not undone.
    let (rows, undo) = list(&all, &context);
    let request = "request Run hosting:apps:create";
    let begins = |row: &str, begin: &str| assert!(row.starts_with(begin), "{row}");
    let shown = words(&rows);
    assert_eq!(
        shown[..2],
        ["one", "two"].map(|name| format!("will be undone | prompt {name} | delete it; its history stays"))
    );
    begins(&shown[2], &format!("stays | {request}"));
    assert!(shown.len() == 3 && shown[2].ends_with(" | left out"), "{shown:?}");
    assert_eq!(undo.as_deref(), Some("undo 2 changes"));
    // `space` includes the request, and excludes it again.
    let with_request = other(&rows[2], ' ');
    let (rows, undo) = list(&with_request, &context);
    begins(&words(&rows)[2], &format!("will be undone | {request}"));
    assert_eq!(undo.as_deref(), Some("undo 2 changes, deny 1 request"));
    assert_eq!(other(&rows[2], ' '), all);
    // `space` excludes a change, and includes it again.
    let (rows, undo) = list(&other(&rows[0], ' '), &context);
    assert_eq!(words(&rows)[0], "stays | prompt one | left out");
    assert_eq!(undo.as_deref(), Some("undo 1 change, deny 1 request"));
    assert_eq!(other(&rows[0], ' '), with_request);
}

#[test]
fn signs_say_what_can_be_undone_and_a_deleted_item_is_brought_back() {
    let scratch = Scratch::with_project_here();
    scratch.ok(&["prompt", "create", "review", "One."]);
    scratch.ok(&["prompt", "update", "review", "--content", "Two."]);
    scratch.ok(&["prompt", "create", "other", "x"]);
    scratch.ok(&["prompt", "delete", "other"]);
    let context = scratch.context();
    let (rows, _) = list(&Place::Feed, &context);
    let sign = |of: &str| {
        let row = rows.iter().find(|row| row.cells[3].text() == of).unwrap_or_else(|| panic!("{of}"));
        (row.cells[0].text().to_owned(), text(row.look.as_ref().expect("a place"), &context))
    };
    let is = |of: &str, wanted: &str, words: &str| {
        let (sign, shown) = sign(of);
        assert!(sign == wanted && shown.contains(words), "{of}: {sign} {shown}");
    };
    is("prompt update review", "u", "undo     possible: press u");
    is("prompt create review", "!", "undo     ! shell changed it later, at ");
    is("prompt delete other", "u", "undo     possible: press u");
    // The page of an event has the keys of its row, and only an event that can be undone has `u`.
    let page = |seq: i64| load(&Place::Event(seq), &context, &Part::default()).expect("a screen").actions;
    let keys = |actions: &[Action]| actions.iter().map(|action| action.key).collect::<String>();
    for row in &rows {
        let seq = row.id.parse().expect("a number");
        let wanted = if row.cells[0].text().is_empty() { "U" } else { "uU" };
        assert_eq!((keys(&row.actions), keys(&page(seq))), (wanted.to_owned(), wanted.to_owned()), "{row:?}");
    }
    // An undo of only the first creation would stop, because the item changed later. The shell reports the same.
    let events = scratch.json(&["events", "--undo"])["events"].clone();
    let words: Vec<&str> =
        events.as_array().expect("events").iter().rev().take(4).filter_map(|event| event["undo"].as_str()).collect();
    assert_eq!(words, ["in", "out", "in", "stop"]);
    let table = scratch.ok(&["events", "--undo"]);
    assert!(table.contains("changed later") && table.contains("yes"), "{table}");
    let Some(mut screen) = super::console(&scratch, &[]) else { return };
    screen.wait("Inbox");
    screen.keys("3");
    screen.wait("DELETED");
    screen.keys("/other\r");
    screen.wait("/ other");
    screen.keys("b");
    screen.wait("bring back revision 1");
    screen.keys("a");
    screen.wait("other keys no");
    screen.keys("y");
    screen.wait("Undid 1 change");
    screen.wait_until(|text| !text.contains("DELETED"), "nothing is deleted any more");
    assert!(scratch.ok(&["prompt", "list"]).contains("other"));
}
