//! Tests the texts that agents read. Many clients show a model only the text of a result, so the text must have all
//! facts of the structured content. Hints must name tools.

use std::collections::BTreeSet;

use mcpkg_core::op::Shape;
use serde_json::{Value, json};

use crate::support::{Client, Scratch};

/// A project in which each list has something to list.
fn filled() -> Scratch {
    let scratch = Scratch::with_project();
    scratch.ok(&[
        "prompt",
        "create",
        "review",
        "Look at {{ file }} for {{ focus }}",
        "--description",
        "Reviews a file",
        "--argument",
        "file=The file to look at",
        "--argument",
        "focus?",
    ]);
    scratch.ok(&["prompt", "create", "summary", "Sum up the retry rules"]);
    scratch.ok(&[
        "resource",
        "create",
        "api",
        "file:///docs/api.md",
        "How to retry",
        "--description",
        "The API's rules",
    ]);
    scratch.ok(&["resource", "create", "guide", "file:///docs/guide.md", "Another text"]);
    scratch.ok(&["skill", "create", "pdf", "# PDF\n\nretry", "--description", "Works with PDFs"]);
    scratch.ok(&["skill", "create", "csv", "# CSV", "--description", "Works with CSV"]);
    scratch.file("note.yaml", crate::workflow::saved::NOTE);
    scratch.ok(&["workflow", "import", "note.yaml"]);
    scratch
}

/// Adds all strings in a value to `found`, including cursors.
fn texts(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => drop(found.insert(text.clone())),
        Value::Array(values) => values.iter().for_each(|value| texts(value, found)),
        Value::Object(fields) => fields.values().for_each(|value| texts(value, found)),
        _ => {}
    }
}

#[test]
fn the_text_of_each_tool_has_the_facts_of_its_structured_content() {
    let scratch = filled();
    let mut client = Client::start(&scratch, &["--groups", "all"]).shake_hands("2025-11-25");
    let mut compared = BTreeSet::new();
    for entry in mcpkg::DOMAINS.operations().filter(|entry| entry.faces.tool()) {
        let arguments = match entry.tool {
            "list_prompts" | "list_resources" | "list_skills" => vec![json!({}), json!({ "limit": 1 })],
            "search_content" => vec![json!({ "query": "retry" })],
            "search_commands" | "enact__search" => vec![json!({ "query": "prompt" })],
            "get_command_spec" => vec![json!({ "id": "mcpkg:prompt:create" })],
            "get_workflow" => vec![json!({ "name": "keep_note" })],
            "validate_workflow" | "dry_run" | "render_yaml" => vec![json!({ "yaml": crate::workflow::saved::NOTE })],
            // Tools that change something would change what the other tools list.
            _ if entry.effect.changes() => continue,
            _ => vec![json!({})],
        };
        for arguments in arguments {
            let answer = client.request("tools/call", json!({ "name": entry.tool, "arguments": arguments }));
            let result = &answer["result"];
            let data = &result["structuredContent"];
            if data.is_null() || result["isError"] == true {
                continue;
            }
            let text = result["content"][0]["text"].as_str().expect("a text");
            if entry.shape == Shape::Sentence {
                let mut facts = BTreeSet::new();
                texts(data, &mut facts);
                // The rows of the text do not repeat the name of the project.
                facts.remove("p");
                for fact in facts {
                    assert!(text.contains(&fact), "{}: `{fact}` is not in the text\n{text}\n{data}", entry.tool);
                }
            } else {
                let told: Value = serde_json::from_str(text).expect("JSON");
                assert_eq!(told, *data, "{}", entry.tool);
            }
            compared.insert(entry.tool);
        }
    }
    client.finish();
    for tool in mcpkg::DOMAINS
        .operations()
        .filter(|entry| entry.faces.tool() && entry.shape == Shape::Sentence && entry.structured)
    {
        assert!(compared.contains(tool.tool), "{} answered nothing to compare: {compared:?}", tool.tool);
    }
    assert!(compared.len() > 15, "{compared:?}");
}

#[test]
fn a_list_of_prompts_says_their_arguments_in_its_text() {
    let scratch = filled();
    let mut client = Client::start(&scratch, &[]).shake_hands("2025-11-25");
    let (text, _) = client.call("list_prompts", json!({}));
    assert!(text.contains("review\tReviews a file\tfile (required): The file to look at; focus\n"), "{text}");
    assert!(text.contains("summary\t\t\n"), "{text}");
    let (text, _) = client.call("list_skills", json!({}));
    assert!(text.contains("pdf\tskill://pdf/SKILL.md\t"), "{text}");
    let (text, _) = client.call("search_content", json!({ "query": "retry" }));
    assert!(text.contains("api\tfile:///docs/api.md\tThe API's rules\t"), "{text}");
    client.finish();
}

/// Calls a tool that fails, and returns its error: for contract 003 the error's data, for contract 000 its details.
#[track_caller]
fn failure(client: &mut Client, tool: &str, arguments: Value) -> Value {
    let mut answer = client.request("tools/call", json!({ "name": tool, "arguments": arguments }));
    if answer.get("error").is_some() {
        return answer["error"]["data"].take();
    }
    let data = &mut answer["result"]["structuredContent"];
    if data.get("errors").is_some() { data["errors"][0]["details"].take() } else { data["error"].take() }
}

#[test]
fn every_failure_has_one_shape_of_hints_and_a_category() {
    let scratch = filled();
    let mut client = Client::start(&scratch, &["--groups", "all"]).shake_hands("2025-11-25");
    for (tool, arguments, category, hint) in [
        ("update_prompt", json!({ "name": "reviw", "content": "x" }), "not_found", "did you mean 'review'?"),
        ("rollback", json!({ "to": "pristine" }), "refused", "yes=true approves it"),
        ("enact__run", json!({ "tool": "alice/none" }), "not_found", "`enact__search(query: \"WORDS\")` finds tools"),
        ("enact__uninstall", json!({ "tool": "alice/none" }), "not_found", "`enact__list` lists the installed tools"),
        ("get_command_spec", json!({ "id": "zzz:zzz" }), "not_found", "`search_commands(query: \"WORDS\")`"),
        ("smctl_workspace_status", json!({}), "not_found", "smctl_workspace_init"),
        ("smctl_spec_status", json!({ "name": "x" }), "not_found", "smctl_workspace_init"),
    ] {
        let failed = failure(&mut client, tool, arguments);
        assert_eq!(failed["category"], category, "{tool}: {failed}");
        let hints = failed["hints"].as_array().unwrap_or_else(|| panic!("{tool}: {failed}"));
        let said: Vec<&str> = hints.iter().filter_map(Value::as_str).collect();
        assert!(said.iter().any(|said| said.contains(hint)), "{tool}: {said:?}");
        assert!(said.iter().all(|said| !said.contains("--")), "{tool}: {said:?}");
    }
    client.finish();
}

#[test]
fn a_failed_deletion_by_an_agent_never_suggests_another_item() {
    let scratch = filled();
    let mut client = Client::start(&scratch, &["--groups", "all"]).shake_hands("2025-11-25");
    for (tool, arguments) in [
        ("delete_prompt", json!({ "name": "reviw" })),
        ("delete_resource", json!({ "name": "apii" })),
        ("delete_skill", json!({ "name": "pdff" })),
    ] {
        let failed = failure(&mut client, tool, arguments).to_string();
        assert!(!failed.contains("did you mean"), "{tool}: {failed}");
    }
    client.finish();
    // At the shell, the error may suggest a name, because a person is asked before anything is deleted.
    let ran = scratch.run(&["prompt", "delete", "reviw"]);
    assert!(ran.stderr.contains("did you mean 'review'?"), "{ran}");
}

#[test]
fn no_command_spec_teaches_an_agent_the_shell() {
    let scratch = filled();
    let mut client = Client::start(&scratch, &["--groups", "all"]).shake_hands("2025-11-25");
    let mut looked = 0;
    for entry in mcpkg::DOMAINS.operations().filter(|entry| entry.faces.command() && !entry.runs_commands) {
        let (text, failed) = client.call("get_command_spec", json!({ "id": format!("mcpkg:{}", entry.cli.join(":")) }));
        if failed {
            continue;
        }
        looked += 1;
        let spec: Value = serde_json::from_str(&text).expect("JSON");
        let mut said: Vec<String> = vec![spec["description"].as_str().unwrap_or_default().to_owned()];
        // The descriptions that a contract prescribes are not checked.
        let flags = spec["flags"].as_array().into_iter().flatten().filter(|_| !entry.has_contract_schema());
        said.extend(flags.map(|flag| flag["description"].as_str().unwrap_or_default().to_owned()));
        for said in said {
            for taught in ["@FILE", "@file", "`-`", "--", "standard input"] {
                assert!(!said.contains(taught), "{}: `{said}`", entry.tool);
            }
        }
    }
    assert!(looked > 40, "{looked}");
    client.finish();
}

#[test]
fn unknown_arguments_are_refused_unless_the_contract_is_lenient() {
    let scratch = filled();
    for (arguments, tool, given, is_refused) in [
        (&["--groups", "all"][..], "plan", json!({ "targt": "all" }), true),
        (&["--as", "agentpack"], "plan", json!({ "targt": "all" }), true),
        (&["--groups", "all"], "enact__search", json!({ "query": "x", "limt": 1 }), true),
        (&["--groups", "all"], "smctl_worktree_remove", json!({ "name": "x", "forse": true }), true),
        (&[], "search_commands", json!({ "query": "x", "limt": 1 }), true),
        (&["--as", "assistant"], "search_commands", json!({ "query": "prompt", "limt": 1 }), false),
        (&["--as", "assistant"], "get_command_spec", json!({ "id": "mcpkg:prompt:list", "x": 1 }), false),
        (&[], "get_prompt", json!({ "name": "summary", "nam": 1 }), false),
    ] {
        let mut client = Client::start(&scratch, arguments).shake_hands("2025-11-25");
        let answer = client.request("tools/call", json!({ "name": tool, "arguments": given })).to_string();
        assert_eq!(answer.contains("did you mean `"), is_refused, "{arguments:?} {tool}: {answer}");
        assert_eq!(answer.contains("unknown field"), is_refused, "{arguments:?} {tool}: {answer}");
        client.finish();
    }
}
