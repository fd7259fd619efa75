//! Tests that mcpkg's index of commands does not repeat defects of oatty, the program that contract 004 describes. Each
//! test's name begins with the number of a defect.

use mcpkg_workflow::commands::reachable;
use mcpkg_workflow::source::{Commands, Resolved};
use serde_json::{Value, json};

use super::{LISTED, assistant, data, failure, found, install_lister};
use crate::support::{Client, Http, Scratch, http};

#[test]
fn x7_a_provider_is_found_by_each_form_of_its_name() {
    let scratch = Scratch::with_project();
    install_lister(&scratch);
    let context = scratch.context();
    let commands = reachable(&context);
    let mut client = Client::legacy(&scratch, "2025-11-25");
    let page = data(&mut client, "list_providers", json!({ "limit": 200 }));
    let listed: Vec<&str> =
        page["providers"].as_array().expect("providers").iter().filter_map(|one| one["id"].as_str()).collect();
    assert!(listed.len() > 5);
    for id in listed {
        let (group, name) = id.split_once(':').expect("an id");
        for typed in [id.to_owned(), format!("{group} {name}"), format!("{group} {id}")] {
            let provider = commands.provider(&typed).expect("an answer").unwrap_or_else(|| panic!("{typed} is none"));
            assert_eq!(provider.id, id);
        }
    }
    // Each provider that an argument names exists, and lists this argument among those it provides.
    let restart = data(&mut client, "get_command_spec", json!({ "id": "tool:alice/hosting:restart" }));
    assert_eq!(restart["flags"][0]["name"], "app");
    let mut named = 0;
    for id in found(&mut client, json!({ "query": "", "limit": 100 })) {
        let Resolved::One(spec) = commands.resolve(&id).expect("an answer") else { panic!("{id}") };
        for flag in spec.flags.iter().filter(|flag| flag.provider.is_some()) {
            let provider = flag.provider.as_deref().expect("a provider");
            assert!(commands.provider(provider).expect("an answer").is_some(), "{provider}");
            let Resolved::One(list) = commands.resolve(provider).expect("an answer") else { panic!("{provider}") };
            assert!(list.provider_for.contains(&format!("{id}.{}", flag.name)), "{provider}: {:?}", list.provider_for);
            named += 1;
        }
    }
    assert!(named > 0, "no argument has a provider");
    client.finish();
}

#[test]
fn x16_an_installed_tool_is_a_step_and_a_provider() {
    let scratch = Scratch::with_project();
    install_lister(&scratch);
    let mut client = Client::legacy(&scratch, "2025-11-25");
    for (id, effect, idempotency) in
        [("tool:alice/hosting:apps", "read", "safe"), ("tool:alice/hosting:restart", "write", "none")]
    {
        let spec = data(&mut client, "get_command_spec", json!({ "id": id }));
        assert_eq!((&spec["runnable"], &spec["source"]), (&json!(true), &json!("tools")), "{spec}");
        assert_eq!((&spec["effect"], &spec["idempotency"]), (&json!(effect), &json!(idempotency)), "{spec}");
    }
    let page = data(&mut client, "list_providers", json!({ "filter": "hosting" }));
    assert_eq!(page["providers"][0]["id"], "tool:alice/hosting:apps", "{page}");
    assert_eq!(page["providers"][0]["returns"][0]["name"], "id", "{page}");
    client.finish();
}

#[test]
fn x46_a_search_ignores_words_that_no_command_has() {
    let scratch = Scratch::with_project();
    let mut client = assistant(&scratch);
    assert_eq!(found(&mut client, json!({ "query": "search commands postgres" }))[0], "mcpkg:command:search");
    client.finish();
    let mut client = Client::legacy(&scratch, "2025-11-25");
    assert_eq!(found(&mut client, json!({ "query": "create prompt postgres" }))[0], "mcpkg:prompt:create");
    client.finish();
}

#[test]
fn x47_each_tool_has_annotations_about_its_effect() {
    let scratch = Scratch::with_project();
    let mut client = assistant(&scratch);
    let tools = client.result("tools/list", json!({}))["tools"].clone();
    for tool in tools.as_array().expect("tools") {
        let hints = &tool["annotations"];
        let reads = mcpkg::DOMAINS.operations().any(|entry| tool["name"] == entry.tool && !entry.effect.changes());
        assert_eq!(hints["readOnlyHint"], reads, "{tool}");
        assert!(reads || hints["destructiveHint"].is_boolean(), "{tool}");
    }
    client.finish();
}

#[test]
fn x48_a_rate_limited_caller_learns_how_long_to_wait() {
    let scratch = Scratch::with_project();
    let key = |name: &str| scratch.json(&["access", "create", name])["key"].as_str().expect("a key").to_owned();
    let (one, other) = (key("one"), key("other"));
    let server = Http::start(&scratch, &["--tool-rate", "1"]);
    let ask = |key: &str, tool: &str, arguments: Value| {
        let request = http::modern("/mcp", "tools/call", json!({ "name": tool, "arguments": arguments }));
        server.send(&request.with("Authorization", &format!("Bearer {key}"))).message()["result"].clone()
    };
    let spec = || json!({ "id": "mcpkg:prompt:list" });
    let answers: Vec<Value> = (0..12).map(|_| ask(&one, "get_command_spec", spec())).collect();
    assert!(answers[..3].iter().all(|answer| answer["isError"] == false), "three at once are taken: {answers:?}");
    let refused = answers.iter().find(|answer| answer["isError"] == true).expect("one too many");
    let error = &refused["structuredContent"]["error"];
    assert_eq!((&error["code"], &error["category"]), (&json!("E_RATE_LIMITED"), &json!("refused")), "{refused}");
    assert!(error["retry_after_ms"].as_u64().is_some_and(|wait| (1..=1001).contains(&wait)), "{refused}");
    assert_eq!(refused["structuredContent"]["schema_version"], "1.0");
    // Other callers and other tools are not limited.
    assert_eq!(ask(&other, "get_command_spec", spec())["isError"], false);
    assert_eq!(ask(&one, "search_commands", json!({ "query": "prompt" }))["isError"], false);
    assert_eq!(ask(&one, "list_prompts", json!({}))["isError"], false);
    // Over stdio there is no limit.
    let mut client = Client::start(&scratch, &["--tool-rate", "1"]).shake_hands("2025-11-25");
    for _ in 0..12 {
        data(&mut client, "get_command_spec", spec());
    }
    client.finish();
}

#[test]
fn x49_every_answer_and_every_failure_begins_with_its_version() {
    let scratch = Scratch::with_project();
    let mut client = assistant(&scratch);
    for tool in LISTED {
        if tool == "execute" {
            failure(&mut client, tool, json!({ "command": "mcpkg:command:providers" }));
            continue;
        }
        let arguments = match tool {
            "search_commands" => json!({ "query": "command" }),
            "get_command_spec" => json!({ "id": "mcpkg:command:search" }),
            "list_providers" | "list_runs" => json!({}),
            "infer_workflow_from_session" => json!({ "session_log": [{ "command": "mcpkg:command:providers" }] }),
            "suggest_providers" => json!({ "yaml": "workflow: w\ninputs: {a: {}}\n", "pointer": "/inputs/a" }),
            _ => json!({ "yaml": "workflow: w\nsteps:\n  - id: find\n    run: mcpkg:command:providers\n" }),
        };
        let answer = data(&mut client, tool, arguments);
        let (first, version) = answer.as_object().and_then(|answer| answer.iter().next()).expect("a key");
        assert_eq!((first.as_str(), version), ("schema_version", &json!("1.0")), "{tool}");
        // `failure` also checks the first key.
        failure(&mut client, tool, json!({ "schema_version": "2.0", "query": "x", "id": "x", "yaml": "x" }));
    }
    client.finish();
    for arguments in [&["command", "search", "prompt"][..], &["command", "show", "nothing"]] {
        let printed = scratch.run(&[&["--json"], arguments].concat()).stdout;
        assert!(printed.trim_start().starts_with("{\n  \"schema_version\": \"1.0\""), "{printed}");
    }
}
