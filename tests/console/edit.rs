//! Tests fixing a mistake in an agent's draft with one key, and editing a text in the user's own editor.

use serde_json::json;

use super::{agent, console};
use crate::workflow::runs::Ground;

const DRAFT: &str = "\
# an app for the shop
workflow: app
inputs:
  region: {}
steps:
  - id: create
    run: hosting:apps:create
    with:
      name: web
      region: ${{ inputs.regoin }}
";

#[test]
fn a_draft_is_fixed_by_a_key_reviewed_and_saved() {
    let ground = Ground::new();
    ground.scratch.ok(&["project", "select", "p"]);
    let mut client = agent(&ground, "claude-code");
    client.result("tools/call", json!({ "name": "propose_workflow", "arguments": { "yaml": DRAFT } }));
    let Some(mut screen) = console(&ground.scratch, &[]) else { return };
    screen.wait("DRAFT");
    screen.wait("1 error");
    screen.keys("e");
    screen.wait("e edit  + step  f fix");
    screen.keys("f");
    screen.wait("inputs.region }}");
    screen.wait_until(|text| !text.contains("unknown_input_ref"), "the finding is gone");
    // Saving shows the draft's diff, and asks the same question as `mcpkg draft approve`.
    screen.keys("s");
    let text = screen.wait("y yes, other keys no");
    assert!(text.contains("hosting:apps:create") && text.contains("Proposed by mcp:claude-code"), "{text}");
    screen.keys("y");
    screen.wait("Approved draft");
    let saved = ground.scratch.ok(&["workflow", "show", "app"]);
    assert_eq!(saved, DRAFT.replace("regoin", "region"));
}

#[test]
fn the_editor_of_the_user_gets_the_text_and_only_saving_keeps_it() {
    let ground = Ground::new();
    ground.scratch.ok(&["project", "select", "p"]);
    ground.scratch.file("w.yaml", DRAFT.replace("regoin", "region"));
    ground.scratch.ok(&["workflow", "import", "w.yaml"]);
    let program = ground.scratch.file("editor", "#!/bin/sh\nprintf '# mine\\n' >>\"$1\"\n");
    crate::support::set_mode(&program, 0o755);
    let mut command = ground.scratch.command();
    command.env_remove("VISUAL").env("EDITOR", &program);
    let Some(mut screen) = super::started(command, &[]) else { return };
    screen.wait("nothing waits for you");
    screen.keys("5");
    screen.wait("> app");
    screen.keys("e");
    screen.wait("e edit  + step  p plan");
    screen.keys("E");
    screen.wait("# mine");
    assert!(!ground.scratch.ok(&["workflow", "show", "app"]).contains("# mine"));
    screen.keys("D");
    screen.wait("Throw away the changes of app?");
    screen.keys("y");
    screen.wait("> app");
    screen.keys("e");
    screen.wait("e edit  + step  p plan");
    screen.keys("E");
    screen.wait("# mine");
    screen.keys("s");
    screen.wait("Save app?");
    screen.keys("y");
    screen.wait("Saved app as revision 2");
    assert!(ground.scratch.ok(&["workflow", "show", "app"]).ends_with("# mine\n"));
}
