//! Serves one connection, from its first request to its end.

mod arriving;
mod exchange;
mod room;

use std::net::SocketAddr;
use std::sync::Arc;

use http::header::{CONNECTION, EXPECT};
use http::{HeaderValue, Request, StatusCode};
use http_body_util::BodyExt;
use hyper::body::{Body as _, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::Watcher;
use tokio::io::{AsyncRead, AsyncWrite};

use super::app::App;
use super::router;
use exchange::{Exchange, HalfClosed};

pub(super) use arriving::Arriving;
pub(super) use exchange::Peer;
pub(super) use room::{Entered, Full, Place, Room};

/// The maximum size of a request's head in bytes.
const MAX_HEAD: usize = 32 << 10;

/// Answers the requests on one connection until it ends or the server stops.
pub(super) async fn converse<S>(
    app: Arc<App>,
    watcher: Watcher,
    stream: S,
    local: SocketAddr,
    from: SocketAddr,
    place: Arc<Place>,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let timeout = app.network.timeout;
    let exchange = Exchange::default();
    let stream = HalfClosed::new(stream, exchange.clone(), Arc::clone(&place));
    let peer = Peer { local, from: from.ip(), exchange };
    let service = service_fn(move |request: Request<Incoming>| {
        let (app, peer) = (Arc::clone(&app), peer.clone());
        let answering = peer.exchange.begin();
        let work = place.begin();
        async move {
            // The connection was closed to make room for another one.
            let Some(work) = work else { return std::future::pending().await };
            // A client that sends `Expect` sends its body only if the server asks for it. So after a refusal, there may be
            // no body to read.
            let waits = request.headers().contains_key(EXPECT);
            let (parts, body) = request.into_parts();
            let body = Arriving::new(body);
            let mut response = router::answer(&app, &peer, Request::from_parts(parts, body.clone())).await;
            let is_late = response.status() == StatusCode::REQUEST_TIMEOUT;
            let is_finished = match waits || is_late {
                true => body.is_end_stream(),
                false => body.finish(&peer.exchange, timeout).await,
            };
            if !is_finished {
                response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            drop(answering);
            Ok::<_, std::convert::Infallible>(match response.body().size_hint().exact() {
                Some(_) => response,
                // A body of unknown size is still being produced while it is sent.
                None => response.map(|body| {
                    let held = move |frame| {
                        let _work = &work;
                        frame
                    };
                    body.map_frame(held).boxed()
                }),
            })
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(timeout)
        .max_buf_size(MAX_HEAD)
        .auto_date_header(mcpkg_base::clock::has_http_date())
        .serve_connection(TokioIo::new(stream), service);
    if let Err(error) = watcher.watch(connection).await {
        tracing::debug!(%error, "a connection ended early");
    }
}
