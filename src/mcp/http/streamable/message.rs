//! Answers one message, or hands it over to rmcp. Hot requests, `subscriptions/listen` and requests that rmcp would get
//! wrong are not handed over.

use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, Response, StatusCode};
use rmcp::ErrorData;
use rmcp::model::ErrorCode;
use serde_json::value::RawValue;

use super::hand_over::{Forwarded, hand_over};
use super::hot_read::hot_read;
use super::listen;
use crate::mcp::call_log::{Message, Record, note_requester};
use crate::mcp::era::Era;
use crate::mcp::front::{self, Envelope, Meta};
use crate::mcp::http::access_control::owner;
use crate::mcp::http::admission::Admission;
use crate::mcp::http::answer::{self, Body, Refusal};
use crate::mcp::http::app::App;
use crate::mcp::http::connection::Peer;
use crate::mcp::http::headers::{METHOD, SESSION, VERSION, only, takes_both};
use crate::mcp::methods::{LEGACY_ONLY, no_method, serves};
use crate::mcp::{Config, Identity, tools};
use mcpkg_core::op::Entry;

pub(super) async fn answer(
    app: &Arc<App>,
    peer: &Peer,
    mut admission: Admission,
    parts: Parts,
    body: &Bytes,
    envelope: Envelope<'_>,
) -> Result<Response<Body>, Refusal> {
    describe(app, &parts, &envelope);
    if let Envelope::Request { id, method, parameters, .. } = &envelope
        && let Some(answered) = hot_read(app, peer, &parts, id, method, *parameters, &mut admission).await?
    {
        return Ok(answered);
    }
    let config = app.in_session(admission.config(app, &parts.headers)?, &parts.headers);
    note_requester(&parts.extensions, &config);
    match envelope {
        Envelope::Invalid { id, why } => {
            let mut line = Vec::new();
            front::push_error(&mut line, id.known(), &ErrorData::invalid_request(why, None));
            Ok(answer::json(StatusCode::BAD_REQUEST, line))
        }
        Envelope::Request { id, method, parameters, .. } => {
            if listens(&parts.headers, &method, parameters, &config)
                && let Some(opened) = listen::open(app, &config, id, parameters).await
            {
                return opened;
            }
            if let Some(error) = wrong(app, &parts.headers, &method, parameters, &config) {
                let mut line = Vec::new();
                front::push_error(&mut line, Some(id), &error);
                if let Some(record) = parts.extensions.get::<Arc<Record>>() {
                    record.refused(&error);
                }
                return Ok(answer::json(status(&error, &parts.headers), line));
            }
            if method == "tools/call" {
                if config.surface.read_only && parameters.is_some_and(|raw| calls_a_write(raw.get())) {
                    return Err(Refusal::out_of_scope(format!("This {} can only read", config.shown())));
                }
                peer.exchange.work();
            }
            let forwarded = Some(Forwarded::new(id, &method, parameters));
            hand_over(app, peer, config, parts, body, forwarded).await
        }
        Envelope::Notification { .. } | Envelope::Response { .. } => {
            hand_over(app, peer, config, parts, body, None).await
        }
    }
}

/// Records what a message asks for, if calls are recorded. A ping is not a call.
pub(super) fn describe(app: &App, parts: &Parts, envelope: &Envelope<'_>) {
    let Some(record) = parts.extensions.get::<Arc<Record>>() else { return };
    match envelope {
        Envelope::Request { id, method, parameters, text } if method != "ping" => {
            let (session, revision) = (only(&parts.headers, &SESSION), only(&parts.headers, &VERSION));
            let (parameters, bytes) = (*parameters, text.len());
            record.message(Message { id, method, parameters, bytes, session, revision }, &app.config);
        }
        _ => record.skip(),
    }
}

/// A call of an operation, and the protocol era for its answer.
#[derive(Clone, Copy)]
pub(super) struct Called {
    entry: &'static Entry,
    era: Era,
}

impl Called {
    /// Returns the operation that a message calls, if it calls one.
    pub(super) fn of(app: &App, headers: &HeaderMap, envelope: &Envelope<'_>) -> Option<Self> {
        let Envelope::Request { method, parameters, .. } = envelope else { return None };
        let entry = (method == "tools/call").then(|| tools::named(*parameters, &app.config)).flatten()?;
        let is_modern = only(headers, &VERSION) == Some(front::MODERN);
        Some(Self { entry, era: if is_modern { Era::Modern } else { Era::Legacy } })
    }
}

/// Returns the answer to a message that failed early, and records its outcome. A call of an operation gets a result that a
/// model can read, as on the other transports. Everything else gets the refusal.
pub(super) fn failed(
    id: Option<&str>,
    called: Option<Called>,
    refusal: Refusal,
    record: Option<&Arc<Record>>,
) -> Result<Vec<u8>, Refusal> {
    let (Some(id), Some(Called { entry, era })) = (id, called) else { return Err(refusal.to(id)) };
    let error = refusal.into_failure().map_err(|refusal| refusal.to(Some(id)))?;
    if let Some(record) = record {
        record.failed(error.code());
    }
    let (mut line, mut result) = (Vec::new(), Vec::new());
    match tools::push_failed(entry, error, era, &mut result) {
        Ok(()) => front::push_result(&mut line, id, &result),
        Err(error) => {
            if let Some(record) = record {
                record.refused(&error);
            }
            front::push_error(&mut line, Some(id), &error);
        }
    }
    Ok(line)
}

/// Returns whether a request opens a `subscriptions/listen` stream and all its headers are valid.
fn listens(headers: &HeaderMap, method: &str, parameters: Option<&RawValue>, config: &Config) -> bool {
    method == "subscriptions/listen"
        && config.front
        && matches!(config.identity, Identity::Mcpkg | Identity::Smctl)
        && takes_both(headers)
        && only(headers, &VERSION) == Some(front::MODERN)
        && only(headers, &METHOD) == Some(method)
        && front::meta(parameters) == Meta::Modern
}

/// Returns the error of an invalid request, as the front reports it on the other transports. Returns `None` if the
/// headers or the session are wrong, because rmcp reports those errors.
fn wrong(
    app: &App,
    headers: &HeaderMap,
    method: &str,
    parameters: Option<&RawValue>,
    config: &Config,
) -> Option<ErrorData> {
    match front::meta(parameters) {
        Meta::Modern if only(headers, &VERSION) == Some(front::MODERN) && only(headers, &METHOD) == Some(method) => {
            if LEGACY_ONLY.contains(&method) {
                return Some(no_method(method));
            }
        }
        Meta::Plain if only(headers, &SESSION).is_some_and(|id| app.sessions.enter(id, &owner(config))) => {
            if method == "initialize" {
                let why = "Invalid request: this session is already initialized";
                return Some(ErrorData::invalid_request(why, None));
            }
        }
        _ => return None,
    }
    if !serves(config.identity, method) {
        return Some(no_method(method));
    }
    front::check(method, parameters).err()
}

/// Returns the HTTP status for an error. 2026-07-28 uses 404 for unknown methods.
fn status(error: &ErrorData, headers: &HeaderMap) -> StatusCode {
    let modern = only(headers, &VERSION) == Some(front::MODERN);
    match error.code {
        ErrorCode::METHOD_NOT_FOUND if modern => StatusCode::NOT_FOUND,
        _ => StatusCode::OK,
    }
}

/// Returns whether the parameters of tools/call name a tool that changes something.
fn calls_a_write(parameters: &str) -> bool {
    #[derive(serde::Deserialize)]
    struct Call {
        name: String,
    }
    serde_json::from_str::<Call>(parameters).is_ok_and(|call| tools::writes(&call.name))
}
