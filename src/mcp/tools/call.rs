//! tools/call: runs an operation and makes its result.

#![allow(deprecated, reason = "the newest revision gave up logging; the others have it")]

use std::time::Instant;

use base64::Engine;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, LoggingLevel, MetaObject, ResourceContents};
use serde_json::Value;

use crate::error::{Code, Error, Result};
use crate::mcp::Config;
use crate::mcp::notes::Notes;
use crate::op::{Context, Entry, Reply, Shape};
use crate::present;
use crate::store::{Store, projects};

/// Runs a tool; every failure is an answer that a model can read and mend.
pub(in crate::mcp) fn call(
    entry: &'static Entry,
    arguments: Option<JsonObject>,
    context: &Context,
    notes: &Notes,
) -> CallToolResult {
    let started = Instant::now();
    let arguments = Value::Object(arguments.unwrap_or_default());
    let mut command = entry.cli.join(" ");
    let outcome = match entry.from_agent(arguments) {
        Ok(call) => {
            call.command().clone_into(&mut command);
            call.run(context)
        }
        Err(error) => {
            entry.refused(context, &error);
            Err(error)
        }
    };
    log(entry, context, &outcome, started);
    for warning in outcome.iter().flat_map(|reply| &reply.warnings) {
        notes.log(LoggingLevel::Warning, Value::String(warning.clone()));
    }
    result(entry, &command, outcome)
}

/// Returns what operations run in for an agent; `client` is what it calls itself.
pub(in crate::mcp) fn context(store: Store, config: &Config, client: Option<&str>) -> Context {
    Context {
        max_answer: config.max_answer,
        allow_outside: config.allow_outside.clone(),
        ..Context::new(config.caller(client), store, config.selection.clone())
    }
}

/// Writes the line in the log of a call that began at `started`.
pub(super) fn log(entry: &Entry, context: &Context, outcome: &Result<Reply>, started: Instant) {
    tracing::info!(
        tool = entry.tool,
        project = project(context),
        outcome = outcome.as_ref().map_or_else(|error| error.code().name(), |_| "ok"),
        micros = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX),
        "tools/call"
    );
}

/// Returns the result of a call.
pub(super) fn result(entry: &Entry, command: &str, outcome: Result<Reply>) -> CallToolResult {
    match entry.shape {
        Shape::Sentence => sentence(entry, outcome),
        Shape::Envelope => envelope(entry, command, outcome),
    }
}

/// Contract 000: the envelope as text, and the same object beside it.
fn envelope(entry: &Entry, command: &str, outcome: Result<Reply>) -> CallToolResult {
    let is_error = outcome.is_err();
    let object = match &outcome {
        Ok(reply) => present::envelope(command, reply),
        Err(error) => {
            tell_bug(entry, error);
            present::failure(command, error)
        }
    };
    let text = vec![ContentBlock::text(format!("{object:#}"))];
    let mut result = if is_error { CallToolResult::error(text) } else { CallToolResult::success(text) };
    result.structured_content = Some(object);
    result
}

fn tell_bug(entry: &Entry, error: &Error) {
    if error.code() == Code::Internal {
        tracing::error!(tool = entry.tool, %error, cause = ?std::error::Error::source(error), "a bug");
    }
}

/// The name of the project that applies, for the log; asked only where the log takes it.
fn project(context: &Context) -> String {
    let found = context.store.read(|db| projects::resolve(db, &context.selection));
    found.ok().flatten().map_or_else(|| "none".to_owned(), |project| project.name)
}

/// Where the result of a tool that reads content says what the content is of.
const ITEM: &str = "mcpkg/item";

/// Returns what is known of content beside the content itself. It is no structuredContent: Claude Code and Codex show a
/// model that in place of the text or the image, others both.
pub(super) fn item(data: Value) -> Option<MetaObject> {
    let Value::Object(mut item) = data else { return None };
    item.retain(|key, _| !matches!(key.as_str(), "text" | "blob"));
    Some(MetaObject(JsonObject::from_iter([(ITEM.to_owned(), Value::Object(item))])))
}

/// Contract 001: one text block and isError. Data stands beside it where the tool has an outputSchema.
fn sentence(entry: &Entry, outcome: Result<Reply>) -> CallToolResult {
    match outcome {
        Ok(reply) => {
            let block = match present::content(reply.body) {
                present::Content::Text(text) => ContentBlock::text(text),
                present::Content::Media(media) => {
                    let data = base64::engine::general_purpose::STANDARD.encode(&media.bytes);
                    match media.mime_type {
                        Some(mime_type) if mime_type.starts_with("image/") => ContentBlock::image(data, mime_type),
                        mime_type => {
                            let mut contents = ResourceContents::blob(data, media.uri);
                            if let Some(mime_type) = mime_type {
                                contents = contents.with_mime_type(mime_type);
                            }
                            ContentBlock::resource(contents)
                        }
                    }
                }
            };
            let mut result = CallToolResult::success(vec![block]);
            if entry.structured {
                let written = reply.json.and_then(|json| serde_json::from_str(&json).ok());
                result.structured_content = Some(written.unwrap_or(reply.data));
            } else if entry.content {
                result.meta = item(reply.data);
            }
            result
        }
        Err(error) => {
            tell_bug(entry, &error);
            // Clients hold structuredContent against the outputSchema, failures too: there the hints are text.
            if entry.structured || entry.content {
                return CallToolResult::error(vec![ContentBlock::text(present::sentence_with_hints(&error))]);
            }
            let mut result = CallToolResult::error(vec![ContentBlock::text(present::sentence(&error))]);
            if !error.hints().is_empty() {
                result.structured_content = Some(present::error(&error));
            }
            result
        }
    }
}
