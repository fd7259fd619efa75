//! Answers GET and DELETE at an MCP URL: opens the stream of a session, or ends the session.

use std::sync::Arc;

use http::{Method, Request, Response, StatusCode};

use crate::mcp::Config;
use crate::mcp::http::access_control::owner;
use crate::mcp::http::answer::{Body, Refusal};
use crate::mcp::http::app::App;
use crate::mcp::http::connection::Arriving;
use crate::mcp::http::headers::SESSION;
use crate::mcp::http::sessions::is_common;
use crate::mcp::http::stream::is_stream;

/// Answers GET with the stream of a session, or of a request whose connection broke. Answers DELETE by ending the
/// session.
pub(in crate::mcp) async fn follow_or_end(
    app: &App,
    config: Arc<Config>,
    request: Request<Arriving>,
) -> Result<Response<Body>, Refusal> {
    let id = request.headers().get(&SESSION).map(|id| id.to_str().unwrap_or_default().to_owned());
    if let Some(id) = &id
        && !app.sessions.enter(id, &owner(&config))
    {
        return Err(Refusal::new(StatusCode::NOT_FOUND, "The session does not exist; start a session with initialize"));
    }
    let ends = request.method() == Method::DELETE;
    let last = request.headers().get("last-event-id").and_then(|last| last.to_str().ok()).map(str::to_owned);
    let (mut parts, _) = request.into_parts();
    parts.extensions.insert(Arc::clone(&config));
    let empty = http_body_util::Empty::<bytes::Bytes>::new();
    let mut response = app.mcp.handle(Request::from_parts(parts, empty)).await;
    let mut listens = None;
    match &id {
        Some(id) if ends && response.status().is_success() => {
            app.sessions.end(id);
            // rmcp answers 202, but the session has already ended, so 204 is right. Clients rely on the difference.
            *response.status_mut() = StatusCode::NO_CONTENT;
        }
        Some(id) if !ends && is_stream(&response) => {
            // Resuming the stream of a single request does not end the session's own stream.
            listens = last.as_deref().is_none_or(is_common).then(|| app.sessions.listen(id));
            response = app.manager.follow(id, last.as_deref());
        }
        _ => {}
    }
    let open = id.as_deref().map(|id| app.sessions.open(id));
    app.streamed(response, &config, listens, open)
}
