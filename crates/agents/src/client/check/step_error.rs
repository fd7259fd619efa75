//! Defines the error of a failed step, with advice on what to do.

use mcpkg_base::http::Failure;

/// The reason why a step failed, and advice on what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StepError {
    pub(super) why: String,
    pub(super) advice: String,
}

impl StepError {
    pub(super) fn new(why: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { why: why.into(), advice: advice.into() }
    }

    /// Returns the error for a step that the user cancelled.
    pub(super) fn cancelled() -> Self {
        Self::new("cancelled", "run the command again")
    }
}

/// Returns the error for an HTTP exchange that failed.
pub(super) fn broken(failure: &Failure) -> StepError {
    let log = "see the server's log";
    let advice = match failure {
        Failure::Tls(_) => {
            "this machine and the agent must both trust the issuer of the server's certificate (for the agent, set NODE_EXTRA_CA_CERTS)"
        }
        Failure::NotHttp => "is this the URL of an MCP server?",
        Failure::Cancelled => return StepError::cancelled(),
        _ => log,
    };
    StepError::new(failure.to_string(), advice)
}
