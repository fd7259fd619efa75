//! Tests the answers of the index's tools, with the handshake and without.

use serde_json::json;

use super::{LISTED, assistant, data, failure, found};
use crate::support::{Client, Scratch};

#[test]
fn a_server_that_stands_in_for_the_contract_has_its_tools_and_nothing_else() {
    let scratch = Scratch::with_project();
    let mut client = Client::start(&scratch, &["--as", "assistant"]);
    let info = json!({ "name": "test-client", "version": "1" });
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info });
    let told = client.result("initialize", hello);
    assert_eq!(told["serverInfo"]["name"], "assistant");
    let capabilities = told["capabilities"].as_object().expect("capabilities");
    assert_eq!(capabilities.keys().collect::<Vec<_>>(), ["tools"]);
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    let tools = client.result("tools/list", json!({}))["tools"].clone();
    let tools = tools.as_array().expect("tools");
    assert_eq!(tools.iter().map(|tool| tool["name"].as_str().expect("a name")).collect::<Vec<_>>(), LISTED);
    for tool in tools.iter().filter(|tool| tool["annotations"]["readOnlyHint"] == true) {
        // The schema must also fit failures. The results of commands and drafts have no fixed fields.
        let schema = &tool["outputSchema"];
        assert!(schema.get("required").is_none() && schema["properties"]["error"].is_object(), "{tool}");
    }
    for tool in ["create_prompt", "get_prompt", "deploy", "enact__search"] {
        let refused = client.error("tools/call", json!({ "name": tool, "arguments": {} }));
        assert_eq!(refused["code"], -32602, "{refused}");
    }
    for method in ["prompts/list", "resources/list"] {
        assert_eq!(client.error(method, json!({}))["code"], -32601, "{method}");
    }
    // The commands of other tools are not reachable either.
    let reached = found(&mut client, json!({ "query": "", "limit": 20 }));
    let expected = [
        "command:show",
        "workflow:plan",
        "command:search",
        "command:providers",
        "workflow:render",
        "workflow:runs",
        "workflow:validate",
        "draft:add",
        "workflow:infer",
        "workflow:suggest",
    ];
    assert_eq!(reached.len(), expected.len());
    assert!(expected.iter().all(|name| reached.contains(&format!("mcpkg:{name}"))), "{reached:?}");
    client.finish();
}

#[test]
fn results_and_failures_match_the_listed_schemas() {
    let scratch = Scratch::with_project();
    let mut client = assistant(&scratch);
    let tools = client.result("tools/list", json!({}))["tools"].clone();
    for (name, arguments) in [
        ("search_commands", json!({ "query": "command" })),
        ("search_commands", json!({ "query": "command", "limit": 0 })),
        ("get_command_spec", json!({ "id": "mcpkg:command:search", "detail": "full" })),
        ("get_command_spec", json!({ "id": "nothing" })),
        ("list_providers", json!({})),
        ("list_providers", json!({ "cursor": "x" })),
    ] {
        let tool = tools.as_array().expect("tools").iter().find(|tool| tool["name"] == name).expect("a tool");
        let answer = client.result("tools/call", json!({ "name": name, "arguments": arguments }));
        let answered = jsonschema::validate(&tool["outputSchema"], &answer["structuredContent"]);
        answered.unwrap_or_else(|error| panic!("{name} {arguments}: {error}\n{answer}"));
    }
    client.finish();
}

#[test]
fn a_search_has_the_contracts_form_the_best_eight_and_twenty_hits_are_4_kib() {
    let scratch = Scratch::with_project();
    let mut client = Client::legacy(&scratch, "2025-06-18");
    let answer = data(&mut client, "search_commands", json!({ "query": "create prompt" }));
    assert_eq!(answer.as_object().expect("an object").keys().next().map(String::as_str), Some("schema_version"));
    assert_eq!(
        answer["results"][0].to_string(),
        r#"{"id":"mcpkg:prompt:create","group":"mcpkg","name":"prompt:create","summary":"Create a new prompt in the selected project","effect":"write"}"#
    );
    assert_eq!(found(&mut client, json!({ "query": "mcpkg" })).len(), 8);
    let all = data(&mut client, "search_commands", json!({ "query": "mcpkg", "limit": 20 }));
    assert_eq!(all["results"].as_array().expect("results").len(), 20);
    assert!(all.to_string().len() <= 4 << 10, "{} bytes", all.to_string().len());
    client.finish();
}

#[test]
fn pages_contain_each_result_once_and_in_order() {
    let scratch = Scratch::with_project();
    let mut client = Client::legacy(&scratch, "2025-11-25");
    for query in ["list", ""] {
        let whole = found(&mut client, json!({ "query": query, "limit": 100 }));
        let (mut ids, mut cursor) = (Vec::new(), json!(null));
        loop {
            let mut arguments = json!({ "query": query, "limit": 3 });
            if !cursor.is_null() {
                arguments["cursor"] = cursor;
            }
            let mut page = data(&mut client, "search_commands", arguments);
            let hits = page["results"].as_array().expect("results");
            assert!(!hits.is_empty() && hits.len() <= 3);
            ids.extend(hits.iter().map(|hit| hit["id"].as_str().expect("an id").to_owned()));
            cursor = page["next_cursor"].take();
            if cursor.is_null() {
                break;
            }
        }
        assert_eq!(ids, whole, "{query}");
    }
    let mut providers = Vec::new();
    let mut cursor = json!(null);
    loop {
        let arguments = if cursor.is_null() { json!({ "limit": 2 }) } else { json!({ "limit": 2, "cursor": cursor }) };
        let mut page = data(&mut client, "list_providers", arguments);
        let rows = page["providers"].as_array().expect("providers").iter();
        providers.extend(rows.map(|row| row["id"].as_str().expect("an id").to_owned()));
        cursor = page["next_cursor"].take();
        if cursor.is_null() {
            break;
        }
    }
    assert!(providers.is_sorted() && providers.contains(&"mcpkg:prompt:list".to_owned()), "{providers:?}");
    client.finish();
}

#[test]
fn filters_narrow_a_search() {
    let scratch = Scratch::with_project();
    let mut client = Client::legacy(&scratch, "2025-11-25");
    assert!(found(&mut client, json!({ "query": "prompt", "group": "tool" })).is_empty());
    assert!(found(&mut client, json!({ "query": "prompt", "source": "tools" })).is_empty());
    let reading = found(&mut client, json!({ "query": "prompt", "effect": "read" }));
    assert!(reading.contains(&"mcpkg:prompt:show".to_owned()) && !reading.contains(&"mcpkg:prompt:create".to_owned()));
    // A full id finds exactly one command, and so does a tool's name.
    for query in ["mcpkg:prompt:create", "create_prompt", " CREATE_PROMPT "] {
        assert_eq!(found(&mut client, json!({ "query": query })), ["mcpkg:prompt:create"], "{query}");
    }
    // A word may be the name of one command and also describe others.
    assert!(found(&mut client, json!({ "query": "status" })).len() > 1);
    assert!(found(&mut client, json!({ "query": "status", "group": "mcpkg" })).len() > 1);
    client.finish();
}

#[test]
fn a_command_is_found_by_each_form_of_its_id() {
    let scratch = Scratch::with_project();
    let mut client = Client::legacy(&scratch, "2025-11-25");
    let whole = data(&mut client, "get_command_spec", json!({ "id": "mcpkg:prompt:create" }));
    for id in ["mcpkg prompt:create", "mcpkg prompt create", "mcpkg mcpkg:prompt:create", "create_prompt"] {
        assert_eq!(data(&mut client, "get_command_spec", json!({ "id": id })), whole, "{id}");
    }
    let keys: Vec<&str> = whole.as_object().expect("an object").keys().map(String::as_str).collect();
    assert_eq!(keys[..7], ["schema_version", "id", "group", "name", "flags", "positionals", "output_contract"]);
    assert_eq!(keys.last(), Some(&"spec_hash"));
    let full = data(&mut client, "get_command_spec", json!({ "id": "mcpkg:prompt:list", "detail": "full" }));
    assert_eq!(full["output_contract"]["list"], "prompts");
    assert!(full["output_contract"]["schema"]["properties"]["prompts"].is_object(), "{full}");
    client.finish();
}

#[test]
fn failures_are_typed_in_both_eras() {
    let scratch = Scratch::with_project();
    let legacy = Client::start(&scratch, &["--groups", "workflow"]).shake_hands("2024-11-05");
    let modern = Client::modern_with(scratch.command().args(["serve", "--groups", "workflow"]), json!({}));
    for mut client in [legacy, modern] {
        let unknown = failure(&mut client, "get_command_spec", json!({ "id": "mcpkg:promt:create" }));
        assert_eq!(
            (&unknown["code"], &unknown["category"], &unknown["next_step"]),
            (&json!("E_NOT_FOUND"), &json!("not_found"), &json!("search_commands")),
            "{unknown}"
        );
        let near = unknown["details"]["nearest"].as_array().expect("the nearest");
        assert!((1..=3).contains(&near.len()), "{unknown}");
        let unknown = failure(&mut client, "get_command_spec", json!({ "id": "command:search" }));
        let near = unknown["details"]["nearest"].as_array().expect("the nearest");
        assert_eq!(near[0], "mcpkg:command:search", "the prefix was left away: {unknown}");
        let newer = failure(&mut client, "search_commands", json!({ "query": "x", "schema_version": "2.0" }));
        assert_eq!((&newer["code"], &newer["category"]), (&json!("E_SCHEMA_VERSION"), &json!("validation")));
        let wrong = failure(&mut client, "list_providers", json!({ "limit": 1_000 }));
        assert_eq!(wrong["code"], "E_INVALID_ARGUMENT");
        let wrong = failure(&mut client, "search_commands", json!({ "query": 5 }));
        assert_eq!(wrong["code"], "E_INVALID_ARGUMENT");
        // Another minor version is accepted.
        data(&mut client, "search_commands", json!({ "query": "prompt", "schema_version": "1.7" }));
        client.finish();
    }
}

#[test]
fn a_spec_is_a_resource_whose_ids_are_completed() {
    let scratch = Scratch::with_project();
    let mut client = Client::start(&scratch, &["--groups", "all"]).shake_hands("2025-11-25");
    let templates = client.result("resources/templates/list", json!({}))["resourceTemplates"].clone();
    let uris: Vec<_> = templates.as_array().expect("templates").iter().map(|one| one["uriTemplate"].clone()).collect();
    assert!(uris.contains(&json!("mcpkg://command/{id}")), "{uris:?}");
    let read = client.result("resources/read", json!({ "uri": "mcpkg://command/mcpkg%3Aprompt%3Acreate" }));
    let text = read["contents"][0]["text"].as_str().expect("a text");
    let spec = data(&mut client, "get_command_spec", json!({ "id": "mcpkg:prompt:create" }));
    assert_eq!(text, spec.to_string());
    let reference = json!({ "type": "ref/resource", "uri": "mcpkg://command/{id}" });
    let argument = json!({ "name": "id", "value": "mcpkg:prompt:" });
    let completed = client.result("completion/complete", json!({ "ref": reference, "argument": argument }));
    let values = completed["completion"]["values"].as_array().expect("values");
    assert!(values.contains(&json!("mcpkg:prompt:show")) && values.len() < 10, "{values:?}");
    client.error("resources/read", json!({ "uri": "mcpkg://command/nothing" }));
    client.result("resources/subscribe", json!({ "uri": "mcpkg://command/mcpkg:prompt:create" }));
    client.finish();
}

#[test]
fn each_call_of_the_contract_is_logged_in_short_and_without_secrets() {
    let scratch = Scratch::with_project();
    let secret = "ghp_0123456789abcdefghijklmnopqrstuvwxyz";
    for front in [true, false] {
        let log = scratch.path().join("log");
        let mut command = scratch.command();
        command.args(["serve", "--as", "assistant"]);
        if !front {
            command.arg("--no-front");
        }
        let file = std::process::Stdio::from(std::fs::File::create(&log).expect("a file"));
        let mut client = Client::spawn_logging(&mut command, file).shake_hands("2025-11-25");
        for _ in 0..3 {
            client.result("tools/call", json!({ "name": "search_commands", "arguments": { "query": secret } }));
        }
        let yaml = format!("version: 1\nname: a\n# {secret}\n");
        client.result("tools/call", json!({ "name": "validate_workflow", "arguments": { "yaml": yaml } }));
        client.finish();
        let log = std::fs::read_to_string(&log).expect("a log");
        let of = |tool: &str| log.lines().filter(|line| line.contains(&format!("tool=\"{tool}\""))).count();
        assert_eq!((of("search_commands"), of("validate_workflow")), (3, 1), "{log}");
        assert!(log.contains("asked=") && log.contains("answered="), "{log}");
        assert!(!log.contains("ghp_"), "{log}");
    }
}
