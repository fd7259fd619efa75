//! Describes what a domain serves over HTTP in addition to MCP, below its own paths.
//!
//! A server works with the table of all domains, and depends on no single domain. The server identifies the caller,
//! applies its limits, reads the body, and passes everything to the functions of [`Served`].

use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::sync::Arc;

use http::header::{CACHE_CONTROL, ETAG, HeaderName, HeaderValue, IF_NONE_MATCH};
use http::{HeaderMap, Method, StatusCode};
use serde_json::Value;

use super::Context;
use mcpkg_base::error::Error;
use mcpkg_base::hex;
use mcpkg_base::sha256;
use mcpkg_store::Store;
use mcpkg_store::pieces::Pieces;

/// A service that a domain offers over HTTP, if a flag of `mcpkg serve` asks for it.
#[derive(Debug)]
pub struct Served {
    /// The flag of `mcpkg serve` that enables this service, without the dashes.
    pub flag: &'static str,
    pub help: &'static str,
    /// The paths below which the service answers, such as `/registry`.
    pub prefixes: &'static [&'static str],
    /// Whether a client may also send its key as the password of HTTP's basic authentication, as git does.
    pub basic: bool,
    /// Returns the maximum size of the request's body, or the answer that refuses the request. This is called before the body
    /// is read, and uses only the caller and the head, never the database.
    pub admit: fn(&Context, &Head) -> Result<u64, Box<Answer>>,
    /// Answers an admitted request with its whole body.
    pub answer: fn(&Context, &Head, &mut (dyn Read + Send)) -> Answer,
    /// Returns the answer for a request that the server itself refuses, with this status and reason.
    pub refuse: fn(StatusCode, &str) -> Answer,
}

/// The part of a request before its body.
#[derive(Clone, Debug)]
pub struct Head {
    /// The method. A HEAD request arrives as GET.
    pub method: Method,
    /// The prefix in [`Served::prefixes`] that the path begins with.
    pub prefix: &'static str,
    /// The path below the prefix, not decoded and without the first `/`.
    pub path: String,
    /// The part after the `?`, not decoded; empty if there is none.
    pub query: String,
    pub headers: HeaderMap,
}

pub struct Answer {
    pub status: StatusCode,
    /// Headers other than the length and the type of the content.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    pub content: Content,
}

/// Runs after a content was sent completely, with a database handle that may write.
pub type Sent = Box<dyn FnOnce(&Store) + Send + Sync>;

pub enum Content {
    /// No content.
    Nothing,
    Json(Vec<u8>),
    Bytes {
        bytes: Vec<u8>,
        content_type: HeaderValue,
    },
    /// The content of an open temporary file, sent from its beginning.
    File {
        file: File,
        size: u64,
        content_type: HeaderValue,
    },
    /// A part of a stored content, read from the database in pieces while the client receives it.
    Stored {
        /// The content, whose SHA-256 was verified.
        pieces: Arc<Pieces>,
        /// The range of bytes to send.
        range: Range<u64>,
        content_type: HeaderValue,
        /// Runs after the last byte was sent.
        sent: Option<Sent>,
    },
}

impl Answer {
    pub fn json(status: StatusCode, value: &Value) -> Self {
        Self::new(status, Content::Json(value.to_string().into_bytes()))
    }

    pub fn new(status: StatusCode, content: Content) -> Self {
        Self { status, headers: Vec::new(), content }
    }

    /// Adds an ETag to JSON and bytes in a successful read, and answers 304 if the client already has this version.
    /// Responses depend on the key, so shared caches must not store them.
    #[must_use]
    pub fn revalidated(mut self, head: &Head) -> Self {
        if head.method != Method::GET || self.status != StatusCode::OK {
            return self;
        }
        if let Content::Json(bytes) | Content::Bytes { bytes, .. } = &self.content {
            let digest = hex::encode(&sha256::of(bytes)[..16]);
            self.headers.extend(HeaderValue::from_str(&format!("\"{digest}\"")).ok().map(|tag| (ETAG, tag)));
        }
        self.headers.push((CACHE_CONTROL, HeaderValue::from_static("private, no-cache")));
        let tag = self.headers.iter().find(|(name, _)| *name == ETAG).and_then(|(_, tag)| tag.to_str().ok());
        let asked = head.headers.get(IF_NONE_MATCH).and_then(|asked| asked.to_str().ok());
        let has = |tag: &str, asked: &str| {
            asked.split(',').map(str::trim).any(|one| one == "*" || one.trim_start_matches("W/") == tag)
        };
        if tag.zip(asked).is_some_and(|(tag, asked)| has(tag, asked)) {
            self.status = StatusCode::NOT_MODIFIED;
            self.content = Content::Nothing;
        }
        self
    }

    #[must_use]
    pub fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }
}

impl Context {
    /// Appends the event of a refused change.
    pub fn refused_there(&self, kind: &str, subject: &str, error: &Error) {
        self.refused(kind, subject, error);
    }
}
