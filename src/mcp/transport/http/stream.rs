//! The body of an event stream: counted while it is open, and told why when the server ends it.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body as HttpBody, Frame};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::answer::Body;

/// The last words of a stream that the server ends: a comment, which no client takes for a message.
const FAREWELL: &[u8] = b": the server is ending\n\n";

/// A stream that holds `G` as long as it is open.
struct Stream<G> {
    inner: Option<Body>,
    closing: Pin<Box<WaitForCancellationFutureOwned>>,
    _held: G,
}

/// Returns `body` as a stream that ends when `closing` is cancelled, and that holds `held` until then.
pub(super) fn stream<G: Send + Sync + Unpin + 'static>(body: Body, closing: CancellationToken, held: G) -> Body {
    Stream { inner: Some(body), closing: Box::pin(closing.cancelled_owned()), _held: held }.boxed()
}

impl<G: Unpin> HttpBody for Stream<G> {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let Some(inner) = &mut self.inner else { return Poll::Ready(None) };
        // What is there goes out first: an answer that was made is not lost to a server that ends.
        match Pin::new(inner).poll_frame(context) {
            Poll::Ready(Some(frame)) => return Poll::Ready(Some(frame)),
            Poll::Ready(None) => {
                self.inner = None;
                return Poll::Ready(None);
            }
            Poll::Pending => {}
        }
        match self.closing.as_mut().poll(context) {
            Poll::Ready(()) => {
                self.inner = None;
                Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(FAREWELL)))))
            }
            Poll::Pending => Poll::Pending,
        }
    }
}
