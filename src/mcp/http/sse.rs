//! Serves the older transport, HTTP with SSE: a stream for messages to the client, and a URL for messages from it.
//!
//! This transport uses the same [`Front`] as standard input, so the same lines get the same answers.

use std::convert::Infallible;
use std::sync::{Arc, Weak};
use std::time::Instant;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::{BufMut, Bytes, BytesMut};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use rmcp::ServiceExt;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::access_control::owner;
use super::answer::{self, Body, Refusal};
use super::app::App;
use super::body;
use super::connection::{Arriving, Peer};
use super::sse_clients::{Client, Session};
use super::stream::{ALIVE, ENDING, KEEP_ALIVE, event_stream};
use crate::mcp::Config;
use crate::mcp::call_log::Record;
use crate::mcp::front::Front;
use crate::mcp::in_flight::RmcpTransport;
use crate::mcp::limits::limited;
use crate::mcp::output::{Output, Queued};
use crate::mcp::transport::GRACE;
use mcpkg_base::clock::Clock;

/// The maximum number of connected clients; each has its own connection to the database.
const MAX_CLIENTS: usize = 256;

/// Opens a session. Its stream begins with the URL for the client's messages.
pub(super) fn open(
    app: &Arc<App>,
    peer: &Peer,
    config: &Arc<Config>,
    project: Option<&str>,
) -> Result<Response<Body>, Refusal> {
    if app.sse.count() >= MAX_CLIENTS {
        let why = "This server has too many SSE clients";
        return Err(Refusal::later(StatusCode::SERVICE_UNAVAILABLE, why, 30));
    }
    let config = &match config.installs_for_sessions() {
        true => Arc::new(config.in_session(Arc::default())),
        false => Arc::clone(config),
    };
    let id = URL_SAFE_NO_PAD.encode(Clock::system().secret()?);
    let (output, queued) = Output::stream();
    let (transport, in_flight) = RmcpTransport::new(Arc::clone(&output));
    let server = app.server.for_config(Arc::clone(config));
    let cancelled = CancellationToken::new();
    let reader = limited(&app.server.store, config, cancelled.clone()).slim_reader()?;
    let client = Client {
        owner: owner(config),
        front: Arc::new(tokio::sync::Mutex::new(Front::slim(
            server.clone(),
            reader,
            Arc::clone(&in_flight),
            peer.from,
        ))),
        in_flight,
        output,
        gone: CancellationToken::new(),
    };
    let client = Arc::new(client);
    app.sse.insert(id.clone(), Arc::clone(&client));
    tokio::spawn(end_with(app.closing.clone(), client.gone.clone(), Arc::downgrade(&client)));
    drop(client);
    let session = Session::new(app.sse.clone(), id.clone(), cancelled);
    tokio::spawn(async move {
        match server.serve(transport).await {
            Ok(running) => drop(running.waiting().await),
            Err(error) => tracing::info!(%error, "no session began"),
        }
    });
    let address = match project {
        Some(name) => format!("/projects/{name}/messages?sessionId={id}"),
        None => format!("/messages?sessionId={id}"),
    };
    let first = format!("event: endpoint\ndata: {address}\n\n").into();
    let response = event_stream(events(first, queued, app.closing.clone()));
    app.streamed(response, config, None, session)
}

/// Ends a session when the server stops, once all accepted messages are answered, but at the latest after [`GRACE`].
async fn end_with(closing: CancellationToken, gone: CancellationToken, client: Weak<Client>) {
    tokio::select! {
        () = closing.cancelled() => {}
        () = gone.cancelled() => return,
    }
    let Some(client) = client.upgrade() else { return };
    let (in_flight, output) = (Arc::clone(&client.in_flight), Arc::clone(&client.output));
    let _ = tokio::task::spawn_blocking(move || in_flight.close(Some(Instant::now() + GRACE))).await;
    output.finish();
}

/// Returns a stream that sends `first` and then every queued line, each as one event.
fn events(first: Bytes, queued: mpsc::UnboundedReceiver<Queued>, closing: CancellationToken) -> Body {
    let state = (Some(first), Some(queued), closing);
    let events = futures_util::stream::unfold(state, |(first, queued, closing)| async move {
        let mut queued = queued?;
        let event = match first {
            Some(first) => first,
            None => match tokio::time::timeout(KEEP_ALIVE, queued.recv()).await {
                Ok(Some((lines, _room))) => as_events(&lines),
                Ok(None) if closing.is_cancelled() => {
                    return Some((Ok(Frame::data(Bytes::from_static(ENDING))), (None, None, closing)));
                }
                Ok(None) => return None,
                Err(_) => Bytes::from_static(ALIVE),
            },
        };
        Some((Ok::<_, Infallible>(Frame::data(event)), (None, Some(queued), closing)))
    });
    BodyExt::boxed(StreamBody::new(events))
}

/// Converts lines to events. JSON contains no line ends, so each line is one `data` field.
fn as_events(lines: &[u8]) -> Bytes {
    let mut events = BytesMut::with_capacity(lines.len() + 32);
    for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        events.put_slice(b"event: message\ndata: ");
        events.put_slice(line);
        events.put_slice(b"\n\n");
    }
    events.freeze()
}

/// Handles a message of a session. The answer is sent on the session's stream.
pub(super) async fn message(
    app: &App,
    peer: &Peer,
    config: &Config,
    request: Request<Arriving>,
) -> Result<Response<Body>, Refusal> {
    let query = request.uri().query().unwrap_or_default();
    let id = query.split('&').find_map(|pair| pair.strip_prefix("sessionId=")).unwrap_or_default();
    let found = app.sse.get(id, &owner(config));
    let unknown = || Refusal::new(StatusCode::NOT_FOUND, "The session does not exist; start a session with GET /sse");
    let client = found.ok_or_else(unknown)?;
    let (parts, body) = request.into_parts();
    if let Some(record) = parts.extensions.get::<Arc<Record>>() {
        // `Front` makes a record for the message itself.
        record.skip();
    }
    let body = body::read(app, peer, &parts.headers, body).await?;
    let waited = tokio::time::timeout(app.network.timeout, client.output.has_room()).await;
    if waited.is_err() {
        let why = "This client does not read its stream";
        return Err(Refusal::later(StatusCode::TOO_MANY_REQUESTS, why, 1));
    }
    let mut front = Arc::clone(&client.front).lock_owned().await;
    let working = tokio::task::spawn_blocking(move || {
        front.line(&body);
        front.write_out()
    });
    match working.await {
        Ok(true) => Ok(answer::text(StatusCode::ACCEPTED, "Accepted")),
        _ => Err(unknown()),
    }
}
