//! Tests the content screens, which also show the text of an item as each agent has it, and the deploy screen.

use super::{read_to_the_end, started};
use crate::deploy::place::Place;

#[test]
fn a_prompt_is_shown_as_each_agent_has_it() {
    let place = Place::with_project();
    place.deploy(&[]);
    let path = "root/.claude/commands/review.md";
    place.write(path, "mine\n");
    place.prompt("review", "Review the change again.\n");
    let Some(mut screen) = started(place.command(), &[]) else { return };
    screen.wait("Inbox");
    screen.keys("3");
    screen.wait("> review");
    screen.keys("\r");
    screen.wait("Content > prompt review, raw");
    screen.keys("v");
    screen.wait("Content > prompt review, rendered");
    screen.keys("v");
    screen.wait("Content > prompt review, as agents see it");
    let text = screen.wait("over MCP");
    assert!(text.contains("claude_code  OUT: changed on disk since it was deployed"), "{text}");
    assert!(text.contains("cursor  has an older text than the project"), "{text}");
    assert!(text.contains("root/.claude/commands/review.md"), "{text}");
    // The skill has not changed since the deploy, so the agents' files are current.
    screen.keys("3");
    screen.keys("/tidy\r\r");
    screen.wait("Content > skill tidy, raw");
    screen.keys("vv");
    screen.wait("up to date");
}

#[test]
fn plus_lists_what_can_be_made_and_opens_a_form() {
    let place = Place::with_project();
    let Some(mut screen) = started(place.command(), &[]) else { return };
    screen.wait("Inbox");
    screen.keys("3");
    screen.wait("> review");
    screen.keys("+");
    let text = screen.wait("Content > new");
    assert!(text.contains("skill create") && text.contains("resource create"), "{text}");
    screen.keys("\r");
    screen.wait("mcpkg prompt create");
}

#[test]
fn a_deploy_says_what_each_session_loads_and_is_applied_and_taken_back_by_keys() {
    let place = Place::with_project();
    place.write("root/CLAUDE.md", "My own words.\n");
    let Some(mut screen) = started(place.command(), &[]) else { return };
    screen.wait("Inbox");
    screen.keys("4");
    let text = screen.wait("EACH SESSION LOADS");
    assert!(text.contains("create, 0 update, 0 delete") && text.contains("reviewed"), "{text}");
    screen.keys("v");
    screen.wait_until(|text| text.lines().any(|line| line.starts_with(" claude_code")), "a heading for each agent");
    screen.keys("v");
    screen.wait_until(|text| text.lines().any(|line| line.starts_with(" skill:tidy")), "a heading for each module");
    // Enter on the row of an agent shows the details behind its total.
    screen.keys("/tokens\r\r");
    let text = screen.wait("Deploy > what each session loads");
    assert!(text.contains("names and descriptions of"), "{text}");
    screen.keys("\u{1b}\u{1b}");
    screen.keys("4v");
    screen.keys("a");
    read_to_the_end(&mut screen, "other keys no");
    screen.keys("y");
    screen.wait("every agent's files are current");
    assert!(place.exists("root/.claude/commands/review.md"));
    // A rollback of everything needs the typed name `pristine`.
    screen.keys("b");
    screen.wait("pristine");
    screen.keys("Gb");
    read_to_the_end(&mut screen, "Type pristine to go on");
    screen.keys("pristine\r");
    screen.wait("Rolled 7 files");
    assert!(!place.exists("root/.claude/commands/review.md"));
}

#[test]
fn a_refused_rollback_shows_what_would_change_and_replaces_the_file() {
    let place = Place::with_project();
    place.deploy(&[]);
    place.write("root/.claude/commands/review.md", "Mine.\n");
    let Some(mut screen) = started(place.command(), &[]) else { return };
    screen.wait("Inbox");
    screen.keys("4");
    screen.wait("EACH SESSION LOADS");
    screen.keys("b");
    screen.wait("pristine");
    screen.keys("Gb");
    screen.wait("error: This would change or delete 1 file");
    screen.keys("\r");
    screen.wait("p show what would change");
    screen.keys("p");
    screen.wait("--to=pristine' --dry-run");
    screen.keys("\u{1b}");
    // The offers are also in the footer of the page before.
    screen.wait("error: This would change or delete 1 file");
    screen.keys("b");
    read_to_the_end(&mut screen, "Type pristine to go on");
    assert_eq!(place.read("root/.claude/commands/review.md"), "Mine.\n");
    screen.keys("pristine\r");
    screen.wait("files back to pristine. Snapshot");
    assert!(!place.exists("root/.claude/commands/review.md"));
}
