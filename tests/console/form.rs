//! Tests the form of a workflow: adding steps, picking values, fixing a mistake, planning and saving.

use serde_json::json;

use super::{agent, console};
use crate::support::Screen;
use crate::workflow::runs::Ground;

/// The workflow that the test writes, using only keys.
const WRITTEN: &str = "\
workflow: new_workflow
inputs:
  region:
    enum:
      - eu
      - us
steps:
  - id: apps_create
    run: hosting:apps:create
    with:
      region: ${{ inputs.region }}
  - id: databases_create
    run: hosting:databases:create
    with:
      app_id: ${{ steps.apps_create.output.id }}
      plan: small
";

/// Moves through the form until the selected row has this text.
fn select(screen: &mut Screen, row: &str) {
    let marked = |text: &str| text.lines().find(|line| line.starts_with('>')).map(str::to_owned);
    screen.keys("g");
    let text = screen.wait_until(|text| text.lines().take(3).any(|line| line.starts_with('>')), "the name");
    let mut now = marked(&text);
    while !now.as_ref().is_some_and(|now| now.contains(row)) {
        screen.keys("j");
        now = marked(&screen.wait_until(|text| marked(text) != now, &format!("the row after {now:?}, up to {row}")));
    }
}

/// Returns a project with the saved workflow `new_workflow`.
fn with_workflow() -> Ground {
    let ground = Ground::new();
    ground.scratch.ok(&["project", "select", "p"]);
    ground.scratch.file("w.yaml", WRITTEN);
    ground.scratch.ok(&["workflow", "import", "w.yaml"]);
    ground
}

#[test]
fn a_workflow_is_written_with_the_form_alone() {
    let ground = Ground::new();
    ground.scratch.ok(&["project", "select", "p"]);
    let Some(mut screen) = console(&ground.scratch, &[]) else { return };
    screen.wait("nothing waits for you");
    screen.keys("5");
    screen.wait("No workflows yet");
    screen.keys("+");
    screen.wait("workflow: new_workflow");
    screen.keys("v");
    screen.wait("+ adds a step");
    // The first row is the name.
    screen.keys("e");
    screen.wait("new_workflow_");
    screen.keys(&format!("{}blog_setup\r", "\u{7f}".repeat("new_workflow".len())));
    screen.wait("Workflows > blog_setup");
    // Add a step from the list of commands.
    screen.keys("+apps create");
    screen.wait("> hosting:apps:create");
    screen.keys("\r");
    screen.wait("STEP 1  apps_create");
    screen.wait("POST /apps");
    // The step's argument `region` becomes a new input of the workflow.
    select(&mut screen, "region");
    screen.keys("\r");
    screen.wait("a new input");
    screen.keys("jj");
    screen.wait("> inputs.region");
    screen.keys("\r");
    screen.wait("INPUTS");
    // A second step takes its `app_id` from the output of the first step.
    screen.keys("+databases create");
    screen.wait("> hosting:databases:create");
    screen.keys("\r");
    screen.wait("STEP 2  databases_create");
    select(&mut screen, "app_id");
    screen.keys("\r");
    screen.wait("steps.apps_create.output.id");
    screen.keys("\r");
    screen.wait_until(|text| text.contains("app_id") && !text.contains("Pick app_id"), "the value is set");
    select(&mut screen, "plan");
    screen.keys("esmall\r");
    screen.wait("\"small\"");
    // A mistake is found, and one key fixes it.
    select(&mut screen, "inputs.region");
    screen.keys("e");
    screen.wait("inputs.region_");
    screen.keys("\u{7f}\u{7f}\u{7f}oin\r");
    screen.wait("there is no input");
    screen.keys("f");
    screen.wait_until(|text| !text.contains("1 error,") && !text.contains("checking..."), "the mistake is gone");
    // Plan, read the diff, and save.
    screen.keys("p");
    screen.wait("2 writes on 127.0.0.1");
    screen.keys("s");
    screen.wait("Save as new workflow blog_setup?");
    screen.keys("y");
    screen.wait("Saved blog_setup as revision 1");
    let written = WRITTEN.replace("new_workflow", "blog_setup");
    assert_eq!(ground.scratch.ok(&["workflow", "show", "blog_setup"]), written);
}

#[test]
fn a_run_asks_for_the_inputs_that_it_needs_and_p_plans_it() {
    let ground = with_workflow();
    let Some(mut screen) = console(&ground.scratch, &[]) else { return };
    screen.wait("nothing waits for you");
    screen.keys("5");
    screen.wait("> new_workflow");
    screen.keys("p");
    screen.wait("new_workflow: what it would do");
    screen.wait("2 writes on 127.0.0.1");
    screen.keys("r");
    screen.wait("Value of 'region'");
    screen.keys("eu\r");
    let text = screen.wait("y yes, other keys no");
    assert!(text.contains("eu"), "{text}");
    screen.keys("n");
    screen.wait("Not confirmed; nothing was changed");
    assert_eq!(ground.changes(), 0);
}

#[test]
fn two_people_who_save_at_once_lose_nothing() {
    let ground = with_workflow();
    let Some(mut screen) = console(&ground.scratch, &[]) else { return };
    screen.wait("nothing waits for you");
    screen.keys("5");
    screen.wait("new_workflow");
    screen.keys("e");
    screen.wait("+ step  p plan");
    screen.keys("ge");
    screen.wait("TYPING");
    screen.keys("# mine\r\u{1b}");
    screen.wait("# mine");
    // Somebody else saves first.
    ground.scratch.file("w.yaml", WRITTEN.replace("plan: small", "plan: large"));
    ground.scratch.ok(&["workflow", "import", "w.yaml", "--update"]);
    screen.keys("s");
    screen.wait("Save new_workflow?");
    screen.keys("y");
    screen.wait("nothing was overwritten");
    let text = screen.wait("THEIRS: what they changed");
    assert!(text.contains("saved revision 2 in the meantime"), "{text}");
    screen.keys("a");
    screen.wait("Both changes are in the text");
    screen.keys("s");
    screen.wait("Save new_workflow?");
    screen.keys("y");
    screen.wait("Saved new_workflow as revision 3");
    let both = format!("# mine\n{}", WRITTEN.replace("plan: small", "plan: large"));
    assert_eq!(ground.scratch.ok(&["workflow", "show", "new_workflow"]), both);
}

#[test]
fn a_stale_draft_shows_both_sides_and_is_saved_on_top() {
    let ground = with_workflow();
    let mut client = agent(&ground, "claude-code");
    let draft = WRITTEN.replace("plan: small", "plan: large");
    let arguments = json!({ "yaml": draft, "replaces": "new_workflow" });
    client.result("tools/call", json!({ "name": "propose_workflow", "arguments": arguments }));
    ground.scratch.file("w.yaml", format!("# theirs\n{WRITTEN}"));
    ground.scratch.ok(&["workflow", "import", "w.yaml", "--update"]);
    let Some(mut screen) = console(&ground.scratch, &[]) else { return };
    screen.wait("DRAFT");
    screen.keys("e");
    let text = screen.wait("THEIRS: what they changed");
    assert!(text.contains("shell saved revision 2 in the meantime"), "{text}");
    screen.keys("a");
    screen.wait("Both changes are in the text");
    screen.keys("s");
    screen.wait("y yes, other keys no");
    screen.keys("y");
    screen.wait("Approved draft");
    assert_eq!(ground.scratch.ok(&["workflow", "show", "new_workflow"]), format!("# theirs\n{draft}"));
}

#[test]
fn a_draft_that_somebody_else_edited_is_not_overwritten() {
    let ground = Ground::new();
    ground.scratch.ok(&["project", "select", "p"]);
    let mut client = agent(&ground, "claude-code");
    client.result("tools/call", json!({ "name": "propose_workflow", "arguments": { "yaml": WRITTEN } }));
    let Some(mut screen) = console(&ground.scratch, &[]) else { return };
    screen.wait("DRAFT");
    screen.keys("e");
    screen.wait("+ step  p plan");
    screen.keys("ge");
    screen.wait("TYPING");
    screen.keys("# mine\r\u{1b}");
    screen.wait("# mine");
    let drafts = ground.scratch.json(&["draft", "list"]);
    let id = drafts["drafts"][0]["id"].as_str().expect("an id");
    ground.scratch.file("w.yaml", WRITTEN.replace("plan: small", "plan: large"));
    ground.scratch.ok(&["draft", "edit", id, "--from", "w.yaml"]);
    screen.keys("s");
    screen.wait("edited the draft in the meantime");
    screen.keys("a");
    screen.wait("Both changes are in the text");
    screen.keys("s");
    screen.wait("More to read");
    screen.keys("  ");
    screen.wait("y yes, other keys no");
    screen.keys("y");
    screen.wait("Approved draft");
    let both = format!("# mine\n{}", WRITTEN.replace("plan: small", "plan: large"));
    assert_eq!(ground.scratch.ok(&["workflow", "show", "new_workflow"]), both);
}
