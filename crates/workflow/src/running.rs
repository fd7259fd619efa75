//! The input and the result of running a command.

use serde_json::{Map, Value, json};

use super::spec::CommandSpec;
use mcpkg_base::error::{Code, Error};
use mcpkg_base::sha256;

/// A command to run, with its arguments.
#[derive(Clone, Copy, Debug)]
pub struct Running<'a> {
    pub spec: &'a CommandSpec,
    pub with: &'a Map<String, Value>,
    /// The whole request body, if it is given as one value.
    pub body: Option<&'a Value>,
    /// The idempotency key, if the command takes one.
    pub key: Option<&'a str>,
}

/// The result of a command.
#[derive(Clone, Debug)]
pub struct Answered {
    pub output: Value,
    /// The HTTP status, if the command uses HTTP.
    pub status: Option<u16>,
    /// Length of the response in bytes.
    pub size: u64,
    /// SHA-256 of the response.
    pub sha256: [u8; 32],
    /// URL of the next page, from the HTTP header `Link`.
    pub next: Option<String>,
}

impl Answered {
    /// Returns a result that did not come over HTTP.
    pub fn of(output: Value) -> Self {
        let text = output.to_string();
        let (size, sha256) = (text.len() as u64, sha256::of(text.as_bytes()));
        Self { output, status: None, size, sha256, next: None }
    }
}

/// The failure of a command.
#[derive(Debug)]
pub struct Failed {
    pub error: Error,
    /// The HTTP status, if there was a response.
    pub status: Option<u16>,
    /// The response, if there was one.
    pub answer: Option<Refusal>,
    /// Whether the command may have taken effect despite the error.
    pub may_be_done: bool,
}

/// A response that reports a failure.
#[derive(Debug)]
pub struct Refusal {
    /// Length in bytes.
    pub bytes: u64,
    /// SHA-256 of the response.
    pub sha256: [u8; 32],
    /// The beginning of the response, without secrets.
    pub excerpt: String,
}

impl Failed {
    /// Returns a failure whose outcome is certain: the command changed nothing, or the error says what it changed.
    pub fn known(error: Error) -> Self {
        Self { error, status: None, answer: None, may_be_done: false }
    }

    pub fn is_cancelled(&self) -> bool {
        self.error.code() == Code::Cancelled
    }
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self::known(error)
    }
}

/// Returns the error for a command that disappeared after it was planned.
pub fn gone(id: &str) -> Error {
    Error::new(Code::NotFound, format!("The command '{}' no longer exists", id.escape_debug()))
        .with_details(json!({ "id": id, "next_step": "search_commands" }))
}
