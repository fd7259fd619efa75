//! Tests the lists of operations: selecting a project, running commands of an item, and answering an uncertain step.

use serde_json::json;

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
