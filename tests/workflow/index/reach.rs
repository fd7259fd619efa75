//! Tests that callers cannot reach a tool as a command if they cannot call the tool itself.

use serde_json::{Value, json};

use super::{data, failure, found, install_lister};
use crate::support::{Client, Http, Scratch, http};

/// Returns whether a search finds a command. Checks that it can be shown if and only if it is found.
fn reaches(client: &mut Client, id: &str) -> bool {
    let found = found(client, json!({ "query": id, "limit": 100 })).contains(&id.to_owned());
    let result = client.result("tools/call", json!({ "name": "get_command_spec", "arguments": { "id": id } }));
    assert_eq!(result["isError"], !found, "{id}: {result}");
    if !found {
        // The error's suggestions do not name the command either.
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
    // No agent reaches a command that is reserved for the user.
    assert!(!reaches(&mut client, "mcpkg:project:delete"));
    client.finish();
}

#[test]
fn a_command_that_this_build_cannot_run_is_not_found_and_its_call_says_what_is_missing() {
    let scratch = Scratch::with_project();
    let mut client = Client::legacy(&scratch, "2025-11-25");
    let is_built = cfg!(feature = "gate-onnx");
    for query in ["mcpkg:gate:test", "run a model on an input", "smctl_gate_test"] {
        let found = found(&mut client, json!({ "query": query, "limit": 100 }));
        assert!(is_built || !found.contains(&"mcpkg:gate:test".to_owned()), "{query}: {found:?}");
    }
    assert_eq!(
        found(&mut client, json!({ "query": "mcpkg:gate:test", "limit": 100 })).contains(&"mcpkg:gate:test".to_owned()),
        is_built
    );
    assert!(
        found(&mut client, json!({ "query": "gate models", "limit": 100 }))
            .contains(&"mcpkg:gate:models:list".to_owned())
    );
    client.finish();
    let mut contract = Client::start(&scratch, &["--as", "smctl"]).shake_hands("2025-11-25");
    let tools = contract.result("tools/list", json!({}))["tools"].take();
    assert!(tools.as_array().expect("tools").iter().any(|tool| tool["name"] == "smctl_gate_test"), "{tools}");
    contract.finish();
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
fn a_key_reaches_only_commands_of_tools_it_may_call() {
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
    // One key's cached results are not used for another key.
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

/// Returns the commands that a search suggests to the user.
fn for_the_user(client: &mut Client, query: &str) -> Vec<String> {
    let answer = data(client, "search_commands", json!({ "query": query }));
    let told = answer["for_the_user"].as_array().into_iter().flatten();
    told.map(|told| told["command"].as_str().expect("a command").to_owned()).collect()
}

#[test]
fn a_search_says_what_only_the_user_does() {
    let scratch = Scratch::with_project();
    let mut client = Client::legacy(&scratch, "2025-11-25");
    assert_eq!(for_the_user(&mut client, "switch project").first().map(String::as_str), Some("mcpkg project select"));
    assert!(for_the_user(&mut client, "backup database").contains(&"mcpkg backup".to_owned()));
    for (query, first) in [
        ("prompt history revisions", "mcpkg:prompt:history"),
        ("restore deleted prompt", "mcpkg:prompt:restore"),
        ("undo deploy rollback", "mcpkg:rollback"),
        ("deploy rules", "mcpkg:deploy"),
        ("create prompt", "mcpkg:prompt:create"),
        ("check status of deployed files", "mcpkg:status"),
        ("start feature branch all repos", "mcpkg:flow:feature:start"),
    ] {
        assert_eq!(found(&mut client, json!({ "query": query })).first().map(String::as_str), Some(first), "{query}");
        assert!(for_the_user(&mut client, query).is_empty(), "{query}");
    }
    // A search within one group makes no suggestions to the user.
    let narrowed = data(&mut client, "search_commands", json!({ "query": "switch project", "group": "mcpkg" }));
    assert!(narrowed.get("for_the_user").is_none(), "{narrowed}");
    client.finish();
}

#[test]
fn commands_that_need_execute_are_left_to_the_user_if_execute_is_denied() {
    let ground = crate::workflow::runs::Ground::new();
    let mut client = Client::start(&ground.scratch, &["--no-execute"]).shake_hands("2025-11-25");
    let ids = found(&mut client, json!({ "query": "create app" }));
    assert!(!ids.iter().any(|id| id.starts_with("hosting:")), "{ids:?}");
    assert!(for_the_user(&mut client, "create app").contains(&"mcpkg command run hosting:apps:create".to_owned()));
    assert!(!found(&mut client, json!({ "query": "restore prompt" })).contains(&"mcpkg:prompt:restore".to_owned()));
    // Tools that are called by their own names, and reads of mcpkg's data, are still found.
    assert!(found(&mut client, json!({ "query": "create prompt" })).contains(&"mcpkg:prompt:create".to_owned()));
    assert!(found(&mut client, json!({ "query": "prompt history" })).contains(&"mcpkg:prompt:history".to_owned()));
    client.finish();
    // A project's policy has the same effect.
    let mut client = Client::legacy(&ground.scratch, "2025-11-25");
    assert!(found(&mut client, json!({ "query": "create app" })).contains(&"hosting:apps:create".to_owned()));
    ground.scratch.ok(&["workflow", "policy", "deny"]);
    assert!(!found(&mut client, json!({ "query": "create app" })).contains(&"hosting:apps:create".to_owned()));
    client.finish();
    // A server with `--as assistant` still finds these commands: its agents write workflows that a person runs.
    let mut client = Client::start(&ground.scratch, &["--as", "assistant", "--no-execute"]).shake_hands("2025-11-25");
    assert!(found(&mut client, json!({ "query": "create app" })).contains(&"hosting:apps:create".to_owned()));
    client.finish();
}

#[test]
fn an_agent_reads_the_history_of_a_prompt_and_brings_it_back_with_consent() {
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "review", "first"]);
    scratch.ok(&["prompt", "update", "review", "second"]);
    let mut client = Client::legacy(&scratch, "2025-11-25");
    let read = data(&mut client, "execute", json!({ "command": "mcpkg:prompt:history", "args": { "name": "review" } }));
    assert_eq!(read["final_output"]["revisions"].as_array().map(Vec::len), Some(2), "{read}");
    let restore = json!({ "command": "mcpkg:prompt:restore", "args": { "name": "review", "revision": 1 } });
    let asked = failure(&mut client, "execute", restore.clone());
    assert_eq!(asked["code"], "E_CONSENT_REQUIRED", "{asked}");
    crate::workflow::runs::approve(&scratch, &json!({ "error": asked }));
    let mut restore = restore;
    restore["nonce"] = asked["details"]["nonce"].clone();
    data(&mut client, "execute", restore);
    assert_eq!(scratch.ok(&["prompt", "show", "review"]).trim(), "first");
    client.finish();
}
