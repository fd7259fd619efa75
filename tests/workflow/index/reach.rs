//! What a call by name is refused is no command either.

use serde_json::{Value, json};

use super::{data, failure, found, install_lister};
use crate::support::{Client, Http, Scratch, http};

/// Whether the command of an id is found by a search, and shown.
fn reaches(client: &mut Client, id: &str) -> bool {
    let found = found(client, json!({ "query": id, "limit": 100 })).contains(&id.to_owned());
    let result = client.result("tools/call", json!({ "name": "get_command_spec", "arguments": { "id": id } }));
    assert_eq!(result["isError"], !found, "{id}: {result}");
    if !found {
        // Nor is it named among those that are near.
        assert!(!result["structuredContent"]["error"]["details"]["nearest"].to_string().contains(id), "{result}");
    }
    found
}

#[test]
fn groups_hide_the_commands_of_others() {
    let scratch = Scratch::with_project();
    let mut client = Client::start(&scratch, &["--groups", "workflow,content"]).shake_hands("2025-11-25");
    assert!(reaches(&mut client, "mcpkg:prompt:create") && !reaches(&mut client, "mcpkg:deploy_apply"));
    client.finish();
    let mut client = Client::start(&scratch, &["--groups", "workflow"]).shake_hands("2025-11-25");
    assert!(!reaches(&mut client, "mcpkg:prompt:create") && reaches(&mut client, "mcpkg:command:search"));
    client.finish();
    let mut client = Client::legacy(&scratch, "2025-11-25");
    assert!(reaches(&mut client, "mcpkg:prompt:create") && reaches(&mut client, "mcpkg:deploy_apply"));
    // What is the user's no agent has, in whichever way.
    assert!(!reaches(&mut client, "mcpkg:project:delete"));
    client.finish();
}

fn ask(server: &Http, key: &str, tool: &str, arguments: &Value) -> Value {
    let request = http::modern("/mcp", "tools/call", json!({ "name": tool, "arguments": arguments }));
    let mut answer = server.send(&request.with("Authorization", &format!("Bearer {key}"))).message();
    assert!(answer.get("result").is_some(), "{answer}");
    answer["result"]["structuredContent"].take()
}

fn ids(answer: &Value) -> Vec<&str> {
    let hits = answer["results"].as_array().expect("results").iter();
    hits.map(|hit| hit["id"].as_str().expect("an id")).collect()
}

#[test]
fn a_key_reaches_the_commands_of_what_it_may_call() {
    let scratch = Scratch::with_project();
    install_lister(&scratch);
    let key = |arguments: &[&str]| {
        let made = scratch.json(&[&["access", "create"], arguments].concat());
        made["key"].as_str().expect("a key").to_owned()
    };
    let (all, reading, of_p) = (key(&["all"]), key(&["reading", "--read-only"]), key(&["of-p", "--project", "p"]));
    let server = Http::start(&scratch, &["--tool-rate", "1000"]);
    let search =
        |key: &str, query: &str| ask(&server, key, "search_commands", &json!({ "query": query, "limit": 100 }));
    let (writes, deploys) = ("mcpkg:prompt:create", "mcpkg:deploy_apply");
    assert_eq!(ids(&search(&all, writes)), [writes]);
    assert_eq!(ids(&search(&all, deploys)), [deploys]);
    assert_eq!(ids(&search(&all, "tool:alice/hosting:restart")), ["tool:alice/hosting:restart"]);
    assert!(!ids(&search(&reading, "create prompt")).contains(&writes));
    assert!(ids(&search(&reading, "list prompts")).contains(&"mcpkg:prompt:list"));
    for key in [&of_p, &reading] {
        assert!(!ids(&search(key, "deploy apply")).contains(&deploys));
        assert!(ids(&search(key, "hosting")).is_empty(), "installed tools are called by neither");
    }
    assert!(ids(&search(&of_p, "create prompt")).contains(&writes));
    // What is kept for one key is not another one's.
    for id in [writes, deploys] {
        let shown = |key: &str| ask(&server, key, "get_command_spec", &json!({ "id": id })).get("error").is_none();
        assert!(shown(&all) && !shown(&reading), "{id}");
    }
}

#[test]
fn a_workspaces_tools_are_commands_over_a_network_only_where_they_are_named() {
    let scratch = Scratch::with_project();
    let query = json!({ "name": "search_commands", "arguments": { "query": "worktree" } });
    let hits = |arguments: &[&str]| {
        let server = Http::start(&scratch, arguments);
        let answer = server.modern("/mcp", "tools/call", query.clone());
        answer["result"]["structuredContent"]["results"].as_array().expect("results").len()
    };
    assert_eq!(hits(&[]), 0);
    assert!(hits(&["--groups", "workflow,workspace"]) > 0);
    let mut client = Client::legacy(&scratch, "2025-11-25");
    assert!(!found(&mut client, json!({ "query": "worktree" })).is_empty());
    client.finish();
}

#[test]
fn a_toolset_hides_tools_as_commands_too_and_an_install_is_seen_at_once() {
    let scratch = Scratch::with_project();
    let mut client = Client::legacy(&scratch, "2025-11-25");
    let id = json!({ "id": "tool:alice/hosting:apps" });
    assert_eq!(failure(&mut client, "get_command_spec", id.clone())["code"], "E_NOT_FOUND");
    install_lister(&scratch);
    let spec = data(&mut client, "get_command_spec", id.clone());
    assert_eq!((&spec["group"], &spec["effect"]), (&json!("tool"), &json!("read")));
    scratch.ok(&["toolset", "create", "none", "--empty"]);
    scratch.ok(&["toolset", "use", "none"]);
    assert_eq!(failure(&mut client, "get_command_spec", id.clone())["code"], "E_NOT_FOUND");
    assert!(found(&mut client, json!({ "query": "hosting" })).is_empty());
    client.finish();
}
