//! Tests tools with unusual schemas, or without any.

use serde_json::{Value, json};

use super::{Ground, tools};
use crate::support::plugin::tool;

/// Creates a plugin that lists these tools in addition to `add_note`. The tools have the format of `tools/list`.
fn listing(tools: Value) -> Ground {
    let mut all = vec![tool("add_note", "Adds a note", json!({ "text": { "type": "string" } }))];
    all.extend(tools.as_array().expect("a list").iter().cloned());
    Ground::playing(json!({ "tools": all }))
}

/// Returns the arguments of a command, each as its name and type.
fn arguments(ground: &Ground, id: &str) -> Vec<String> {
    let spec = ground.scratch.json(&["command", "show", id]);
    let flags = spec["flags"].as_array().unwrap_or_else(|| panic!("{spec}"));
    let one = |flag: &Value| {
        let null = if flag["nullable"] == true { "?" } else { "" };
        let forms = flag["any_of"].as_array().into_iter().flatten().map(|form| form["type"].as_str().expect("a type"));
        let forms: Vec<&str> = forms.collect();
        let kind = if forms.is_empty() { flag["type"].as_str().expect("a type").to_owned() } else { forms.join("|") };
        format!("{}: {kind}{null}", flag["name"].as_str().expect("a name"))
    };
    flags.iter().map(one).collect()
}

#[test]
fn one_invalid_tool_does_not_hide_the_others() {
    for era in ["handshake", "modern"] {
        let odd = json!([
            { "name": "no_schema", "description": null, "annotations": null },
            { "name": "null_schema", "inputSchema": null },
            { "name": "text_schema", "inputSchema": "nothing" },
            { "description": "no name" },
            7,
        ]);
        let mut all = tools().as_array().expect("a list").clone();
        all.extend(odd.as_array().expect("a list").iter().cloned());
        let ground = Ground::playing(json!({ "tools": all, "era": era }));
        let checked = ground.scratch.run(&["plugin", "check", "toy", "--json"]);
        for name in ["add", "add_note", "list_notes", "no_schema", "null_schema"] {
            let called = ground
                .call(&format!("toy:{name}"), json!({}))
                .unwrap_or_else(|failed| panic!("{name}: {:?}", failed.error));
            assert_eq!(called.output, json!(format!("{name}: {{}}")), "{era}");
        }
        let said = checked.stdout + &checked.stderr;
        assert!(said.contains("'text_schema': invalid tool definition"), "{said}");
        assert!(said.contains("no name") || said.contains("'': invalid tool definition"), "{said}");
    }
}

#[test]
fn arguments_are_found_wherever_a_schema_has_them() {
    let point = json!({ "type": "object", "properties": { "x": { "type": "integer" } } });
    let schema = |name: &str, schema: Value| json!({ "name": name, "inputSchema": schema });
    let ground = listing(json!([
        schema(
            "any",
            json!({ "anyOf": [
            { "type": "object", "properties": { "a": { "type": "string" } }, "required": ["a"] },
            { "type": "object", "properties": { "b": { "type": "integer" } } },
        ] })
        ),
        schema(
            "refer",
            json!({ "$ref": "#/$defs/Root", "$defs": {
            "Root": { "type": "object", "properties": { "p": { "$ref": "#/$defs/P" }, "mode": { "enum": ["fast", "slow"] } }, "required": ["p"] },
            "P": point,
        } })
        ),
        schema(
            "draft7",
            json!({
                "$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
                "properties": { "p": { "$ref": "#/definitions/P" } }, "definitions": { "P": point },
            })
        ),
        schema(
            "all",
            json!({ "type": "object", "properties": { "c": { "type": "boolean" } }, "allOf": [{ "properties": { "d": {} } }] })
        ),
        schema(
            "nulls",
            json!({ "type": "object", "required": null, "properties": {
            "due": { "type": ["string", "null"] }, "mode": { "anyOf": [{ "type": "string", "enum": ["auto"] }, { "type": "integer" }] }, "v": true,
        } })
        ),
        schema(
            "broken",
            json!({ "type": "object", "properties": { "q": { "$ref": "#/$defs/None" }, "r": { "type": "string" } }, "allOf": [{ "$ref": "#/none" }] })
        ),
    ]));
    for (id, expected) in [
        ("toy:any", &["a: string", "b: integer"][..]),
        ("toy:refer", &["p: object", "mode: string"]),
        ("toy:draft7", &["p: object"]),
        ("toy:all", &["c: boolean", "d: any"]),
        ("toy:nulls", &["due: string?", "mode: string|integer", "v: any"]),
        ("toy:broken", &["q: any", "r: string"]),
    ] {
        assert_eq!(arguments(&ground, id), expected, "{id}");
    }
    // Arguments from all branches are accepted, and none of them is required.
    let called = ground.call("toy:any", json!({ "b": 1 })).expect("an answer");
    assert_eq!(called.output, json!("any: {\"b\":1}"));
    let called = ground.call("toy:nulls", json!({ "due": null, "mode": 3 })).expect("an answer");
    assert_eq!(called.output, json!("nulls: {\"due\":null,\"mode\":3}"));
}
