//! Serves the console to browsers at all paths that the server does not need itself.
//!
//! The console has checks of its own. The access keys and OAuth tokens of MCP clients do not open it.

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt;
use http::{Request, Response};
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Body as _, Frame};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;

use super::answer::Body;
use super::connection::Arriving;
use super::metrics::Metrics;
use super::requests;
use crate::mcp::Config;
use crate::web::Beside;
use mcpkg_base::error::Result;
use mcpkg_core::op::{Caller, Context};
use mcpkg_store::Store;

/// Returns the console of a server with these host names.
pub(super) fn new(
    store: &Store,
    config: &Config,
    (bound, names): (IpAddr, &[String]),
    is_secure: bool,
    closing: &CancellationToken,
    metrics: &Arc<Metrics>,
) -> Result<Beside> {
    let mut context = Context::new(crate::DOMAINS, Caller::CONSOLE, store.clone(), config.selection.clone());
    // Pages show replies as text.
    context.shows_data = false;
    context.cancelled = closing.clone();
    let hosts = names.iter().cloned().chain(["localhost".to_owned(), bound.to_string()]).collect();
    let metrics = Arc::clone(metrics);
    Beside::new(context, hosts, is_secure, Box::new(move || requests::chart(&metrics.encoded())))
}

pub(super) async fn answer(console: &Beside, request: Request<Arriving>) -> Response<Body> {
    let (parts, body) = console.answer(request.map(axum::body::Body::new)).await.into_parts();
    let body = match body.size_hint().exact() {
        Some(_) => Full::new(body.collect().await.map(|whole| whole.to_bytes()).unwrap_or_default()).boxed(),
        // An event stream.
        None => {
            let (sender, pieces) = mpsc::channel(1);
            tokio::spawn(async move {
                let mut stream = body.into_data_stream();
                loop {
                    let piece = tokio::select! {
                        piece = stream.next() => piece,
                        () = sender.closed() => return,
                    };
                    let Some(Ok(piece)) = piece else { return };
                    if sender.send(piece).await.is_err() {
                        return;
                    }
                }
            });
            BodyExt::boxed(StreamBody::new(ReceiverStream::new(pieces).map(|piece: Bytes| Ok(Frame::data(piece)))))
        }
    };
    Response::from_parts(parts, body)
}
