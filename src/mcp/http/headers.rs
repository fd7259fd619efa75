//! Reads and checks the headers of requests.

use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderName};
use http::{HeaderMap, HeaderValue, StatusCode};
use rmcp::ErrorData;
use rmcp::model::ErrorCode;

use super::answer::Refusal;

/// The header with the session id.
pub(super) static SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
/// The header with the protocol revision.
pub(super) static VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// The headers that repeat parts of the body in a request of 2026-07-28.
pub(super) static METHOD: HeaderName = HeaderName::from_static("mcp-method");
pub(super) static NAME: HeaderName = HeaderName::from_static("mcp-name");

/// The only protocol revision with batches.
pub(super) const BATCHES: &str = "2025-03-26";

/// The protocol revisions that have sessions over streamable HTTP.
pub(super) const LEGACY: [&str; 3] = [BATCHES, "2025-06-18", "2025-11-25"];

/// Headers that must not appear twice, because it would be unclear which value counts.
const SINGLE: [&str; 9] = [
    "host",
    "origin",
    "authorization",
    "content-type",
    "mcp-session-id",
    "mcp-protocol-version",
    "last-event-id",
    "mcp-method",
    "mcp-name",
];

/// Refuses a request that repeats one of the headers in [`SINGLE`].
pub(super) fn check_single(headers: &HeaderMap) -> Result<(), Refusal> {
    // Usually no header appears twice.
    if headers.len() == headers.keys_len() {
        return Ok(());
    }
    let doubled = |name: &str| format!("The header {name} appears more than once");
    match SINGLE.into_iter().find(|name| headers.get_all(*name).iter().nth(1).is_some()) {
        // 2026-07-28 defines an error code for headers that do not match the body.
        Some(name @ ("mcp-method" | "mcp-name")) => {
            Err(Refusal::message(ErrorData::new(ErrorCode::HEADER_MISMATCH, doubled(name), None)))
        }
        Some(name) => Err(Refusal::new(StatusCode::BAD_REQUEST, doubled(name))),
        None => Ok(()),
    }
}

/// Returns the value of a header that appears exactly once.
pub(super) fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

/// Returns the access key or token in a request's headers.
pub(super) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, key) = only(headers, &AUTHORIZATION)?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| key.trim())
}

/// If an `Accept` header contains a wildcard, replaces the header by the names of JSON and event streams, because later
/// checks look for these names.
pub(super) fn spell_out_accept(headers: &mut HeaderMap) {
    let is_any = |range: &str| {
        let (kind, weight) = range.split_once(';').unwrap_or((range, ""));
        let is_refused = weight
            .replace(' ', "")
            .strip_prefix("q=0")
            .is_some_and(|rest| !rest.contains(|digit| ('1'..='9').contains(&digit)));
        matches!(kind.trim(), "*/*" | "application/*") && !is_refused
    };
    let mut ranges =
        headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
    if ranges.any(is_any) {
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    }
}

/// Returns whether a request contains JSON and accepts both JSON and event streams, in the usual spelling.
pub(super) fn takes_both(headers: &HeaderMap) -> bool {
    let is_json = only(headers, &CONTENT_TYPE).is_some_and(|kind| kind.starts_with("application/json"));
    let takes = |takes: &str| {
        takes == "application/json, text/event-stream"
            || takes.contains("application/json") && takes.contains("text/event-stream") && !takes.contains(";q=")
    };
    is_json && only(headers, &ACCEPT).is_some_and(takes)
}
