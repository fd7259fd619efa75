//! Converts a call's answer to the row of its task, and the row to rmcp's types.

use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock, DetailedTask, ErrorCode, JsonObject, TaskPayload, TaskStatus};
use serde_json::Value;

use mcpkg_base::clock::rfc3339;
use mcpkg_store::tasks::{Status, Task};

/// The suggested time between two polls, in milliseconds.
const POLL: u64 = 500;

/// The error of a task that ended because its server stopped or died.
pub(super) const SERVER_ENDED: &str =
    "The server stopped while it ran this task, but left nothing incomplete. Call the tool again";

/// The message for a task that may still be running: its server is on another machine and lost its connection, or the
/// database does not answer.
pub(super) const UNSEEN: &str =
    "The server that runs this task lost its connection to the database, and may still be running the task";

/// The text that replaces a confirm token in a stored result. Only the requester gets the token, and it is not stored.
const NOT_KEPT: &str = "(not stored; call deploy again)";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CancelledBy {
    Asker,
    Server,
}

/// The answer of the call.
pub(in crate::mcp) enum Answered {
    /// A result, which may report that the tool failed.
    Result(Box<CallToolResult>),
    Error(ErrorData),
    Nothing,
}

/// The end of a task: its status, message and outcome.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) status: Status,
    pub(super) message: Option<String>,
    /// The stored result or error, as JSON.
    pub(super) outcome: Option<String>,
    /// The complete result, if it differs from the stored one because it contains a confirm token.
    pub(super) whole: Option<String>,
}

impl Ended {
    /// Returns how a task ended. `cancelled` says who cancelled the task, if anybody did. If the tool succeeded anyway,
    /// the task counts as completed.
    pub(super) fn of(answered: Answered, cancelled: Option<CancelledBy>) -> Self {
        match (answered, cancelled) {
            (Answered::Result(result), Some(by)) if result.is_error == Some(true) => {
                let said = text(&result);
                match by {
                    CancelledBy::Asker => Self { status: Status::Cancelled, message: said, outcome: None, whole: None },
                    CancelledBy::Server => Self::failed(SERVER_ENDED),
                }
            }
            (Answered::Result(result), _) => Self::completed(&result),
            (Answered::Error(_) | Answered::Nothing, Some(CancelledBy::Asker)) => {
                Self { status: Status::Cancelled, message: None, outcome: None, whole: None }
            }
            (Answered::Error(error), None) => Self::with_error(&error),
            (Answered::Error(_) | Answered::Nothing, _) => Self::failed(SERVER_ENDED),
        }
    }

    /// Returns a failure without a result, for this reason.
    pub(super) fn failed(why: &'static str) -> Self {
        Self::with_error(&ErrorData::new(ErrorCode::INTERNAL_ERROR, why, None))
    }

    fn with_error(error: &ErrorData) -> Self {
        let outcome = serde_json::to_string(error).unwrap_or_default();
        Self { status: Status::Failed, message: Some(error.message.to_string()), outcome: Some(outcome), whole: None }
    }

    fn completed(result: &CallToolResult) -> Self {
        let whole = serde_json::to_string(result).unwrap_or_default();
        let token = result.structured_content.as_ref().and_then(|envelope| envelope["data"]["confirm_token"].as_str());
        let (outcome, whole) = match token {
            Some(token) => (whole.replace(token, NOT_KEPT), Some(whole)),
            None => (whole, None),
        };
        Self { status: Status::Completed, message: None, outcome: Some(outcome), whole }
    }

    /// Returns whether the complete result is stored.
    pub(super) fn is_whole(&self) -> bool {
        self.whole.is_none()
    }
}

/// Returns the first line of a tool's message.
fn text(result: &CallToolResult) -> Option<String> {
    let first = |envelope: &Value| envelope["errors"][0]["message"].as_str().map(str::to_owned);
    result.structured_content.as_ref().and_then(first).or_else(|| match result.content.first()? {
        ContentBlock::Text(text) => text.text.lines().next().map(str::to_owned),
        _ => None,
    })
}

/// Converts a row to a task without its outcome.
pub(super) fn task(row: &Task) -> rmcp::model::Task {
    let (id, begun, changed) = (row.id.to_string(), rfc3339(row.created_at), rfc3339(row.updated_at));
    let kept = u64::try_from(row.expires_at.saturating_sub(row.created_at)).unwrap_or(1).max(1);
    let mut task =
        rmcp::model::Task::new(id, TaskStatus::Working, begun, changed).with_ttl_ms(kept).with_poll_interval_ms(POLL);
    task.status_message.clone_from(&row.message);
    task
}

/// Converts a row to a task with its outcome.
pub(super) fn detailed(row: &Task) -> DetailedTask {
    let outcome = || -> JsonObject {
        row.outcome.as_deref().and_then(|outcome| serde_json::from_str(outcome).ok()).unwrap_or_default()
    };
    let payload = match row.status {
        Status::Working => TaskPayload::Working,
        Status::Completed => TaskPayload::Completed { result: outcome() },
        Status::Failed => TaskPayload::Failed { error: outcome() },
        Status::Cancelled => TaskPayload::Cancelled,
    };
    DetailedTask::new(task(row), payload)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(error: bool, data: Value) -> Answered {
        let text = vec![ContentBlock::text(data.to_string())];
        let mut result = if error { CallToolResult::error(text) } else { CallToolResult::success(text) };
        result.structured_content = Some(data);
        Answered::Result(Box::new(result))
    }

    #[test]
    fn a_failed_tool_completes_its_task_unless_the_task_was_cancelled() {
        let failed = || said(true, json!({ "errors": [{ "message": "given up" }] }));
        assert_eq!(Ended::of(failed(), None).status, Status::Completed);
        let cancelled = Ended::of(failed(), Some(CancelledBy::Asker));
        assert_eq!((cancelled.status, cancelled.message.as_deref()), (Status::Cancelled, Some("given up")));
        assert_eq!(Ended::of(failed(), Some(CancelledBy::Server)).status, Status::Failed);
        // A task that finished anyway keeps its result.
        assert_eq!(Ended::of(said(false, json!({})), Some(CancelledBy::Asker)).status, Status::Completed);
        assert_eq!(Ended::of(Answered::Nothing, None).status, Status::Failed);
    }

    #[test]
    fn a_confirm_token_is_not_stored() {
        let ended = Ended::of(said(false, json!({ "data": { "confirm_token": "s3cret" } })), None);
        assert!(!ended.is_whole());
        let stored = ended.outcome.unwrap_or_default();
        assert!(!stored.contains("s3cret") && stored.contains(NOT_KEPT), "{stored}");
        assert!(ended.whole.is_some_and(|whole| whole.matches("s3cret").count() == 2), "in the text and beside it");
    }
}
