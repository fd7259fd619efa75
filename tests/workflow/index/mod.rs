//! Tests of the index of commands: searches, specs, and which callers reach which commands.

mod defects;
mod operations;
mod reach;
mod shell;
mod wire;

use serde_json::{Value, json};

use crate::support::{Client, Scratch};
use crate::tools::trusting;

/// The tools of a server with `--as assistant`: those of contract 004, and two more. Without these two, a draft would
/// never reach a person, and the result of a long run could not be read.
const LISTED: [&str; 11] = [
    "search_commands",
    "get_command_spec",
    "list_providers",
    "validate_workflow",
    "dry_run",
    "render_yaml",
    "propose_workflow",
    "execute",
    "list_runs",
    "infer_workflow_from_session",
    "suggest_providers",
];

/// Starts a server with `--as assistant`.
fn assistant(scratch: &Scratch) -> Client {
    Client::start(scratch, &["--as", "assistant"]).shake_hands("2025-11-25")
}

/// Calls a tool, checks that its text and its structured content are equal, and returns the content.
#[track_caller]
fn data(client: &mut Client, tool: &str, arguments: Value) -> Value {
    let result = client.result("tools/call", json!({ "name": tool, "arguments": arguments }));
    assert_eq!(result["isError"], false, "{result}");
    let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().expect("a text")).expect("JSON");
    assert_eq!(text, result["structuredContent"], "the text is the data");
    text
}

/// Calls a tool that must fail, and returns the typed error.
#[track_caller]
fn failure(client: &mut Client, tool: &str, arguments: Value) -> Value {
    let mut result = client.result("tools/call", json!({ "name": tool, "arguments": arguments }));
    assert_eq!(result["isError"], true, "{result}");
    let text = result["content"][0]["text"].as_str().expect("a text");
    assert!(text.starts_with(r#"{"schema_version":"1.0","error":{"code":"#), "{text}");
    let text: Value = serde_json::from_str(text).expect("JSON");
    assert_eq!(text, result["structuredContent"]);
    result["structuredContent"]["error"].take()
}

/// Returns the ids that a search finds.
#[track_caller]
fn found(client: &mut Client, arguments: Value) -> Vec<String> {
    let data = data(client, "search_commands", arguments);
    let hits = data["results"].as_array().expect("results").iter();
    hits.map(|hit| hit["id"].as_str().expect("an id").to_owned()).collect()
}

/// Installs a tool with two actions. One of them outputs a list.
fn install_lister(scratch: &Scratch) {
    let front = "---\nname: alice/hosting\nversion: 1.0.0\ndescription: Looks after apps\n\
        scripts:\n  \
          apps:\n    description: Lists apps\n    command: \"true\"\n    annotations: {readOnlyHint: true}\n    \
            outputSchema: {type: object, properties: {apps: {type: array, items: {type: object, properties: {id: {type: string}, name: {type: string}}}}}}\n  \
          restart:\n    description: Restarts an app\n    command: \"true {{app}}\"\n    \
            inputSchema: {type: object, properties: {app: {type: string}}, required: [app]}\n\
        ---\n# Hosting\n";
    let file = scratch.file("packages/hosting/SKILL.md", front);
    let folder = file.parent().expect("a folder").display().to_string();
    scratch.ok(&["tool", "publish", &folder, "--to", "local"]);
    scratch.run(&["tool", "key", "new"]);
    let signed = scratch.json(&["tool", "sign", "alice/hosting"]);
    trusting(scratch, signed["identity"].as_str().expect("an identity"));
    scratch.ok(&["tool", "install", "alice/hosting"]);
}
