//! tools/list and tools/call, from the table of operations.

#![allow(deprecated, reason = "the newest revision gave up logging; the others have it")]

use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine;
use rmcp::model::{
    CallToolResult, ContentBlock, JsonObject, LoggingLevel, MetaObject, ResourceContents, Tool, ToolAnnotations,
};
use serde_json::Value;

use super::Config;
use super::notes::Notes;
use crate::error::{Code, Error, Result};
use crate::op::{Context, Effect, Entry, Reply, Shape};
use crate::present;
use crate::store::projects;

/// Returns the tools that are served, in documentation order.
pub(super) fn list(config: &Config) -> Vec<Tool> {
    listed(config.toolsets.as_deref(), config.read_only)
}

/// The tools that were listed already: making them takes as long as the rest of a start.
#[derive(Default)]
pub(super) struct Lists(Mutex<Vec<Listed>>);

/// The tools of those who may reach the same; there are four kinds of them at most.
struct Listed {
    toolsets: Option<Vec<String>>,
    read_only: bool,
    tools: Vec<Tool>,
}

impl Lists {
    /// Returns the tools that a client sees, those of other programs too.
    pub(super) fn of(&self, config: &Config) -> Vec<Tool> {
        let mut lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |kept: &&Listed| kept.toolsets == config.toolsets && kept.read_only == config.read_only;
        if let Some(kept) = lists.iter().find(same) {
            return kept.tools.clone();
        }
        let mut tools = list(config);
        tools.extend(config.extended.0.iter().flat_map(|extension| extension.tools()));
        let (toolsets, read_only) = (config.toolsets.clone(), config.read_only);
        lists.push(Listed { toolsets, read_only, tools: tools.clone() });
        tools
    }
}

/// Returns the tools of these toolsets, those that change something only where they are served too.
pub(super) fn listed(toolsets: Option<&[String]>, read_only: bool) -> Vec<Tool> {
    crate::operations().filter(|entry| serves(entry, toolsets, read_only)).map(tool).collect()
}

/// Returns the operation behind the name of a tool that is served.
pub(super) fn find(name: &str, config: &Config) -> Option<&'static Entry> {
    named(name).filter(|entry| serves(entry, config.toolsets.as_deref(), config.read_only))
}

/// Whether calling the tool `name` may change the database; an unknown one changes nothing.
pub(super) fn writes(name: &str) -> bool {
    named(name).is_some_and(|entry| !entry.effect.reads())
}

fn named(name: &str) -> Option<&'static Entry> {
    crate::operations().find(|entry| entry.tool == name && entry.faces.tool())
}

fn serves(entry: &Entry, toolsets: Option<&[String]>, read_only: bool) -> bool {
    entry.faces.tool()
        && toolsets.is_none_or(|names| names.iter().any(|name| name == entry.toolset))
        && (!read_only || entry.effect.reads())
}

fn tool(entry: &'static Entry) -> Tool {
    let mut tool = Tool::new(entry.tool, entry.about, Arc::new(entry.input_schema()));
    tool.title = Some(entry.title.to_owned());
    tool.output_schema = entry.output_schema().map(Arc::new);
    let mut hints = ToolAnnotations::new().read_only(entry.effect.reads()).open_world(false);
    if !entry.effect.reads() {
        // Both hints speak of tools that change something. A change that is made twice is made once.
        let changes = matches!(entry.effect, Effect::Write | Effect::Destroy);
        hints = hints.destructive(changes).idempotent(changes);
    }
    tool.annotations = Some(hints);
    tool
}

/// Runs a tool; every failure is an answer that a model can read and mend.
pub(super) fn call(
    entry: &'static Entry,
    arguments: Option<JsonObject>,
    context: &Context,
    notes: &Notes,
) -> CallToolResult {
    let started = std::time::Instant::now();
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
    tracing::info!(
        tool = entry.tool,
        project = project(context),
        outcome = outcome.as_ref().map_or_else(|error| error.code().name(), |_| "ok"),
        micros = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX),
        "tools/call"
    );
    for warning in outcome.iter().flat_map(|reply| &reply.warnings) {
        notes.log(LoggingLevel::Warning, Value::String(warning.clone()));
    }
    match entry.shape {
        Shape::Sentence => sentence(entry, outcome),
        Shape::Envelope => envelope(entry, &command, outcome),
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
fn item(data: Value) -> Option<MetaObject> {
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
                result.structured_content = Some(reply.data);
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
