//! The fixtures that need code: tools, prompts and a resource that a program adds to the server.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mcpkg::mcp::{Answer, Pending, Projected, Provider, Talk};
use mcpkg_base::clock::Clock;
use mcpkg_core::op::{Audience, Context, Effect, Resource, Validator};
use mcpkg_store::events::{self, NewEvent};
use mcpkg_store::projects::Selection;
use mcpkg_store::{Db, Store};
use rmcp::model::*;
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};

use crate::asking::{self, read, text};
use crate::fixtures::{self, PIXEL};
use crate::jobs;
use crate::rounds::{self, Given, Round};

/// An empty sound.
const SILENCE: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=";

const PAUSE: Duration = Duration::from_millis(50);

/// The suite's fixtures.
pub struct Fixtures(Arc<State>);

struct State {
    store: Store,
    secret: [u8; 32],
    /// How often the list of tools was reported as changed.
    changes: AtomicU64,
}

impl Fixtures {
    pub fn new(store: Store) -> mcpkg_base::error::Result<Self> {
        let secret = Clock::system().secret()?;
        Ok(Self(Arc::new(State { store, secret, changes: AtomicU64::new(0) })))
    }
}

impl State {
    async fn answer(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.clone().unwrap_or_default());
        let responses = serde_json::to_value(&request.input_responses).unwrap_or_default();
        if let Some(round) =
            rounds::round(&request.name, &self.given(&responses, request.request_state.as_deref(), &context))
        {
            return Ok(match round? {
                Round::Done(answer) => text(answer),
                Round::Asks(asked) => CallToolResponse::InputRequired(*asked),
            });
        }
        if let Some(answer) = jobs::call(&request).await {
            return answer;
        }
        if let Some(answer) = asking::call(&request.name, &arguments, &context).await {
            return answer;
        }
        match request.name.as_ref() {
            "test_simple_text" => Ok(text("This is a simple text response for testing.")),
            "test_image_content" => content(json!([image()])),
            "test_audio_content" => content(json!([{ "type": "audio", "data": SILENCE, "mimeType": "audio/wav" }])),
            "test_embedded_resource" => content(json!([resource(
                "test://embedded-resource",
                "text/plain",
                "This is an embedded resource content."
            )])),
            "test_multiple_content_types" => content(json!([
                { "type": "text", "text": "Multiple content types test:" },
                image(),
                resource("test://mixed-content-resource", "application/json", r#"{"test":"data","value":123}"#),
            ])),
            "test_error_handling" => {
                let why = ContentBlock::text("This tool intentionally returns an error for testing");
                Ok(CallToolResult::error(vec![why]).into())
            }
            "test_tool_with_progress" => progress(&context).await,
            "test_tool_with_logging" => log(&context).await,
            "test_logging_tool" if context.meta.log_level().is_some() => log(&context).await,
            "test_missing_capability" => missing(&context),
            "test_trigger_tool_change" => self.change_tools(),
            "test_trigger_prompt_change" => self.change_prompts(),
            _ => Ok(text("done")),
        }
    }

    fn given<'a>(
        &'a self,
        responses: &'a Value,
        state: Option<&'a str>,
        context: &RequestContext<RoleServer>,
    ) -> Given<'a> {
        Given { responses, state, capabilities: context.meta.client_capabilities(), secret: &self.secret }
    }

    /// Records an event that the tools changed, as installing a tool does.
    fn change_tools(&self) -> Result<CallToolResponse, ErrorData> {
        self.changes.fetch_add(1, Ordering::Relaxed);
        let event = NewEvent {
            at: Clock::system().now(),
            actor: "conformance",
            project: None,
            kind: "tool.change",
            subject: "",
            outcome: "ok",
            session: None,
        };
        self.store.write(|db| events::append(db, event)).map_err(failed)?;
        Ok(text("The tools changed"))
    }

    fn change_prompts(&self) -> Result<CallToolResponse, ErrorData> {
        let context = Context::shell(mcpkg::DOMAINS, self.store.clone(), Selection::default());
        let content = format!("Changed at {}", Clock::system().now());
        let arguments = json!({ "name": "test_simple_prompt", "description": content });
        fixtures::run(&context, &["prompt", "update"], arguments).map_err(failed)?;
        Ok(text("The prompts changed"))
    }

    async fn compose(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let responses = serde_json::to_value(&request.input_responses).unwrap_or_default();
        let given = self.given(&responses, request.request_state.as_deref(), &context);
        let messages = match request.name.as_ref() {
            "test_prompt_with_image" => json!([image(), { "type": "text", "text": "Please analyze the image above." }]),
            "test_prompt_with_embedded_resource" => {
                let arguments = request.arguments.clone().unwrap_or_default();
                let uri = arguments.get("resourceUri").and_then(Value::as_str).unwrap_or_default();
                json!([
                    resource(uri, "text/plain", "Embedded resource content for testing."),
                    { "type": "text", "text": "Please process the embedded resource above." },
                ])
            }
            name => match rounds::round(name, &given) {
                Some(round) => match round? {
                    Round::Done(answer) => json!([{ "type": "text", "text": answer }]),
                    Round::Asks(asked) => return Ok(GetPromptResponse::InputRequired(*asked)),
                },
                None => return Err(ErrorData::invalid_params(format!("no prompt '{name}'"), None)),
            },
        };
        let messages: Vec<Value> = messages
            .as_array()
            .into_iter()
            .flatten()
            .map(|content| json!({ "role": "user", "content": content }))
            .collect();
        read::<GetPromptResult>(json!({ "resultType": "complete", "messages": messages })).map(Into::into)
    }
}

impl Provider for Fixtures {
    fn tools(
        &self,
        _: &Db<'_>,
        _: &Audience<'_>,
        after: &str,
        limit: usize,
    ) -> mcpkg_base::error::Result<Vec<Projected>> {
        let mut tools = listed();
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        let tools = tools.into_iter().filter(|tool| tool.name.as_ref() > after).take(limit);
        Ok(tools.map(|tool| self.projected(tool)).collect())
    }

    fn tool(&self, _: &Db<'_>, _: &Audience<'_>, name: &str) -> mcpkg_base::error::Result<Option<Projected>> {
        Ok(listed().into_iter().find(|tool| tool.name == name).map(|tool| self.projected(tool)))
    }

    fn validator(&self, _: &Db<'_>, _: &Audience<'_>) -> mcpkg_base::error::Result<Validator> {
        Validator::of(&self.0.changes.load(Ordering::Relaxed))
    }

    fn resources(&self) -> &'static [Resource] {
        &[TEMPLATE]
    }

    fn prompt(&self, name: &str) -> Option<Arc<Talk<GetPromptRequestParams, GetPromptResponse>>> {
        let ours =
            ["test_prompt_with_embedded_resource", "test_prompt_with_image", "test_input_required_result_prompt"];
        if !ours.contains(&name) {
            return None;
        }
        let fixtures = Arc::clone(&self.0);
        Some(Arc::new(move |request, context| {
            let fixtures = Arc::clone(&fixtures);
            Box::pin(async move { fixtures.compose(request, context).await })
        }))
    }
}

impl Fixtures {
    /// Returns a fixture's tool with the code that answers its calls.
    fn projected(&self, listed: Tool) -> Projected {
        let changes = listed.name.starts_with("test_trigger_");
        let fixtures = Arc::clone(&self.0);
        let talk = move |request, context| -> Pending<CallToolResponse> {
            let fixtures = Arc::clone(&fixtures);
            Box::pin(async move { fixtures.answer(request, context).await })
        };
        let talk: Arc<Talk<CallToolRequestParams, CallToolResponse>> = Arc::new(talk);
        let answer = if jobs::has(&listed.name) { jobs::answer(talk) } else { Answer::Talk(talk) };
        Projected { listed, effect: if changes { Effect::Write } else { Effect::Read }, group: "conformance", answer }
    }
}

/// A resource whose text contains the id in its URI.
const TEMPLATE: Resource = Resource {
    uri: "test://template/{id}/data",
    name: "template-data",
    title: "Template data",
    description: "A fixture of the conformance suite",
    mime_type: Some("application/json"),
    read: |asked, contents| {
        let id = asked.values.get("id");
        let text = json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") }).to_string();
        contents.text(Some("application/json"), &text, &String::new)?;
        Ok(true)
    },
    validator: |asked| Validator::of(&asked.uri).map(Some),
    ..Resource::EMPTY
};

/// Returns the tools as tools/list shows them.
fn listed() -> Vec<Tool> {
    let plain = json!({ "type": "object", "properties": {} });
    let needs =
        |name: &str| json!({ "type": "object", "properties": { name: { "type": "string" } }, "required": [name] });
    let tools = [
        "test_simple_text",
        "test_image_content",
        "test_audio_content",
        "test_embedded_resource",
        "test_multiple_content_types",
        "test_tool_with_logging",
        "test_tool_with_progress",
        "test_error_handling",
        "test_sampling",
        "test_elicitation",
        "test_elicitation_sep1034_defaults",
        "test_elicitation_sep1330_enums",
        "test_missing_capability",
        "test_custom_header",
        "test_streaming_elicitation",
        "test_logging_tool",
        "test_trigger_tool_change",
        "test_trigger_prompt_change",
        "test_input_required_result_elicitation",
        "test_input_required_result_sampling",
        "test_input_required_result_list_roots",
        "test_input_required_result_request_state",
        "test_input_required_result_multiple_inputs",
        "test_input_required_result_multi_round",
        "test_input_required_result_tampered_state",
        "test_input_required_result_capabilities",
    ];
    let tools = tools.into_iter().map(|name| {
        let schema = match name {
            "test_sampling" => needs("prompt"),
            "test_elicitation" => needs("message"),
            "test_custom_header" => {
                let value = json!({ "type": "string", "x-mcp-header": "Value" });
                json!({ "type": "object", "properties": { "value": value } })
            }
            _ => plain.clone(),
        };
        tool(name, schema)
    });
    tools.chain([tool("json_schema_2020_12_tool", rich_schema())]).chain(jobs::tools()).collect()
}

pub fn tool(name: &'static str, schema: Value) -> Tool {
    let schema = schema.as_object().cloned().unwrap_or_default();
    Tool::new(name, "A fixture of the conformance suite", Arc::new(schema))
}

fn image() -> Value {
    json!({ "type": "image", "data": PIXEL, "mimeType": "image/png" })
}

fn resource(uri: &str, mime_type: &str, text: &str) -> Value {
    json!({ "type": "resource", "resource": { "uri": uri, "mimeType": mime_type, "text": text } })
}

fn content(content: Value) -> Result<CallToolResponse, ErrorData> {
    read::<CallToolResult>(json!({ "resultType": "complete", "content": content, "isError": false })).map(Into::into)
}

fn failed(error: mcpkg_base::error::Error) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

/// Answers a call of the tool that requires sampling. Fails if the client does not support sampling.
fn missing(context: &RequestContext<RoleServer>) -> Result<CallToolResponse, ErrorData> {
    if context.meta.client_capabilities().is_some_and(|can| can.sampling.is_some()) {
        return Ok(text("The client has sampling"));
    }
    let required: ClientCapabilities = read(json!({ "sampling": {} }))?;
    Err(ErrorData::missing_required_client_capability(required))
}

async fn progress(context: &RequestContext<RoleServer>) -> Result<CallToolResponse, ErrorData> {
    for (done, last) in [(0.0, false), (50.0, false), (100.0, true)] {
        if let Some(token) = context.meta.get_progress_token() {
            let told = ProgressNotificationParam::new(token, done).with_total(100.0);
            let _ = context.peer.notify_progress(told).await;
        }
        if !last {
            tokio::time::sleep(PAUSE).await;
        }
    }
    Ok(text("Progress was told"))
}

#[allow(deprecated, reason = "the revisions with a handshake have it")]
async fn log(context: &RequestContext<RoleServer>) -> Result<CallToolResponse, ErrorData> {
    for (index, what) in
        ["Tool execution started", "Tool processing data", "Tool execution completed"].iter().enumerate()
    {
        if index > 0 {
            tokio::time::sleep(PAUSE).await;
        }
        let message = LoggingMessageNotificationParam::new(LoggingLevel::Info, json!(what)).with_logger("conformance");
        let _ = context.peer.notify_logging_message(message).await;
    }
    Ok(text("Messages were logged"))
}

/// Returns a schema that uses advanced features of JSON Schema 2020-12.
fn rich_schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
            },
        },
        "properties": {
            "name": { "type": "string" },
            "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": { "type": "string" },
            "email": { "type": "string" },
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false,
    })
}
