//! Tests a project's settings for workflows: the policy, and the variables that workflows may read.

use super::{NOTE, answered};
use crate::support::Scratch;

#[test]
fn anybody_can_tighten_the_policy_but_only_a_person_can_loosen_it() {
    let scratch = Scratch::with_project();
    assert_eq!(scratch.ok(&["workflow", "policy"]), "confirm\n");
    scratch.ok(&["workflow", "policy", "confirm"]);
    scratch.ok(&["workflow", "policy", "deny"]);
    assert_eq!(scratch.ok(&["workflow", "policy"]), "deny\n");
    scratch.ok(&["project", "create", "q"]);
    assert_eq!(scratch.ok(&["-p", "q", "workflow", "policy"]), "confirm\n", "of one project");
    for arguments in [&["workflow", "policy", "confirm"][..], &["workflow", "policy", "confirm", "--yes"]] {
        let ran = scratch.run(&[&["--json"], arguments].concat());
        assert!(ran.status == 1 && ran.stdout.contains("E_TERMINAL_REQUIRED"), "{ran}");
    }
    assert_eq!(scratch.ok(&["workflow", "policy"]), "deny\n");
    let Some((shown, done)) = answered(&scratch, &["workflow", "policy", "confirm"], "n\n") else { return };
    assert!(
        !done && shown.contains("Allow workflows of project 'p' to run after a person has confirmed the plan?"),
        "{shown}"
    );
    assert_eq!(scratch.ok(&["workflow", "policy"]), "deny\n");
    assert!(answered(&scratch, &["workflow", "policy", "confirm"], "y\n").is_some_and(|(_, done)| done));
    assert_eq!(scratch.ok(&["workflow", "policy"]), "confirm\n");
    let events = scratch.json(&["events"]);
    let kinds: Vec<_> = events["events"]
        .as_array()
        .expect("events")
        .iter()
        .map(|e| (e["kind"].clone(), e["outcome"].clone()))
        .collect();
    let of = |outcome: &str| kinds.iter().filter(|(kind, found)| kind == "workflow.policy" && found == outcome).count();
    // Setting the current policy again records no event. Refused changes are recorded.
    assert_eq!((of("ok"), of("E_TERMINAL_REQUIRED"), of("E_CONFIRM_REQUIRED")), (2, 2, 1), "{kinds:?}");
}

#[test]
fn variables_belong_to_a_project_and_cannot_be_secrets() {
    let scratch = Scratch::with_project();
    scratch.ok(&["workflow", "env", "set", "REGION", "eu"]);
    scratch.ok(&["workflow", "env", "set", "REGION", "us"]);
    scratch.ok(&["workflow", "env", "set", "EMPTY", ""]);
    let set = scratch.json(&["workflow", "env", "list"]);
    assert_eq!(
        (&set["variables"][1]["name"], &set["variables"][1]["value"]),
        (&"REGION".into(), &"us".into()),
        "{set:#}"
    );
    scratch.ok(&["project", "create", "q"]);
    assert_eq!(scratch.json(&["-p", "q", "workflow", "env", "list"])["variables"].as_array().map(Vec::len), Some(0));
    for (name, value, says) in [
        ("TOKEN", "ghp_0123456789abcdefghijklmnopqrstuvwxyz", "looks like a secret"),
        ("two words", "x", "is not a valid environment variable name"),
        ("1A", "x", "is not a valid environment variable name"),
    ] {
        let ran = scratch.run(&["workflow", "env", "set", name, value]);
        assert!(ran.status == 2 && ran.stderr.contains(says), "{ran}");
    }
    let bytes = scratch.bytes();
    assert!(!bytes.windows(10).any(|part| part == b"ghp_012345"), "a secret was stored");
    let unknown = scratch.run(&["workflow", "env", "unset", "REGOIN"]);
    assert!(unknown.status == 1 && unknown.stderr.contains("did you mean 'REGION'?"), "{unknown}");
    scratch.ok(&["workflow", "env", "unset", "REGION"]);
    assert!(!scratch.ok(&["workflow", "env", "list"]).contains("REGION"));
}

#[test]
fn a_workflow_reads_project_variables_but_not_the_environment() {
    let scratch = Scratch::with_project();
    scratch.file("note.yaml", NOTE.replace("name: note", "name: ${{ env.HOME }}"));
    let found = scratch.run(&["workflow", "validate", "note.yaml"]);
    assert!(found.status == 1 && found.stdout.contains("env_not_allowed"), "{found}");
    scratch.ok(&["workflow", "env", "set", "HOME", "here"]);
    let found = scratch.run(&["workflow", "validate", "note.yaml"]);
    assert!(found.status == 0 && !found.stdout.contains("env_not_allowed"), "{found}");
}
