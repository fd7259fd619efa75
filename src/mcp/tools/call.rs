//! Answers tools/call: runs a tool and builds its result.

#![allow(deprecated, reason = "the newest protocol revision has no logging, but older revisions do")]

use std::sync::Arc;
use std::time::Instant;

use base64::Engine;
use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, LoggingLevel, MetaObject, ResourceContents};
use serde_json::{Value, json};

use super::{Tool, audit};
use crate::mcp::Config;
use crate::mcp::era::Era;
use crate::mcp::error::smctl_error;
use crate::mcp::hints::Reader;
use crate::mcp::notes::Notes;
use crate::mcp::provider::Answer;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::quote;
use mcpkg_base::redact::hide_in;
use mcpkg_base::sha256;
use mcpkg_core::consent::request;
use mcpkg_core::op::{Body, Context, Effect, Entry, Identity, Media, Reply, Shape, Surface, approved, noted};
use mcpkg_core::present;
use mcpkg_store::{Store, projects};

/// Runs a tool, and calls `ended` with its outcome. A failure becomes a result that a model can read and act on.
///
/// # Errors
/// In the revisions with a handshake, a failure of a workspace tool (contract 003) is a JSON-RPC error instead.
pub(in crate::mcp) fn answer(
    tool: &Tool,
    arguments: Option<JsonObject>,
    context: &Context,
    notes: &Notes,
    era: Era,
    ended: impl FnOnce(Result<(), Code>),
) -> Result<CallToolResult, ErrorData> {
    let started = Instant::now();
    let arguments = Value::Object(arguments.unwrap_or_default());
    let logged = audit::Call::of_tool(tool, &arguments, context.caller.identity());
    let (form, command, outcome) = match tool {
        Tool::Operation(entry) => {
            if entry.shape == Shape::Rpc {
                tracing::debug!(tool = entry.tool, %arguments, "tools/call asks");
            }
            let (command, outcome) = operate(tool, entry, arguments, context);
            (ResultForm::from(*entry), command, outcome)
        }
        Tool::Projected(projected) => {
            let name = projected.listed.name.as_ref();
            let (shape, outcome) = match &projected.answer {
                Answer::Run(row) => {
                    let consented = if asks(tool, context) { consent(tool, &arguments, context) } else { Ok(()) };
                    (row.shape, consented.and_then(|()| row.call(context, arguments)))
                }
                Answer::Talk(_) | Answer::Task(_) => (
                    Shape::Sentence,
                    Err(Error::internal("a tool that sends messages was called like a tool that sends none")),
                ),
            };
            let structured = projected.listed.output_schema.is_some();
            (ResultForm { tool: name, shape, structured, content: false }, name.to_owned(), outcome)
        }
    };
    let said = context.take_notes();
    let outcome = noted(outcome, &said);
    let outcome = for_agent(outcome, Reader { failed: tool.entry(), surface: &context.surface });
    logged.log(form.tool, context, &outcome, started);
    ended(outcome.as_ref().map(|_| ()).map_err(Error::code));
    if form.shape == Shape::Rpc {
        log_body(form.tool, &outcome);
    }
    for warning in outcome.iter().flat_map(|reply| &reply.warnings) {
        notes.log(LoggingLevel::Warning, Value::String(warning.clone()));
    }
    match (form.shape, era, outcome) {
        (Shape::Rpc, Era::Legacy, Err(error)) => Err(smctl_error(&error)),
        (_, _, outcome) => {
            let mut result = result(&form, &command, outcome);
            if matches!(form.shape, Shape::Sentence | Shape::Output) {
                result.content.extend(said.iter().map(|note| ContentBlock::text(approved(note))));
            }
            Ok(result)
        }
    }
}

/// Translates the hints and warnings in an outcome for an agent.
pub(super) fn for_agent(outcome: Result<Reply>, reader: Reader<'_>) -> Result<Reply> {
    let mut reply = outcome.map_err(|error| reader.error(error))?;
    reply.warnings.iter_mut().for_each(|warning| *warning = reader.text(warning));
    Ok(reply)
}

/// Returns the result of a call that failed before its operation ran.
pub(in crate::mcp) fn failed(entry: &Entry, error: Error) -> CallToolResult {
    let error = Reader { failed: Some(entry), surface: &Surface::default() }.error(error);
    result(&ResultForm::from(entry), &entry.cli.join(" "), Err(error))
}

/// Returns the context in which an agent's tools run. `client` is the name that the client gives itself.
pub(in crate::mcp) fn context(store: Store, config: &Config, client: Option<&str>) -> Context {
    Context {
        surface: Arc::clone(&config.surface),
        toolset: config.toolset.clone(),
        session: config.session.clone(),
        install_scope: config.install_scope,
        asks_before_destructive: config.asks_before_destructive,
        max_answer: config.max_answer,
        allow_outside: config.allow_outside.clone(),
        ..Context::new(crate::DOMAINS, config.caller(client), store, config.selection.clone())
    }
}

/// Logs the answer to the call of a workspace tool, as contract 003 requires. The log redacts passwords. The answers of
/// other tools are the user's content, so they are never logged in full.
fn log_body(tool: &str, outcome: &Result<Reply>) {
    match outcome {
        Ok(reply) => tracing::debug!(tool, answer = %reply.data, "tools/call answers"),
        Err(error) => tracing::debug!(tool, answer = %present::rpc(error).object(), "tools/call fails"),
    }
}

/// Builds the result of a call.
pub(super) fn result(form: &ResultForm<'_>, command: &str, outcome: Result<Reply>) -> CallToolResult {
    match form.shape {
        Shape::Sentence => sentence(form, outcome),
        Shape::Output => output(form, outcome),
        Shape::Envelope | Shape::Json(_) | Shape::Rpc => object(form, command, outcome),
    }
}

/// Runs an operation. Returns the command name for the envelope, and the outcome.
fn operate(tool: &Tool, entry: &Entry, arguments: Value, context: &Context) -> (String, Result<Reply>) {
    let shown = asks(tool, context).then(|| arguments.clone());
    // Contract 004 (commands and workflows) does not refuse unknown arguments.
    let taken = match context.caller.identity() {
        Identity::Assistant => entry.from_lenient_agent(arguments),
        _ => entry.from_agent(arguments),
    };
    match taken {
        Ok(call) => {
            let command = call.command().to_owned();
            let consented = shown.map_or(Ok(()), |arguments| consent(tool, &arguments, context));
            (command, consented.and_then(|()| call.run(context)))
        }
        Err(error) => {
            entry.refused(context, &error);
            (entry.cli.join(" "), Err(error))
        }
    }
}

/// Returns whether a person has to consent to each call of a tool.
fn asks(tool: &Tool, context: &Context) -> bool {
    context.asks_before_destructive && tool.is_destructive() && !tool.asks_itself()
}

/// Uses up a person's consent to a call, or fails with a request for it. The tool itself may require consent in
/// addition.
fn consent(tool: &Tool, arguments: &Value, context: &Context) -> Result<()> {
    let project = context.store.read(|db| projects::resolve(db, &context.selection))?;
    let inputs = json!({ "tool": tool.name(), "arguments": arguments });
    let plan_hash = sha256::hex(inputs.to_string());
    // The hash covers the complete inputs. The stored copy has no passwords.
    let mut inputs = inputs;
    hide_in(&mut inputs);
    let need = request::Need {
        operation: tool.asks_as(),
        project: project.as_ref().map_or("", |project| project.name.as_str()),
        inputs: &inputs,
        plan_hash: &plan_hash,
        summary: format!("Call {}", tool.name()),
        effects: inputs["arguments"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, value)| quote::named(name, value))
            .collect(),
        effect: Effect::Destroy,
    };
    let consent = request::ask(context, &need)?;
    context.store.write(|db| consent.consume(context, db))
}

/// The properties of a tool that decide the form of its result.
pub(super) struct ResultForm<'a> {
    tool: &'a str,
    shape: Shape,
    structured: bool,
    content: bool,
}

impl From<&Entry> for ResultForm<'static> {
    fn from(entry: &Entry) -> Self {
        ResultForm { tool: entry.tool, shape: entry.shape, structured: entry.structured, content: entry.content }
    }
}

/// Builds a result with one object, as text and as structuredContent.
fn object(form: &ResultForm<'_>, command: &str, outcome: Result<Reply>) -> CallToolResult {
    let is_error = outcome.is_err();
    let object = match &outcome {
        Ok(reply) => present::object(form.shape, command, reply),
        Err(error) => {
            log_bug(form, error);
            match form.shape {
                Shape::Rpc => json!({ "error": present::rpc(error).object() }),
                shape => present::failure(shape, command, error),
            }
        }
    };
    let text = vec![ContentBlock::text(object.to_string())];
    let mut result = if is_error { CallToolResult::error(text) } else { CallToolResult::success(text) };
    result.structured_content = Some(object);
    result
}

fn log_bug(form: &ResultForm<'_>, error: &Error) {
    if error.code() == Code::Internal {
        tracing::error!(tool = form.tool, %error, cause = ?std::error::Error::source(error), "a bug");
    }
}

/// The `_meta` key with the failure of a provider's tool, in a form for programs.
const FAILURE: &str = "mcpkg/error";

/// The `_meta` key with the metadata of content, in the result of a tool that reads content.
const ITEM: &str = "mcpkg/item";

/// Returns the metadata of content, without the content itself. It is put in `_meta`, not in structuredContent: Claude
/// Code and Codex would show structuredContent to the model instead of the text or image, and other clients would show
/// both.
pub(super) fn item(data: Value) -> Option<MetaObject> {
    let Value::Object(mut item) = data else { return None };
    item.retain(|key, _| !matches!(key.as_str(), "text" | "blob"));
    Some(MetaObject(JsonObject::from_iter([(ITEM.to_owned(), Value::Object(item))])))
}

/// Builds the result of a provider's tool. The structuredContent has to match the outputSchema, so failures have none.
/// Facts about the run are in `_meta`.
fn output(form: &ResultForm<'_>, outcome: Result<Reply>) -> CallToolResult {
    let (mut result, meta) = match outcome {
        Ok(reply) => {
            let mut result = CallToolResult::success(blocks(reply.body));
            result.structured_content = Some(reply.data).filter(|data| !data.is_null());
            (result, reply.meta)
        }
        Err(error) => {
            log_bug(form, &error);
            let text = ContentBlock::text(present::sentence_with_hints(&error));
            let failure = present::error_for_agent(&error)["error"].take();
            (CallToolResult::error(vec![text]), Some((FAILURE, failure)))
        }
    };
    result.meta = meta.map(|(key, value)| MetaObject(JsonObject::from_iter([(key.to_owned(), value)])));
    result
}

/// Converts a body to content blocks, one for each of its parts. A file with valid UTF-8 becomes a text resource,
/// unless its declared type is an image.
fn blocks(body: Body) -> Vec<ContentBlock> {
    match body {
        Body::Several(bodies) => bodies.into_iter().flat_map(blocks).collect(),
        Body::Media(media) if !is_image(media.mime_type.as_deref()) => match String::from_utf8(media.bytes) {
            Ok(text) => vec![resource(ResourceContents::text(text, media.uri), media.mime_type)],
            Err(error) => vec![block(Body::Media(Media { bytes: error.into_bytes(), ..media }))],
        },
        body => vec![block(body)],
    }
}

fn is_image(mime_type: Option<&str>) -> bool {
    mime_type.is_some_and(|mime_type| mime_type.starts_with("image/"))
}

fn resource(contents: ResourceContents, mime_type: Option<String>) -> ContentBlock {
    ContentBlock::resource(match mime_type {
        Some(mime_type) => contents.with_mime_type(mime_type),
        None => contents,
    })
}

fn block(body: Body) -> ContentBlock {
    match present::content(body) {
        present::Content::Text(text) => ContentBlock::text(text),
        present::Content::Media(media) => {
            let data = base64::engine::general_purpose::STANDARD.encode(&media.bytes);
            match media.mime_type {
                Some(mime_type) if is_image(Some(&mime_type)) => ContentBlock::image(data, mime_type),
                mime_type => resource(ResourceContents::blob(data, media.uri), mime_type),
            }
        }
    }
}

/// Builds the result that contract 001 (projects, prompts, resources and skills) prescribes: one text block and
/// isError. Adds the data if the tool has an outputSchema, or the metadata of the content if the tool reads content.
fn sentence(form: &ResultForm<'_>, outcome: Result<Reply>) -> CallToolResult {
    match outcome {
        Ok(reply) => {
            let mut result = CallToolResult::success(vec![block(reply.body)]);
            if form.structured {
                let written = reply.json.and_then(|json| serde_json::from_str(&json).ok());
                result.structured_content = Some(written.unwrap_or(reply.data));
            } else if form.content {
                result.meta = item(reply.data);
            }
            result
        }
        Err(error) => {
            log_bug(form, &error);
            // Clients validate structuredContent against the outputSchema, even for failures. So here the hints are
            // part of the text.
            if form.structured || form.content {
                return CallToolResult::error(vec![ContentBlock::text(present::sentence_with_hints(&error))]);
            }
            let mut result = CallToolResult::error(vec![ContentBlock::text(present::sentence(&error))]);
            if !error.hints().is_empty() {
                result.structured_content = Some(present::error_for_agent(&error));
            }
            result
        }
    }
}
