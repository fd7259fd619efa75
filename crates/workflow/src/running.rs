//! A command that is run: what it is given, and what comes back.

use serde_json::{Map, Value, json};

use super::spec::CommandSpec;
use mcpkg_base::disk;
use mcpkg_base::error::{Code, Error};

/// A command that is run.
#[derive(Clone, Copy, Debug)]
pub struct Running<'a> {
    pub spec: &'a CommandSpec,
    /// Its arguments by name.
    pub with: &'a Map<String, Value>,
    /// The whole body of the request, where it is given as one.
    pub body: Option<&'a Value>,
    /// The idempotency key, where the command takes one.
    pub key: Option<&'a str>,
}

/// What a command answered.
#[derive(Clone, Debug)]
pub struct Answered {
    pub output: Value,
    /// Its status. HTTP only.
    pub status: Option<u16>,
    /// Its bytes.
    pub size: u64,
    /// Their SHA-256.
    pub sha256: [u8; 32],
    /// The address of the next page, where the answer names one in its header `Link`.
    pub next: Option<String>,
}

impl Answered {
    /// Returns the answer of what did not come over HTTP.
    pub fn of(output: Value) -> Self {
        let text = output.to_string();
        let (size, sha256) = (text.len() as u64, disk::sha256(text.as_bytes()));
        Self { output, status: None, size, sha256, next: None }
    }
}

/// Why a command has no answer, or none that counts.
#[derive(Debug)]
pub struct Failed {
    pub error: Error,
    /// The status of the answer, where one came.
    pub status: Option<u16>,
    /// What came, where an answer did and does not count.
    pub answer: Option<Refusal>,
    /// Whether it may have done its work all the same: nobody said that it did not.
    pub may_be_done: bool,
}

/// An answer that says why nothing was done.
#[derive(Debug)]
pub struct Refusal {
    /// Its bytes.
    pub bytes: u64,
    /// Their SHA-256.
    pub sha256: [u8; 32],
    /// Its beginning, without secrets.
    pub excerpt: String,
}

impl Failed {
    /// Returns the failure of a command that changed nothing, or said what it did.
    pub fn known(error: Error) -> Self {
        Self { error, status: None, answer: None, may_be_done: false }
    }

    /// Whether it was given up because its caller wanted so.
    pub fn is_cancelled(&self) -> bool {
        self.error.code() == Code::Cancelled
    }
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self::known(error)
    }
}

/// Returns the failure of a command that was there when it was planned.
pub fn gone(id: &str) -> Error {
    Error::new(Code::NotFound, format!("The command '{}' no longer exists", id.escape_debug()))
        .with_details(json!({ "id": id, "next_step": "search_commands" }))
}
