//! Serves the console to browsers at all paths that the server does not need itself.
//!
//! The console has checks of its own. The access keys and OAuth tokens of MCP clients do not open it. People sign in with
//! the same issuer, in their browsers.

use std::sync::{Arc, OnceLock};

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
use super::network::Network;
use super::requests;
use crate::mcp::Config;
use crate::web::Beside;
use mcpkg_base::error::Result;
use mcpkg_core::op::{Caller, Context};
use mcpkg_store::Store;

/// Returns the console of a server with these host names. `url` is its address as browsers see it, once the server listens.
pub(super) fn new(
    (store, config): (&Store, &Config),
    (network, names): (&Network, &[String]),
    url: &Arc<OnceLock<String>>,
    closing: &CancellationToken,
    metrics: &Arc<Metrics>,
) -> Result<Beside> {
    let mut context = Context::new(crate::DOMAINS, Caller::CONSOLE, store.clone(), config.selection.clone());
    // Pages show replies as text.
    context.shows_data = false;
    context.cancelled = closing.clone();
    let hosts = names.iter().cloned().chain(["localhost".to_owned(), network.host.to_string()]).collect();
    let metrics = Arc::clone(metrics);
    let requests = Box::new(move || requests::chart(&metrics.encoded()));
    let sign_in = network.sign_in.as_ref().and_then(|sign_in| sign_in.of_console(&context, Arc::clone(url)));
    Beside::new(context, hosts, network.is_secure(), requests, sign_in)
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
