//! What an event of the feed shows.

use mcpkg_console::place::Place;
use mcpkg_console::screen::Body;
use mcpkg_console::{Part, load};
use mcpkg_core::op::Context;

use crate::support::Scratch;

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
