//! The schema of the output with `--json`, and the check that an output matches it.

use jsonschema::Validator;
use mcpkg_core::op::{Entry, Shape};
use serde_json::{Map, Value, json};

use crate::support::Ran;

const STRINGS: fn() -> Value = || json!({ "type": "array", "items": { "type": "string" } });

/// Returns the schema of the output with `--json`. It has a definition for each command.
pub fn schema() -> Value {
    let mut definitions = Map::new();
    let code = json!({ "enum": mcpkg_base::error::Code::ALL.iter().map(|code| code.name()).collect::<Vec<_>>() });
    definitions.insert(
        "error".to_owned(),
        json!({
            "description": "What went wrong, and what to do about it",
            "type": "object",
            "required": ["code", "message"],
            "properties": {
                "code": code,
                "message": { "type": "string", "minLength": 1 },
                "hints": STRINGS(),
                "details": {},
            },
        }),
    );
    definitions.insert(
        "failure".to_owned(),
        json!({
            "description": "What every command prints where it fails; its exit status is not 0",
            "type": "object",
            "required": ["error"],
            "properties": { "error": { "$ref": "#/$defs/error" } },
        }),
    );
    definitions.insert(
        "envelope".to_owned(),
        json!({
            "description": "What the deploy commands print around their data",
            "type": "object",
            "required": ["schema_version", "ok", "command", "command_id", "command_path", "version", "data", "warnings", "errors"],
            "properties": {
                "schema_version": { "const": 1 },
                "ok": { "type": "boolean" },
                "command": { "type": "string" },
                "command_id": { "type": "string" },
                "command_path": STRINGS(),
                "version": { "type": "string" },
                "data": { "type": "object" },
                "warnings": STRINGS(),
                "errors": { "type": "array", "items": { "$ref": "#/$defs/error" } },
            },
        }),
    );
    for entry in mcpkg::DOMAINS.operations().filter(|entry| entry.faces.shell()) {
        definitions.insert(key(entry), command(entry));
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "mcpkg --json",
        "description": "A command that is done prints what $defs has under its words, such as prompt-list; one that fails prints a failure",
        "type": "object",
        "$defs": definitions,
    })
}

/// Returns the name of a command's definition in the schema.
pub fn key(entry: &Entry) -> String {
    entry.cli.join("-")
}

/// Returns the schema of a command's output on success.
fn command(entry: &Entry) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    if let Some(rows) = entry.lists {
        properties.insert(rows.to_owned(), json!({ "type": "array", "items": { "type": "object" } }));
        properties.insert("next_cursor".to_owned(), json!({ "type": "string" }));
        required.push(rows);
    }
    let is_envelope = entry.shape == Shape::Envelope;
    if !is_envelope {
        properties.insert("warnings".to_owned(), STRINGS());
    }
    let mut data = json!({ "type": "object", "properties": properties });
    if !required.is_empty() {
        data["required"] = json!(required);
    }
    match is_envelope {
        true => json!({
            "description": entry.about,
            "allOf": [{ "$ref": "#/$defs/envelope" }],
            "properties": { "ok": { "const": true }, "data": data },
        }),
        false => {
            data["description"] = json!(entry.about);
            data["not"] = json!({ "required": ["error"] });
            data
        }
    }
}

/// Returns a validator for one definition of the schema. The validator knows only the definitions that this one needs,
/// because a validator that knows them all takes many times longer to make.
fn validator(schema: &Value, definition: &str) -> Validator {
    let (mut needed, mut open) = (Map::new(), vec![definition.to_owned()]);
    while let Some(name) = open.pop() {
        if !needed.contains_key(&name) {
            let text = schema["$defs"][&name].to_string();
            open.extend(text.split("\"#/$defs/").skip(1).filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())));
            needed.insert(name.clone(), schema["$defs"][&name].clone());
        }
    }
    let of_one = json!({
        "$schema": schema["$schema"],
        "$ref": format!("#/$defs/{definition}"),
        "$defs": needed,
    });
    jsonschema::validator_for(&of_one).expect("a schema")
}

#[test]
fn docs_of_json_are_current() {
    jsonschema::validator_for(&schema()).expect("a schema");
    super::docs::check("json-schema.json", &format!("{:#}\n", schema()));
}

/// Checks that standard output is one JSON object that matches the schema's definition, and returns it.
#[track_caller]
pub fn assert_is(schema: &Value, definition: &str, ran: &Ran) -> Value {
    let printed: Value =
        serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{definition}: {error}\n{ran}"));
    if let Err(error) = validator(schema, definition).validate(&printed) {
        panic!("{definition}: {error}\n{ran}");
    }
    printed
}
