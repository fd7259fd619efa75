//! Tests workflows that are exposed to agents as tools.

use serde_json::{Value, json};

use super::{APP, Ground, call};
use crate::support::Client;

const TOOL: &str = "workflow__new_app";

/// Returns a project whose workflow is exposed as a tool.
fn exposed() -> Ground {
    let ground = Ground::new();
    ground.scratch.file("app.yaml", APP);
    ground.scratch.ok(&["workflow", "import", "app.yaml"]);
    ground.scratch.ok(&["workflow", "expose", "new_app", "--yes"]);
    ground
}

fn tool(client: &mut Client, name: &str) -> Option<Value> {
    let tools = client.result("tools/list", json!({}))["tools"].clone();
    tools.as_array().expect("tools").iter().find(|tool| tool["name"] == name).cloned()
}

#[test]
fn an_exposed_workflow_is_a_tool_and_runs_after_consent() {
    let ground = exposed();
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-11-25");
    let listed = tool(&mut client, TOOL).expect("the tool is listed");
    let schema = &listed["inputSchema"];
    assert_eq!(schema["required"], json!(["name"]));
    assert_eq!(schema["properties"]["region"], json!({ "type": "string", "enum": ["eu", "us"], "default": "eu" }));
    let hints = &listed["annotations"];
    assert_eq!((&hints["readOnlyHint"], &hints["destructiveHint"]), (&json!(false), &json!(false)), "{listed}");
    let wrong = call(&mut client, TOOL, json!({ "name": "UPPER" }));
    assert_eq!(wrong["error"]["code"], "E_INVALID_ARGUMENT");
    let missing = call(&mut client, TOOL, json!({}));
    assert_eq!(missing["error"]["code"], "E_INPUTS_REQUIRED");
    let asked = call(&mut client, TOOL, json!({ "name": "web", "wait_s": 0 }));
    assert_eq!(asked["error"]["code"], "E_CONSENT_REQUIRED", "{asked}");
    let nonce = asked["error"]["details"]["nonce"].clone();
    let pending = call(&mut client, TOOL, json!({ "name": "web", "nonce": nonce, "wait_s": 0 }));
    assert_eq!((&pending["error"]["code"], ground.changes()), (&json!("E_CONSENT_PENDING"), 0));
    ground.approve(&asked);
    // The consent covers only these values.
    let other = call(&mut client, TOOL, json!({ "name": "other", "nonce": nonce, "wait_s": 0 }));
    assert_eq!(other["error"]["code"], "E_CONSENT_MISMATCH", "{other}");
    let ran = call(&mut client, TOOL, json!({ "name": "web", "nonce": nonce, "wait_s": 20 }));
    assert_eq!((&ran["state"], ground.changes()), (&json!("succeeded"), 2), "{ran}");
    assert_eq!(ground.run()["name"], "new_app");
    client.finish();
}

#[test]
fn running_servers_announce_when_a_tool_appears_or_disappears() {
    let ground = Ground::new();
    ground.scratch.file("app.yaml", APP);
    ground.scratch.ok(&["workflow", "import", "app.yaml"]);
    let mut clients = [0, 1].map(|_| Client::start(&ground.scratch, &[]).shake_hands("2025-11-25"));
    for client in &mut clients {
        assert!(tool(client, TOOL).is_none());
    }
    for (words, is_there) in
        [(&["workflow", "expose", "new_app", "--yes"][..], true), (&["workflow", "unexpose", "new_app"], false)]
    {
        ground.scratch.ok(words);
        for client in &mut clients {
            client.notification("notifications/tools/list_changed");
            assert_eq!(tool(client, TOOL).is_some(), is_there, "{words:?}");
        }
    }
    for client in clients {
        client.finish();
    }
}

#[test]
fn the_annotations_of_a_changed_workflow_assume_the_worst() {
    let ground = exposed();
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-11-25");
    ground.scratch.file("app.yaml", APP.replace("An app", "a").replace("plan: small", "plan: large"));
    ground.scratch.ok(&["workflow", "import", "app.yaml", "--update"]);
    let hints = tool(&mut client, TOOL).expect("the tool")["annotations"].clone();
    assert_eq!(hints["destructiveHint"], true, "{hints}");
    ground.scratch.ok(&["workflow", "expose", "new_app", "--yes"]);
    let hints = tool(&mut client, TOOL).expect("the tool")["annotations"].clone();
    assert_eq!(hints["destructiveHint"], false, "{hints}");
    // A renamed workflow is a new tool. A deleted workflow is not a tool until it is restored.
    ground.scratch.ok(&["workflow", "rename", "new_app", "app2"]);
    assert!(tool(&mut client, TOOL).is_none() && tool(&mut client, "workflow__app2").is_some());
    let long = "a".repeat(55);
    let refused = ground.scratch.run(&["workflow", "rename", "app2", &long]);
    assert!(refused.status != 0 && refused.stderr.contains("too long for a tool name"), "{refused}");
    ground.scratch.ok(&["workflow", "delete", "app2"]);
    assert!(tool(&mut client, "workflow__app2").is_none());
    ground.scratch.ok(&["workflow", "restore", "app2", "3"]);
    assert!(tool(&mut client, "workflow__app2").is_some());
    ground.scratch.ok(&["workflow", "unexpose", "app2"]);
    assert!(tool(&mut client, "workflow__app2").is_none());
    let gone = client.error("tools/call", json!({ "name": "workflow__app2", "arguments": {} }));
    assert_eq!(gone["code"], -32602);
    client.finish();
}

#[test]
fn an_exposed_workflow_is_not_a_command_and_is_refused_like_execute() {
    let ground = exposed();
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-11-25");
    let found = call(&mut client, "search_commands", json!({ "query": "new_app" }));
    assert!(!found.to_string().contains("tool:"), "{found}");
    let none = call(&mut client, "get_command_spec", json!({ "id": "tool:new_app" }));
    assert_eq!(none["error"]["code"], "E_NOT_FOUND");
    ground.scratch.ok(&["workflow", "policy", "deny"]);
    let denied = call(&mut client, TOOL, json!({ "name": "web" }));
    assert_eq!(denied["error"]["code"], "E_EXECUTE_DENIED");
    client.finish();
    let mut client = Client::start(&ground.scratch, &["--no-execute"]).shake_hands("2025-11-25");
    assert!(tool(&mut client, TOOL).is_none());
    assert_eq!(call(&mut client, TOOL, json!({ "name": "web" }))["error"]["code"], "E_EXECUTE_DENIED");
    client.finish();
    for arguments in [&["--as", "assistant"][..], &["--groups", "content"]] {
        let mut client = Client::start(&ground.scratch, arguments).shake_hands("2025-11-25");
        assert!(tool(&mut client, TOOL).is_none(), "{arguments:?}");
        let unknown = client.error("tools/call", json!({ "name": TOOL, "arguments": { "name": "web" } }));
        assert_eq!(unknown["code"], -32602, "{arguments:?}");
        client.finish();
    }
}

#[test]
fn only_runnable_workflows_are_exposed_and_only_after_confirmation() {
    let ground = Ground::new();
    let scratch = &ground.scratch;
    scratch.file("app.yaml", APP);
    scratch.ok(&["workflow", "import", "app.yaml"]);
    let unasked = scratch.run(&["workflow", "expose", "new_app"]);
    assert!(unasked.status != 0 && unasked.stderr.contains("--yes"), "{unasked}");
    scratch.file("broken.yaml", APP.replace("new_app", "broken").replace("hosting:apps:create", "hosting:apps:made"));
    assert_eq!(scratch.run(&["workflow", "import", "broken.yaml"]).status, 1);
    let refused = scratch.run(&["workflow", "expose", "broken", "--yes"]);
    assert!(refused.status != 0 && refused.stderr.contains("'broken' has 1 error"), "{refused}");
    scratch.file(
        "taken.yaml",
        APP.replace("new_app", "taken").replace("name: {desc", "nonce: {desc").replace("inputs.name", "inputs.nonce"),
    );
    scratch.ok(&["workflow", "import", "taken.yaml"]);
    let refused = scratch.run(&["workflow", "expose", "taken", "--yes"]);
    assert!(refused.status != 0 && refused.stderr.contains("built-in argument of workflow tools"), "{refused}");
}
