//! Hands requests over to rmcp, which runs the sessions.

use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use rmcp::ErrorData;
use rmcp::transport::streamable_http_server::session::SessionManager;
use serde_json::value::RawValue;

use crate::mcp::Config;
use crate::mcp::call_log::Record;
use crate::mcp::front;
use crate::mcp::http::access_control::owner;
use crate::mcp::http::answer::{Body, Refusal};
use crate::mcp::http::app::App;
use crate::mcp::http::connection::Peer;
use crate::mcp::http::headers::{BATCHES, SESSION};

/// A request for rmcp.
pub(super) struct Forwarded {
    id: String,
    begins: Option<Begins>,
    listens: bool,
    /// Whether rmcp keeps state for the session after this request. If so, the session must not rest.
    stays: bool,
}

/// The start of a session.
#[derive(Clone, Copy)]
struct Begins {
    /// Whether the session's revision has batches.
    batches: bool,
}

impl Forwarded {
    /// Describes the request `id` for `method`.
    pub(super) fn new(id: &str, method: &str, parameters: Option<&RawValue>) -> Self {
        let listens = method == "subscriptions/listen";
        let stays = matches!(method, "resources/subscribe" | "logging/setLevel");
        Self { id: id.to_owned(), begins: begins(method, parameters), listens, stays }
    }
}

/// Returns the session that a request begins, or `None` if it does not begin one.
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

/// Hands a message over to rmcp. The request's configuration travels in the extensions of its HTTP parts.
pub(super) async fn hand_over(
    app: &Arc<App>,
    peer: &Peer,
    config: Arc<Config>,
    mut parts: Parts,
    body: &Bytes,
    forwarded: Option<Forwarded>,
) -> Result<Response<Body>, Refusal> {
    let text = std::str::from_utf8(body).unwrap_or_default();
    let body = match front::readable(text) {
        Ok(None) => body.clone(),
        Ok(Some(again)) => again.into(),
        Err(error) => return Err(Refusal::message(error)),
    };
    let begins = forwarded.as_ref().and_then(|forwarded| forwarded.begins);
    let session = parts.headers.get(&SESSION).map(|id| id.to_str().unwrap_or_default().to_owned());
    // A client that starts again may still send the id of a session that has ended.
    let session = session.filter(|id| begins.is_none() || app.sessions.enter(id, &owner(&config)));
    if session.is_none() {
        parts.headers.remove(&SESSION);
    }
    parts.extensions.insert(Arc::clone(&config));
    if let Some(record) = parts.extensions.get::<Arc<Record>>() {
        record.forward();
    }
    if forwarded.as_ref().is_some_and(|forwarded| forwarded.listens) {
        let hub = Arc::clone(&app.server.hub);
        parts.extensions.insert(tokio::task::spawn_blocking(move || hub.since()).await.unwrap_or_default());
    }
    let request = Request::from_parts(parts, Full::new(body));
    let session = match (session, begins) {
        (Some(session), _) => session,
        (None, Some(begins)) => return begin(app, config, request, begins).await,
        (None, None) => return app.streamed(app.mcp.handle(request).await, &config, None, peer.exchange.stream()),
    };
    if !app.sessions.wake(&session, &owner(&config)).await {
        return Err(Refusal::new(StatusCode::NOT_FOUND, "The session does not exist; start a session with initialize"));
    }
    if forwarded.as_ref().is_some_and(|forwarded| forwarded.stays) {
        app.sessions.keep_awake(&session);
    }
    // rmcp would mix up the answers to two requests with the same id. So the id is reserved here until rmcp responds.
    // From then on, the replay buffer tracks the request.
    let works = |id: &str| serde_json::from_str(id).is_ok_and(|id| app.manager.works_on(&session, id));
    let beginning = forwarded
        .as_ref()
        .map(|forwarded| app.sessions.begin_request(&session, &forwarded.id).filter(|_| !works(&forwarded.id)));
    if matches!(beginning, Some(None)) {
        let why = "Invalid request: a request with this id is already running in the session";
        return Err(Refusal::message(ErrorData::invalid_request(why, None)));
    }
    if beginning.is_some() && app.manager.is_busy(&session) {
        let why = "This session has too many running requests";
        return Err(Refusal::later(StatusCode::TOO_MANY_REQUESTS, why, 1));
    }
    let response = app.mcp.handle(request).await;
    drop(beginning);
    app.streamed(response, &config, None, (app.sessions.open(&session), peer.exchange.stream()))
}

/// Begins a session. The session is recorded even if its client disconnects before the answer. Otherwise, the session
/// would never end.
async fn begin(
    app: &Arc<App>,
    config: Arc<Config>,
    request: Request<Full<Bytes>>,
    begins: Begins,
) -> Result<Response<Body>, Refusal> {
    if !app.sessions.has_room() {
        let why = "This server has too many sessions";
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
    let ended = |_| Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "The request crashed");
    app.streamed(beginning.await.map_err(ended)?, &config, None, ())
}
