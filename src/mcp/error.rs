//! A failure as a JSON-RPC error.

use rmcp::ErrorData;
use rmcp::model::ErrorCode;

use crate::error::{Blame, Error};

/// Returns a failure as a JSON-RPC error: the table's code, the public message, the details.
pub(super) fn error_data(error: &Error) -> ErrorData {
    if error.code().blame() == Blame::Us {
        tracing::error!(%error, cause = ?std::error::Error::source(error), "a bug");
    }
    ErrorData::new(ErrorCode(error.code().rpc()), error.public_message().to_owned(), error.details().cloned())
}
