//! The name and input schema of the tool for a workflow.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::definition::{Definition, Input, InputType, Mode, Origin};
use crate::run::called::{NONCE, WAIT};
use mcpkg_base::error::{Code, Error, Result};

/// Prefix of the tools' names.
pub const PREFIX: &str = "workflow__";

/// Maximum length of a tool's name, in characters.
const LONGEST: usize = 64;

pub fn tool_name(workflow: &str) -> String {
    format!("{PREFIX}{workflow}")
}

/// Refuses a workflow name that makes the tool's name too long.
pub fn check_name(workflow: &str) -> Result<()> {
    if is_short(workflow) {
        return Ok(());
    }
    let most = LONGEST - PREFIX.len();
    Err(Error::new(Code::InvalidArgument, format!("The workflow name '{workflow}' is too long for a tool name"))
        .hint(format!("to be offered as a tool, a workflow needs a name of at most {most} characters")))
}

/// Refuses a workflow that cannot become a tool.
pub fn check(definition: &Definition) -> Result<()> {
    check_name(&definition.workflow)?;
    let taken = definition.inputs.list.iter().find(|named| is_own(&named.id));
    match taken {
        None => Ok(()),
        Some(named) => Err(Error::new(
            Code::InvalidArgument,
            format!("The input '{}' has the same name as a built-in argument of workflow tools", named.id),
        )
        .hint("rename the input")),
    }
}

/// Returns whether a workflow can become a tool.
pub fn is_offered(definition: &Definition) -> bool {
    is_short(&definition.workflow) && !definition.inputs.list.iter().any(|named| is_own(&named.id))
}

fn is_short(workflow: &str) -> bool {
    PREFIX.len() + workflow.len() <= LONGEST
}

fn is_own(input: &str) -> bool {
    matches!(input, NONCE | WAIT)
}

/// Returns the names of the secrets that a run needs. An agent cannot pass them.
pub fn secrets(definition: &Definition) -> Vec<&str> {
    let inputs = definition.inputs.list.iter();
    let needed = inputs.filter(|named| named.input.r#type == InputType::Secret && is_needed(&named.input));
    needed.map(|named| named.id.as_str()).collect()
}

/// Returns the input schema of a tool: the workflow's inputs except secrets, and two arguments of the tool itself, the nonce and
/// the time to wait.
pub fn schema(definition: &Definition) -> Arc<Map<String, Value>> {
    let mut properties = Map::new();
    let mut required = Vec::new();
    let inputs = definition.inputs.list.iter().filter(|named| named.input.r#type != InputType::Secret);
    for named in inputs {
        properties.insert(named.id.clone(), property(&named.input));
        if is_needed(&named.input) {
            required.push(named.id.as_str());
        }
    }
    properties.insert(
        NONCE.to_owned(),
        json!({ "type": "string", "description": "Nonce from the E_CONSENT_REQUIRED error; pass it after the user has approved" }),
    );
    let wait = json!({ "type": "integer", "minimum": 0, "description": "Seconds to wait (at most 50) [default: 25]" });
    properties.insert(WAIT.to_owned(), wait);
    let mut schema = Map::from_iter([
        ("type".to_owned(), json!("object")),
        ("properties".to_owned(), Value::Object(properties)),
        ("additionalProperties".to_owned(), json!(false)),
    ]);
    if !required.is_empty() {
        schema.insert("required".to_owned(), json!(required));
    }
    Arc::new(schema)
}

/// Returns whether the caller has to pass a value for an input.
fn is_needed(input: &Input) -> bool {
    input.is_required() && input.default.is_none()
}

fn property(input: &Input) -> Value {
    let rules = input.validate.as_ref();
    let mut value = Map::from_iter([("type".to_owned(), json!(input.r#type.name()))]);
    if !input.choices().is_empty() {
        value.insert("enum".to_owned(), json!(input.choices()));
    }
    if let Some(pattern) = rules.and_then(|rules| rules.pattern.as_ref()) {
        value.insert("pattern".to_owned(), json!(pattern));
    }
    let is_list = input.mode == Mode::Multiple || input.r#type == InputType::Array;
    let mut property = match input.mode {
        Mode::Single => value,
        Mode::Multiple => {
            Map::from_iter([("type".to_owned(), json!("array")), ("items".to_owned(), Value::Object(value))])
        }
    };
    let lengths = [
        (if is_list { "minItems" } else { "minLength" }, rules.and_then(|rules| rules.min_length)),
        (if is_list { "maxItems" } else { "maxLength" }, rules.and_then(|rules| rules.max_length)),
    ];
    property.extend(lengths.into_iter().filter_map(|(key, length)| Some((key.to_owned(), json!(length?)))));
    let literal = input.default.as_ref().filter(|default| default.from == Origin::Literal);
    if let Some(value) = literal.and_then(|default| default.value.clone()) {
        property.insert("default".to_owned(), value);
    }
    let about: Vec<&str> = [&input.description, &input.hint].into_iter().flatten().map(String::as_str).collect();
    if !about.is_empty() {
        property.insert("description".to_owned(), json!(about.join(". ")));
    }
    Value::Object(property)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(inputs: Value) -> Definition {
        serde_json::from_value(json!({ "workflow": "w", "steps": [], "inputs": inputs })).unwrap()
    }

    #[test]
    fn the_schema_describes_the_inputs() {
        let schema = schema(&definition(json!({
            "region": { "description": "Where", "hint": "Near you", "enum": ["eu", "us"], "default": { "from": "literal", "value": "eu" } },
            "name": { "validate": { "pattern": "^a", "min_length": 2 } },
            "tags": { "mode": "multiple", "optional": true, "validate": { "max_length": 3 } },
            "token": { "type": "secret" },
        })));
        let properties = &schema["properties"];
        assert_eq!(
            properties["region"],
            json!({ "type": "string", "enum": ["eu", "us"], "default": "eu", "description": "Where. Near you" })
        );
        assert_eq!(properties["name"], json!({ "type": "string", "pattern": "^a", "minLength": 2 }));
        assert_eq!(properties["tags"], json!({ "type": "array", "items": { "type": "string" }, "maxItems": 3 }));
        assert_eq!(properties.get("token"), None);
        assert_eq!(schema["required"], json!(["name"]));
        assert_eq!(secrets(&definition(json!({ "token": { "type": "secret" } }))), ["token"]);
    }

    #[test]
    fn an_input_cannot_have_the_name_of_an_argument_of_every_tool() {
        assert!(check(&definition(json!({ "nonce": {} }))).is_err());
        assert!(check(&definition(json!({ "name": {} }))).is_ok());
        assert!(check_name(&"w".repeat(54)).is_ok() && check_name(&"w".repeat(55)).is_err());
    }
}
