//! Tests that the schemas of contract 001 are word for word those of the contract, and that each is a valid JSON
//! schema.

use serde_json::{Value, json};

fn tools() -> Vec<Value> {
    mcpkg::mcp::listed_tools(None).as_array().expect("tools").clone()
}

fn text(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

/// A tool: its name, its description, its properties in order, and the required ones.
type Tool = (&'static str, &'static str, Vec<(&'static str, Value)>, Vec<&'static str>);

/// Returns the tools of the contract.
fn contract() -> Vec<Tool> {
    vec![
        (
            "create_prompt",
            "Create a new prompt in the selected project",
            vec![
                ("name", text("Prompt name (alphanumeric, hyphens, underscores, dots)")),
                ("content", text("Prompt text content")),
                ("description", text("Optional description")),
            ],
            vec!["name", "content"],
        ),
        (
            "update_prompt",
            "Update an existing prompt's content or description",
            vec![
                ("name", text("Prompt name")),
                ("content", text("New prompt content (optional)")),
                ("description", text("New description (optional)")),
            ],
            vec!["name"],
        ),
        (
            "delete_prompt",
            "Delete a prompt from the selected project",
            vec![("name", text("Prompt name"))],
            vec!["name"],
        ),
        (
            "create_resource",
            "Create a new resource in the selected project",
            vec![
                ("name", text("Resource name (alphanumeric, hyphens, underscores, dots)")),
                ("uri", text("Resource URI")),
                ("content", text("Resource content (text or base64 for binary)")),
                ("mime_type", text("MIME type (optional, defaults to text/plain)")),
                ("description", text("Optional description")),
            ],
            vec!["name", "uri", "content"],
        ),
        (
            "update_resource",
            "Update an existing resource's content or metadata",
            vec![
                ("name", text("Resource name")),
                ("content", text("New resource content (optional)")),
                ("mime_type", text("New MIME type (optional)")),
                ("description", text("New description (optional)")),
            ],
            vec!["name"],
        ),
        (
            "delete_resource",
            "Delete a resource from the selected project",
            vec![("name", text("Resource name"))],
            vec!["name"],
        ),
    ]
}

#[test]
fn the_contracts_tools_come_first_in_its_order_with_its_schemas() {
    let tools = tools();
    for (index, (name, description, properties, required)) in contract().into_iter().enumerate() {
        let tool = &tools[index];
        assert_eq!((&tool["name"], &tool["description"]), (&json!(name), &json!(description)));
        let schema = tool["inputSchema"].as_object().expect("a schema");
        assert_eq!(schema.keys().collect::<Vec<_>>(), ["type", "properties", "required"], "{name}");
        assert_eq!((&schema["type"], &schema["required"]), (&json!("object"), &json!(required)), "{name}");
        let mut found: Vec<(&str, Value)> = schema["properties"]
            .as_object()
            .expect("properties")
            .iter()
            .map(|(name, property)| (name.as_str(), property.clone()))
            .collect();
        // `arguments` is mcpkg's only additional property, and comes last.
        if found.last().is_some_and(|(name, _)| *name == "arguments") {
            found.pop();
        }
        assert_eq!(found, properties, "{name}");
    }
}

#[test]
fn every_schema_is_a_json_schema_and_outputs_fit_theirs() {
    for tool in tools() {
        for key in ["inputSchema", "outputSchema"] {
            if let Some(schema) = tool.get(key) {
                assert_eq!(schema["type"], "object", "{} {key}", tool["name"]);
                jsonschema::validator_for(schema).unwrap_or_else(|error| panic!("{} {key}: {error}", tool["name"]));
            }
        }
    }
    let scratch = crate::support::Scratch::with_project();
    let mut client = crate::support::Client::legacy(&scratch, "2025-06-18");
    client.call("create_prompt", json!({ "name": "a", "content": "needle {{ x }}", "arguments": [{ "name": "x" }] }));
    client.call("create_resource", json!({ "name": "r", "uri": "file:///r", "content": "needle" }));
    client.call(
        "create_resource",
        json!({ "name": "b", "uri": "file:///b", "content": "AAEC", "mime_type": "image/png" }),
    );
    for (name, arguments) in [
        ("list_prompts", json!({})),
        ("list_prompts", json!({ "limit": 1 })),
        ("get_prompt", json!({ "name": "a" })),
        ("get_prompt", json!({ "name": "a", "raw": true })),
        ("get_prompt", json!({ "name": "a", "arguments": { "x": "y" } })),
        ("list_resources", json!({ "limit": 1 })),
        ("read_resource", json!({ "uri": "r" })),
        ("read_resource", json!({ "uri": "file:///b" })),
        ("search_content", json!({ "query": "needle" })),
    ] {
        let tools = tools();
        let tool = tools.iter().find(|tool| tool["name"] == name).expect("a tool");
        assert!(jsonschema::is_valid(&tool["inputSchema"], &arguments), "{name} {arguments}");
        let result = client.result("tools/call", json!({ "name": name, "arguments": arguments }));
        assert_eq!(result["isError"], false, "{name}: {result}");
        match tool.get("outputSchema") {
            Some(schema) => {
                jsonschema::validate(schema, &result["structuredContent"]).unwrap_or_else(|e| panic!("{name}: {e}"))
            }
            // A tool without an output schema returns only content blocks.
            None => assert!(result.get("structuredContent").is_none(), "{name}: {result}"),
        }
    }
    client.finish();
}

/// Compares each tool with its snapshot, so that a review shows each change. `INSTA_UPDATE=always cargo test snapshot`
/// updates the snapshots.
#[test]
fn each_tool_is_its_snapshot() {
    for tool in tools() {
        let name = tool["name"].as_str().expect("a name").to_owned();
        insta::assert_snapshot!(name, format!("{tool:#}"));
    }
}
