//! Formats replies and errors for the shell and for MCP. This module depends on neither of them.

mod columns;
mod envelope;
mod json;
mod rpc;
mod table;

use serde_json::{Value, json};

use crate::op::{Body, Media, Reply, Shape};
use mcpkg_base::error::Error;

pub use rpc::{Rpc, rpc};
pub use table::{aligned, below, separated};

/// One piece of a tool's result.
#[derive(Debug)]
pub enum Content {
    Text(String),
    /// An image or an embedded resource.
    Media(Media),
}

/// Converts a body into a piece of a tool's result. Of several bodies, only the texts are kept.
pub fn content(body: Body) -> Content {
    match body {
        Body::Sentence(text) | Body::Text(text) | Body::Diff(text) => Content::Text(text),
        Body::Table(table) if table.rows.is_empty() => Content::Text(table.empty),
        Body::Table(table) => Content::Text(separated(&table, true)),
        Body::Media(media) => Content::Media(media),
        Body::Below(_, body) => content(*body),
        Body::Several(bodies) => Content::Text(
            bodies
                .into_iter()
                .filter_map(|body| match content(body) {
                    Content::Text(text) => Some(text),
                    Content::Media(_) => None,
                })
                .collect::<Vec<_>>()
                .join("\n"),
        ),
    }
}

pub fn is_empty(body: &Body) -> bool {
    match body {
        Body::Table(table) => table.rows.is_empty(),
        Body::Several(bodies) => bodies.iter().all(is_empty),
        _ => false,
    }
}

/// Makes the paths below `folder` relative in the body's tables.
pub fn relative(body: Body, folder: &str) -> Body {
    match body {
        Body::Table(table) => Body::Table(below(table, folder)),
        Body::Several(bodies) => Body::Several(bodies.into_iter().map(|body| relative(body, folder)).collect()),
        other => other,
    }
}

/// Returns a reply as one object, in the given shape. An envelope contains `command`, such as `deploy --apply`.
pub fn object(shape: Shape, command: &str, reply: &Reply) -> Value {
    match shape {
        Shape::Sentence | Shape::Output => reply.data.clone(),
        Shape::Envelope => envelope::envelope(command, reply),
        Shape::Json(version) => json::reply(version, reply),
        Shape::Rpc => json::reply(None, reply),
    }
}

/// Like [`object`], but returns text.
pub fn text(shape: Shape, command: &str, reply: &Reply) -> String {
    match shape {
        Shape::Json(version) => json::text(version, reply),
        shape => object(shape, command, reply).to_string(),
    }
}

/// Returns a failure as one object, in the shape of the failed operation.
pub fn failure(shape: Shape, command: &str, failed: &Error) -> Value {
    match shape {
        Shape::Sentence | Shape::Output => error(failed),
        Shape::Envelope => envelope::failure(command, failed),
        Shape::Json(version) => json::failure(version, failed),
        Shape::Rpc => json::failure(None, failed),
    }
}

/// Returns a failure as one sentence, as contract 001 (prompts and resources) requires for the text of a tool's
/// result. The structured part of the result says what to do next.
pub fn sentence(error: &Error) -> String {
    format!("Error: {}", error.public_message())
}

/// Returns the sentence of a failure and its hints, one per line.
pub fn sentence_with_hints(error: &Error) -> String {
    error.hints().iter().fold(sentence(error), |text, hint| format!("{text}\nhint: {hint}"))
}

/// Returns a failure for an agent. Its `category` helps the agent decide what to do next.
pub fn error_for_agent(failed: &Error) -> Value {
    let mut object = error(failed);
    object["error"]["category"] = json!(json::category(failed.code()));
    object
}

/// Returns a failure for programs, as in the shell's `--json`.
pub fn error(error: &Error) -> Value {
    let mut object = json!({
        "code": error.code().name(),
        "message": error.public_message(),
    });
    if !error.hints().is_empty() {
        object["hints"] = json!(error.hints());
    }
    if let Some(details) = error.details() {
        object["details"] = details.clone();
    }
    json!({ "error": object })
}
