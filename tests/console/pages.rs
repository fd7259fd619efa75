//! Tests a project with more items than a screen loads at once.

use super::started;
use crate::support::Scratch;

/// Creates a project with more prompts than one page, and a resource.
fn filled() -> Scratch {
    let scratch = Scratch::with_project();
    for at in 0..1_010 {
        scratch.file(&format!("folder/.claude/commands/row-{at:04}.md"), format!("The text of word{at}.\n"));
    }
    scratch.ok(&["import", "folder"]);
    scratch.ok(&["resource", "create", "notes", "file:///notes.md", "Some notes."]);
    scratch
}

#[test]
fn content_is_loaded_in_pages_and_searched_in_the_database() {
    let scratch = filled();
    let Some(mut screen) = started(scratch.command(), &[]) else { return };
    screen.wait("Inbox");
    screen.keys("3");
    screen.wait("Content: 1,001 of more");
    // An item that is not loaded is found by its name, and by its text.
    screen.keys("/row-1009\r");
    screen.wait("Content: 1 found");
    screen.keys("\u{1b}");
    screen.wait("Content: 1,001 of more");
    screen.keys("/word1008");
    screen.wait("> row-1008");
    screen.keys("\r\r");
    screen.wait("prompt row-1008, raw");
    screen.keys("\u{1b}");
    screen.wait("Content: 1 found");
    screen.keys("\u{1b}");
    screen.wait("Content: 1,001 of more");
    // The resource is the last row. The row above it loads more prompts.
    screen.keys("G");
    screen.wait("> file:///notes.md");
    screen.keys("k");
    screen.wait("> ... more prompts");
    screen.keys("\r");
    screen.wait_until(|text| text.lines().nth(1).is_some_and(|line| line.trim() == "Content"), "the whole list");
    screen.keys("/row-1009");
    screen.wait("> row-1009");
}

#[test]
fn the_palette_and_the_lists_of_all_have_every_item() {
    let scratch = filled();
    let Some(mut screen) = started(scratch.command(), &[]) else { return };
    screen.wait("Inbox");
    screen.keys(":row-1009");
    screen.wait("> row-1009");
    screen.keys("\r");
    screen.wait("The text of word1009.");
    screen.keys("6");
    screen.wait("List the prompts");
    screen.keys("/prompt\r\r");
    screen.wait("All > prompt: 1,000 of more");
}
