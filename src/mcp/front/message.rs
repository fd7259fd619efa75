//! Converts a message's text to rmcp's types, or explains what is wrong with it.

use rmcp::model::{ClientJsonRpcMessage, ErrorData, RequestId};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::mcp::methods::wrong;

/// The maximum number of messages in a batch. All its answers are kept in memory until the last one is ready.
const LONGEST_BATCH: usize = 64;

/// Refuses a batch that is empty or too long. If batches do not `exist` in the protocol revision, refuses every batch.
pub(in crate::mcp) fn check_batch(items: usize, exist: bool) -> Result<(), ErrorData> {
    let why = match items {
        0 => "Invalid request: the batch is empty".to_owned(),
        _ if items > LONGEST_BATCH => {
            format!("Invalid request: a batch can have at most {LONGEST_BATCH} messages")
        }
        _ if exist => return Ok(()),
        _ => "Invalid request: batches are supported only on protocol version 2025-03-26".to_owned(),
    };
    Err(ErrorData::invalid_request(why, None))
}

/// Refuses an unknown method, and parameters that rmcp would drop without an answer.
pub(in crate::mcp) fn check(method: &str, parameters: Option<&RawValue>) -> Result<(), ErrorData> {
    // A tool's arguments can be large, so the parameters of a tool call are not parsed here. Errors in them are
    // reported when the call is read.
    let parameters = match parameters.filter(|_| method != "tools/call") {
        Some(raw) => Some(serde_json::from_str(raw.get()).map_err(|error| not_taken(&error))?),
        None if method == "tools/call" => return Ok(()),
        None => None,
    };
    wrong(method, parameters.as_ref()).map_or(Ok(()), Err)
}

/// Parses a message into rmcp's types, which do not accept a repeated key. If that fails, converts the message by way
/// of a generic value, in which the last occurrence of a key wins.
pub(super) fn parse(text: &str) -> serde_json::Result<ClientJsonRpcMessage> {
    serde_json::from_str(text)
        .or_else(|_| serde_json::from_str::<serde_json::Value>(text).and_then(serde_json::from_value))
}

/// Rewrites a message into a form that rmcp can read. Returns `None` if rmcp can read it unchanged.
///
/// # Errors
/// JSON-RPC error -32700 or -32600, with the reason.
pub(in crate::mcp) fn readable(text: &str) -> Result<Option<Vec<u8>>, ErrorData> {
    if serde_json::from_str::<ClientJsonRpcMessage>(text).is_ok() {
        return Ok(None);
    }
    let again = serde_json::from_str::<serde_json::Value>(text).map_err(|error| not_taken(&error))?;
    let again = serde_json::to_vec(&again).map_err(|error| not_taken(&error))?;
    match serde_json::from_slice::<ClientJsonRpcMessage>(&again) {
        Ok(_) => Ok(Some(again)),
        Err(error) => Err(not_taken(&error)),
    }
}

/// Returns the error for a message that has a valid envelope but still does not parse, for example because of too deep
/// nesting, half a surrogate pair, or an id that is too large.
pub(super) fn not_taken(error: &serde_json::Error) -> ErrorData {
    use serde_json::error::Category;
    match error.classify() {
        Category::Syntax | Category::Eof | Category::Io => {
            ErrorData::parse_error(format!("Parse error: {error}"), None)
        }
        Category::Data => ErrorData::invalid_request(format!("Invalid request: {error}"), None),
    }
}

/// Returns the id of the request that notifications/cancelled names.
pub(super) fn cancelled_id(parameters: &str) -> Option<RequestId> {
    #[derive(Deserialize)]
    struct Cancelled {
        #[serde(rename = "requestId")]
        request_id: RequestId,
    }
    serde_json::from_str::<Cancelled>(parameters).ok().map(|cancelled| cancelled.request_id)
}
