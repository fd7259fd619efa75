//! POST to an MCP address: hot reads are answered here, what rmcp would answer badly too; the rest is rmcp's.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures_util::FutureExt;
use http::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, HeaderName};
use http::request::Parts;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::{Frame, Incoming};
use rmcp::ErrorData;
use rmcp::model::ErrorCode;
use rmcp::transport::streamable_http_server::session::SessionManager;
use serde_json::value::RawValue;

use super::access_control::owner;
use super::answer::{self, Body, Refusal};
use super::app::App;
use super::batch::batch;
use super::connection::Caller;
use super::listen;
use crate::mcp::era::Era;
use crate::mcp::error::error_data;
use crate::mcp::front::{self, Envelope, Hot, Line, Meta};
use crate::mcp::methods::{LEGACY_ONLY, no_method, serves};
use crate::mcp::tools;
use crate::mcp::{Config, Identity};

/// The header of a session's id.
pub(super) static SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
static VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
static METHOD: HeaderName = HeaderName::from_static("mcp-method");
static NAME: HeaderName = HeaderName::from_static("mcp-name");

/// The revision that has batches.
const BATCHES: &str = "2025-03-26";

/// The revisions whose requests come in a session.
const LEGACY: [&str; 3] = [BATCHES, "2025-06-18", "2025-11-25"];

/// A request that goes to rmcp.
struct Asked {
    id: String,
    begins: Option<Begins>,
}

/// What begins a session.
#[derive(Clone, Copy)]
struct Begins {
    /// Whether the session takes batches.
    batches: bool,
}

/// Answers what was posted: a message, or several.
pub(super) async fn post(
    app: &Arc<App>,
    caller: &Caller,
    config: Arc<Config>,
    request: Request<Incoming>,
) -> Result<Response<Body>, Refusal> {
    let (parts, body) = request.into_parts();
    let body = read(app, caller, &parts.headers, body).await?;
    match front::parse_line(&body) {
        Line::Blank => Err(Refusal::message(ErrorData::parse_error("Parse error: the body is empty", None))),
        Line::Unreadable(why) => Err(Refusal::message(ErrorData::parse_error(why, None))),
        Line::Batch(items) => batch(app, caller, config, parts, &body, &items).await,
        Line::One(envelope) => one(app, caller, config, parts, &body, envelope).await,
    }
}

/// Answers one message, which stands in `body`.
pub(super) async fn one(
    app: &Arc<App>,
    caller: &Caller,
    config: Arc<Config>,
    parts: Parts,
    body: &Bytes,
    envelope: Envelope<'_>,
) -> Result<Response<Body>, Refusal> {
    match envelope {
        Envelope::Invalid { id, why } => {
            let mut line = Vec::new();
            front::push_error(&mut line, id.known(), &ErrorData::invalid_request(why, None));
            Ok(answer::json(StatusCode::BAD_REQUEST, line))
        }
        Envelope::Request { id, method, parameters, .. } => {
            if let Some(answer) = hot_read(app, caller, &parts.headers, id, &method, parameters, &config).await? {
                return Ok(answer);
            }
            if listens(&parts.headers, &method, parameters, &config)
                && let Some(opened) = listen::open(app, &config, id, parameters).await
            {
                return opened;
            }
            if let Some(error) = wrong(app, &parts.headers, &method, parameters, &config) {
                let mut line = Vec::new();
                front::push_error(&mut line, Some(id), &error);
                return Ok(answer::json(status(&error, &parts.headers), line));
            }
            if method == "tools/call" {
                if config.read_only && parameters.is_some_and(|raw| calls_a_write(raw.get())) {
                    return Err(Refusal::out_of_scope("This access key may only read"));
                }
                caller.exchange.work();
            }
            let asked = Some(Asked { id: id.to_owned(), begins: begins(&method, parameters) });
            hand_over(app, caller, config, parts, body, asked).await
        }
        Envelope::Notification { .. } | Envelope::Response { .. } => {
            hand_over(app, caller, config, parts, body, None).await
        }
    }
}

/// Reads a body that is not too long and does not take too long.
pub(super) async fn read(
    app: &App,
    caller: &Caller,
    headers: &HeaderMap,
    mut body: Incoming,
) -> Result<Bytes, Refusal> {
    let most = usize::try_from(app.config.max_line).unwrap_or(usize::MAX);
    let too_long =
        || Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, format!("The body of this request is longer than {most} bytes"));
    let told = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if told.is_some_and(|told| told > most) {
        return Err(too_long());
    }
    let data = |frame: std::result::Result<Frame<Bytes>, hyper::Error>| {
        let cut_off = |_| Refusal::new(StatusCode::BAD_REQUEST, "The body of this request was cut off");
        frame.map(|frame| frame.into_data().unwrap_or_default()).map_err(cut_off)
    };
    // Mostly the whole body came with the head, and nothing is waited for.
    let first = match body.frame().now_or_never() {
        Some(Some(frame)) => data(frame)?,
        Some(None) => return Ok(Bytes::new()),
        None => Bytes::new(),
    };
    if first.len() > most {
        return Err(too_long());
    }
    if told == Some(first.len()) {
        return Ok(first);
    }
    let reading = async {
        let mut whole = BytesMut::from(first);
        while let Some(frame) = body.frame().await {
            let data = data(frame)?;
            if data.len() > most - whole.len() {
                return Err(too_long());
            }
            whole.extend_from_slice(&data);
        }
        Ok(whole.freeze())
    };
    let late = |_| Refusal::new(StatusCode::REQUEST_TIMEOUT, "The body of this request took too long to come");
    caller.exchange.need_more();
    let whole = tokio::time::timeout(app.network.timeout, reading).await.map_err(late)?;
    caller.exchange.wait();
    whole
}

/// Answers a hot read whose headers are all as they have to be; of anything else rmcp says what is wrong.
async fn hot_read(
    app: &App,
    caller: &Caller,
    headers: &HeaderMap,
    id: &str,
    method: &str,
    parameters: Option<&RawValue>,
    config: &Arc<Config>,
) -> Result<Option<Response<Body>>, Refusal> {
    let ours = front::may_be_hot(method) && config.front && serves(config.identity, method) && takes_both(headers);
    let Some(era) = (if ours { era(app, headers, method, config).await } else { None }) else { return Ok(None) };
    let header = only(headers, &NAME).filter(|_| era == Era::Modern);
    let (asked, given) = app.read_cache.ask(config, era, method, parameters, header)?;
    let result = match given {
        // Whoever was given it before sent the same, and that was looked at.
        Some(given) => {
            app.read_cache.log_again(config, method, parameters);
            Ok(given)
        }
        None if config.providers.takes(method, parameters) => return Ok(None),
        None if !fits(era, method, parameters, header, config) => return Ok(None),
        None => {
            caller.exchange.work();
            match app.read_cache.answer(&asked, config, method, parameters, era).await.transpose() {
                Some(result) => result,
                None => return Ok(None),
            }
        }
    };
    let mut line = Vec::with_capacity(result.as_ref().map_or(256, |result| result.len()) + id.len() + 64);
    match result {
        Ok(result) => front::push_result(&mut line, id, &result),
        Err(error) => front::push_error(&mut line, Some(id), &error_data(&error)),
    }
    Ok(Some(answer::json(StatusCode::OK, line)))
}

/// Returns the era that the headers of a request speak of.
async fn era(app: &App, headers: &HeaderMap, method: &str, config: &Config) -> Option<Era> {
    let version = only(headers, &VERSION);
    if version == Some(front::MODERN) {
        return (only(headers, &METHOD) == Some(method)).then_some(Era::Modern);
    }
    let session = only(headers, &SESSION)?;
    if headers.contains_key(&VERSION) && !version.is_some_and(|version| LEGACY.contains(&version)) {
        return None;
    }
    let known =
        app.sessions.enter(session, &owner(config)) && app.manager.has_session(&session.into()).await.unwrap_or(false);
    known.then_some(Era::Legacy)
}

/// Whether the parameters of a hot read are of that era, and name what the header names.
fn fits(era: Era, method: &str, parameters: Option<&RawValue>, header: Option<&str>, config: &Config) -> bool {
    match (era, front::meta(parameters)) {
        (Era::Legacy, Meta::Plain) => true,
        (Era::Modern, Meta::Modern) => {
            Hot::parse(method, parameters, config).is_ok_and(|hot| hot.is_some_and(|hot| hot.name() == header))
        }
        _ => false,
    }
}

/// Whether a request opens a listen stream, and its headers are all as they have to be.
fn listens(headers: &HeaderMap, method: &str, parameters: Option<&RawValue>, config: &Config) -> bool {
    method == "subscriptions/listen"
        && config.front
        && config.identity == Identity::Mcpkg
        && takes_both(headers)
        && only(headers, &VERSION) == Some(front::MODERN)
        && only(headers, &METHOD) == Some(method)
        && front::meta(parameters) == Meta::Modern
}

/// Returns what is wrong with a request as the front tells it on the other transports. What is wrong with its headers or
/// its session comes first, and is rmcp's to tell.
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
                let why = "Invalid request: this session was initialized already";
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

/// 2026-07-28 tells by the status that a method is not there.
fn status(error: &ErrorData, headers: &HeaderMap) -> StatusCode {
    let modern = only(headers, &VERSION) == Some(front::MODERN);
    match error.code {
        ErrorCode::METHOD_NOT_FOUND if modern => StatusCode::NOT_FOUND,
        _ => StatusCode::OK,
    }
}

/// Whether a request is JSON and takes JSON as well as a stream, said in the usual way.
fn takes_both(headers: &HeaderMap) -> bool {
    let is_json = only(headers, &CONTENT_TYPE).is_some_and(|kind| kind.starts_with("application/json"));
    let takes = |takes: &str| {
        takes == "application/json, text/event-stream"
            || takes.contains("application/json") && takes.contains("text/event-stream") && !takes.contains(";q=")
    };
    is_json && only(headers, &ACCEPT).is_some_and(takes)
}

/// Whether a request begins a session, and which kind.
fn begins(method: &str, parameters: Option<&RawValue>) -> Option<Begins> {
    #[derive(serde::Deserialize)]
    struct Hello {
        #[serde(rename = "protocolVersion")]
        version: String,
    }
    let hello = |raw: &RawValue| serde_json::from_str::<Hello>(raw.get()).ok();
    (method == "initialize")
        .then(|| Begins { batches: parameters.and_then(hello).is_some_and(|hello| hello.version == BATCHES) })
}

/// Returns the value of a header that is there once.
pub(super) fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

/// Whether the parameters of tools/call name a tool that changes something.
fn calls_a_write(parameters: &str) -> bool {
    #[derive(serde::Deserialize)]
    struct Call {
        name: String,
    }
    serde_json::from_str::<Call>(parameters).is_ok_and(|call| tools::writes(&call.name))
}

/// Hands a message to rmcp, which knows what the request may reach by the parts it travels with.
async fn hand_over(
    app: &Arc<App>,
    caller: &Caller,
    config: Arc<Config>,
    mut parts: Parts,
    body: &Bytes,
    asked: Option<Asked>,
) -> Result<Response<Body>, Refusal> {
    let text = std::str::from_utf8(body).unwrap_or_default();
    let body = match front::readable(text) {
        Ok(None) => body.clone(),
        Ok(Some(again)) => again.into(),
        Err(error) => return Err(Refusal::message(error)),
    };
    let session = parts.headers.get(&SESSION).map(|id| id.to_str().unwrap_or_default().to_owned());
    parts.extensions.insert(Arc::clone(&config));
    let request = Request::from_parts(parts, Full::new(body));
    let begins = asked.as_ref().and_then(|asked| asked.begins);
    let session = match (session, begins) {
        (Some(session), _) => session,
        (None, Some(begins)) => return begin(app, config, request, begins).await,
        (None, None) => return app.streamed(app.mcp.handle(request).await, &config, None, caller.exchange.stream()),
    };
    if !app.sessions.enter(&session, &owner(&config)) {
        return Err(Refusal::new(StatusCode::NOT_FOUND, "There is no such session; begin one with initialize"));
    }
    // rmcp would give the one's answer to the other. From here on the id is taken, and then as long as it is worked on.
    let works = |id: &str| serde_json::from_str(id).is_ok_and(|id| app.manager.works_on(&session, id));
    let beginning = asked.as_ref().map(|asked| app.sessions.ask(&session, &asked.id).filter(|_| !works(&asked.id)));
    if matches!(beginning, Some(None)) {
        let why = "Invalid request: a request with this id is under way in the session";
        return Err(Refusal::message(ErrorData::invalid_request(why, None)));
    }
    if beginning.is_some() && app.manager.is_busy(&session) {
        let why = "This session has as many requests under way as it may have";
        return Err(Refusal::later(StatusCode::TOO_MANY_REQUESTS, why, 1));
    }
    let response = app.mcp.handle(request).await;
    drop(beginning);
    app.streamed(response, &config, None, (app.sessions.open(&session), caller.exchange.stream()))
}

/// Begins a session. It is known also where its client has gone before it was answered; else nobody would ever end it.
async fn begin(
    app: &Arc<App>,
    config: Arc<Config>,
    request: Request<Full<Bytes>>,
    begins: Begins,
) -> Result<Response<Body>, Refusal> {
    if !app.sessions.has_room() {
        let why = "This server has as many sessions as it takes";
        return Err(Refusal::later(StatusCode::SERVICE_UNAVAILABLE, why, 30));
    }
    let (app, of_request) = (Arc::clone(app), Arc::clone(&config));
    let beginning = tokio::spawn({
        let app = Arc::clone(&app);
        async move {
            let response = app.mcp.handle(request).await;
            if let Some(id) = response.headers().get(&SESSION).and_then(|id| id.to_str().ok()) {
                for gone in app.sessions.begin(id, owner(&of_request), begins.batches) {
                    let _ = app.manager.close_session(&gone.as_str().into()).await;
                }
            }
            response
        }
    });
    let ended = |_| Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "The request ended abnormally");
    app.streamed(beginning.await.map_err(ended)?, &config, None, ())
}
