//! Tests that `workflow run` asks a person at a terminal for missing inputs, and shows the values that providers list.

use super::Ground;
use crate::support::{at_a_terminal, skipped};

const TEXT: &str = "\
workflow: look
inputs:
  app:
    provider: hosting:apps:list
    select: { value_field: id, display_field: name, id_field: id }
  word:
    type: string
    validate: { pattern: '^[a-z]+$' }
steps:
  - id: look
    run: hosting:apps:info
    with: { app_id: '${{ inputs.app }}' }
final_output: { app: '${{ steps.look.output.id }}', word: '${{ inputs.word }}' }
";

fn ground() -> Ground {
    let ground = Ground::new();
    for name in ["web", "api"] {
        let mut create = ground.scratch.command();
        create.args(["command", "run", "hosting:apps:create", "-a", &format!("name={name}"), "-a", "region=eu"]);
        at_a_terminal(&create, "y\n");
    }
    ground.scratch.file("look.yaml", TEXT);
    ground
}

#[test]
fn values_are_chosen_from_a_list_and_checked_against_the_rules() {
    let ground = ground();
    if ground.api.apps() != 2 {
        return skipped("there is no script of util-linux");
    }
    let mut command = ground.scratch.command();
    command.args(["workflow", "run", "look.yaml"]);
    // Choose the second value, enter a word that the rules refuse and one that they accept, and confirm.
    let (shown, ended_well) = at_a_terminal(&command, "2\nNOT\nfine\ny\n").expect("script is there");
    assert!(ended_well && shown.contains("\"app\": \"app-2\"") && shown.contains("\"word\": \"fine\""), "{shown}");
    for expected in ["2 values of hosting:apps:list", "1  web (app-1)", "2  api (app-2)", "must match"] {
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
    // Enter a value for `app` directly, and nothing for `word`. Without `word`, nothing runs.
    let (shown, ended_well) = at_a_terminal(&command, "app-1\n\n").expect("script is there");
    assert!(!ended_well && shown.contains("The input 'word' was not given; nothing was run"), "{shown}");
}

#[test]
fn nobody_is_asked_without_a_terminal_or_with_json() {
    let ground = ground();
    let asked = ground.api.count("GET");
    let refused = ground.scratch.run(&["workflow", "run", "look.yaml"]);
    assert!(refused.status != 0 && refused.stderr.contains("look needs values for its inputs: app, word"), "{refused}");
    let mut command = ground.scratch.command();
    command.args(["--json", "workflow", "run", "look.yaml"]);
    let Some((shown, ended_well)) = at_a_terminal(&command, "1\nfine\ny\n") else {
        return skipped("there is no script of util-linux");
    };
    assert!(!ended_well && shown.contains("E_INPUTS_REQUIRED"), "{shown}");
    assert_eq!(ground.api.count("GET"), asked, "a provider is asked where a person is");
}

#[test]
fn if_a_provider_fails_the_person_enters_the_value_or_the_run_ends() {
    let ground = ground();
    if ground.api.apps() != 2 {
        return skipped("there is no script of util-linux");
    }
    let busy = || ground.api.trouble([crate::support::api::Trouble::Status(500, Vec::new(), "{}")]);
    let mut command = ground.scratch.command();
    command.args(["workflow", "run", "look.yaml", "-i", "word=fine"]);
    busy();
    let (shown, ended_well) = at_a_terminal(&command, "app-1\ny\n").expect("script is there");
    assert!(ended_well && shown.contains("its provider failed"), "{shown}");
    ground.scratch.file("look.yaml", TEXT.replace("provider:", "on_error: fail\n    provider:"));
    busy();
    let (shown, ended_well) = at_a_terminal(&command, "app-1\ny\n").expect("script is there");
    assert!(!ended_well && !shown.contains("Value of 'app'"), "{shown}");
}
