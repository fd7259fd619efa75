//! The tools that ask the client something while they work, for revisions with a handshake.

#![allow(deprecated, reason = "the newest revision gave up sampling; the others have it")]

use rmcp::model::{CallToolResponse, CallToolResult, ContentBlock, CreateMessageRequestParams, ElicitRequestParams};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};

/// Calls one of the tools of this file. Returns `None` for other names.
pub async fn call(
    name: &str,
    arguments: &Value,
    context: &RequestContext<RoleServer>,
) -> Option<Result<CallToolResponse, ErrorData>> {
    Some(match name {
        "test_sampling" => sample(arguments["prompt"].as_str().unwrap_or_default(), context).await,
        "test_elicitation" => {
            let schema = json!({
                "type": "object",
                "properties": {
                    "username": { "type": "string", "description": "User's response" },
                    "email": { "type": "string", "description": "User's email address" },
                },
                "required": ["username", "email"],
            });
            elicit("User response", arguments["message"].as_str().unwrap_or_default(), schema, context).await
        }
        "test_elicitation_sep1034_defaults" => elicit("Elicitation completed", "Defaults", defaults(), context).await,
        "test_elicitation_sep1330_enums" => elicit("Elicitation completed", "Choices", choices(), context).await,
        _ => return None,
    })
}

async fn sample(prompt: &str, context: &RequestContext<RoleServer>) -> Result<CallToolResponse, ErrorData> {
    let request: CreateMessageRequestParams = read(json!({
        "messages": [{ "role": "user", "content": { "type": "text", "text": prompt } }],
        "maxTokens": 100,
    }))?;
    let answer = context.peer.create_message(request).await;
    let answer = answer.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    let answer = serde_json::to_value(&answer).unwrap_or_default();
    Ok(text(format!("LLM response: {}", answer["content"]["text"].as_str().unwrap_or_default())))
}

async fn elicit(
    what: &str,
    message: &str,
    schema: Value,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let request: ElicitRequestParams = read(json!({ "mode": "form", "message": message, "requestedSchema": schema }))?;
    let answer = context.peer.create_elicitation(request).await;
    let answer = answer.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    let answer = serde_json::to_value(&answer).unwrap_or_default();
    let action = answer["action"].as_str().unwrap_or_default();
    Ok(text(format!("{what}: action={action}, content={}", answer["content"])))
}

fn defaults() -> Value {
    json!({
        "type": "object",
        "properties": {
            "name": { "type": "string", "default": "John Doe" },
            "age": { "type": "integer", "default": 30 },
            "score": { "type": "number", "default": 95.5 },
            "status": { "type": "string", "enum": ["active", "inactive", "pending"], "default": "active" },
            "verified": { "type": "boolean", "default": true },
        },
        "required": [],
    })
}

fn choices() -> Value {
    let titled = |key: &str, names: [&str; 3]| -> Vec<Value> {
        let numbers = 1..=3;
        numbers.zip(names).map(|(n, name)| json!({ "const": format!("{key}{n}"), "title": name })).collect()
    };
    json!({
        "type": "object",
        "properties": {
            "untitledSingle": { "type": "string", "enum": ["option1", "option2", "option3"] },
            "titledSingle": {
                "type": "string",
                "oneOf": titled("value", ["First Option", "Second Option", "Third Option"]),
            },
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": {
                "type": "array",
                "items": { "type": "string", "enum": ["option1", "option2", "option3"] },
            },
            "titledMulti": {
                "type": "array",
                "items": { "anyOf": titled("value", ["First Choice", "Second Choice", "Third Choice"]) },
            },
        },
        "required": [],
    })
}

/// Converts JSON to one of rmcp's types.
pub fn read<T: serde::de::DeserializeOwned>(json: Value) -> Result<T, ErrorData> {
    serde_json::from_value(json).map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

/// Returns an answer with one text.
pub fn text(text: impl Into<String>) -> CallToolResponse {
    CallToolResult::success(vec![ContentBlock::text(text)]).into()
}
