//! Converts failures to JSON-RPC errors.

use rmcp::ErrorData;
use rmcp::model::ErrorCode;

use mcpkg_base::error::{Blame, Error};
use mcpkg_core::present;

/// Converts a failure to a JSON-RPC error with the number of its code, its public message and its details.
pub(super) fn error_data(error: &Error) -> ErrorData {
    log_bug(error);
    ErrorData::new(ErrorCode(error.code().rpc()), error.public_message().to_owned(), error.details().cloned())
}

/// Converts a failure to a JSON-RPC error with the numbers of contract 003 (smctl).
pub(super) fn smctl_error(error: &Error) -> ErrorData {
    log_bug(error);
    let present::Rpc { code, message, data } = present::rpc(error);
    ErrorData::new(ErrorCode(code), message, Some(data))
}

fn log_bug(error: &Error) {
    if error.code().blame() == Blame::Us {
        tracing::error!(%error, cause = ?std::error::Error::source(error), "a bug");
    }
}
