//! Checks methods and their parameters, to give reasons for errors that rmcp would not explain.

use rmcp::ErrorData;
use rmcp::model::ErrorCode;

use super::Identity;
use super::error::error_data;
use mcpkg_base::error::{Code, Error};

/// A method with its parameters: the name and JSON type of each, and whether it is required.
type Shape = (&'static str, &'static [(&'static str, Json, bool)]);

#[derive(Clone, Copy)]
enum Json {
    Text,
    Object,
}

const SHAPES: &[Shape] = &[
    (
        "initialize",
        &[
            ("protocolVersion", Json::Text, true),
            ("capabilities", Json::Object, true),
            ("clientInfo", Json::Object, true),
        ],
    ),
    ("ping", &[]),
    ("server/discover", &[]),
    ("prompts/list", &[("cursor", Json::Text, false)]),
    ("prompts/get", &[("name", Json::Text, true), ("arguments", Json::Object, false)]),
    ("resources/list", &[("cursor", Json::Text, false)]),
    ("resources/templates/list", &[("cursor", Json::Text, false)]),
    ("resources/read", &[("uri", Json::Text, true)]),
    ("tools/list", &[("cursor", Json::Text, false)]),
    ("tools/call", &[("name", Json::Text, true), ("arguments", Json::Object, false)]),
    ("completion/complete", &[("ref", Json::Object, true), ("argument", Json::Object, true)]),
    ("skills/list", &[("cursor", Json::Text, false)]),
    ("skills/get", &[("uri", Json::Text, true)]),
    ("resources/directory/read", &[("uri", Json::Text, true), ("cursor", Json::Text, false)]),
    ("tasks/get", &[("taskId", Json::Text, true)]),
    ("tasks/update", &[("taskId", Json::Text, true), ("inputResponses", Json::Object, true)]),
    ("tasks/cancel", &[("taskId", Json::Text, true)]),
    ("subscriptions/listen", &[("notifications", Json::Object, true)]),
    ("resources/subscribe", &[("uri", Json::Text, true)]),
    ("resources/unsubscribe", &[("uri", Json::Text, true)]),
    ("logging/setLevel", &[("level", Json::Text, true)]),
];

/// Returns an MCP method as a static string. `None` if there is no such method.
pub(super) fn known(method: &str) -> Option<&'static str> {
    SHAPES.iter().map(|(known, _)| *known).find(|known| *known == method)
}

/// Returns an error that names the unknown method or the invalid parameter of a request, if there is one.
pub(super) fn wrong(method: &str, parameters: Option<&serde_json::Value>) -> Option<ErrorData> {
    let Some((_, shape)) = SHAPES.iter().find(|(known, _)| *known == method) else {
        return Some(no_method(method));
    };
    let why = shape.iter().find_map(|(name, json, required)| {
        let value = parameters.and_then(|parameters| parameters.get(name)).filter(|value| !value.is_null());
        match (value, json) {
            (None, _) => required.then(|| format!("`{name}` is missing")),
            (Some(value), Json::Text) => (!value.is_string()).then(|| format!("`{name}` must be a string")),
            (Some(value), Json::Object) => (!value.is_object()).then(|| format!("`{name}` must be an object")),
        }
    })?;
    Some(ErrorData::invalid_params(format!("Invalid params for {method}: {why}"), None))
}

/// Returns whether a server with this identity has a method. As agentpack, enact or assistant (contracts 000, 002 and
/// 004), a server has only tools. As smctl (contract 003), it has no prompts, skills or tasks.
pub(super) fn serves(identity: Identity, method: &str) -> bool {
    let without: &[&str] = match identity {
        Identity::Mcpkg => &[],
        Identity::Agentpack | Identity::Enact | Identity::Assistant => {
            &["prompts/", "resources/", "skills/", "completion/", "logging/", "tasks/"]
        }
        Identity::Smctl => &["prompts/", "resources/directory/", "skills/", "tasks/"],
    };
    !without.iter().any(|noun| method.starts_with(noun))
}

/// The methods that 2026-07-28 removed.
pub(super) const LEGACY_ONLY: [&str; 5] =
    ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"];

pub(super) fn no_method(method: &str) -> ErrorData {
    ErrorData::new(
        ErrorCode::METHOD_NOT_FOUND,
        format!("This server has no method '{method}'"),
        Some(serde_json::json!({ "method": method })),
    )
}

/// Returns the error for a request that rmcp cannot read.
pub(super) fn refuse(method: &str, parameters: Option<&serde_json::Value>) -> ErrorData {
    wrong(method, parameters).unwrap_or_else(|| {
        ErrorData::invalid_params(
            format!(
                "Invalid params for {method}: the params are \
            malformed"
            ),
            None,
        )
    })
}

/// Refuses a cursor on a list that has only one page.
pub(super) fn only_page(cursor: Option<String>) -> Result<(), ErrorData> {
    match cursor {
        Some(cursor) => Err(error_data(&not_a_cursor(&cursor))),
        None => Ok(()),
    }
}

/// Returns the error for a cursor on a list that has only one page.
pub(super) fn not_a_cursor(cursor: &str) -> Error {
    Error::new(Code::InvalidArgument, format!("'{}' is not a cursor of this list", cursor.escape_debug()))
        .with_details(serde_json::json!({ "cursor": cursor }))
}
