//! Tests over MCP that mcpkg does not repeat the defects of Enact, the program that contract 002 describes. Each test's
//! name begins with the number of a defect.

use serde_json::{Value, json};

use super::installed::{data, enact, extract, listed, no_sandbox, signed, with_extract};
use crate::support::{Client, Http, Scratch, http};

const TOOL: &str = "alice/pdf/extract";
const PROJECTED: &str = "alice__pdf__extract";

fn shown(client: &mut Client) -> Value {
    let tools = client.result("tools/list", json!({}))["tools"].take();
    let tool = tools.as_array().expect("tools").iter().find(|tool| tool["name"] == PROJECTED).cloned();
    tool.expect("the installed tool")
}

/// Installs the tool and starts a server with a client.
fn with_installed() -> (Scratch, Client) {
    let scratch = with_extract();
    scratch.ok(&["tool", "install", TOOL]);
    let client = enact(&scratch);
    (scratch, client)
}

#[test]
fn x13_an_installed_tool_runs_without_its_registry_under_the_strictest_policy() {
    let scratch = Scratch::new();
    extract(&scratch, TOOL, "1.2.0");
    signed(&scratch, TOOL);
    scratch.ok(&["registry", "add", "team", "team-tools", "--create"]);
    let folder = scratch.path().join("packages/alice/pdf/extract-1.2.0").display().to_string();
    scratch.ok(&["tool", "publish", &folder, "--to", "team"]);
    scratch.ok(&["tool", "install", TOOL, "--registry", "team"]);
    scratch.ok(&["tool", "trust", "policy", "require_attestation"]);
    std::fs::remove_dir_all(scratch.path().join("team-tools")).expect("the registry is gone");
    let mut client = enact(&scratch);
    let called = client.result("tools/call", json!({ "name": PROJECTED, "arguments": { "file": "x" } }));
    if !no_sandbox(&called) {
        assert_eq!(called["structuredContent"], json!({ "text": "x" }), "{called}");
    }
    client.finish();
}

#[test]
fn x29_the_annotations_of_a_manifest_are_forwarded() {
    let (_scratch, mut client) = with_installed();
    let annotations = shown(&mut client)["annotations"].take();
    assert_eq!(annotations["readOnlyHint"], true);
    assert_eq!(annotations["openWorldHint"], false);
    // If the manifest has no hint, the annotation assumes the worst.
    assert_eq!((&annotations["destructiveHint"], &annotations["idempotentHint"]), (&json!(true), &json!(false)));
    client.finish();
}

#[test]
fn x42_a_change_of_the_list_is_advertised_and_sent() {
    let scratch = with_extract();
    let mut client = Client::start(&scratch, &[]);
    let hello = http::hello("2025-06-18")["params"].clone();
    let told = client.result("initialize", hello);
    assert_eq!(told["capabilities"]["tools"]["listChanged"], true, "{told}");
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    data(&mut client, "enact__install", json!({ "tool": TOOL }));
    client.notification("notifications/tools/list_changed");
    // The new tool is listed after the others.
    assert_eq!(listed(&mut client).last().map(String::as_str), Some(PROJECTED));
    client.finish();
}

#[test]
fn x47_an_installed_tool_keeps_its_schemas() {
    let (_scratch, mut client) = with_installed();
    let tool = shown(&mut client);
    let file = json!({ "type": "string", "description": "The file" });
    assert_eq!(tool["inputSchema"], json!({ "type": "object", "properties": { "file": file }, "required": ["file"] }));
    let text = json!({ "type": "string" });
    assert_eq!(tool["outputSchema"], json!({ "type": "object", "properties": { "text": text }, "required": ["text"] }));
    client.finish();
}

#[test]
fn x48_an_active_toolset_is_never_missing() {
    let (scratch, mut client) = with_installed();
    scratch.ok(&["toolset", "create", "none", "--empty"]);
    scratch.ok(&["toolset", "use", "none"]);
    assert_eq!(scratch.run(&["toolset", "delete", "none", "--yes"]).status, 2);
    client.notification("notifications/tools/list_changed");
    assert!(!listed(&mut client).contains(&PROJECTED.to_owned()));
    // A renamed active toolset still limits the list.
    scratch.ok(&["toolset", "rename", "none", "nothing"]);
    assert!(!listed(&mut client).contains(&PROJECTED.to_owned()));
    client.finish();
}

#[test]
fn x50_a_toolset_contains_only_installed_tools() {
    let (scratch, client) = with_installed();
    client.finish();
    let tools = |set: &str| scratch.json(&["toolset", "show", set])["tools"].take();
    scratch.ok(&["toolset", "create", "all"]);
    scratch.ok(&["toolset", "create", "none", "--empty"]);
    assert_eq!((tools("all"), tools("none")), (json!([TOOL]), json!([])));
    // Creating an existing toolset fails, and does not empty it.
    assert_eq!(scratch.run(&["toolset", "create", "all", "--empty"]).status, 1);
    assert_eq!(scratch.run(&["toolset", "add", "none", "nobody/nothing"]).status, 1);
    assert_eq!((tools("all"), tools("none")), (json!([TOOL]), json!([])));
}

#[test]
fn x53_access_control_is_the_same_for_the_contracts_server() {
    let scratch = Scratch::new();
    let refused = scratch.run(&["serve", "--as", "enact", "--http", "--host", "0.0.0.0", "--port", "0"]);
    assert!(refused.status != 0 && refused.stderr.contains("access key"), "{refused}");
    let server = Http::start(&scratch, &["--as", "enact"]);
    assert!(server.address.ip().is_loopback());
    let list = http::modern("/mcp", "tools/list", json!({}));
    assert_eq!(server.send(&list).status, 200);
    assert_eq!(server.send(&list.clone().with("Host", "evil.example")).status, 403);
    assert_eq!(server.send(&list.with("Origin", "https://evil.example")).status, 403);
}
