//! Builds HTTP responses, including those that refuse a request before it reaches MCP.

use std::convert::Infallible;

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE, HeaderName, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use rmcp::ErrorData;

use crate::mcp::error::error_data;
use crate::mcp::front;
use mcpkg_base::error::{Blame, Error};

pub(super) type Body = BoxBody<Bytes, Infallible>;

pub(super) const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// The refusal of a request, with its reason.
#[derive(Debug)]
pub(super) struct Refusal(Box<Parts>);

#[derive(Debug)]
struct Parts {
    status: StatusCode,
    error: ErrorData,
    /// The request's id as JSON, exactly as the client wrote it.
    id: Option<String>,
    header: Option<(HeaderName, HeaderValue)>,
    /// The [`Error`] that caused the refusal, if there is one.
    failure: Option<Error>,
}

/// The JSON-RPC error code of refusals at the HTTP level. They have an error object in the body, because MCP clients
/// expect one.
const REFUSED: i32 = -32000;

impl Refusal {
    pub(super) fn new(status: StatusCode, why: impl Into<String>) -> Self {
        Self::of(status, ErrorData::new(rmcp::model::ErrorCode(REFUSED), why.into(), None))
    }

    /// Returns a 400 with a JSON-RPC error.
    pub(super) fn message(error: ErrorData) -> Self {
        Self::of(StatusCode::BAD_REQUEST, error)
    }

    /// Returns a 401 with a header that says how to authenticate. `presented` says whether the request had a key or
    /// token.
    pub(super) fn unauthorized(why: impl Into<String>, presented: bool) -> Self {
        let challenge = match presented {
            true => HeaderValue::from_static("Bearer realm=\"mcpkg\", error=\"invalid_token\""),
            false => HeaderValue::from_static("Bearer realm=\"mcpkg\""),
        };
        Self::new(StatusCode::UNAUTHORIZED, why).with(WWW_AUTHENTICATE, challenge)
    }

    /// Returns a 403: the key is valid, but does not allow this request.
    pub(super) fn out_of_scope(why: impl Into<String>) -> Self {
        Self::needs_scopes(why, "")
    }

    /// Returns a 403: the token is valid, but does not allow this request. The response names the `scopes` that a token
    /// might need, separated by spaces, unless they are empty.
    pub(super) fn needs_scopes(why: impl Into<String>, scopes: &str) -> Self {
        let scopes = if scopes.is_empty() { String::new() } else { format!(", scope=\"{scopes}\"") };
        let challenge = format!("Bearer realm=\"mcpkg\", error=\"insufficient_scope\"{scopes}");
        let refusal = Self::new(StatusCode::FORBIDDEN, why);
        match HeaderValue::from_str(&challenge) {
            Ok(challenge) => refusal.with(WWW_AUTHENTICATE, challenge),
            Err(_) => refusal,
        }
    }

    /// Returns a 429 or 503, with the time to wait before the next attempt.
    pub(super) fn later(status: StatusCode, why: impl Into<String>, seconds: u64) -> Self {
        Self::new(status, why).with(RETRY_AFTER, HeaderValue::from(seconds))
    }

    /// Returns a 405 with the allowed methods.
    pub(super) fn method(allowed: &'static str) -> Self {
        let why = format!("This address supports only {allowed}");
        Self::new(StatusCode::METHOD_NOT_ALLOWED, why).with(ALLOW, HeaderValue::from_static(allowed))
    }

    /// Returns the status, reason and header, for endpoints whose errors have another format.
    pub(super) fn into_parts(self) -> (StatusCode, String, Option<(HeaderName, HeaderValue)>) {
        let Parts { status, error, header, .. } = *self.0;
        (status, error.message.into_owned(), header)
    }

    pub(super) fn status(&self) -> StatusCode {
        self.0.status
    }

    pub(super) fn error(&self) -> &ErrorData {
        &self.0.error
    }

    /// Returns the [`Error`] that caused the refusal. If there is none, returns the refusal unchanged.
    pub(super) fn into_failure(mut self) -> Result<Error, Self> {
        self.0.failure.take().ok_or(self)
    }

    /// Returns whether the refusal is a JSON-RPC error that answers a request by its id.
    pub(super) fn is_answer(&self) -> bool {
        self.0.error.code.0 != REFUSED
    }

    /// Sets the id of the request that this refusal answers.
    #[must_use]
    pub(super) fn to(mut self, id: Option<&str>) -> Self {
        self.0.id = id.map(str::to_owned);
        self
    }

    fn of(status: StatusCode, error: ErrorData) -> Self {
        Self(Box::new(Parts { status, error, id: None, header: None, failure: None }))
    }

    fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.0.header = Some((name, value));
        self
    }

    pub(super) fn into_response(self) -> Response<Body> {
        let is_answer = self.is_answer();
        let Parts { status, error, id, header, .. } = *self.0;
        // A refusal at the HTTP level does not answer a message, so its error has no id. Any other error has the id of
        // its message, or null if the message was not read.
        let mut body = Vec::new();
        match is_answer {
            false => {
                body.extend_from_slice(serde_json::json!({ "jsonrpc": "2.0", "error": error }).to_string().as_bytes())
            }
            true => front::push_error(&mut body, id.as_deref(), &error),
        }
        let mut response = json(status, body);
        if let Some((name, value)) = header {
            response.headers_mut().insert(name, value);
        }
        response
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let status = match error.code().blame() {
            Blame::Us | Blame::Machine => StatusCode::INTERNAL_SERVER_ERROR,
            Blame::Caller => StatusCode::BAD_REQUEST,
        };
        let mut refusal = Self::of(status, error_data(&error));
        refusal.0.failure = Some(error);
        refusal
    }
}

pub(super) fn json(status: StatusCode, body: Vec<u8>) -> Response<Body> {
    response(status, JSON, body.into())
}

/// Returns a 404 in OAuth's error format, for addresses where clients look for an authorization server.
pub(super) fn no_oauth(why: &str) -> Response<Body> {
    let error = serde_json::json!({ "error": "invalid_request", "error_description": why });
    json(StatusCode::NOT_FOUND, error.to_string().into_bytes())
}

pub(super) fn is_json(response: &Response<Body>) -> bool {
    response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(JSON.as_bytes()))
}

pub(super) fn text(status: StatusCode, body: impl Into<Bytes>) -> Response<Body> {
    response(status, HeaderValue::from_static("text/plain; charset=utf-8"), body.into())
}

pub(super) fn response(status: StatusCode, content_type: HeaderValue, body: Bytes) -> Response<Body> {
    let mut response = Response::new(Full::new(body).boxed());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    response
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;
    use mcpkg_base::error::Code;

    fn body(refusal: Refusal) -> serde_json::Value {
        let body = refusal.into_response().into_body().collect().now_or_never().expect("it is there").expect("a body");
        serde_json::from_slice(&body.to_bytes()).expect("JSON")
    }

    #[test]
    fn a_request_that_fails_is_answered_by_its_id() {
        let down = || Refusal::from(Error::new(Code::Unavailable, "The database cannot be reached"));
        assert!(down().is_answer());
        assert_eq!(body(down())["id"], serde_json::Value::Null);
        assert_eq!(body(down().to(Some("7")))["id"], 7);
        assert_eq!(body(down().to(Some("\"a\"")))["id"], "a");
        let refused = Refusal::out_of_scope("This access key can only read");
        assert!(!refused.is_answer());
        assert!(body(refused.to(Some("7"))).get("id").is_none());
    }
}
