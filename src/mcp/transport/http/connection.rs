//! One connection: how many an address may have, and what it means that a client will send no more.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::task::AtomicWaker;
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::Watcher;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

use super::access_control::subnet;
use super::app::App;

/// Bytes that the head of a request may take.
const MAX_HEAD: usize = 32 << 10;

/// How many connections each address has.
pub(super) struct Addresses {
    most: usize,
    open: Mutex<HashMap<IpAddr, usize>>,
}

/// Counts a connection as long as it is open.
pub(super) struct Counted {
    addresses: Arc<Addresses>,
    from: IpAddr,
}

impl Addresses {
    /// Returns a count that takes `most` of each address.
    pub(super) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most, open: Mutex::default() })
    }

    /// Counts a connection; `None` where it is one too many.
    pub(super) fn count(self: &Arc<Self>, from: IpAddr) -> Option<Counted> {
        let from = subnet(from);
        let mut open = self.open();
        let connections = open.entry(from).or_default();
        if *connections >= self.most {
            return None;
        }
        *connections += 1;
        Some(Counted { addresses: Arc::clone(self), from })
    }

    fn open(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let mut open = self.addresses.open();
        if let Some(connections) = open.get_mut(&self.from) {
            *connections -= 1;
            if *connections == 0 {
                open.remove(&self.from);
            }
        }
    }
}

/// Answers what comes over one connection, until it ends or the server does.
pub(super) async fn converse<S>(app: Arc<App>, watcher: Watcher, stream: S, local: SocketAddr, from: SocketAddr)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let timeout = app.network.timeout;
    let exchange = Exchange::default();
    let stream = HalfClosed::new(stream, exchange.clone());
    let caller = Caller { local, from: from.ip(), exchange };
    let service = service_fn(move |request: Request<Incoming>| {
        let (app, caller) = (Arc::clone(&app), caller.clone());
        let answering = caller.exchange.begin();
        async move {
            let response = app.answer(&caller, request).await;
            drop(answering);
            Ok::<_, std::convert::Infallible>(response)
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(timeout)
        .max_buf_size(MAX_HEAD)
        .auto_date_header(crate::clock::has_http_date())
        .serve_connection(TokioIo::new(stream), service);
    if let Err(error) = watcher.watch(connection).await {
        tracing::debug!(%error, "a connection ended early");
    }
}

/// Who sends a request.
#[derive(Clone)]
pub(super) struct Caller {
    /// The server's own address that it came to.
    pub(super) local: SocketAddr,
    pub(super) from: IpAddr,
    pub(super) exchange: Exchange,
}

/// What the end of a client's bytes means while a request is under way.
#[derive(Clone, Default)]
pub(super) struct Exchange(Arc<State>);

#[derive(Default)]
struct State {
    end: AtomicU8,
    /// The streams that the answer consists of and that are being sent: a batch's has others within.
    streams: AtomicUsize,
    /// Who waits for bytes, of which none will come.
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
    fn begin(&self) -> Answering {
        self.wait();
        Answering { exchange: self.clone(), streams: false }
    }

    /// The same for an answer that is a stream, until that was sent.
    pub(super) fn stream(&self) -> Answering {
        self.0.streams.fetch_add(1, Ordering::AcqRel);
        Answering { exchange: self.clone(), streams: true }
    }

    /// A client that sends no more still takes its answer.
    pub(super) fn wait(&self) {
        self.0.end.store(WAITS, Ordering::Release);
    }

    /// More bytes are waited for: without them there is nothing to answer.
    pub(super) fn need_more(&self) {
        self.0.end.store(NEEDED, Ordering::Release);
        self.0.reader.wake();
    }

    /// A tool works, or the database is read: closing the connection is how that is cancelled.
    pub(super) fn work(&self) {
        self.0.end.store(CANCELS, Ordering::Release);
        self.0.reader.wake();
    }
}

/// A request is being answered as long as this is there.
pub(super) struct Answering {
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
struct HalfClosed<S> {
    inner: S,
    exchange: Exchange,
    /// Whether the client has to take something before more can be written.
    blocked: bool,
    /// Runs from the end of a client that may cancel.
    soon: Option<Pin<Box<Sleep>>>,
}

impl<S> HalfClosed<S> {
    fn new(inner: S, exchange: Exchange) -> Self {
        Self { inner, exchange, blocked: false, soon: None }
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
            // What was answered is still being written, and polls the connection again.
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
        std::task::ready!(Pin::new(&mut self.inner).poll_read(context, buffer))?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_as_many_connections_as_it_may() {
        let addresses = Addresses::new(2);
        let [one, other] = [[127, 0, 0, 1], [127, 0, 0, 2]].map(IpAddr::from);
        let (first, second) = (addresses.count(one), addresses.count(one));
        assert!(first.is_some() && second.is_some() && addresses.count(one).is_none());
        assert!(addresses.count(other).is_some());
        drop(first);
        assert!(addresses.count(one).is_some());
        drop(second);
        assert!(addresses.open().is_empty());
    }
}
