//! Tests the console end to end: the real binary in a terminal, driven by key presses.

mod ask;
mod content;
mod decide;
mod diff;
mod edit;
mod feed;
mod form;
pub mod ground;
mod hostile;
mod inbox;
mod keys;
mod lists;
mod pages;
mod states;
mod story;
mod terminal;

use std::process::Command;

use serde_json::json;

use crate::support::{Client, Scratch, Screen, morning, skipped, typed_after};
use crate::workflow::runs::Ground;

const USUAL: (u16, u16) = (100, 30);

const NO_SCRIPT: &str = "there is no script of util-linux";

/// Starts the console on the scratch folder. Returns `None` if the test has to be skipped.
fn console(scratch: &Scratch, arguments: &[&str]) -> Option<Screen> {
    started(scratch.command(), arguments)
}

/// Starts the console with a prepared command of `mcpkg`. Returns `None` if the test has to be skipped.
fn started(mut command: Command, arguments: &[&str]) -> Option<Screen> {
    command.env("TERM", "xterm-256color").env("TZ", morning()).args(["console", "--ascii"]).args(arguments);
    let screen = Screen::start(USUAL, &command);
    if screen.is_none() {
        skipped(NO_SCRIPT);
    }
    screen
}

/// Pages through a long question until the screen asks for the answer.
fn read_to_the_end(screen: &mut Screen, answer: &str) {
    screen.wait_until(|text| text.contains("More to read") || text.contains(answer), "the question");
    while screen.text().contains("More to read") {
        screen.keys(" ");
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    screen.wait(answer);
}

/// Starts an agent that calls itself `name`.
pub fn agent(ground: &Ground, name: &str) -> Client {
    Client::start(&ground.scratch, &[]).shake_hands_as(name, "2025-06-18")
}

#[test]
fn without_a_terminal_it_names_the_commands_that_print_the_same() {
    let scratch = Scratch::with_database();
    let ran = scratch.run(&["console"]);
    assert_eq!(ran.status, 1);
    assert!(
        ran.stderr.contains("The console needs a terminal") && ran.stderr.contains("mcpkg inbox"),
        "{}",
        ran.stderr
    );
}

#[test]
fn the_inbox_prints_what_waits_with_the_command_of_each() {
    let ground = Ground::new();
    ground.scratch.ok(&["project", "select", "p"]);
    assert_eq!(ground.scratch.json(&["inbox"])["waiting"], json!([]));
    let mut client = agent(&ground, "codex");
    crate::workflow::runs::execute(&mut client, crate::workflow::runs::create());
    let waiting = ground.scratch.json(&["inbox"])["waiting"].clone();
    assert_eq!(waiting.as_array().map(Vec::len), Some(1), "{waiting}");
    let item = &waiting[0];
    assert_eq!((&item["kind"], &item["from"], &item["effect"]), (&json!("ask"), &json!("mcp:codex"), &json!("writes")));
    assert_eq!(item["what"], "Run hosting:apps:create");
    let show = item["show"].as_str().expect("a command").split(' ').skip(1).collect::<Vec<_>>();
    assert!(ground.scratch.ok(&show).contains("hosting:apps:create"));
    let table = ground.scratch.ok(&["inbox"]);
    assert!(table.contains("ASK") && table.contains("mcp:codex") && table.contains("writes"), "{table}");
}

#[test]
fn each_place_opens_and_q_leaves() {
    let ground = Ground::new();
    ground.scratch.ok(&["prompt", "create", "review", "Look for missing tests."]);
    let Some(mut screen) = console(&ground.scratch, &[]) else { return };
    screen.wait("nothing waits for you");
    screen.keys("2");
    screen.wait("Feed, by time");
    screen.wait("prompt create review");
    screen.keys("v");
    screen.wait("Feed, by agent");
    screen.keys("3");
    screen.wait("Look for missing tests.");
    screen.keys("4");
    screen.wait("4 DEPLOY");
    screen.keys("5");
    screen.wait("No workflows yet");
    screen.keys("6");
    screen.wait("All");
    screen.keys("?");
    screen.wait("every screen, item and operation");
    screen.keys("\u{1b}");
    screen.wait_until(|text| !text.contains("TYPING"), "the list of lists");
    screen.keys(":prompt crea");
    screen.wait("prompt create");
    screen.keys("\r");
    screen.wait("mcpkg prompt create");
    screen.keys("q1q");
    assert_eq!(screen.end(), 0);
}

#[test]
fn plain_screens_are_lines_that_say_who_wrote_what() {
    let ground = Ground::new();
    ground.scratch.ok(&["project", "select", "p"]);
    let mut client = agent(&ground, "codex");
    crate::workflow::runs::execute(&mut client, crate::workflow::runs::create());
    let mut command = ground.scratch.command();
    command.env("TERM", "dumb").env("TZ", morning()).args(["console"]);
    // Open the request, begin to deny it, deny it with a note, and check that the inbox is empty.
    let Some((shown, _)) = typed_after(&command, "> ", "1\n0\nd 1\nn\nn 1\nuse another name\nd 1\ny\nx\n7\nq\n") else {
        return skipped(NO_SCRIPT);
    };
    for text in [
        "1. ASK. mcp:codex. Run hosting:apps:create \"web\". writes.",
        "Quoted text begins.",
        "Quoted text ends.",
        "Deny: Run hosting:apps:create?",
        "Note to the agent that asked; a or d sends it:",
        "Deny: Run hosting:apps:create? Your note: \"use another name\"",
        "Denied: Run hosting:apps:create",
        "nothing waits for you",
        "'x' is not a key of this screen",
        "There is no row 7",
    ] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
    assert!(!shown.contains('\u{1b}'), "{shown:?}");
}

#[test]
fn a_question_is_answered_in_plain_lines_too() {
    let ground = Ground::new();
    ground.scratch.ok(&["project", "select", "p"]);
    let mut client = agent(&ground, "codex");
    crate::workflow::runs::execute(&mut client, crate::workflow::runs::create());
    let mut command = ground.scratch.command();
    command.env("TERM", "dumb").args(["console", "--plain"]);
    let Some((shown, _)) = typed_after(&command, "> ", "a 1\ny\nq\n") else {
        return skipped(NO_SCRIPT);
    };
    assert!(shown.contains("Approved: Run hosting:apps:create"), "{shown}");
}

#[test]
fn deleting_takes_the_name() {
    let ground = Ground::new();
    ground.scratch.ok(&["prompt", "create", "review", "Look for missing tests."]);
    let Some(mut screen) = console(&ground.scratch, &[]) else { return };
    screen.wait("nothing waits for you");
    screen.keys("3");
    screen.wait("Look for missing tests.");
    screen.keys("D");
    let text = screen.wait("Type review to go on");
    assert!(text.contains(" enter go on  esc cancel"), "{text}");
    screen.keys("\ry\r");
    screen.wait("Not confirmed; nothing was changed");
    assert!(ground.scratch.ok(&["prompt", "list"]).contains("review"));
    screen.keys("D");
    screen.wait("Type review to go on");
    screen.keys("review\r");
    screen.wait("Deleted prompt 'review'");
    assert!(!ground.scratch.ok(&["prompt", "list"]).contains("review"));
}
