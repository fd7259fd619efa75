//! The suite's fixtures for the tasks extension: tools that take long, that fail, and that ask while they run.

use std::sync::Arc;
use std::time::Duration;

use mcpkg::mcp::{Answer, Pending, RunningTask, Talk, TaskSupport, TaskTool};
use rmcp::ErrorData;
use rmcp::model::{CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, InputRequest, Tool};
use serde_json::{Value, json};

use crate::asking::{read, text};
use crate::tools::tool;

/// Returns the tools with their schemas.
pub fn tools() -> Vec<Tool> {
    let object = |properties: Value| json!({ "type": "object", "properties": properties });
    vec![
        tool("greet", object(json!({ "name": { "type": "string" } }))),
        tool("slow_compute", object(json!({ "seconds": { "type": "number" }, "label": { "type": "string" } }))),
        tool("failing_job", object(json!({}))),
        tool("protocol_error_job", object(json!({}))),
        tool("confirm_delete", object(json!({ "filename": { "type": "string" } }))),
        tool("multi_input", object(json!({}))),
        tool("test_tool_with_task", object(json!({}))),
    ]
}

/// Returns whether `name` is one of [`tools`].
pub fn has(name: &str) -> bool {
    tools().iter().any(|tool| tool.name == name)
}

/// Returns the answer of one of [`tools`]. `talk` answers the calls that are not tasks.
pub fn answer(talk: Arc<Talk<CallToolRequestParams, CallToolResponse>>) -> Answer {
    let run = |request, task| -> Pending<CallToolResult> { Box::pin(run(request, task)) };
    Answer::Task(Arc::new(TaskTool { support: Box::new(support), talk, run: Box::new(run) }))
}

/// Returns whether a call has to be a task, may be one, or cannot be one.
fn support(request: &CallToolRequestParams) -> TaskSupport {
    match request.name.as_ref() {
        "slow_compute" => TaskSupport::Optional,
        "failing_job" | "protocol_error_job" | "confirm_delete" | "multi_input" => TaskSupport::Required,
        // The first call of this tool asks for input. Only the calls with that input are tasks.
        "test_tool_with_task" if request.input_responses.is_some() => TaskSupport::Required,
        _ => TaskSupport::Never,
    }
}

/// Answers a call that is not a task.
pub async fn call(request: &CallToolRequestParams) -> Option<Result<CallToolResponse, ErrorData>> {
    Some(match request.name.as_ref() {
        "greet" => Ok(text(format!("Hello, {}!", argument(request, "name").as_str().unwrap_or("World")))),
        "slow_compute" => {
            tokio::time::sleep(seconds(request)).await;
            Ok(text("computed"))
        }
        "test_tool_with_task" => {
            let asked =
                json!({ "resultType": "input_required", "inputRequests": { "user_name": form("name", "string") } });
            read(asked).map(CallToolResponse::InputRequired)
        }
        _ => return None,
    })
}

/// Runs a call as a task.
async fn run(request: CallToolRequestParams, task: Arc<RunningTask>) -> Result<CallToolResult, ErrorData> {
    match request.name.as_ref() {
        "slow_compute" => tokio::select! {
            () = task.cancelled() => Ok(failed("The computation was cancelled")),
            () = tokio::time::sleep(seconds(&request)) => Ok(said("computed")),
        },
        "failing_job" => {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Ok(failed("This job always fails"))
        }
        "protocol_error_job" => Err(ErrorData::internal_error("This job ends with a protocol error", None)),
        "confirm_delete" => match task.ask("confirm", question("confirm", "boolean")?).await {
            Some(answer) if answer["content"]["confirm"] == true => Ok(said("deleted")),
            _ => Ok(failed("Nobody confirmed")),
        },
        "multi_input" => {
            let (name, confirm) = (question("name", "string")?, question("confirm", "boolean")?);
            let answers = tokio::join!(task.ask("first", name), task.ask("second", confirm));
            Ok(if let (Some(_), Some(_)) = answers { said("both answered") } else { failed("not answered") })
        }
        _ => {
            let answers = serde_json::to_value(&request.input_responses).unwrap_or_default();
            let name = answers["user_name"]["content"]["name"].as_str().unwrap_or("nobody").to_owned();
            Ok(said(&format!("Hello, {name}!")))
        }
    }
}

fn argument(request: &CallToolRequestParams, name: &str) -> Value {
    request.arguments.as_ref().and_then(|arguments| arguments.get(name)).cloned().unwrap_or_default()
}

fn seconds(request: &CallToolRequestParams) -> Duration {
    Duration::from_secs_f64(argument(request, "seconds").as_f64().unwrap_or(0.0).clamp(0.0, 120.0))
}

fn form(field: &str, kind: &str) -> Value {
    let schema = json!({ "type": "object", "properties": { field: { "type": kind } }, "required": [field] });
    let params = json!({ "mode": "form", "message": format!("Please give {field}"), "requestedSchema": schema });
    json!({ "method": "elicitation/create", "params": params })
}

fn question(field: &str, kind: &str) -> Result<InputRequest, ErrorData> {
    read(form(field, kind))
}

fn said(what: &str) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(what)])
}

fn failed(what: &str) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(what)])
}
