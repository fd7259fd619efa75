//! Records the outcome of the requests that rmcp passes to the handler, on every transport.

use std::io::{self, Write};
use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::model::{CallToolResponse, Extensions, GetPromptResponse, ReadResourceResponse};
use serde::Serialize;

use super::record::Record;

/// Returns the record of a request, if calls are recorded. Over HTTP, the extensions of the HTTP request contain the
/// record.
pub(in crate::mcp) fn record(extensions: &Extensions) -> Option<Arc<Record>> {
    let of_http = || extensions.get::<http::request::Parts>()?.extensions.get();
    extensions.get().or_else(of_http).cloned()
}

/// Waits for an answer, and records its outcome and size.
pub(in crate::mcp) async fn recorded<T: Serialize>(
    record: Option<Arc<Record>>,
    answering: impl Future<Output = Result<T, ErrorData>>,
) -> Result<T, ErrorData> {
    recorded_as(record, answering, |record, result| record.sent(size(result))).await
}

/// Like [`recorded`], for answers that may ask the client for more input.
pub(in crate::mcp) async fn recorded_as<T>(
    record: Option<Arc<Record>>,
    answering: impl Future<Output = Result<T, ErrorData>>,
    note: fn(&Record, &T),
) -> Result<T, ErrorData> {
    let answered = answering.await;
    match (record, &answered) {
        (None, _) => {}
        (Some(record), Ok(result)) => note(&record, result),
        (Some(record), Err(error)) => {
            record.refused(error);
            record.sent(size(error));
        }
    }
    answered
}

pub(in crate::mcp) fn call(record: &Record, response: &CallToolResponse) {
    match response {
        CallToolResponse::Complete(result) => {
            if result.is_error == Some(true) {
                record.failed_somehow();
            }
            record.sent(size(result));
        }
        CallToolResponse::InputRequired(result) => record.sent(size(result)),
        // The call goes on as a task, and its tool records the outcome.
        _ => {}
    }
}

pub(in crate::mcp) fn prompt(record: &Record, response: &GetPromptResponse) {
    record.sent(match response {
        GetPromptResponse::Complete(result) => size(result),
        GetPromptResponse::InputRequired(result) => size(result),
        _ => 0,
    });
}

pub(in crate::mcp) fn resource(record: &Record, response: &ReadResourceResponse) {
    record.sent(match response {
        ReadResourceResponse::Complete(result) => size(result),
        ReadResourceResponse::InputRequired(result) => size(result),
        _ => 0,
    });
}

/// Returns the size of a result as JSON.
fn size(result: &impl Serialize) -> usize {
    struct Count(usize);
    impl Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // Counting does not fail, and all keys are strings.
    let _ = serde_json::to_writer(&mut count, result);
    count.0
}
