//! Serves the HTTP endpoints of domains outside MCP, with the same access checks and limits as MCP. Each endpoint has
//! its own path.

use std::convert::Infallible;
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures_util::stream;
use http::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Empty, StreamBody};
use hyper::body::Frame;
use tempfile::SpooledTempFile;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::access_control::Client;
use super::admission::Admission;
use super::answer::{self, Body, Refusal};
use super::app::App;
use super::connection::{Arriving, Peer};
use crate::mcp::call_log::note_requester;
use crate::mcp::limits::limited;
use mcpkg_base::error::{Error, Result};
use mcpkg_core::op::{Answer, Content, Context, Head, Sent, Served};
use mcpkg_store::Store;
use mcpkg_store::pieces::Pieces;

/// The maximum size in bytes of a body that is not an upload.
const SMALL: u64 = 1 << 20;

/// How many bytes of an incoming body stay in memory before it moves to a file.
const IN_MEMORY: usize = 256 << 10;

/// How many bytes of a file are sent at a time.
const PIECE: u64 = 256 << 10;

/// The time limit for a whole body, even if each of its pieces arrives in time.
const UPLOAD: Duration = Duration::from_secs(300);

/// Returns the endpoint that serves a path.
pub(super) fn find(app: &App, path: &str) -> Option<&'static Served> {
    app.network.served.iter().copied().find(|served| below(served, path).is_some())
}

/// Splits a path into the endpoint's prefix and the path below it, without the first `/`.
fn below<'p>(served: &Served, path: &'p str) -> Option<(&'static str, &'p str)> {
    served.prefixes.iter().find_map(|prefix| match path.strip_prefix(prefix)? {
        "" => Some((*prefix, "")),
        rest => Some((*prefix, rest.strip_prefix('/')?)),
    })
}

/// Returns the response to a refused request, in the endpoint's own format.
pub(super) fn refused(served: &Served, refusal: Refusal) -> Response<Body> {
    let (status, why, mut header) = refusal.into_parts();
    if served.basic && status == StatusCode::UNAUTHORIZED {
        // git sends its key only after a server asks for basic authentication.
        header = Some((WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"mcpkg\", charset=\"UTF-8\"")));
    }
    let Answer { status, headers, content } = (served.refuse)(status, &why);
    let mut response = small(content);
    *response.status_mut() = status;
    response.headers_mut().extend(headers.into_iter().chain(header));
    response
}

pub(super) async fn answer(
    app: &Arc<App>,
    peer: &Peer,
    served: &'static Served,
    mut request: Request<Arriving>,
) -> Result<Response<Body>, Refusal> {
    if served.basic {
        password_as_bearer(request.headers_mut());
    }
    let endpoint = served.prefixes[0];
    let admission = Admission::begin(app, request.headers(), peer.from, endpoint, None)?;
    let config = admission.config(app, request.headers())?;
    note_requester(request.extensions(), &config);
    app.rate.check(&config, peer.from)?;
    let (parts, body) = request.into_parts();
    let uri = &parts.uri;
    let (prefix, path) = below(served, uri.path()).unwrap_or_default();
    let method = if parts.method == Method::HEAD { Method::GET } else { parts.method };
    let head = Head {
        method,
        prefix,
        path: path.to_owned(),
        query: uri.query().unwrap_or_default().to_owned(),
        headers: parts.headers,
    };
    let reads = head.method == Method::GET;
    let cancelled = CancellationToken::new();
    // If the client closes its connection, a read is cancelled. A change is always completed.
    let _waiting = reads.then(|| cancelled.clone().drop_guard());
    let store = limited(&app.server.store, &config, cancelled);
    let context =
        Context::of_served(crate::DOMAINS, config.caller(Some(served.flag)), store.clone(), config.selection.clone());
    let most = match (served.admit)(&context, &head) {
        Ok(most) => most,
        Err(refused) => return Ok(respond(app, peer, *refused)),
    };
    let wait = app.network.timeout;
    // Small bodies need no slot. A large one waits until its client has a free upload slot.
    let is_upload = most > SMALL;
    let too_many = |why| Refusal::later(StatusCode::SERVICE_UNAVAILABLE, why, 5);
    let places = is_upload.then(|| app.permits.places.of(Client::of(&config, peer.from)));
    let _place = match places {
        Some(places) => match timeout(wait, places.acquire_owned()).await {
            Ok(Ok(place)) => Some(place),
            _ => return Err(too_many("This client already has the maximum number of uploads in progress")),
        },
        None => None,
    };
    let body = match most {
        0 => SpooledTempFile::new(0),
        most => spooled(app, peer, &head.headers, body, most).await?,
    };
    let _upload = match is_upload {
        true => match timeout(wait, app.permits.uploads.acquire()).await {
            Ok(Ok(upload)) => Some(upload),
            _ => return Err(too_many("The server already has the maximum number of uploads in progress")),
        },
        false => None,
    };
    let Ok(Ok(_permit)) = timeout(wait, app.permits.work.acquire()).await else {
        return Err(Refusal::later(StatusCode::SERVICE_UNAVAILABLE, "The server has too many requests in progress", 2));
    };
    if reads {
        peer.exchange.work();
    }
    let working = tokio::task::spawn_blocking(move || {
        let mut body = body;
        (served.answer)(&context, &head, &mut body)
    });
    let answer = working.await.map_err(|error| {
        tracing::error!(%error, "cannot answer a request outside MCP");
        Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "Internal error; see the server's log")
    })?;
    peer.exchange.wait();
    Ok(respond(app, peer, answer))
}

/// Replaces basic authentication with bearer authentication, using the password as the key.
fn password_as_bearer(headers: &mut HeaderMap) {
    let key = headers.get(AUTHORIZATION).and_then(|value| {
        let (scheme, encoded) = value.to_str().ok()?.split_once(' ')?;
        let decoded = scheme.eq_ignore_ascii_case("basic").then(|| STANDARD.decode(encoded.trim()))?.ok()?;
        HeaderValue::from_str(&format!("Bearer {}", String::from_utf8(decoded).ok()?.split_once(':')?.1)).ok()
    });
    if let Some(mut key) = key {
        key.set_sensitive(true);
        headers.insert(AUTHORIZATION, key);
    }
}

/// Reads a body into an unnamed file, or into memory if it is small.
async fn spooled(
    app: &App,
    peer: &Peer,
    headers: &HeaderMap,
    mut body: Arriving,
    most: u64,
) -> Result<SpooledTempFile, Refusal> {
    let too_long =
        || Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, format!("The body of this request is longer than {most} bytes"));
    let told = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if told.is_some_and(|told| told > most) {
        return Err(too_long());
    }
    let failed = |error: std::io::Error| {
        tracing::warn!(%error, "cannot store an upload");
        Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "The server cannot store the body of this request; see its log")
    };
    let (mut file, mut size) = (SpooledTempFile::new(IN_MEMORY), 0_u64);
    let until = Instant::now() + UPLOAD;
    peer.exchange.need_more();
    loop {
        let wait = app.network.timeout.min(until.saturating_duration_since(Instant::now()));
        let late = |_| Refusal::new(StatusCode::REQUEST_TIMEOUT, "The body of this request took too long to arrive");
        let Some(frame) = timeout(wait, body.frame()).await.map_err(late)? else { break };
        let cut_off = |_| Refusal::new(StatusCode::BAD_REQUEST, "The body of this request is incomplete");
        let data = frame.map_err(cut_off)?.into_data().unwrap_or_default();
        size += data.len() as u64;
        if size > most {
            return Err(too_long());
        }
        // This write may block, but it only copies a small piece to the system's cache.
        file.write_all(&data).map_err(failed)?;
    }
    peer.exchange.wait();
    file.rewind().map_err(failed)?;
    Ok(file)
}

/// Converts an answer to an HTTP response.
fn respond(app: &App, peer: &Peer, answer: Answer) -> Response<Body> {
    let Answer { status, headers, content } = answer;
    let mut response = match content {
        Content::Stored { pieces, range, content_type, sent } => {
            let length = range.end - range.start;
            // Each piece is read with its own time limit, so a slow client does not use up the time for the later ones.
            let store = limited(&app.server.store, &app.config, app.ended.clone());
            let sending = Sending { store, whole: app.server.store.clone(), pieces, range, sent };
            let streamed = peer.exchange.stream();
            let frames = stream::unfold((sending, streamed), |(sending, streamed)| async move {
                let (data, sending) = sending.next().await?;
                Some((Ok::<_, Infallible>(Frame::data(data)), (sending, streamed)))
            });
            let mut response = Response::new(StreamBody::new(frames).boxed());
            response.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(length));
            response.headers_mut().insert(CONTENT_TYPE, content_type);
            response
        }
        Content::File { file, size, content_type } => {
            let streamed = peer.exchange.stream();
            let frames = stream::unfold((file, streamed), |(file, streamed)| async move {
                let (data, file) = next_of(file).await?;
                Some((Ok::<_, Infallible>(Frame::data(data)), (file, streamed)))
            });
            let mut response = Response::new(StreamBody::new(frames).boxed());
            response.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(size));
            response.headers_mut().insert(CONTENT_TYPE, content_type);
            response
        }
        content => small(content),
    };
    *response.status_mut() = status;
    response.headers_mut().extend(headers);
    response
}

/// Returns the next piece of a file, or `None` at its end. After a failure, the response ends early. The client
/// notices, because the body is shorter than its `Content-Length`.
async fn next_of(mut file: File) -> Option<(Bytes, File)> {
    let reading = tokio::task::spawn_blocking(move || {
        let mut piece = Vec::with_capacity(PIECE as usize);
        let read = Read::by_ref(&mut file).take(PIECE).read_to_end(&mut piece);
        read.map(|_| (piece, file))
    });
    match reading.await {
        Ok(Ok((piece, file))) => (!piece.is_empty()).then(|| (Bytes::from(piece), file)),
        failed => {
            tracing::warn!(error = ?failed.err(), "cannot send a file completely");
            None
        }
    }
}

fn small(content: Content) -> Response<Body> {
    match content {
        Content::Json(bytes) => answer::json(StatusCode::OK, bytes),
        Content::Bytes { bytes, content_type } => answer::response(StatusCode::OK, content_type, bytes.into()),
        Content::Nothing | Content::Stored { .. } | Content::File { .. } => Response::new(Empty::new().boxed()),
    }
}

/// Sends stored content in pieces. If a piece is damaged, the response ends early. The client notices, because the body
/// is shorter than its `Content-Length`.
struct Sending {
    store: Store,
    /// The store without the time limit for reads, for the final write.
    whole: Store,
    pieces: Arc<Pieces>,
    /// The part that is still to be sent.
    range: Range<u64>,
    sent: Option<Sent>,
}

impl Sending {
    /// Returns the next piece, or `None` at the end.
    async fn next(mut self) -> Option<(Bytes, Self)> {
        if self.range.is_empty() {
            return None;
        }
        let reading = tokio::task::spawn_blocking(move || {
            let at = self.range.start / Pieces::SIZE;
            let piece = self.store.read(|db| self.pieces.read_shared(db, usize::try_from(at).unwrap_or(usize::MAX)))?;
            let begins = at * Pieces::SIZE;
            let end = self.range.end.min(begins + piece.len() as u64);
            let within = |at: u64| usize::try_from(at - begins).unwrap_or(usize::MAX).min(piece.len());
            let part = within(self.range.start)..within(end);
            self.range.start = end;
            if self.range.is_empty()
                && let Some(sent) = self.sent.take()
            {
                // Run `sent` in the background, because it may have to wait for other writers.
                let store = self.whole.clone();
                drop(tokio::task::spawn_blocking(move || sent(&store)));
            }
            Ok::<_, Error>((Bytes::from_owner(piece).slice(part), self))
        });
        match reading.await {
            Ok(Ok(next)) => Some(next),
            Ok(Err(error)) => {
                tracing::warn!(%error, "cannot send a content completely");
                None
            }
            Err(error) => {
                tracing::error!(%error, "cannot send a content completely");
                None
            }
        }
    }
}
