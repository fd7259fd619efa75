//! Writes JSON-RPC responses as lines.

use rmcp::model::{ErrorCode, ErrorData};

use mcpkg_base::json::push_string;

pub(super) fn begin_result(out: &mut Vec<u8>, id: &str) {
    begin(out, id);
    out.extend_from_slice(b",\"result\":");
}

pub(super) fn end_result(out: &mut Vec<u8>) {
    out.extend_from_slice(b"}\n");
}

fn begin(out: &mut Vec<u8>, id: &str) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    out.extend_from_slice(id.as_bytes());
}

/// Appends a line with a result.
pub(in crate::mcp) fn push_result(out: &mut Vec<u8>, id: &str, result: &[u8]) {
    begin_result(out, id);
    out.extend_from_slice(result);
    end_result(out);
}

/// Appends a line with an error. The id is null if none could be read, or if the error is a parse error.
pub(in crate::mcp) fn push_error(out: &mut Vec<u8>, id: Option<&str>, error: &ErrorData) {
    let id = id.filter(|_| error.code != ErrorCode::PARSE_ERROR).unwrap_or("null");
    begin(out, id);
    out.extend_from_slice(format!(",\"error\":{{\"code\":{},\"message\":", error.code.0).as_bytes());
    push_string(out, error.message.as_bytes());
    if let Some(data) = &error.data {
        out.extend_from_slice(format!(",\"data\":{data}").as_bytes());
    }
    out.extend_from_slice(b"}}\n");
}
