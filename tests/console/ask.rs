//! Tests the console's panel for asking the user's agent (here a fake one), making a workflow from marked runs, and
//! revoking an approval.

use serde_json::json;

use super::{NO_SCRIPT, USUAL, console};
use crate::support::{Screen, morning, skipped};
use crate::workflow::ask::{Ground, assert_gone, awaited};
use crate::workflow::runs;

/// Starts the console, goes to the list of workflows, opens the panel for the user's agent, and types a request.
fn panel(ground: &Ground, does: &str) -> Option<Screen> {
    let mut command = ground.command(does);
    command.env("TERM", "xterm-256color").env("TZ", morning()).args(["console", "--ascii"]);
    let Some(mut screen) = Screen::start(USUAL, &command) else {
        skipped(NO_SCRIPT);
        return None;
    };
    screen.wait("nothing waits for you");
    screen.keys("5");
    screen.wait("No workflows yet");
    screen.keys("@");
    screen.wait("claude-code");
    screen.keys("Make a web app");
    screen.wait("Make a web app_");
    screen.keys("\u{1b}");
    screen.wait_until(|text| !text.contains("TYPING"), "the request is typed");
    Some(screen)
}

#[test]
fn an_agent_is_asked_and_its_draft_opens() {
    let ground = Ground::new(&["claude"]);
    let Some(mut screen) = panel(&ground, "") else { return };
    screen.keys("r");
    let text = screen.wait("other keys no");
    assert!(text.contains("Allow mcpkg to run Claude Code") && text.contains("You pay the maker"), "{text}");
    screen.keys("y");
    screen.wait("draft app: what changes");
    screen.wait("workflow: app");
    screen.wait("Claude Code proposed 1 draft");
    screen.keys("\u{1b}");
    let text = screen.wait("I made it.");
    assert!(text.contains("search_commands: ") && text.contains("propose_workflow: draft "), "{text}");
    // `G` goes to the last row, which is the draft.
    screen.keys("G\r");
    screen.wait("draft app: what changes");
    assert_eq!(ground.scratch.json(&["draft", "list"])["drafts"][0]["workflow"], "app");
}

#[test]
fn x_ends_the_agent_and_so_does_leaving() {
    let ground = Ground::new(&["claude"]);
    let Some(mut screen) = panel(&ground, "hang") else { return };
    screen.keys("r");
    screen.wait("other keys no");
    screen.keys("y");
    screen.wait("draft app: what changes");
    let notes = ground.scratch.path().join("notes/child");
    let child = awaited(&notes);
    screen.keys("\u{1b}");
    screen.wait("Ask your agent");
    screen.keys("x");
    screen.wait("Cancelled; mcpkg ended Claude Code");
    assert_gone(&child);
    std::fs::remove_file(&notes).expect("the note");
    screen.keys("r");
    screen.wait("draft app: what changes");
    let child = awaited(&notes);
    screen.keys("\u{3}");
    screen.wait("An agent is still running");
    screen.keys("\u{3}");
    assert_eq!(screen.end(), 0);
    assert_gone(&child);
}

#[test]
fn a_workflow_is_made_of_marked_runs() {
    let ground = runs::Ground::new();
    ground.scratch.ok(&["project", "select", "p"]);
    let arguments = ["--arg", "name=made", "--arg", "content=x", "--yes"];
    ground.scratch.ok(&[&["command", "run", "mcpkg:prompt:create"][..], &arguments].concat());
    let Some(mut screen) = console(&ground.scratch, &[]) else { return };
    screen.wait("nothing waits for you");
    screen.keys("2");
    screen.wait("command run mcpkg:prompt:create");
    screen.keys("/command run\r");
    screen.wait("/ command run");
    screen.keys(" ");
    let text = screen.wait("1 run marked");
    assert!(text.contains("P propose a workflow"), "{text}");
    screen.keys("P");
    let text = screen.wait("Workflows > session");
    assert!(text.contains("run: mcpkg:prompt:create") && text.contains("esc shows"), "{text}");
    screen.keys("\u{1b}");
    screen.wait("becomes an input: name");
    assert_eq!(ground.scratch.json(&["draft", "list"])["drafts"][0]["workflow"], "session");
}

#[test]
fn a_plain_console_asks_with_lines() {
    let ground = Ground::new(&["claude"]);
    let mut command = ground.command("");
    command.env("TERM", "dumb").args(["console"]);
    let typed = "workflows\n@\n\n@\nMake a web app\ny\ninbox\nq\n";
    let Some((shown, status)) = crate::support::typed_after(&command, "> ", typed) else {
        return skipped(NO_SCRIPT);
    };
    assert_eq!(status, 0, "{shown}");
    for text in [
        "What should the workflow do? An empty line goes back:",
        "You pay the maker of Claude Code",
        "Quoted text begins.",
        "I made it.",
        "Claude Code proposed 1 draft",
        "DRAFT. mcp:fake. app, new: ",
    ] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
    assert!(ground.note("prompt").ends_with("\nMake a web app\n"), "{}", ground.note("prompt"));
}

#[test]
fn an_approval_of_an_agent_is_revoked_by_a_key() {
    let ground = Ground::new(&["claude"]);
    let mut command = ground.command("");
    command.args(["ask", "Make a web app"]);
    let Some((shown, status)) = crate::support::typed_after(&command, "[y/N", "y\n") else {
        return skipped(NO_SCRIPT);
    };
    assert_eq!(status, 0, "{shown}");
    let approvals = ground.scratch.json(&["approval", "list"])["approvals"].clone();
    let id = approvals[0]["id"].as_str().expect("an id");
    assert_eq!((&approvals[0]["kind"], &approvals[0]["about"]["agent"]), (&json!("agent"), &json!("claude-code")));
    let Some(mut screen) = console(&ground.scratch, &[]) else { return };
    screen.wait("1 waits for you");
    screen.keys("6");
    screen.wait("List the projects");
    screen.keys("/approval\r\r");
    screen.wait("All > approval");
    screen.wait(&id[..12]);
    screen.keys("D");
    screen.wait(&format!("Type {} to go on", &id[..12]));
    screen.keys(&format!("{}\r", &id[..12]));
    screen.wait("Revoked the approval of agent");
    assert_eq!(ground.scratch.json(&["approval", "list"])["approvals"], json!([]));
    let ran = ground.scratch.finish(ground.command("").args(["ask", "Make a web app"]));
    assert!(ran.status != 0 && ran.stderr.contains("You have not approved on this machine"), "{ran}");
    let ran = ground.scratch.run(&["approval", "revoke", &id[..12]]);
    assert!(ran.stderr.contains("No approval has the id"), "{ran}");
}
