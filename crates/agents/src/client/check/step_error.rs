//! The error of a failed step, and what to do about it.

use mcpkg_base::http::Failure;

/// Why a step failed, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StepError {
    pub(super) why: String,
    pub(super) advice: String,
}

impl StepError {
    pub(super) fn new(why: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { why: why.into(), advice: advice.into() }
    }

    /// Returns why nothing came of a step that the user gave up.
    pub(super) fn cancelled() -> Self {
        Self::new("cancelled", "run the command again")
    }
}

/// Says how a server over HTTP failed in the middle.
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
