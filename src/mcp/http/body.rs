//! Reads the body of a request.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::FutureExt;
use http::header::CONTENT_LENGTH;
use http::{HeaderMap, StatusCode};
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming, SizeHint};

use super::answer::Refusal;
use super::app::App;
use super::connection::{Exchange, Peer};

/// How many bytes of a body are read and dropped; see [`Arriving::finish`].
const UNWANTED: u64 = 64 << 20;

/// The body of a request. Clones share it, so that the connection can read what the request's handler has left.
#[derive(Clone)]
pub(in crate::mcp) struct Arriving(Arc<Mutex<Incoming>>);

impl Arriving {
    pub(super) fn new(body: Incoming) -> Self {
        Self(Arc::new(Mutex::new(body)))
    }

    fn with<T>(&self, f: impl FnOnce(Pin<&mut Incoming>) -> T) -> T {
        f(Pin::new(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Reads and drops the rest of the body, up to [`UNWANTED`] bytes and for at most `limit`. Returns whether nothing is
    /// left. If the server closed the connection instead, a client that is still sending would not see the answer, and
    /// a proxy that uses the connection again would take the server for dead.
    pub(super) async fn finish(mut self, exchange: &Exchange, limit: Duration) -> bool {
        if self.is_end_stream() {
            return true;
        }
        if self.size_hint().lower() > UNWANTED {
            return false;
        }
        exchange.need_more();
        let dropping = async {
            let mut size = 0;
            while let Some(frame) = self.frame().await {
                let Ok(frame) = frame else { return false };
                size += frame.data_ref().map_or(0, |data| data.len() as u64);
                if size > UNWANTED {
                    return false;
                }
            }
            true
        };
        let is_finished = tokio::time::timeout(limit, dropping).await.unwrap_or(false);
        exchange.wait();
        is_finished
    }
}

impl Body for Arriving {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        self.with(|body| body.poll_frame(context))
    }

    fn is_end_stream(&self) -> bool {
        self.with(|body| body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        self.with(|body| body.size_hint())
    }
}

/// Reads a whole body, within limits on its size and on the time it takes.
pub(super) async fn read(app: &App, peer: &Peer, headers: &HeaderMap, mut body: Arriving) -> Result<Bytes, Refusal> {
    let most = usize::try_from(app.config.max_line).unwrap_or(usize::MAX);
    let too_long =
        || Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, format!("The body of this request is longer than {most} bytes"));
    let told = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if told.is_some_and(|told| told > most) {
        return Err(too_long());
    }
    let data = |frame: std::result::Result<Frame<Bytes>, hyper::Error>| {
        let cut_off = |_| Refusal::new(StatusCode::BAD_REQUEST, "The body of this request is incomplete");
        frame.map(|frame| frame.into_data().unwrap_or_default()).map_err(cut_off)
    };
    // Usually the whole body arrives together with the head, so there is nothing to wait for.
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
    let late = |_| Refusal::new(StatusCode::REQUEST_TIMEOUT, "The body of this request took too long to arrive");
    peer.exchange.need_more();
    let whole = tokio::time::timeout(app.network.timeout, reading).await.map_err(late)?;
    peer.exchange.wait();
    whole
}
