//! Tests deploys of single files: `--only` for the files to write, and `--adopt PATH` for the files to adopt.

use serde_json::{Value, json};

use crate::deploy::answers::{tool, tool_refused, word};
use crate::deploy::place::Place;

const REVIEW: &str = "root/.claude/commands/review.md";

/// Returns the paths of a plan's changes, relative to the root.
fn paths(place: &Place, data: &Value) -> Vec<String> {
    let root = place.root().display().to_string();
    let changes = data["changes"].as_array().expect("changes").iter();
    let mut paths: Vec<String> =
        changes.map(|change| word(&change["path"]).trim_start_matches(&format!("{root}/")).to_owned()).collect();
    paths.sort_unstable();
    paths
}

#[test]
fn a_file_is_deployed_alone_and_the_others_stay_planned() {
    let place = Place::with_project();
    let all = place.planned(&[]);
    let data = place.data(&["plan", "--only", ".claude/commands/review.md"]);
    assert_eq!(paths(&place, &data), [".claude/commands/review.md"], "{data:#}");
    assert_eq!(data["summary"]["create"], 1, "{data:#}");
    // A folder selects all its files. Absolute paths and paths relative to the current folder work too.
    let absolute = place.root().join(".claude/commands/../commands").display().to_string();
    for name in [".claude/commands", "./.claude/commands/", &absolute] {
        let data = place.data(&["diff", "--only", name]);
        assert_eq!(paths(&place, &data), [".claude/commands/review.md"], "{name}: {data:#}");
    }
    let hint = place.ok(&["deploy", "--only", ".claude/commands/review.md"]);
    assert!(hint.contains("review.md") && !hint.contains("AGENTS.md"), "{hint}");
    let data = place.data(&["deploy", "--apply", "--yes", "--only", ".claude/commands/review.md"]);
    assert_eq!((&data["applied"], paths(&place, &data).len()), (&json!(true), 1), "{data:#}");
    assert_eq!(place.files(), [REVIEW], "nothing else was written");
    assert_eq!(place.planned(&[]).len(), all.len() - 1);
    // A second deploy of the file does nothing. A full deploy writes the rest.
    let data = place.data(&["deploy", "--apply", "--yes", "--only", ".claude/commands/review.md"]);
    assert_eq!(data["reason"], "no_changes", "{data:#}");
    place.deploy(&[]);
    assert_eq!(place.planned(&[]), [""; 0]);
    place.data(&["rollback", "--to", "pristine", "--yes"]);
    assert_eq!(place.files(), [""; 0]);
    let error = place.refused(&["plan", "--only", ".claude/commands/reviw.md"], "E_NOT_FOUND");
    assert!(error.to_string().contains("did you mean '.claude/commands/review.md'?"), "{error:#}");
}

#[test]
fn a_file_is_adopted_alone() {
    fn deploy<'a>(more: &[&'a str]) -> Vec<&'a str> {
        [&["deploy", "--apply", "--yes"][..], more].concat()
    }
    let place = Place::with_project();
    place.write(REVIEW, "Mine.\n");
    let other = "root/.cursor/commands/review.md";
    place.write(other, "Mine too.\n");
    let error = place.refused(&deploy(&["--adopt", ".claude/commands/review.md"]), "E_ADOPT_CONFIRM_REQUIRED");
    assert_eq!(error["details"]["adopt_updates"], 1, "{error:#}");
    assert!(error["details"]["sample_paths"].to_string().contains(".cursor/commands/review.md"), "{error:#}");
    place.refused(&deploy(&["--adopt", "nothing.md"]), "E_NOT_FOUND");
    assert_eq!(place.read(REVIEW), "Mine.\n");
    place.data(&deploy(&["--only", ".claude", "--adopt", ".claude/commands/review.md"]));
    assert_ne!(place.read(REVIEW), "Mine.\n");
    assert_eq!(place.read(other), "Mine too.\n");
    // Without a path, --adopt means all files.
    place.data(&deploy(&["--adopt"]));
    assert_ne!(place.read(other), "Mine too.\n");
    place.data(&["rollback", "--to", "pristine", "--yes"]);
    assert_eq!((place.read(REVIEW), place.read(other)), ("Mine.\n".to_owned(), "Mine too.\n".to_owned()));
}

#[test]
fn a_token_is_valid_only_for_the_files_that_were_shown() {
    let place = Place::with_project();
    let mut client = place.server(&[]);
    let only = json!([".claude/commands/review.md"]);
    let offered = tool(&mut client, "deploy", json!({ "only": only }));
    let token = offered["data"]["confirm_token"].clone();
    let apply = |more: Value| {
        let mut arguments = json!({ "yes": true, "confirm_token": token });
        for (name, value) in more.as_object().expect("arguments") {
            arguments[name] = value.clone();
        }
        arguments
    };
    for other in [json!({}), json!({ "only": ["AGENTS.md"] })] {
        tool_refused(&mut client, "deploy_apply", apply(other), "E_CONFIRM_TOKEN_MISMATCH");
    }
    assert_eq!(place.files(), [""; 0]);
    let done = tool(&mut client, "deploy_apply", apply(json!({ "only": only })));
    assert_eq!(done["data"]["applied"], true, "{done:#}");
    assert_eq!(place.files(), [REVIEW]);
    // An agent can adopt one file by its path, as a person can.
    place.write("root/.cursor/commands/review.md", "Mine.\n");
    let only = json!([".cursor"]);
    let offered = tool(&mut client, "deploy", json!({ "only": only }));
    let token = &offered["data"]["confirm_token"];
    let arguments = json!({ "yes": true, "confirm_token": token, "only": only });
    tool_refused(&mut client, "deploy_apply", arguments.clone(), "E_ADOPT_CONFIRM_REQUIRED");
    let mut arguments = arguments;
    arguments["adopt_paths"] = json!([".cursor/commands/review.md"]);
    tool(&mut client, "deploy_apply", arguments);
    assert_ne!(place.read("root/.cursor/commands/review.md"), "Mine.\n");
    client.finish();
}

#[test]
fn adopt_in_json_is_a_boolean_or_a_list_of_files() {
    let place = Place::with_project();
    place.write(REVIEW, "Mine.\n");
    let entry = mcpkg::DOMAINS.operations().find(|entry| entry.tool == "deploy_shell").expect("an operation");
    for (adopt, works) in [
        (json!(true), true),
        (json!(false), true),
        (json!([".claude/commands/review.md"]), true),
        (json!(null), true),
        (json!("x"), false),
    ] {
        let call = entry.from_agent(json!({ "apply": true, "only": [".claude"], "adopt": adopt }));
        assert_eq!(call.is_ok(), works, "{adopt}");
    }
}
