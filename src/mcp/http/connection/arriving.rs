//! The body of a request as it arrives.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::time::timeout;

use super::exchange::Exchange;

/// The maximum size of a body that is read and dropped, in bytes; see [`Arriving::finish`].
const UNWANTED: u64 = 64 << 20;

/// How long a client that was refused may go on sending. Until then, its connection is busy and cannot be closed to make
/// room for others.
const LONGEST: Duration = Duration::from_secs(5);

/// How long a client that was refused may pause while it sends.
const PAUSE: Duration = Duration::from_secs(2);

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

    /// Reads and drops the rest of the body. Gives up after [`UNWANTED`] bytes, after [`LONGEST`] or `limit`, or if the client
    /// sends nothing for [`PAUSE`]. Returns whether it reached the end of the body.
    ///
    /// If the server closed the connection instead, a client that is still sending would not see the answer, and a proxy
    /// that uses the connection again would consider the server down.
    pub(super) async fn finish(mut self, exchange: &Exchange, limit: Duration) -> bool {
        // A body in chunks does not know that it has ended.
        if self.is_end_stream() || matches!(self.frame().now_or_never(), Some(None)) {
            return true;
        }
        if self.size_hint().lower() > UNWANTED {
            return false;
        }
        exchange.need_more();
        let dropping = async {
            let mut size = 0;
            while let Some(frame) = timeout(PAUSE, self.frame()).await.transpose() {
                let Ok(Ok(frame)) = frame else { return false };
                size += frame.data_ref().map_or(0, |data| data.len() as u64);
                if size > UNWANTED {
                    return false;
                }
            }
            true
        };
        let is_finished = timeout(limit.min(LONGEST), dropping).await.unwrap_or(false);
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
