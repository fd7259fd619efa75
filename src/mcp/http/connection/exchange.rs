//! Decides what it means when a client stops sending: it has disconnected, it cancels, or it still waits for the
//! answer.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::task::AtomicWaker;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

use super::room::Place;

/// The client's end of a connection.
#[derive(Clone)]
pub(in crate::mcp) struct Peer {
    /// The server's address that the client connected to.
    pub(in crate::mcp) local: SocketAddr,
    pub(in crate::mcp) from: IpAddr,
    pub(in crate::mcp) exchange: Exchange,
}

/// Tracks the request on a connection, to decide what the end of the client's input means.
#[derive(Clone, Default)]
pub(in crate::mcp) struct Exchange(Arc<State>);

#[derive(Default)]
struct State {
    end: AtomicU8,
    /// The number of response streams that are being sent. The stream of a batch contains further streams.
    streams: AtomicUsize,
    /// Wakes the task that waits for more input.
    reader: AtomicWaker,
}

/// The client has disconnected, so the connection ends.
const GONE: u8 = 0;
/// The client still waits for the answer.
const WAITS: u8 = 1;
/// The client accepts an answer that comes soon. After that, the end of its input cancels the work.
const CANCELS: u8 = 2;
/// Not known yet, because the rest of a request may arrive together with the end of input. At the end of input, the
/// state becomes [`GONE`]. If the rest then completes the request, it becomes [`WAITS`].
const NEEDED: u8 = 3;

/// How soon an answer must come for a client that has stopped sending.
const SOON: Duration = Duration::from_secs(1);

impl Exchange {
    /// Marks a request as being answered until the returned guard is dropped.
    pub(super) fn begin(&self) -> Answering {
        self.wait();
        Answering { exchange: self.clone(), streams: false }
    }

    /// Marks a streamed answer as being sent until the returned guard is dropped.
    pub(in crate::mcp) fn stream(&self) -> Answering {
        self.0.streams.fetch_add(1, Ordering::AcqRel);
        Answering { exchange: self.clone(), streams: true }
    }

    /// Records that the client still gets its answer after it stops sending.
    pub(in crate::mcp) fn wait(&self) {
        self.0.end.store(WAITS, Ordering::Release);
    }

    /// Records that the request is incomplete: if the client stops sending, there is nothing to answer.
    pub(in crate::mcp) fn need_more(&self) {
        self.0.end.store(NEEDED, Ordering::Release);
        self.0.reader.wake();
    }

    /// Records that a tool runs or the database is read. The client can cancel this by closing the connection.
    pub(in crate::mcp) fn work(&self) {
        self.0.end.store(CANCELS, Ordering::Release);
        self.0.reader.wake();
    }
}

/// Marks a request as being answered, or a streamed answer as being sent, while this guard exists.
pub(in crate::mcp) struct Answering {
    exchange: Exchange,
    streams: bool,
}

impl Drop for Answering {
    fn drop(&mut self) {
        let state = &self.exchange.0;
        if self.streams {
            state.streams.fetch_sub(1, Ordering::AcqRel);
        }
        if state.streams.load(Ordering::Acquire) == 0 {
            state.end.store(GONE, Ordering::Release);
        }
    }
}

/// A stream that hides the end of its input while an answer is being sent. By default, hyper closes the connection at
/// the end of input. With half-close enabled, hyper does not notice the end while an event stream is open.
pub(super) struct HalfClosed<S> {
    inner: S,
    exchange: Exchange,
    place: Arc<Place>,
    /// Whether writing has to wait until the client reads something.
    blocked: bool,
    /// A timer of [`SOON`], started at the end of input if that end may be a cancellation.
    soon: Option<Pin<Box<Sleep>>>,
}

impl<S> HalfClosed<S> {
    pub(super) fn new(inner: S, exchange: Exchange, place: Arc<Place>) -> Self {
        Self { inner, exchange, place, blocked: false, soon: None }
    }

    /// Returns whether to pass on the end of input now. If that changes later, the task is woken.
    fn shows_end(&mut self, context: &mut Context<'_>) -> bool {
        self.exchange.0.reader.register(context.waker());
        match self.exchange.0.end.load(Ordering::Acquire) {
            WAITS => false,
            CANCELS => {
                let soon = self.soon.get_or_insert_with(|| Box::pin(tokio::time::sleep(SOON)));
                soon.as_mut().poll(context).is_ready()
            }
            NEEDED => {
                self.exchange.0.end.store(GONE, Ordering::Release);
                context.waker().wake_by_ref();
                false
            }
            // While writing is blocked, an answer is still being sent, and sending it polls the connection again.
            _ => !self.blocked,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for HalfClosed<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.inner).poll_read(context, buffer);
        if read.is_pending() && !self.blocked {
            self.place.rest();
        }
        std::task::ready!(read)?;
        let ended = buffer.filled().len() == before && buffer.remaining() > 0;
        if ended && !self.shows_end(context) {
            return Poll::Pending;
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for HalfClosed<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.blocked = written.is_pending();
        written
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write_vectored(context, slices);
        self.blocked = written.is_pending();
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.inner).poll_flush(context);
        self.blocked |= flushed.is_pending();
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}
