//! Tests of rules that every operation follows.

use std::collections::HashSet;

use mcpkg_core::op::{Effect, Entry, Listed, Shape};
use serde_json::{Value, json};

use crate::support::{Client, Scratch};

/// The tool that needs an inference engine, which only some builds have.
const GATE_TEST: &str = "smctl_gate_test";

/// Returns the shell command of an operation, below `root`.
fn command<'a>(root: &'a clap::Command, entry: &Entry) -> &'a clap::Command {
    entry.cli.iter().fold(root, |command, word| {
        command.find_subcommand(word).unwrap_or_else(|| panic!("`{word}` of {} is a command", entry.tool))
    })
}

#[test]
fn names_are_unique_and_well_formed() {
    let mut tools = HashSet::new();
    let mut paths = HashSet::new();
    for entry in mcpkg::DOMAINS.operations() {
        assert!(tools.insert(entry.tool), "the tool {} comes twice", entry.tool);
        // Several tools may belong to one shell command.
        assert!(!entry.faces.shell() || paths.insert(entry.cli), "`{}` comes twice", entry.cli.join(" "));
        let good = |name: &str| name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
        assert!(entry.tool.len() <= 64 && good(entry.tool), "{}", entry.tool);
        assert!((1..=3).contains(&entry.cli.len()), "{}", entry.tool);
        for text in [entry.title, entry.about] {
            // The descriptions of contract 002 are sentences that end with a period, and must not change.
            let may_end = entry.has_contract_schema() || !text.ends_with('.');
            assert!(!text.is_empty() && may_end, "{}: `{text}`", entry.tool);
        }
    }
}

#[test]
fn an_unknown_argument_is_refused_except_by_tools_of_contract_001() {
    let mut refused = 0;
    let is_strict = |entry: &&Entry| entry.faces.tool() && !matches!(entry.shape, Shape::Sentence | Shape::Output);
    for entry in mcpkg::DOMAINS.operations().filter(is_strict) {
        let takes_any = entry.input_schema()["properties"].as_object().is_some_and(|properties| !properties.is_empty());
        if let (Err(error), true) = (entry.from_agent(json!({ "argumentz": {} })), takes_any) {
            assert!(error.message().contains("unknown field `argumentz`"), "{}: {error}", entry.tool);
            let lenient = entry.from_lenient_agent(json!({ "argumentz": {} }));
            assert!(!lenient.is_err_and(|error| error.message().contains("argumentz")), "{}", entry.tool);
            refused += 1;
        } else {
            assert!(!takes_any, "{} takes it", entry.tool);
        }
    }
    assert!(refused > 30, "{refused}");
}

#[test]
fn agents_never_get_operations_that_are_for_the_user_only() {
    for entry in mcpkg::DOMAINS.operations().filter(|entry| entry.faces.tool()) {
        // Tools that run commands ask a person about each plan.
        assert!(entry.effect != Effect::Destroy || entry.runs_commands, "{} cannot be undone", entry.tool);
        for word in ["project", "import", "export", "backup", "database", "events"] {
            assert!(!entry.tool.ends_with(word), "{} is for the shell only", entry.tool);
        }
    }
}

#[test]
fn an_agents_schema_and_the_shells_arguments_are_the_same_fields() {
    let mut root = mcpkg::cli::command();
    root.build();
    for entry in mcpkg::DOMAINS.operations().filter(|entry| entry.faces.shell() && !entry.has_contract_schema()) {
        let command = command(&root, entry);
        let schema = entry.input_schema();
        let required = schema.get("required").and_then(|names| names.as_array()).cloned().unwrap_or_default();
        for (name, property) in schema["properties"].as_object().expect("properties") {
            let argument = command
                .get_arguments()
                .find(|argument| argument.get_id() == name)
                .unwrap_or_else(|| panic!("`{}` has no argument {name}", entry.cli.join(" ")));
            assert!(argument.get_help().is_some(), "{} of {} has no help", name, entry.tool);
            assert!(property["description"].is_string(), "{} of {} has no description", name, entry.tool);
            assert!(property["type"].is_string(), "{} of {} has no plain type: {property}", name, entry.tool);
            // In a shell, `--from` gives a folder whose name is the default. Agents have no folder.
            if (entry.tool, name.as_str()) == ("create_skill", "name") {
                continue;
            }
            // In a shell, the query is optional if a group, source or effect is given.
            if (entry.tool, name.as_str()) == ("search_commands", "query") {
                continue;
            }
            assert_eq!(
                argument.is_required_set(),
                required.contains(&name.as_str().into()),
                "whether {name} of {} is required",
                entry.tool
            );
        }
    }
}

/// Returns whether a schema has a property with several types, which some clients refuse.
fn has_union(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => fields.iter().any(|(key, value)| {
            matches!(key.as_str(), "anyOf" | "oneOf" | "allOf")
                || (key == "type" && value.is_array())
                || has_union(value)
        }),
        Value::Array(values) => values.iter().any(has_union),
        _ => false,
    }
}

#[test]
fn each_argument_of_a_tool_has_one_type() {
    for entry in mcpkg::DOMAINS.operations().filter(|entry| entry.faces.tool()) {
        let schema = Value::Object(entry.input_schema());
        assert!(!has_union(&schema), "{}: {schema}", entry.tool);
    }
}

#[test]
fn hints_follow_the_effect() {
    let tools = mcpkg::mcp::listed_tools(None);
    for tool in tools.as_array().expect("tools") {
        let entry = mcpkg::DOMAINS.operations().find(|entry| tool["name"] == entry.tool).expect("an operation");
        let hints = &tool["annotations"];
        assert_eq!(hints["readOnlyHint"], !entry.effect.changes(), "{tool}");
        assert_eq!(hints["openWorldHint"], entry.open_world, "{tool}");
        assert!(tool["title"].is_string(), "{tool}");
        if entry.effect.changes() {
            assert_eq!(hints["destructiveHint"], entry.effect != Effect::Create, "{tool}");
            // Each further call of these tools leaves something behind: another run, build, branch or draft.
            let leaves_more = ["enact__run", "execute", "smctl_build", "evolve_propose", "propose_workflow"];
            assert_eq!(hints["idempotentHint"], !leaves_more.contains(&entry.tool), "{tool}");
        }
    }
}

/// Returns the tools that a server lists, and the size of the list in bytes.
fn tools(scratch: &Scratch, arguments: &[&str]) -> (Vec<Value>, usize) {
    let mut client = Client::start(scratch, arguments).shake_hands("2025-11-25");
    let result = client.result("tools/list", json!({}));
    client.finish();
    assert!(result.get("nextCursor").is_none(), "more than a page");
    (result["tools"].as_array().expect("tools").clone(), result.to_string().len())
}

/// Returns the names of the tools that a server lists, and the size of the list in bytes.
fn listed(scratch: &Scratch, arguments: &[&str]) -> (Vec<String>, usize) {
    let (tools, bytes) = tools(scratch, arguments);
    (tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect(), bytes)
}

fn skill(scratch: &Scratch) {
    scratch.ok(&["skill", "create", "review", "# Look", "--description", "Reviews a change"]);
}

#[test]
fn the_default_list_is_what_most_sessions_need_in_16_kib() {
    let scratch = Scratch::with_project();
    let (_, of_tools) = listed(&scratch, &["--groups", "registry"]);
    assert!(of_tools <= 4 << 10, "contract 002's tools are {of_tools} bytes");
    let (all, bytes) = tools(&scratch, &[]);
    let is_of_commands = |tool: &&Value| {
        mcpkg::DOMAINS.operations().any(|entry| tool["name"] == entry.tool && entry.group == "workflow")
    };
    let of_commands: usize = all.iter().filter(is_of_commands).map(|tool| tool.to_string().len()).sum();
    assert!((1..=5 << 10).contains(&of_commands), "contract 004's tools are {of_commands} bytes");
    let of_others = bytes - of_tools - of_commands;
    assert!(of_others <= 8 << 10 && bytes <= 16 << 10, "tools/list is {bytes} bytes, {of_others} of them others'");
    let (names, _) = listed(&scratch, &[]);
    assert_eq!(names.iter().filter(|name| name.starts_with("enact__")).count(), 6);
    assert!(names.iter().any(|name| name == "create_prompt"));
    let skills: Vec<&str> = names.iter().map(String::as_str).filter(|name| name.contains("skill")).collect();
    assert_eq!(skills, ["create_skill", "list_skills", "get_skill"]);
    assert!(names.iter().any(|name| name == "propose_workflow"));
    assert!(!names.iter().any(|name| name == "plan"));
}

#[test]
fn everything_listed_by_default_is_32_kib_at_most() {
    let scratch = Scratch::with_project();
    let (all, bytes) = tools(&scratch, &["--groups", "all"]);
    let names: Vec<&str> = all.iter().map(|tool| tool["name"].as_str().expect("a name")).collect();
    // If a group is listed only on request, agents find its tools with search_commands.
    let named = |group: &str| {
        mcpkg::DOMAINS
            .iter()
            .flat_map(|domain| domain.groups)
            .any(|known| known.name == group && matches!(known.listed, Listed::Named))
    };
    let is_unasked = |tool: &&Value| {
        mcpkg::DOMAINS
            .operations()
            .any(|entry| tool["name"] == entry.tool && (entry.always_listed || !named(entry.group)))
    };
    let asked: usize = all.iter().filter(|tool| !is_unasked(tool)).map(|tool| tool.to_string().len()).sum();
    assert!(bytes - asked <= 32 << 10, "tools/list is {} bytes", bytes - asked);
    // A tool that this build does not support is listed only if the server presents itself as a contract's program.
    let served = mcpkg::DOMAINS
        .operations()
        .filter(|entry| entry.faces.tool() && names.contains(&entry.tool) | (entry.tool != GATE_TEST));
    assert_eq!(names, served.map(|entry| entry.tool).collect::<Vec<_>>());
    assert_eq!(names.contains(&GATE_TEST), cfg!(feature = "gate-onnx"));
    let (of_smctl, _) = listed(&scratch, &["--as", "smctl"]);
    assert!(of_smctl.iter().any(|name| name == GATE_TEST));
}

#[test]
fn tools_that_write_skills_are_listed_if_there_is_a_skill() {
    let scratch = Scratch::with_project();
    skill(&scratch);
    let (names, _) = listed(&scratch, &[]);
    assert!(names.iter().any(|name| name == "update_skill"), "{names:?}");
}

#[test]
fn deploys_are_listed_if_there_is_a_deploy_root() {
    let scratch = Scratch::with_project();
    scratch.ok(&["project", "select", "p", "--here"]);
    let (names, _) = listed(&scratch, &[]);
    assert!(names.iter().any(|name| name == "deploy_apply"), "{names:?}");
}

/// Initializes a session, and returns the server's instructions.
fn instructions(client: &mut Client) -> String {
    let info = json!({ "name": "test-client", "version": "1" });
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info });
    let told = client.result("initialize", hello)["instructions"].as_str().expect("instructions").to_owned();
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    told
}

#[test]
fn the_instructions_say_how_to_reach_tools_that_are_not_listed() {
    let scratch = Scratch::with_project();
    let mut client = Client::start(&scratch, &[]);
    let told = instructions(&mut client);
    assert!(told.contains("For other operations") && told.contains("use search_commands, then execute"), "{told}");
    // Agents refuse to call tools that are not listed, so a list of names would be useless.
    assert!(!told.contains("by name") && !told.contains("smctl_") && told.len() < 1600, "{} bytes: {told}", told.len());
    // The server still answers a call of a tool that is not listed.
    let (text, failed) = client.call("validate_skills", json!({}));
    assert!(!failed, "{text}");
    client.finish();
    // With `--no-execute`, the instructions do not mention the tools that run commands.
    let mut client = Client::start(&scratch, &["--no-execute"]);
    let told = instructions(&mut client);
    assert!(!told.contains("execute"), "{told}");
    client.finish();
    // A server does not serve groups that it was not started with.
    let mut client = Client::start(&scratch, &["--groups", "content"]).shake_hands("2025-11-25");
    let refused = client.error("tools/call", json!({ "name": "validate_skills", "arguments": {} }));
    assert_eq!(refused["code"], -32602, "{refused}");
    client.finish();
}

#[test]
fn clap_finds_no_error_in_the_commands() {
    mcpkg::cli::command().debug_assert();
}
