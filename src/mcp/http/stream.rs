//! Wraps the body of an event stream: holds a permit while it is open, and sends the reason when the server ends it.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName};
use http::{HeaderValue, Response};
use http_body_util::BodyExt;
use hyper::body::{Body as HttpBody, Frame};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::answer::Body;
use super::revocation::OpenStream;

/// How often a silent stream sends a keep-alive, which also reveals whether the client is still connected.
pub(super) const KEEP_ALIVE: Duration = Duration::from_secs(5);

/// The keep-alive: a comment, which clients ignore.
pub(super) const ALIVE: &[u8] = b": alive\n\n";

/// The last bytes of a stream that the server ends: a comment, which clients ignore.
pub(super) const ENDING: &[u8] = b": the server is stopping\n\n";
const TAKEN_OVER: &[u8] = b": the client listens on another stream\n\n";

/// The signals that end a stream from outside.
pub(super) struct Ends {
    pub(super) closing: CancellationToken,
    /// Ends the stream when its key becomes invalid.
    pub(super) key: OpenStream,
    /// Cancelled when the client listens on another stream.
    pub(super) taken_over: CancellationToken,
}

/// An event stream that holds a value of type `G`, such as a permit, until it closes.
struct Stream<G> {
    inner: Option<Body>,
    closing: Pin<Box<WaitForCancellationFutureOwned>>,
    key: OpenStream,
    revoked: Pin<Box<WaitForCancellationFutureOwned>>,
    taken_over: Pin<Box<WaitForCancellationFutureOwned>>,
    _held: G,
}

pub(super) fn is_stream(response: &Response<Body>) -> bool {
    response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
}

/// Returns a response with an event stream that mcpkg itself produces.
pub(super) fn event_stream(
    body: impl HttpBody<Data = Bytes, Error = Infallible> + Send + Sync + 'static,
) -> Response<Body> {
    let mut response = Response::new(body.boxed());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}

/// Returns `body` as an event stream that holds the value `held` until it closes.
pub(super) fn stream<G: Send + Sync + Unpin + 'static>(body: Body, ends: Ends, held: G) -> Body {
    let [closing, revoked, taken_over] =
        [ends.closing, ends.key.revoked(), ends.taken_over].map(|token| Box::pin(token.cancelled_owned()));
    Stream { inner: Some(body), closing, key: ends.key, revoked, taken_over, _held: held }.boxed()
}

impl<G: Unpin> HttpBody for Stream<G> {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.inner.is_none() {
            return Poll::Ready(None);
        }
        if self.revoked.as_mut().poll(context).is_ready() {
            self.inner = None;
            return Poll::Ready(Some(Ok(Frame::data(self.key.last_words()))));
        }
        if self.taken_over.as_mut().poll(context).is_ready() {
            self.inner = None;
            return Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(TAKEN_OVER)))));
        }
        // Events that are ready are sent first, so that a finished answer is not lost when the server stops.
        let next = self.inner.as_mut().map_or(Poll::Ready(None), |inner| Pin::new(inner).poll_frame(context));
        match next {
            // The key is checked here, so that nothing committed after its revocation is sent.
            Poll::Ready(Some(_)) if !self.key.holds() => {
                self.inner = None;
                return Poll::Ready(Some(Ok(Frame::data(self.key.last_words()))));
            }
            Poll::Ready(Some(frame)) => return Poll::Ready(Some(frame)),
            Poll::Ready(None) => {
                self.inner = None;
                return Poll::Ready(None);
            }
            Poll::Pending => {}
        }
        if self.closing.as_mut().poll(context).is_ready() {
            self.inner = None;
            return Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(ENDING)))));
        }
        Poll::Pending
    }
}
