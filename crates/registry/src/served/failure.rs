//! Builds error responses in the format of the registry of Enact, the program that contract 002 describes: `{"error":
//! {"code", "message", "details"}}`.

use http::StatusCode;
use http::header::{ALLOW, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use serde_json::{Value, json};

use mcpkg_base::error::{Blame, Code, Error};
use mcpkg_core::op::Answer;

/// The value of `Retry-After`, in seconds, if the database is busy.
const LATER: HeaderValue = HeaderValue::from_static("2");

/// An error response.
#[derive(Debug)]
pub struct Failure(Box<Parts>);

#[derive(Debug)]
struct Parts {
    status: StatusCode,
    code: &'static str,
    message: String,
    details: Value,
    header: Option<(HeaderName, HeaderValue)>,
}

impl Failure {
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self(Box::new(Parts { status, code, message: message.into(), details: Value::Null, header: None }))
    }

    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BAD_REQUEST", message)
    }

    /// Returns a 401 response: no key was sent.
    pub fn unauthorized(message: impl Into<String>) -> Self {
        let challenge = HeaderValue::from_static("Bearer realm=\"mcpkg\"");
        Self::new(StatusCode::UNAUTHORIZED, "UNAUTHORIZED", message).with(WWW_AUTHENTICATE, challenge)
    }

    /// Returns a 403 response: the key is valid but does not allow the request.
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "FORBIDDEN", message)
    }

    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "NOT_FOUND", message)
    }

    /// Returns a 405 response: the method is not allowed. The response lists the allowed methods.
    pub fn method(allowed: &'static str) -> Self {
        let why = format!("This address accepts only {allowed}; published versions cannot be overwritten or deleted");
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED", why)
            .with(ALLOW, HeaderValue::from_static(allowed))
    }

    pub fn too_large(message: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "BUNDLE_TOO_LARGE", message)
    }

    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "VALIDATION_ERROR", message)
    }

    /// Returns the error for a request that the HTTP server itself refused with this status.
    pub fn of_status(status: StatusCode, message: &str) -> Self {
        let code = match status.as_u16() {
            401 => "UNAUTHORIZED",
            403 => "FORBIDDEN",
            404 => "NOT_FOUND",
            405 => "METHOD_NOT_ALLOWED",
            413 => "BUNDLE_TOO_LARGE",
            429 => "RATE_LIMITED",
            400..=499 => "BAD_REQUEST",
            _ => "INTERNAL_ERROR",
        };
        Self::new(status, code, message)
    }

    #[must_use]
    pub fn with_details(mut self, details: Value) -> Self {
        self.0.details = details;
        self
    }

    fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.0.header = Some((name, value));
        self
    }

    /// Converts the error to an HTTP response.
    pub fn answer(self) -> Answer {
        let Parts { status, code, message, details, header } = *self.0;
        let mut error = json!({ "code": code, "message": message });
        if !details.is_null() {
            error["details"] = details;
        }
        let mut answer = Answer::json(status, &json!({ "error": error }));
        answer.headers.extend(header);
        answer
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let message = error.public_message().to_owned();
        let details = error.details().cloned().unwrap_or_default();
        let failure = match error.code() {
            Code::ToolNotFound | Code::VersionNotFound | Code::NotFound => Self::not_found(message),
            Code::AlreadyExists => Self::new(StatusCode::CONFLICT, "CONFLICT", message),
            Code::NamespaceMismatch => Self::new(StatusCode::FORBIDDEN, "NAMESPACE_MISMATCH", message),
            Code::MayOnlyRead => Self::forbidden(message),
            Code::ManifestInvalid | Code::ArchiveInvalid => Self::invalid(message),
            Code::TooLarge => Self::too_large(message),
            Code::Busy | Code::Timeout => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "INTERNAL_ERROR", message).with(RETRY_AFTER, LATER)
            }
            code if code.blame() == Blame::Caller => Self::bad_request(message),
            _ => {
                tracing::warn!(%error, "a request to the registry failed");
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL_ERROR", message)
            }
        };
        failure.with_details(details)
    }
}
