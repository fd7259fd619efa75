//! What a domain serves over HTTP outside MCP, below its own path.
//!
//! A server walks the table of domains and knows none of them: it finds who calls, keeps its limits, reads the body, and
//! hands all of it to the functions of [`Served`].

use std::io::Read;
use std::ops::Range;
use std::sync::Arc;

use http::header::{HeaderName, HeaderValue};
use http::{HeaderMap, Method, StatusCode};
use serde_json::Value;

use super::Context;
use mcpkg_base::error::Error;
use mcpkg_store::Store;
use mcpkg_store::pieces::Pieces;

/// What a domain answers over HTTP, where `mcpkg serve` is told to.
#[derive(Debug)]
pub struct Served {
    /// The flag of `mcpkg serve` that has it answered, without its dashes.
    pub flag: &'static str,
    /// What the flag's help says.
    pub help: &'static str,
    /// The path below which it answers, such as `/registry`.
    pub prefix: &'static str,
    /// Returns how many bytes the body of a request may have, before any of it is read; or the answer that refuses it. It
    /// looks at who calls and at the head alone, and not into the database.
    pub admit: fn(&Context, &Head) -> Result<u64, Box<Answer>>,
    /// Answers a request that was admitted, with its whole body.
    pub answer: fn(&Context, &Head, &mut (dyn Read + Send)) -> Answer,
    /// Returns the answer to a request that the server itself refuses, and why it does.
    pub refuse: fn(StatusCode, &str) -> Answer,
}

/// What a request says before its body.
#[derive(Clone, Debug)]
pub struct Head {
    /// Its method; HEAD comes as GET.
    pub method: Method,
    /// The path below the prefix, as it was sent, without the first `/`.
    pub path: String,
    /// What stands after the `?`, as it was sent; empty without one.
    pub query: String,
    pub headers: HeaderMap,
}

pub struct Answer {
    pub status: StatusCode,
    /// Headers, besides the length and the type of the content.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    pub content: Content,
}

/// What is done once a content was handed out, with a handle that may write.
pub type Sent = Box<dyn FnOnce(&Store) + Send + Sync>;

/// The content of an answer.
pub enum Content {
    /// None at all.
    Nothing,
    /// JSON.
    Json(Vec<u8>),
    /// A part of a stored content, read from the database piece by piece while the client takes it.
    Stored {
        /// The content, whose SHA-256 was verified.
        pieces: Arc<Pieces>,
        /// Which bytes of it.
        range: Range<u64>,
        content_type: HeaderValue,
        /// What is done once the last of it was handed out.
        sent: Option<Sent>,
    },
}

impl Answer {
    /// Returns an answer in JSON.
    pub fn json(status: StatusCode, value: &Value) -> Self {
        Self::new(status, Content::Json(value.to_string().into_bytes()))
    }

    /// Returns an answer with some content.
    pub fn new(status: StatusCode, content: Content) -> Self {
        Self { status, headers: Vec::new(), content }
    }

    #[must_use]
    pub fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }
}

impl Context {
    /// Appends the event of a refused change, as a refused operation does: it leaves a trace where the caller may write.
    pub fn refused_there(&self, kind: &str, subject: &str, error: &Error) {
        self.refused(kind, subject, error);
    }
}
