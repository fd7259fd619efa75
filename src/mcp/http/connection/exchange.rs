//! Decides what it means when a client stops sending.

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
    /// The server's own address that it came to.
    pub(in crate::mcp) local: SocketAddr,
    pub(in crate::mcp) from: IpAddr,
    pub(in crate::mcp) exchange: Exchange,
}

/// Tracks a request, to decide what the end of the client's bytes means.
#[derive(Clone, Default)]
pub(in crate::mcp) struct Exchange(Arc<State>);

#[derive(Default)]
struct State {
    end: AtomicU8,
    /// The streams that the answer consists of and that are being sent: a batch's has others within.
    streams: AtomicUsize,
    /// The task that waits for bytes of which none will come.
    reader: AtomicWaker,
}

/// The client is gone.
const GONE: u8 = 0;
/// It takes the answer still.
const WAITS: u8 = 1;
/// It takes the answer where that comes soon; else it cancels.
const CANCELS: u8 = 2;
/// Whether it is gone shows when what was read was looked at: the rest of a request may have come with the end.
const NEEDED: u8 = 3;

/// How soon that is.
const SOON: Duration = Duration::from_secs(1);

impl Exchange {
    /// Notes that a request is being answered, until what this returns is dropped.
    pub(super) fn begin(&self) -> Answering {
        self.wait();
        Answering { exchange: self.clone(), streams: false }
    }

    /// The same for an answer that is a stream, until that was sent.
    pub(in crate::mcp) fn stream(&self) -> Answering {
        self.0.streams.fetch_add(1, Ordering::AcqRel);
        Answering { exchange: self.clone(), streams: true }
    }

    /// A client that sends no more still takes its answer.
    pub(in crate::mcp) fn wait(&self) {
        self.0.end.store(WAITS, Ordering::Release);
    }

    /// More bytes are waited for: without them there is nothing to answer.
    pub(in crate::mcp) fn need_more(&self) {
        self.0.end.store(NEEDED, Ordering::Release);
        self.0.reader.wake();
    }

    /// A tool works, or the database is read: closing the connection is how that is cancelled.
    pub(in crate::mcp) fn work(&self) {
        self.0.end.store(CANCELS, Ordering::Release);
        self.0.reader.wake();
    }
}

/// A request is being answered as long as this is there.
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

/// A stream that keeps its end to itself while an answer is under way. hyper takes the end of what a client sends for the
/// end of the client, or, told otherwise, does not notice it while an event stream is open.
pub(super) struct HalfClosed<S> {
    inner: S,
    exchange: Exchange,
    place: Arc<Place>,
    /// Whether the client has to take something before more can be written.
    blocked: bool,
    /// Runs from the end of a client that may cancel.
    soon: Option<Pin<Box<Sleep>>>,
}

impl<S> HalfClosed<S> {
    pub(super) fn new(inner: S, exchange: Exchange, place: Arc<Place>) -> Self {
        Self { inner, exchange, place, blocked: false, soon: None }
    }

    /// Whether the end that was met is shown; the task is woken where it will be later.
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
            // The answer is still being written; that polls the connection again.
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
